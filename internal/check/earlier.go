package check

import "weft/internal/fact"

// earlierNodes returns the nodes of the earlier look by name; empty when there
// was none. One map, because Node searches and clusters are large.
func earlierNodes(c *Case) map[string]*fact.Node {
	nodes := map[string]*fact.Node{}
	if c.Before != nil {
		for _, n := range c.Before.Nodes {
			nodes[n.Name] = n
		}
	}
	return nodes
}

// earlierPort returns the same port in an earlier look at its node, or nil. A
// device is the same when it sits at the same place, whatever its name is now.
func earlierPort(n *fact.Node, p *fact.Port) *fact.Port {
	if n == nil {
		return nil
	}
	for _, q := range n.Ports {
		if q.Num == p.Num && q.BDF == p.BDF && (p.BDF != "" || q.Name == p.Name) {
			return q
		}
	}
	return nil
}
