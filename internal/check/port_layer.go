package check

import (
	"fmt"
	"slices"

	"weft/internal/fact"
)

var portLayer = Check{
	ID:    "port.layer",
	Title: "Ports of one fabric speak one link layer",
	After: []string{"port.present"},
	Judge: func(c *Case) (out []Finding) {
		out = c.room()
		ports := c.DataPorts()
		byName := map[string]map[string]int{} // card and port name → layer → ports
		nodes := map[string]int{}             // layer → nodes that have it
		owners, speakers := 0, 0              // nodes with data ports, and with one whose layer is known
		for _, n := range c.Up() {
			here := map[string]bool{}
			for _, p := range c.Data(n) {
				if p.Layer == "" {
					continue
				}
				k := portFamily(n, p) + " " + p.Name
				if byName[k] == nil {
					byName[k] = map[string]int{}
				}
				byName[k][p.Layer]++
				if !here[p.Layer] {
					here[p.Layer] = true
					nodes[p.Layer]++
				}
			}
			if len(c.Data(n)) > 0 {
				owners++
			}
			if len(here) > 0 {
				speakers++
			}
		}
		if owners == 1 && c.Want.Data.Layer == "" {
			return skip("one node has nobody to agree with")
		}
		for _, pa := range ports {
			usual := layerMost(byName[portFamily(pa.Node, pa.Port)+" "+pa.Port.Name])
			out = append(out, judgeLayer(c, pa.Node, pa.Port, usual, speakers > 1 && layerAlone(c, pa.Node, nodes)))
		}
		if len(out) == 0 {
			return skip("no RDMA port is in use")
		}
		return out
	},
}

// layerMost returns what more than half have; "" when no value has that.
func layerMost(count map[string]int) string {
	total := 0
	for _, n := range count {
		total += n
	}
	for word, n := range count {
		if n*2 > total {
			return word
		}
	}
	return ""
}

func judgeLayer(c *Case, n *fact.Node, p *fact.Port, usual string, alone bool) Finding {
	f := Finding{Subject: on(n, p), Got: p.Layer}
	wish := linkLayers[c.Want.Data.Layer]
	switch {
	case p.Layer == "":
		f.Status, f.Why = Unknown, "the link layer of the port was not read"
		return f
	case wish != "" && p.Layer != wish:
		f.Want, f.Why = wish, "weft.yaml wants "+c.Want.Data.Layer+", and a port of the other layer reaches nobody there"
	case wish == "" && usual != "" && usual != p.Layer:
		f.Want, f.Why = usual, "the same port of the same card speaks "+usual+" on most nodes, and the two layers cannot talk to each other"
	case wish == "" && alone:
		f.Want, f.Why = otherLayer(p.Layer), "no other node speaks "+p.Layer+", so no other node can be reached"
	default:
		return f
	}
	f.Status, f.Fix = Fail, layerFix(n, p, f.Want)
	return f
}

// linkLayers are the kernel's words for those of weft.yaml.
var linkLayers = map[string]string{"roce": "Ethernet", "iwarp": "Ethernet", "infiniband": "InfiniBand"}

// layerOff reports whether a port speaks another layer than weft.yaml wants.
func (c *Case) layerOff(p *fact.Port) bool {
	wish := linkLayers[c.Want.Data.Layer]
	return wish != "" && p.Layer != "" && p.Layer != wish
}

// layerAlone reports whether no data port of a node has a layer that another node has.
func layerAlone(c *Case, n *fact.Node, nodes map[string]int) bool {
	return !slices.ContainsFunc(c.Data(n), func(p *fact.Port) bool { return nodes[p.Layer] > 1 })
}

func otherLayer(layer string) string {
	if layer == "Ethernet" {
		return "InfiniBand"
	}
	return "Ethernet"
}

// layerFix flips a dual-mode ConnectX: LINK_TYPE 1 is InfiniBand, 2 is Ethernet.
func layerFix(n *fact.Node, p *fact.Port, want string) []string {
	if p.Driver != "mlx5" && p.Driver != "mlx4" || p.BDF == "" {
		return []string{"use a card that speaks " + want + ": this one cannot change"}
	}
	link := 2
	if want == "InfiniBand" {
		link = 1
	}
	num := p.Num
	if p.Driver == "mlx5" && len(p.BDF) > 0 { // one function for each port, numbered from 0
		num = int(p.BDF[len(p.BDF)-1]-'0') + 1
	}
	return []string{install(n, "mstflint", "mstflint"),
		fmt.Sprintf("sudo mstconfig -d %s set LINK_TYPE_P%d=%d", p.BDF, num, link), "sudo reboot"}
}
