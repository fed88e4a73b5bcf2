package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

// cableEnd is one end of a cable: a port of the cluster, or something else by its name.
type cableEnd struct {
	topo.PortAt
	name  string // "n2:mlx5_0/1", "leaf1:7"
	stale bool   // it answered some time ago, and the cable may have moved since
}

// cableLook is everything that tells what is at the other end of a port.
type cableLook struct {
	nodes  map[string]*fact.Node // by name, by host name and by every MAC
	macs   map[string]cableEnd
	guids  map[guidPort]topo.PortAt
	beyond map[guidPort]fact.End // the other end of each fabric link
}

// guidPort is a port in the InfiniBand fabric.
type guidPort struct {
	guid string
	port int
}

func newCableLook(c *Case) cableLook {
	k := cableLook{map[string]*fact.Node{}, map[string]cableEnd{}, portsByGUID(c), map[guidPort]fact.End{}}
	for _, n := range c.Up() {
		k.nodes[shortName(n.Host.Hostname)] = n
		for _, d := range n.Netdevs {
			k.nodes[strings.ToLower(d.MAC)] = n
		}
		for _, p := range n.Ports {
			if d := n.Netdev(p.Netdev); d != nil && d.MAC != "" {
				k.macs[strings.ToLower(d.MAC)] = portEnd(topo.PortAt{Node: n, Port: p})
			}
		}
	}
	for _, n := range c.Up() {
		k.nodes[shortName(n.Name)] = n
	}
	if c.Fabric != nil {
		for _, l := range c.Fabric.Links {
			k.beyond[guidPort{guidDigits(l.A.GUID), l.A.Port}] = l.B
			k.beyond[guidPort{guidDigits(l.B.GUID), l.B.Port}] = l.A
		}
	}
	return k
}

func portEnd(pa topo.PortAt) cableEnd {
	return cableEnd{PortAt: pa, name: pa.Node.Name + ":" + pa.Port.Name}
}

// portsByGUID finds the InfiniBand ports of the cluster in what fabric tools say.
func portsByGUID(c *Case) map[guidPort]topo.PortAt {
	ports := map[guidPort]topo.PortAt{}
	for _, n := range c.Up() {
		for _, p := range n.Ports {
			for _, g := range guidsOf(p) {
				ports[g] = topo.PortAt{Node: n, Port: p}
			}
		}
	}
	return ports
}

// guidsOf returns a port's names in the fabric: ibnetdiscover says the node GUID,
// iblinkinfo the port GUID, which is the last half of the first GID.
func guidsOf(p *fact.Port) (names []guidPort) {
	if !p.IB() {
		return nil
	}
	if p.NodeGUID != "" {
		names = append(names, guidPort{guidDigits(p.NodeGUID), p.Num})
	}
	if len(p.GIDs) > 0 && len(p.GIDs[0].GID) == len("fe80:0000:0000:0000:0002:c903:00a1:b2c3") {
		names = append(names, guidPort{guidDigits(p.GIDs[0].GID[20:]), p.Num})
	}
	return names
}

// guidDigits makes "0x0002c90300a1b2c3" and "0002:c903:00a1:b2c3" the same.
func guidDigits(guid string) string {
	return strings.TrimLeft(strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(guid), "0x"), ":", ""), "0")
}

func shortName(host string) string {
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	return name
}

// find reads "spark1:mlx5_0/1"; a netdev's name will do for the port.
func (k cableLook) find(name string) cableEnd {
	host, part, _ := strings.Cut(name, ":")
	if n := k.nodes[shortName(host)]; n != nil {
		for _, p := range n.Ports {
			if p.Name == part || p.Netdev == part && part != "" {
				return portEnd(topo.PortAt{Node: n, Port: p})
			}
		}
	}
	return cableEnd{name: name}
}

// sees returns what a port says is at its other end: the fabric's links, LLDP, or
// the cards that answered on it just now.
func (k cableLook) sees(from cableEnd) (ends []cableEnd) {
	n, p := from.Node, from.Port
	for _, g := range guidsOf(p) {
		if e, ok := k.beyond[g]; ok {
			if pa, ok := k.guids[guidPort{guidDigits(e.GUID), e.Port}]; ok {
				return []cableEnd{portEnd(pa)}
			}
			return []cableEnd{{name: fmt.Sprintf("%s:%d", cmp.Or(e.Name, e.GUID), e.Port)}}
		}
	}
	if p.Netdev == "" {
		return nil
	}
	for _, l := range n.Settings.LLDP {
		if l.Netdev == p.Netdev {
			ends = append(ends, k.lldpEnd(l))
		}
	}
	if len(ends) > 0 {
		return ends
	}
	for _, nb := range n.Settings.Neighbours {
		if end, ok := k.macs[strings.ToLower(nb.MAC)]; ok && nb.Dev == p.Netdev && end.Node != n && slices.Contains([]string{"REACHABLE", "DELAY", "PROBE", "STALE"}, nb.State) {
			end.stale = nb.State == "STALE"
			ends = append(ends, end)
		}
	}
	return ends
}

// lldpEnd finds the port that a neighbour names: a port by its MAC or, on a node
// known by its name or any MAC, by its netdev.
func (k cableLook) lldpEnd(l fact.LLDP) cableEnd {
	if end, ok := k.macs[strings.ToLower(l.Port)]; ok {
		return end
	}
	end := cableEnd{name: l.Chassis + ":" + l.Port}
	if end.Node = k.nodes[shortName(l.Chassis)]; end.Node != nil {
		end.name = end.Node.Name + ":" + l.Port
		for _, p := range end.Node.Ports {
			if p.Netdev == l.Port {
				return portEnd(topo.PortAt{Node: end.Node, Port: p})
			}
		}
	}
	return end
}
