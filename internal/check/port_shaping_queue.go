package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/unit"
)

// shapesNothing are the kinds that only put packets in order and have no other
// queue below them, where one could hide.
var shapesNothing = []string{"noqueue", "pfifo_fast", "pfifo", "bfifo", "fq_codel", "fq", "fq_pie", "codel", "pie", "sfq", "noop"}

// shapes says what a queue does that it should not, "" for nothing. It is not sure
// where a kind is made for that and what it does was not read: the limits of htb,
// hfsc and cbq are in their classes, which tc 6.1 writes as text even with -j.
func shapes(q fact.Qdisc, port fact.Val[unit.Rate], read bool) (got string, sure bool) {
	does := q.Does
	limit, limited := q.Rate.Get()
	if full, known := port.Get(); limited && (!known || limit < full) {
		does = append(slices.Clip(does), "rate "+limit.String())
	}
	switch {
	case len(does) > 0:
		return q.Kind + " " + strings.Join(does, ", "), true
	case slices.Contains([]string{"htb", "hfsc", "cbq"}, q.Kind), q.Kind == "tbf" && !limited, q.Kind == "netem" && !read:
		return q.Kind, false
	}
	return "", true
}

// shapingPath returns the netdevs that a packet goes through: the port's own, and
// those of the bond that it is or is in.
func shapingPath(n *fact.Node, d *fact.Netdev) []*fact.Netdev {
	path := []*fact.Netdev{d}
	if m := n.Netdev(d.Master); m != nil && m.Kind == "bond" {
		path = append(path, m)
	}
	if d.Kind == "bond" {
		for _, e := range n.Netdevs {
			if e.Master == d.Name {
				path = append(path, e)
			}
		}
	}
	return path
}
