package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

// Nodes writes one row per node.
func Nodes(w io.Writer, c *fact.Cluster) error {
	rows := [][]string{{"NODE", "MACHINE", "OS", "KERNEL", "MEMORY", "RDMA", "GPUS", "NOTE"}}
	for _, n := range c.Nodes {
		up := 0
		for _, p := range n.Ports {
			if p.Up() {
				up++
			}
		}
		note, ports := "", fmt.Sprintf("%d of %d up", up, len(n.Ports))
		if n.Down != "" {
			ports = ""
			note, _, _ = strings.Cut(strings.TrimPrefix(n.Down, n.Name+": "), "\n")
		}
		memory := ""
		if m, ok := n.Host.Memory.Get(); ok {
			memory = m.String()
		}
		rows = append(rows, []string{n.Name, dash(machine(n)), dash(n.Host.OS), dash(n.Host.Kernel), dash(memory),
			dash(ports), dash(gpuList(n)), note})
	}
	return Table(w, rows)
}

func machine(n *fact.Node) string {
	return strings.TrimSpace(n.Host.Vendor + " " + n.Host.Product)
}

// gpuList counts GPUs by name: "4 × NVIDIA H100 80GB HBM3".
func gpuList(n *fact.Node) string {
	count := map[string]int{}
	var names []string
	for _, g := range n.GPUs {
		name := g.Name
		if name == "" {
			name = strings.TrimSpace(g.Vendor + " " + g.Arch)
		}
		if count[name] == 0 {
			names = append(names, name)
		}
		count[name]++
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", count[name], name)
	}
	return strings.Join(names, ", ")
}

// Ports writes one row per RDMA port.
func Ports(w io.Writer, c *fact.Cluster) error {
	rows := [][]string{{"NODE", "PORT", "DRIVER", "LAYER", "STATE", "RATE", "NETDEV", "MTU", "ADDRESS", "GID (RoCE v2, IPv4)", "FIRMWARE", "PCIE"}}
	for _, n := range c.Nodes {
		for _, p := range n.Ports {
			rate := ""
			if r, ok := p.Rate.Get(); ok {
				rate = r.String()
			}
			mtu, addrs := "", ""
			if lid := p.LID.Or(0); lid != 0 && p.IB() { // 0: no subnet manager gave it one
				addrs = "LID " + strconv.Itoa(lid)
			}
			if d := n.Netdev(p.Netdev); d != nil {
				if m, ok := d.MTU.Get(); ok {
					mtu = strconv.Itoa(m)
				}
				for _, a := range d.Addrs {
					if !strings.HasPrefix(a, "fe80") {
						addrs = strings.TrimSpace(addrs + " " + a)
					}
				}
			}
			rows = append(rows, []string{n.Name, p.Name, dash(p.Driver), dash(p.Layer), dash(strings.TrimSpace(p.State + " " + p.Phys)), dash(rate),
				dash(p.Netdev), dash(mtu), dash(addrs), dash(gidIndex(p)), dash(p.Firmware), dash(pcieOf(n, p.BDF))})
		}
	}
	return Table(w, rows)
}

// gidIndex names the index of the port's IPv4-mapped RoCE v2 GID.
func gidIndex(p *fact.Port) string {
	for _, g := range p.GIDs {
		if g.Type == "RoCE v2" && strings.HasPrefix(g.GID, "0000:0000:0000:0000:0000:ffff:") {
			return "index " + strconv.Itoa(g.Index)
		}
	}
	return ""
}

// pcieOf writes the narrowest hop of a device's path: "8 GT/s x4".
func pcieOf(n *fact.Node, bdf string) string {
	h, ok := topo.Narrowest(topo.Hops(n, bdf))
	if !ok {
		return ""
	}
	return linkWords(h.Cur)
}

func linkWords(l fact.Link) string {
	return strconv.FormatFloat(l.GTs, 'f', -1, 64) + " GT/s x" + strconv.Itoa(l.Width)
}

// Links writes which ports meet on which rail, and the InfiniBand fabric.
func Links(w io.Writer, c *fact.Cluster) error {
	var ports []topo.PortAt
	for _, n := range c.Nodes {
		for _, p := range n.Ports {
			if p.Up() {
				ports = append(ports, topo.PortAt{Node: n, Port: p})
			}
		}
	}
	rows := [][]string{{"RAIL", "NODE", "PORT", "RATE", "NETDEV"}}
	for _, rail := range topo.Rails(ports) {
		for _, pa := range rail.Ports {
			rate := ""
			if r, ok := pa.Port.Rate.Get(); ok {
				rate = r.String()
			}
			rows = append(rows, []string{rail.Name, pa.Node.Name, pa.Port.Name, dash(rate), dash(pa.Port.Netdev)})
		}
	}
	if err := Table(w, rows); err != nil || c.Fabric == nil {
		return err
	}
	return writeFabric(w, c.Fabric)
}

// GPUs writes one row per GPU.
func GPUs(w io.Writer, c *fact.Cluster) error {
	rows := [][]string{{"NODE", "GPU", "BDF", "NAME", "ARCH", "MEMORY", "DRIVER", "POWER", "PCIE", "NEAREST NIC"}}
	for _, n := range c.Nodes {
		for _, g := range n.GPUs {
			memory, power := "", ""
			if m, ok := g.Memory.Get(); ok {
				memory = m.String()
			}
			if gtt, ok := g.GTT.Get(); ok {
				memory = strings.TrimSpace(memory + " + " + gtt.String() + " GTT")
			}
			if p, ok := g.Power.Get(); ok {
				power = fmt.Sprintf("%.0f W", p)
				if m, ok := g.PowerMax.Get(); ok {
					power += fmt.Sprintf(" of %.0f", m)
				}
			}
			rows = append(rows, []string{n.Name, strconv.Itoa(g.Index), g.BDF, dash(g.Name), dash(g.Arch), dash(memory), dash(g.Driver), dash(power), dash(pcieOf(n, g.BDF)), dash(nearest(n, g))})
		}
	}
	return Table(w, rows)
}

// nearest names the nearest RDMA ports of a GPU and how far they are.
func nearest(n *fact.Node, g *fact.GPU) string {
	best := topo.Unknown
	var names []string
	for _, p := range n.Ports {
		d := topo.Between(n, g.BDF, p.BDF)
		switch {
		case d == topo.Unknown:
		case best == topo.Unknown || d < best:
			best, names = d, []string{p.Device}
		case d == best && !slices.Contains(names, p.Device):
			names = append(names, p.Device)
		}
	}
	if best == topo.Unknown {
		return ""
	}
	return strings.Join(names, ",") + " " + best.String()
}
