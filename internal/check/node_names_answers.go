package check

import (
	"net/netip"
	"slices"
	"strings"

	"weft/internal/fact"
)

// namesOwned returns every address of every node that answered.
func namesOwned(c *Case) map[string]map[string]bool {
	owned := map[string]map[string]bool{}
	for _, n := range c.Up() {
		owned[n.Name] = map[string]bool{}
		for _, d := range n.Netdevs {
			for _, a := range d.Addrs {
				if prefix, err := netip.ParsePrefix(a); err == nil {
					owned[n.Name][prefix.Addr().String()] = true
				}
			}
		}
	}
	return owned
}

// namesUsual returns, for every name that some node could resolve, the answer that
// most nodes give.
func namesUsual(c *Case) map[string]string {
	answers := map[string][]string{}
	for _, n := range c.Up() {
		for _, p := range n.Peers {
			if len(p.Resolves) > 0 {
				answers[p.Node] = append(answers[p.Node], namesAnswer(p))
			}
		}
	}
	usual := map[string]string{}
	for name, all := range answers {
		usual[name], _ = Usual(all, func(a string) string { return a })
	}
	return usual
}

// namesAnswer is what a name resolves to, whatever the order.
func namesAnswer(p fact.Peer) string {
	return strings.Join(slices.Sorted(slices.Values(p.Resolves)), " ")
}

// namesData returns the data-plane addresses of each peer: one for every data port
// that it was asked about on.
func namesData(n *fact.Node) map[string][]string {
	data := map[string][]string{}
	for _, p := range n.Peers {
		if p.Addr != "" {
			data[p.Node] = append(data[p.Node], p.Addr)
		}
	}
	return data
}
