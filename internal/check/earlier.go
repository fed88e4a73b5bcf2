package check

import "weft/internal/fact"

// earlierPort returns the same port in the earlier look at its node, or nil. A
// device is the same when it sits at the same place, whatever its name is now.
func (c *Case) earlierPort(n *fact.Node, p *fact.Port) *fact.Port {
	before := c.about(n).before
	if before == nil {
		return nil
	}
	for _, q := range before.Ports {
		if q.Num == p.Num && q.BDF == p.BDF && (p.BDF != "" || q.Name == p.Name) {
			return q
		}
	}
	return nil
}
