package format

import (
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/lspci"
)

const pciDir = "/sys/bus/pci/devices"

// pciClasses are the kinds of PCI function that a fabric is made of: network,
// display, PCI bridge, processing accelerator.
var pciClasses = []string{"0x02", "0x03", "0x0604", "0x12"}

var pciReader = Reader{
	Name: "pci",
	Why:  "the PCIe path of every NIC and GPU: speed and width of each hop, NUMA node, ASPM, ACS, AER",
	Files: []File{
		{Dir: pciDir + "/*", Where: "class", Starts: pciClasses, Names: []string{
			"vendor", "device", "class", "numa_node", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width"}},
		{Dir: pciDir + "/*", Where: "class", Starts: pciClasses, Names: []string{
			"aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"}, Quiet: true},
		{Dir: pciDir + "/*", Where: "class", Starts: pciClasses, Names: []string{"driver", "iommu_group", "physfn"}, Link: true},
		{Dir: pciDir, Names: []string{"*"}, Link: true},
		{Dir: pciDir + "/*", Where: "class", Starts: pciClasses, Names: []string{"config"}, Binary: true, Root: true},
	},
	Read: readPCI,
}

func readPCI(d *dump.Node, n *fact.Node) {
	for _, bdf := range d.Dir(pciDir) {
		dir := pciDir + "/" + bdf
		class := uint32(hex(d, dir+"/class", 32))
		if class == 0 {
			continue
		}
		p := &fact.PCI{
			BDF:    bdf,
			Vendor: uint16(hex(d, dir+"/vendor", 16)),
			Device: uint16(hex(d, dir+"/device", 16)),
			Class:  class,
			Driver: target(d, dir+"/driver"),
			IOMMU:  target(d, dir+"/iommu_group"),
			PhysFn: target(d, dir+"/physfn"),
			Cur:    fact.Link{GTs: gts(word(d, dir+"/current_link_speed")), Width: number(d, dir+"/current_link_width").Or(0)},
			Max:    fact.Link{GTs: gts(word(d, dir+"/max_link_speed")), Width: number(d, dir+"/max_link_width").Or(0)},
		}
		// The kernel writes 255 for a width it could not learn, and -1 for "no
		// NUMA node": neither is a fact.
		if p.Max.Width == 255 || p.Cur.Width == 255 {
			p.Cur, p.Max = fact.Link{}, fact.Link{}
		}
		if numa, ok := number(d, dir+"/numa_node").Get(); ok && numa >= 0 {
			p.NUMA = fact.Some(numa)
		}
		p.Up, p.Host = above(d.Link[dir])
		readAER(d, dir, p)
		if raw, ok := d.Text[dir+"/config"]; ok {
			readConfig(raw, p)
		}
		n.PCI = append(n.PCI, p)
	}
	if len(n.PCI) == 0 {
		readLspci(d, n)
	}
}

// above finds the bridge and the host bridge in where a device's link points:
// "../../../devices/pci0000:00/0000:00:02.5/0000:c3:00.0".
func above(link string) (up, host string) {
	elems := strings.Split(link, "/")
	for i, e := range elems {
		if strings.HasPrefix(e, "pci") && strings.Contains(e, ":") {
			host = e
		}
		if i == len(elems)-2 && isBDF(e) {
			up = e
		}
	}
	return up, host
}

// gts reads "8.0 GT/s PCIe", "16 GT/s", "Unknown".
func gts(s string) float64 {
	number, _, _ := strings.Cut(s, " ")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 || f > 1000 {
		return 0
	}
	return f
}

// readAER adds up the kernel's error totals: lines like "TOTAL_ERR_COR 12".
func readAER(d *dump.Node, dir string, p *fact.PCI) {
	for _, kind := range []string{"correctable", "nonfatal", "fatal"} {
		text, ok := d.Get(dir + "/aer_dev_" + kind)
		if !ok {
			continue
		}
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) == 2 && strings.HasPrefix(f[0], "TOTAL_ERR") {
				if v, err := strconv.Atoi(f[1]); err == nil {
					if p.AER == nil {
						p.AER = map[string]int{}
					}
					p.AER[kind] = v
				}
			}
		}
	}
}

// readConfig takes from the configuration space what sysfs has no file for.
func readConfig(raw string, p *fact.PCI) {
	c, err := lspci.ParseConfig([]byte(raw))
	if err != nil && !c.CapsRead {
		return
	}
	if e := c.PCIe; e != nil {
		if e.MaxReadReq != nil {
			p.MaxRead = fact.Some(*e.MaxReadReq)
		}
		if e.ASPM != nil {
			p.ASPM = fact.Some(aspmWords(e.ASPM.L0s, e.ASPM.L1))
		}
	}
	switch {
	case c.ACS != nil:
		ctl := 0
		if c.ACS.Ctl.ReqRedir {
			ctl |= 4 // PCI_ACS_RR in pci_regs.h
		}
		if c.ACS.Ctl.CmpltRedir {
			ctl |= 8 // PCI_ACS_CR
		}
		p.ACSRedir, p.ACSCtl = fact.Some(ctl != 0), fact.Some(ctl)
	case c.ExtRead:
		p.ACSRedir = fact.Some(false) // no ACS capability: nothing is redirected
	}
}

func aspmWords(l0s, l1 bool) string {
	switch {
	case l0s && l1:
		return "L0s L1"
	case l0s:
		return "L0s"
	case l1:
		return "L1"
	}
	return "off"
}

// readLspci reads what lspci printed, for dumps that people made by hand.
func readLspci(d *dump.Node, n *fact.Node) {
	for _, cmd := range d.Cmds("lspci") {
		text, _ := d.Cmd(cmd)
		devices, _ := lspci.Parse([]byte(text))
		for _, v := range devices {
			if v.ClassCode == nil && v.LinkSta == nil {
				continue
			}
			p := n.At(v.Addr)
			if p == nil {
				p = &fact.PCI{BDF: v.Addr}
				n.PCI = append(n.PCI, p)
			}
			if v.VendorID != nil && v.DeviceID != nil {
				p.Vendor, p.Device = *v.VendorID, *v.DeviceID
			}
			if v.ClassCode != nil {
				p.Class = uint32(*v.ClassCode) << 8
			}
			if v.Driver != "" {
				p.Driver = v.Driver
			}
			if v.NUMANode != nil {
				p.NUMA = fact.Some(*v.NUMANode)
			}
			p.Cur, p.Max = lspciLink(v.LinkSta, p.Cur), lspciLink(v.LinkCap, p.Max)
			if v.MaxReadReq != nil {
				p.MaxRead = fact.Some(*v.MaxReadReq)
			}
		}
	}
}

func lspciLink(l *lspci.Link, old fact.Link) fact.Link {
	if l == nil {
		return old
	}
	return fact.Link{GTs: float64(l.SpeedMTps) / 1000, Width: l.WidthLanes}
}
