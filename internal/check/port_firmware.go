package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/topo"
)

var portFirmware = Check{
	ID:    "port.firmware",
	Title: "Equal cards run equal firmware, and none that is too old",
	After: []string{"port.present"},
	Judge: func(c *Case) (out []Finding) {
		out = c.room()
		groups := map[string][]topo.PortAt{} // kind of card → its first ports
		var kinds []string
		for _, n := range c.Up() {
			for _, p := range n.Ports {
				// Firmware belongs to the card: port 2 and virtual functions repeat it.
				if d := n.At(p.BDF); p.Num != 1 || d == nil || d.PhysFn != "" {
					continue
				}
				k := portFamily(n, p)
				if groups[k] == nil {
					kinds = append(kinds, k)
				}
				groups[k] = append(groups[k], topo.PortAt{Node: n, Port: p})
			}
		}
		for _, k := range kinds {
			usual, count := usualFirmware(groups[k])
			for _, pa := range groups[k] {
				out = append(out, judgeFirmware(pa.Node, pa.Port, usual, count, len(groups[k])))
			}
		}
		if len(out) == 0 {
			return skip("no RDMA card with firmware of its own")
		}
		return out
	},
}

// firmwareOf is the version people compare. Intel's RDMA device tells only its
// interface version; the card's own is what ethtool -i says first ("4.91 0x800214b5 …").
func firmwareOf(n *fact.Node, p *fact.Port) string {
	if d := n.Netdev(p.Netdev); p.Driver == "irdma" && d != nil {
		version, _, _ := strings.Cut(d.Firmware, " ")
		return version
	}
	return p.Firmware
}

// usualFirmware is the version most of a group has; of several, the newest.
func usualFirmware(group []topo.PortAt) (usual string, most int) {
	count := map[string]int{}
	for _, pa := range group {
		if v := firmwareOf(pa.Node, pa.Port); v != "" {
			count[v]++
		}
	}
	for v, n := range count {
		if n > most || n == most && olderFirmware(usual, v) {
			usual, most = v, n
		}
	}
	return usual, most
}

func judgeFirmware(n *fact.Node, p *fact.Port, usual string, count, total int) Finding {
	f := Finding{Subject: on(n, p), Got: firmwareOf(n, p)}
	nic, _ := platform.NICOf(n.At(p.BDF))
	switch {
	case f.Got == "":
		f.Status, f.Why = Unknown, "the firmware version was not read"
	case nic.MinFirmware != "" && olderFirmware(f.Got, nic.MinFirmware):
		f.Status, f.Want = Warn, nic.MinFirmware+" or newer"
		f.Why = "older firmware of the " + nic.Name + " is known to misbehave with RDMA"
		f.Fix = firmwareFix(n, p)
	case f.Got != usual:
		f.Status, f.Want = Warn, usual
		f.Why = fmt.Sprintf("%d of %d equal cards run %s, and a difference in firmware is a difference nobody looks for", count, total, usual)
		f.Fix = firmwareFix(n, p)
	}
	return f
}

func firmwareFix(n *fact.Node, p *fact.Port) []string {
	if p.Driver == "irdma" {
		return []string{"Intel's NVM update package for the card: sudo ./nvmupdate64e", "power the node off and on"}
	}
	return []string{install(n, "mstflint", "mstflint"), "sudo mstflint -d " + p.BDF + " query",
		"sudo mstflint -d " + p.BDF + " -i FIRMWARE.bin burn   # for PSID " + cmp.Or(p.Board, "of the query"), "sudo reboot"}
}

// olderFirmware compares dotted versions number by number.
func olderFirmware(a, b string) bool {
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		return cmp.Or(cmp.Compare(number(x), number(y)), cmp.Compare(x, y))
	}) < 0
}
