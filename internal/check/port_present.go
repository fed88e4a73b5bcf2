package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/spec"
)

var portPresent = Check{
	ID:    "port.present",
	Title: "Every RDMA card on the PCI bus is an RDMA device",
	Judge: func(c *Case) (out []Finding) {
		seen := map[cardKind]bool{} // kinds of card that are an RDMA device on some node
		for _, n := range c.Up() {
			for _, p := range n.Ports {
				if d := n.At(p.BDF); d != nil {
					seen[cardKind{d.Vendor, d.Device}] = true
				}
			}
		}
		cards := map[*fact.Node]int{}
		for _, n := range c.Up() {
			found, count := judgePresent(n, c.about(n).wants, seen)
			cards[n] = count
			out = append(out, found...)
		}
		out = append(out, fewerCards(c, cards)...)
		if len(out) == 0 {
			return skip("no RDMA card is on any PCI bus")
		}
		return out
	},
}

// judgePresent returns the findings of one node and how many RDMA functions it has.
func judgePresent(n *fact.Node, named []spec.DataPort, seen map[cardKind]bool) (out []Finding, cards int) {
	if why := presentUnread(n); why != "" {
		return []Finding{{Subject: node(n), Status: Unknown, Why: why, Fix: []string{"run weft as root on " + n.Name}}}, 0
	}
	for _, dp := range named {
		if n.Port(dp.Port) == nil {
			out = append(out, Finding{Subject: Subject{n.Name, dp.Port}, Status: Fail, Got: "no such RDMA port", Want: dp.Port,
				Why: "weft.yaml counts on this port, and the node has " + portNames(n),
				Fix: absentFix(dp)})
		}
	}
	hasPort := map[string]bool{}
	for _, p := range n.Ports {
		hasPort[p.BDF] = p.BDF != ""
	}
	for _, d := range n.PCI {
		if !rdmaCard(d) || d.PhysFn != "" || givenAway(d.Driver) || cx3Dropped(n, d) {
			continue
		}
		cards++
		if !hasPort[d.BDF] && !inBond(n, d) {
			// A card that could do RDMA may serve as a plain network card by choice,
			// unless it is an InfiniBand card, its like does RDMA elsewhere, or the
			// node has no RDMA at all.
			must := d.Class>>8 == 0x0207 || seen[cardKind{d.Vendor, d.Device}] || len(hasPort) == 0
			out = append(out, lostCard(n, d, must))
		}
	}
	if cards > 0 && len(out) == 0 {
		out = append(out, Finding{Subject: node(n)})
	}
	return out, cards
}

// absentFix knows the names that people give to software devices.
func absentFix(dp spec.DataPort) []string {
	device, _, _ := strings.Cut(dp.Port, "/")
	for _, kind := range []string{"rxe", "siw"} {
		if strings.HasPrefix(device, kind) && dp.Netdev != "" {
			return []string{fmt.Sprintf("sudo rdma link add %s type %s netdev %s   # until the next boot", device, kind, dp.Netdev)}
		}
	}
	return []string{"rdma link show", "name the right port in weft.yaml, or look for the card: lspci -d ::02xx"}
}

func lostCard(n *fact.Node, d *fact.PCI, must bool) Finding {
	f := Finding{Subject: Subject{n.Name, d.BDF}, Status: Warn, Want: "an RDMA device"}
	if must {
		f.Status = Fail
	}
	name, modules := "RDMA card", "mlx5_core mlx5_ib"
	if nic, ok := platform.NICOf(d); ok {
		name, modules = nic.Name, strings.Join(nic.Modules, " ")
	}
	f.Got = fmt.Sprintf("%s with driver %s and no RDMA device", name, d.Driver)
	f.Why = "the network driver runs but the RDMA stack has lost the card, so everything on it falls back to TCP"
	if d.Driver == "" {
		f.Got = name + " without a driver"
		f.Why = "no driver took the card, so it carries nothing at all"
	}
	f.Fix = []string{"sudo modprobe -a " + modules, "sudo dmesg | grep " + d.BDF}
	return f
}

// presentUnread says what could not be read, where the bus or the RDMA devices
// are missing from the facts for that reason.
func presentUnread(n *fact.Node) string {
	for _, g := range n.Gaps {
		if g.Path == cutOff && len(n.Ports) == 0 {
			return "the node was cut off, perhaps before it told of its RDMA devices"
		}
		if (g.Path == "/sys/class/infiniband" || g.Path == "/sys/bus/pci/devices") && !strings.Contains(g.Why, "no such file") {
			return g.Path + " could not be read: " + g.Why
		}
	}
	if len(n.PCI) == 0 && slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return p.BDF != "" }) {
		return "the PCI devices were not read"
	}
	return ""
}

// fewerCards warns of nodes with fewer RDMA functions than most of their kind: a
// card that fell off the bus leaves nothing else behind.
func fewerCards(c *Case, cards map[*fact.Node]int) (out []Finding) {
	for _, group := range c.Alike() {
		usual, count := Usual(group, func(n *fact.Node) int { return cards[n] })
		for _, n := range group {
			if cards[n] < usual && count*2 > len(group) && presentUnread(n) == "" {
				out = append(out, Finding{Subject: node(n), Status: Warn,
					Got: fmt.Sprintf("%d RDMA functions on the PCI bus", cards[n]), Want: fmt.Sprint(usual),
					Why: "nodes like this one have more, so a card is missing or has fallen off the bus",
					Fix: []string{"sudo dmesg | grep -iE 'pcie|mlx|surprise'", "power the node off and on; reseat the card"}})
			}
		}
	}
	return out
}
