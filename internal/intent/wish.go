package intent

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Given is what the owner wishes, as words: the flags of weft init.
type Given struct {
	Purpose, Layer, MTU, IPoIB, Switch string
	Subnets, Ports                     []string
}

// Any reports whether anything is wished.
func (g Given) Any() bool {
	return len(g.Subnets)+len(g.Ports) > 0 || g.Purpose+g.Layer+g.MTU+g.IPoIB+g.Switch != ""
}

// Wish is what a cluster should be beyond what it is. The zero value wishes nothing.
type Wish struct {
	Purpose string         // "training", "inference", "both"
	Layer   string         // "roce", "infiniband"
	MTU     int            // of the data interfaces
	IPoIB   string         // "datagram", "connected"
	Switch  string         // "none", "plain", "lossless"
	Subnets []netip.Prefix // one a rail: the first data port of every node is in the first
	Ports   []NodePort     // the data ports of every node, in order
}

// NodePort is a port by its name, on one node or, where Node is "", on every node
// that has one of that name.
type NodePort struct{ Node, Port string }

// Error is a wish that cannot be had: what and why. Flag and Try are a flag of weft
// init and a value with which it can; Node is one to look at first.
type Error struct {
	What, Flag, Try, Node string
}

func (e *Error) Error() string { return e.What }

func wrong(flag, try, format string, args ...any) error {
	return &Error{What: fmt.Sprintf(format, args...), Flag: flag, Try: try}
}

// Parse reads the words of a wish. What depends on the nodes is left to Draft.
func Parse(g Given) (Wish, error) {
	w := Wish{Purpose: g.Purpose, Layer: g.Layer, IPoIB: g.IPoIB, Switch: g.Switch}
	for _, x := range []struct {
		flag, got string
		want      []string
	}{
		{"purpose", g.Purpose, []string{"training", "inference", "both"}},
		{"layer", g.Layer, []string{"roce", "infiniband"}},
		{"ipoib", g.IPoIB, []string{"datagram", "connected"}},
		{"switch", g.Switch, []string{"none", "plain", "lossless"}},
	} {
		if x.got != "" && !slices.Contains(x.want, x.got) {
			return w, wrong("", "", "--%s %q is not one of %s", x.flag, x.got, strings.Join(x.want, ", "))
		}
	}
	if w.IPoIB != "" && w.Layer == "roce" {
		return w, wrong("", "", "--ipoib %s does not go with --layer roce: IPoIB is how InfiniBand carries IP", w.IPoIB)
	}
	if g.MTU != "" {
		mtu, err := strconv.Atoi(g.MTU)
		if err != nil || mtu < 576 || mtu > 65520 {
			return w, wrong("", "", "--mtu %q is not an MTU: want 576 to 65520 bytes; RoCE wants 9000", g.MTU)
		}
		w.MTU = mtu
	}
	for _, word := range g.Ports {
		p, err := parsePort(word)
		if err == nil && slices.Contains(w.Ports, p) {
			err = wrong("", "", "--port %s is there twice", word)
		}
		if err != nil {
			return w, err
		}
		w.Ports = append(w.Ports, p)
	}
	var err error
	w.Subnets, err = parseSubnets(g.Subnets)
	return w, err
}

var portWords = regexp.MustCompile(`^(?:([A-Za-z0-9_.-]+):)?([A-Za-z0-9_.-]+/[1-9][0-9]{0,2})$`)

func parsePort(word string) (NodePort, error) {
	m := portWords.FindStringSubmatch(word)
	if m == nil {
		return NodePort{}, wrong("", "", "--port %q is not an RDMA port like mlx5_0/1, or of one node like spark1:rocep1s0f0/1", word)
	}
	return NodePort{m[1], m[2]}, nil
}

// smallest and largest are the prefix lengths that a subnet may have: two nodes, the
// network and the broadcast address need a /30.
const smallest, largest = 30, 8

func parseSubnets(words []string) (nets []netip.Prefix, err error) {
	// instead is the whole flag with another subnet in place of the i-th.
	instead := func(i int, p netip.Prefix) string {
		list := slices.Clone(words)
		list[i] = p.String()
		return strings.Join(list, ",")
	}
	for i, word := range words {
		p, err := netip.ParsePrefix(word)
		if err != nil {
			if a, err := netip.ParseAddr(word); err == nil && a.Is4() {
				p, _ = a.Prefix(24)
				return nil, wrong("subnet", instead(i, p), "--subnet %s has no prefix length: how many addresses are in it?", word)
			}
			return nil, wrong("", "", "--subnet %q is not a subnet like 192.168.200.0/24", word)
		}
		switch {
		case !p.Addr().Is4():
			return nil, wrong("", "", "--subnet %s is not IPv4: NCCL looks for IPv4 addresses unless every node is told otherwise (weft explain roce.gid)", word)
		case p.Bits() < largest:
			return nil, wrong("", "", "--subnet %s is too large: want /8 to /30, and /24 is usual", word)
		case p.Bits() > smallest:
			p = netip.PrefixFrom(p.Addr(), smallest).Masked()
			return nil, wrong("subnet", instead(i, p), "--subnet %s is too small: two nodes need a /30, and 254 fit into a /24", word)
		case p.Masked() != p:
			return nil, wrong("subnet", instead(i, p.Masked()), "--subnet %s is an address: the nodes get theirs by their order, so give the subnet alone", word)
		case !usable(p):
			return nil, wrong("", "", "--subnet %s is not for hosts: this range is loopback, link-local, multicast or reserved", word)
		}
		for _, earlier := range nets {
			if p.Overlaps(earlier) {
				return nil, wrong("subnet", instead(i, free(p, nets)), "--subnet %v overlaps %v: each data port of a node needs a subnet of its own, or one carries everything", p, earlier)
			}
		}
		nets = append(nets, p)
	}
	return nets, nil
}
