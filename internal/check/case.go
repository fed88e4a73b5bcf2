package check

import (
	"cmp"
	"slices"

	"weft/internal/fact"
	"weft/internal/spec"
	"weft/internal/topo"
)

// Up returns the nodes that answered.
func (c *Case) Up() []*fact.Node {
	var nodes []*fact.Node
	for _, n := range c.Nodes {
		if n.Down == "" {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Data returns the ports of a node that carry, or should carry, the data plane:
// those that weft.yaml names, else every RDMA port in use. A port is in use when
// it is not down, when its netdev has an address, or when the same port is up on
// most other nodes: a spare port that nobody ever plugged is not in use.
func (c *Case) Data(n *fact.Node) []*fact.Port {
	return c.about(n).data
}

// about returns what prepare made of a node.
func (c *Case) about(n *fact.Node) own {
	if c.own == nil { // outside Run nobody has asked yet
		c.prepare()
	}
	return c.own[n]
}

// DataPorts returns the data ports of all nodes, which belong to the case: read
// them, do not sort them.
func (c *Case) DataPorts() []topo.PortAt {
	if c.own == nil {
		c.prepare()
	}
	return slices.Clip(c.ports)
}

// prepare works out once what many checks ask for.
func (c *Case) prepare() {
	c.own = make(map[*fact.Node]own, len(c.Nodes))
	c.ports = nil
	up := map[string]int{} // port name → nodes where it is up
	for _, n := range c.Nodes {
		for _, p := range n.Ports {
			if p.Up() {
				up[p.Name]++
			}
		}
	}
	wants := make(map[string][]spec.DataPort, len(c.Want.Nodes))
	for _, n := range c.Want.Nodes {
		wants[n.Name] = n.Data
	}
	before := map[string]*fact.Node{}
	if c.Before != nil {
		for _, n := range c.Before.Nodes {
			before[n.Name] = n
		}
	}
	each(len(c.Nodes), func(i int) { c.Nodes[i].Index() })
	for _, n := range c.Nodes {
		o := own{wants: wants[n.Name], before: before[n.Name]}
		if o.before != nil && !rebooted(n, o.before, c.Since) {
			o.counted = o.before
		}
		for _, dp := range o.wants {
			if p := n.Port(dp.Port); p != nil {
				o.data = append(o.data, p)
			}
		}
		for _, p := range n.Ports {
			if len(o.wants) == 0 && (p.State != "DOWN" || addressed(n, p) || up[p.Name]*2 > len(c.Nodes)) {
				o.data = append(o.data, p)
			}
		}
		for _, p := range o.data {
			c.ports = append(c.ports, topo.PortAt{Node: n, Port: p})
		}
		o.cards, o.gpus = findCards(n, o.data), findGPUs(n)
		c.own[n] = o
	}
	usual := []func(){
		func() { c.numa = usualNUMA(c) }, // by far the most work, so it begins first
		func() { c.subnets = peerSubnets(c) },
		func() { c.gpuCounts = usualGPUs(c) },
		func() { c.master = smWorks(c) },
	}
	each(len(usual), func(i int) { usual[i]() })
}

// wish returns what weft.yaml says of a port; zero when it says nothing.
func (c *Case) wish(n *fact.Node, p *fact.Port) spec.DataPort {
	for _, dp := range c.about(n).wants {
		if dp.Port == p.Name {
			return dp
		}
	}
	return spec.DataPort{}
}

func addressed(n *fact.Node, p *fact.Port) bool {
	return len(topo.Subnets(n, p)) > 0
}

// Alike returns the nodes that answered in groups that should be equal: same
// product, architecture and GPU model. Groups and their nodes keep the order of
// the cluster.
func (c *Case) Alike() [][]*fact.Node {
	type kind struct{ product, arch, gpu string }
	at := map[kind]int{}
	var groups [][]*fact.Node
	for _, n := range c.Up() {
		k := kind{product: n.Host.Product, arch: n.Host.Arch}
		if len(n.GPUs) > 0 {
			k.gpu = n.GPUs[0].Name
		}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return groups
}

// Usual returns the value that most of a group has, and how many have it. A tie
// goes to the smaller value, so that the answer does not depend on the order.
func Usual[T any, K cmp.Ordered](group []T, key func(T) K) (usual K, count int) {
	n := map[K]int{}
	for _, x := range group {
		n[key(x)]++
	}
	keys := make([]K, 0, len(n))
	for k := range n {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if n[k] > count {
			usual, count = k, n[k]
		}
	}
	return usual, count
}

// on is the subject of a port.
func on(n *fact.Node, p *fact.Port) Subject { return Subject{n.Name, p.Name} }

// node is the subject of a node.
func node(n *fact.Node) Subject { return Subject{Node: n.Name} }

// skip is the one finding of a check that does not apply.
func skip(why string) []Finding { return []Finding{{Status: Skip, Why: why}} }

// install is the command that installs a package: deb on Debian and its family,
// rpm elsewhere.
func install(n *fact.Node, deb, rpm string) string {
	if n.Host.Debian() {
		return "sudo apt install " + deb
	}
	return "sudo dnf install " + rpm
}

// room is space for one finding a data port: in a cluster of ten thousand nodes,
// growing to it would cost more than judging.
func (c *Case) room() []Finding { return make([]Finding, 0, len(c.DataPorts())) }
