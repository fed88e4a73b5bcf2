// Package edit is what the packages below it are asked for; each writes one foreign
// configuration format. Pure: text in, text out.
package edit

import (
	"fmt"
	"net/netip"
	"strings"
)

// Netdev is how a network interface should be from the next boot on. What is zero is
// left as it is.
type Netdev struct {
	Name      string
	Kind      string    // "ethernet", "infiniband"
	MTU       int       // bytes
	Addrs     *[]string // exactly these static addresses: "10.20.0.1/24"
	Mode      string    // IPoIB: "datagram", "connected"
	NoDefault bool      // it brings no default route, neither a static one nor one by DHCP
	Routes    []Route   // static routes to add
}

// Route is a static route.
type Route struct{ To, Via string } // "10.30.0.0/24", "10.20.0.254"; To "default" is 0.0.0.0/0 or ::/0, as Via is

// Check tells whether every format can carry the wish, and whether it is one.
func (n Netdev) Check() error {
	if err := checkName(n.Name); err != nil {
		return err
	}
	switch n.Kind {
	case "", "ethernet", "infiniband":
	default:
		return fmt.Errorf("%s: kind %q is neither ethernet nor infiniband", n.Name, n.Kind)
	}
	// IPv4 needs 68 bytes (RFC 791); an IP packet has at most 65535.
	if n.MTU != 0 && (n.MTU < 68 || n.MTU > 65535) {
		return fmt.Errorf("%s: mtu %d is not between 68 and 65535", n.Name, n.MTU)
	}
	switch n.Mode {
	case "", "datagram", "connected":
	default:
		return fmt.Errorf("%s: IPoIB mode %q is neither datagram nor connected", n.Name, n.Mode)
	}
	if n.Mode != "" && n.Kind == "ethernet" {
		return fmt.Errorf("%s: an ethernet interface has no IPoIB mode", n.Name)
	}
	if _, err := n.Prefixes(); err != nil {
		return err
	}
	seen := map[netip.Prefix]bool{}
	for _, r := range n.Routes {
		to, _, err := r.Parse()
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		if seen[to] {
			return fmt.Errorf("%s: two routes to %s are asked for", n.Name, r.To)
		}
		seen[to] = true
		if n.NoDefault && to.Bits() == 0 {
			return fmt.Errorf("%s: no default route and a route to %s are both asked for", n.Name, r.To)
		}
	}
	return nil
}

// checkName refuses names that some format would need to escape, or would take for a
// pattern. The kernel's limit is IFNAMSIZ less the final NUL.
func checkName(name string) error {
	if name == "" || len(name) > 15 || name == "." || name == ".." || name[0] == '-' {
		return fmt.Errorf("%q is not the name of a network interface", name)
	}
	for _, c := range []byte(name) {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-", rune(c)) {
			return fmt.Errorf("the interface name %q holds %q, which not every configuration file can carry", name, c)
		}
	}
	return nil
}

// Prefixes returns the addresses that are wished for, none when they are left as they are.
func (n Netdev) Prefixes() (out []netip.Prefix, err error) {
	if n.Addrs == nil {
		return nil, nil
	}
	seen := map[netip.Prefix]bool{}
	for _, s := range *n.Addrs {
		p, err := netip.ParsePrefix(s)
		switch a := p.Addr(); {
		case err != nil:
			return nil, fmt.Errorf("%s: %q is not an address with its prefix length", n.Name, s)
		case a.Is4In6() || a.IsUnspecified() || a.IsMulticast() || p.Bits() == 0:
			return nil, fmt.Errorf("%s: %s cannot be an interface's address", n.Name, s)
		case seen[p]:
			return nil, fmt.Errorf("%s: %s is asked for twice", n.Name, s)
		}
		seen[p] = true
		out = append(out, p)
	}
	return out, nil
}

// Parse returns a route as numbers: "default" is of the family of its gateway.
func (r Route) Parse() (to netip.Prefix, via netip.Addr, err error) {
	via, err = netip.ParseAddr(r.Via)
	if err != nil || via.Is4In6() || via.Zone() != "" || via.IsUnspecified() || via.IsMulticast() {
		return to, via, fmt.Errorf("route to %q: %q cannot be a gateway", r.To, r.Via)
	}
	if r.To == "default" {
		return netip.PrefixFrom(zero(via), 0), via, nil
	}
	to, err = netip.ParsePrefix(r.To)
	if a, notAddr := netip.ParseAddr(r.To); notAddr == nil && a.Zone() == "" {
		to, err = netip.PrefixFrom(a, a.BitLen()), nil // one host, as ip route prints it
	}
	if err != nil || to.Addr().Is4In6() || to != to.Masked() {
		return to, via, fmt.Errorf("route to %q: not a network with its prefix length", r.To)
	}
	if to.Addr().Is4() != via.Is4() {
		return to, via, fmt.Errorf("route to %s: its gateway %s is of the other family", r.To, r.Via)
	}
	return to, via, nil
}

func zero(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// Align tells how the addresses that are there become those that are wanted with the
// fewest changes. For each that is there, becomes holds the same when it stays, another
// when that takes its place, and an invalid one when it goes; add is what is still
// missing. Only addresses of one family take each other's place, and only where may
// says so. An address there that is invalid is of no family.
func Align(there, want []netip.Prefix, may func(i int) bool) (becomes, add []netip.Prefix) {
	becomes = make([]netip.Prefix, len(there))
	stays := map[netip.Prefix]bool{}
	for i, p := range there {
		for _, w := range want {
			if p == w && !stays[w] {
				becomes[i], stays[w] = w, true
			}
		}
	}
	for _, w := range want {
		if stays[w] {
			continue
		}
		placed := false
		for i, p := range there {
			if !placed && !becomes[i].IsValid() && p.IsValid() && p.Addr().Is4() == w.Addr().Is4() && may(i) {
				becomes[i], placed = w, true
			}
		}
		if !placed {
			add = append(add, w)
		}
	}
	return becomes, add
}

// Hold changes a text by set, and wants a second set to find nothing to change: what was
// written is then what is read.
func Hold(text string, want Netdev, set func(text string, want Netdev) (string, error)) (string, error) {
	if err := want.Check(); err != nil {
		return "", err
	}
	out, err := set(text, want)
	if err != nil {
		return "", err
	}
	if again, err := set(out, want); err != nil || again != out {
		return "", fmt.Errorf("%s: the file does not hold what was written to it; change it by hand", want.Name)
	}
	return out, nil
}
