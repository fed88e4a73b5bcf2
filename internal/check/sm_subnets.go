package check

import (
	"weft/internal/fact"
	"weft/internal/topo"
)

// smSubnets is how many masters are right: one for each subnet. Fabrics that no
// link joins are subnets of their own although they share a prefix, and so is
// every direct cable.
func smSubnets(c *Case, active []topo.PortAt) int {
	subnets := len(topo.Rails(active))
	if c.Want.Data.Switch == "none" {
		subnets = max(subnets, (len(active)+1)/2)
	}
	if c.Fabric != nil {
		subnets = max(subnets, fabricIslands(c.Fabric.Links))
	}
	return subnets
}

// IBSubnets is how many subnets the InfiniBand ports in use are in: each wants a master.
func (c *Case) IBSubnets() int {
	var ports []topo.PortAt
	for _, pa := range c.DataPorts() {
		if pa.Port.IB() && pa.Port.State != "DOWN" {
			ports = append(ports, pa)
		}
	}
	return smSubnets(c, ports)
}

// fabricIslands counts the parts of a fabric that no link joins.
func fabricIslands(links []fact.FabricLink) int {
	up := map[string]string{} // GUID → a GUID nearer to the island's root
	root := func(g string) string {
		for up[g] != "" {
			if next := up[up[g]]; next != "" {
				up[g] = next
			}
			g = up[g]
		}
		return g
	}
	guids := map[string]bool{}
	joined := 0
	for _, l := range links {
		guids[l.A.GUID], guids[l.B.GUID] = true, true
		if a, b := root(l.A.GUID), root(l.B.GUID); a != b {
			up[a] = b
			joined++
		}
	}
	return len(guids) - joined
}
