package plan

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/fact"
)

// now returns a node as the steps so far, and these, leave it.
func (d *draft) now(n *fact.Node, more ...Step) (*fact.Node, error) {
	steps := more
	for _, s := range slices.Backward(d.of[n.Name]) {
		if strings.HasPrefix(s.What, "net/") {
			steps = append([]Step{*s}, steps...)
		}
	}
	if len(steps) == 0 {
		return n, nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	node := &fact.Node{}
	if err := json.Unmarshal(b, node); err != nil {
		return nil, err
	}
	node.Index()
	for _, s := range steps {
		if err := Set(node, s.What, s.To); err != nil {
			return nil, err
		}
	}
	return node, nil
}

// prefix reads an address with its length; invalid when it is none.
func prefix(s string) netip.Prefix {
	p, _ := netip.ParsePrefix(s)
	return p
}

// usual is what ip addr add is told for an address that has nothing odd about it.
func usual(p netip.Prefix) string {
	if !p.Addr().Is4() || p.Bits() >= 31 { // a subnet of two has no broadcast (RFC 3021)
		return p.String() + " scope global"
	}
	a := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		a[i/8] |= 1 << (7 - i%8)
	}
	return fmt.Sprintf("%s brd %s scope global", p, netip.AddrFrom4(a))
}

// words quotes each word of a line that ip or tc is told.
func words(line string) string {
	f := strings.Fields(line)
	for i := range f {
		f[i] = quote(f[i])
	}
	return strings.Join(f, " ")
}

// four returns the IPv4 addresses of a netdev, each as ip addr add is told; "?" after
// one that nobody can make again.
func four(dev *fact.Netdev) (out []string) {
	for i, a := range dev.Addrs {
		if !prefix(a).Addr().Is4() {
			continue
		}
		if i < len(dev.Again) && dev.Again[i] != "" {
			a = dev.Again[i]
		} else {
			a += " ?"
		}
		out = append(out, a)
	}
	return out
}

// sure reports whether every address can be made again.
func sure(addrs []string) bool {
	return !slices.ContainsFunc(addrs, func(a string) bool { return strings.HasSuffix(a, "?") })
}

// remake are lines that give a netdev the MTU, the addresses and the routes it has, where
// they are not there: those that a manager took away with what it gave itself. What came
// by DHCP or from a router comes again by itself.
func remake(n *fact.Node, netdev string) (lines []string) {
	dev := n.Netdev(netdev)
	if mtu, ok := dev.MTU.Get(); ok {
		lines = append(lines, sh("ip link set dev %s mtu %d", netdev, mtu))
	}
	if v4 := four(dev); len(v4) > 1 && sure(v4) {
		lines = append(lines, inOrder(netdev, v4))
	} else {
		lines = append(lines, with(netdev, v4)...)
	}
	for i, a := range dev.Addrs {
		if p := prefix(a).Addr(); p.Is6() && !p.IsLinkLocalUnicast() && i < len(dev.Again) && dev.Again[i] != "" {
			lines = append(lines, sh("ip addr replace "+esc(words(dev.Again[i]))+" dev %s", netdev))
		}
	}
	for _, r := range n.Settings.Routes {
		if r.Dev == netdev && r.Again != "" && !automatic(dev, r) && !prefix(r.Dst).Addr().IsLinkLocalUnicast() {
			lines = append(lines, addRoute(r))
		}
	}
	return lines
}

// esc keeps a % of a name from being read as a verb.
func esc(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// inOrder gives a netdev exactly these IPv4 addresses in this order: the first of a
// subnet is the one that packets leave from, and without promote_secondaries the others
// go with it.
func inOrder(netdev string, addrs []string) string {
	var list, add []string
	for _, a := range addrs {
		list = append(list, strings.Fields(a)[0])
		add = append(add, sh("ip addr add "+esc(words(a))+" dev %s", netdev))
	}
	return sh("[ \"$(ip -4 -o addr show dev %s | awk '{print $4}' | xargs)\" = %s ]", netdev, strings.Join(list, " ")) +
		" || { " + strings.Join(without(netdev, addrs), "; ") + "; " + strings.Join(add, " && ") + "; }"
}

// bare is the part of what ip addr add is told that says which address it is.
func bare(again string) string {
	f := strings.Fields(again)
	if len(f) > 2 && f[1] == "peer" {
		return strings.Join(f[:3], " ")
	}
	return f[0]
}

// automatic reports whether the kernel makes a route by itself with its address.
func automatic(dev *fact.Netdev, r fact.Route) bool {
	for i, a := range dev.Addrs {
		p := prefix(a)
		if i < len(dev.Again) && strings.Contains(dev.Again[i], "noprefixroute") || !p.IsValid() {
			continue
		}
		if r.Again == kernelRoute(p, dev.Name).Again || p.Addr().Is6() && r.Dst == p.Masked().String() && r.Via == "" {
			return true
		}
	}
	return false
}

// kernelRoute is the route that the kernel makes for an IPv4 address.
func kernelRoute(p netip.Prefix, netdev string) fact.Route {
	dst := p.Masked().String()
	return fact.Route{Dst: dst, Dev: netdev, Src: p.Addr().String(), Again: fmt.Sprintf("%s dev %s proto kernel scope link src %s", dst, netdev, p.Addr())}
}

// addRoute makes a route where it is not there. To append one that is there is an error,
// and beside one to the same place it does no harm: replace would put it in its stead.
func addRoute(r fact.Route) string {
	six := ""
	if strings.Contains(r.Dst+r.Via, ":") {
		six = "-6 "
	}
	return sh("ip "+six+"route append "+esc(words(r.Again))+" 2>/dev/null; ip "+six+"route show %s dev %s | grep -q .", r.Dst, r.Dev)
}
