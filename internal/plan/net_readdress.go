package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/edit"
	"weft/internal/fact"
)

// readdress takes addresses from a netdev and gives it one, where it is valid.
func (d *draft) readdress(n *fact.Node, dev *fact.Netdev, wrong []netip.Prefix, w netip.Prefix) error {
	if w.IsValid() && !w.Addr().Is4() {
		return byHand("weft gives ports IPv4 addresses only, and weft.yaml says %v", w)
	}
	from := four(dev)
	var gone, to []string
	for _, a := range from {
		if p := prefix(strings.Fields(a)[0]); slices.Contains(wrong, p) {
			gone = append(gone, a)
		} else {
			to = append(to, a)
		}
	}
	switch {
	case len(gone) != len(wrong):
		return byHand("an address of %s has a peer, and weft changes none such", dev.Name)
	case !sure(gone) || len(gone) > 0 && !sure(to):
		return byHand("an address of %s came by DHCP: change it where it comes from", dev.Name)
	}
	node, err := d.now(n)
	if err != nil {
		return err
	}
	for _, r := range node.Settings.Routes {
		via, _ := netip.ParseAddr(r.Via)
		for _, a := range wrong {
			if r.Dev == dev.Name && (via.IsValid() && a.Contains(via) || r.Src == a.Addr().String() && !automatic(dev, r) && (r.Again == "" || !strings.Contains(r.Again, "proto kernel"))) {
				return byHand("the route to %s would go with %v", r.Dst, a.Addr())
			}
		}
	}
	s := Step{What: "net/" + dev.Name + "/addr", From: addrWords(node, dev.Name, from), Shows: showAddrs(dev.Name)}
	if w.IsValid() {
		to = append(to, usual(w))
	}
	s.To = addrWords(node, dev.Name, to)
	s.Do = slices.Concat(without(dev.Name, gone), with(dev.Name, to))
	if w.IsValid() {
		s.Undo = without(dev.Name, to[len(to)-1:])
	}
	switch {
	case len(from) > 1 && sure(from):
		s.Undo = append(s.Undo, inOrder(dev.Name, from))
	case len(gone) > 0:
		s.Undo = append(s.Undo, with(dev.Name, from)...)
	default:
		s.Undo = s.Undo[:1] // nothing comes that could want the GID
	}
	if len(gone) > 0 {
		last, err := lastRoutes(node, dev, wrong)
		if err != nil {
			return err
		}
		s.Undo = append(s.Undo, last...)
	}
	static, err := d.static(n, dev, to)
	if err != nil {
		return err
	}
	if err := d.keep(n, dev, edit.Netdev{Addrs: &static}, s); err != nil {
		return err
	}
	for _, f := range d.steps[len(d.steps)-1].Files {
		for _, a := range lost(f) {
			if !slices.Contains(wrong, a) {
				return byHand("%s gives %v to %s, which does not have it: what it should say is yours to say", f.Path, a, dev.Name)
			}
		}
	}
	return nil
}

// lastRoutes are the last lines of an undo: the routes that went with addresses, but for
// those that the kernel makes itself. Of two that lead to one subnet the first counts,
// and the one that comes back would be the last.
func lastRoutes(n *fact.Node, dev *fact.Netdev, wrong []netip.Prefix) (lines []string, err error) {
	for i, r := range n.Settings.Routes {
		equal := 0
		for _, o := range n.Settings.Routes[i+1:] {
			if r.Dst == o.Dst && r.Metric == o.Metric && o.Dev != r.Dev {
				equal++
			}
		}
		auto := automatic(dev, r)
		switch {
		case r.Dev != dev.Name || r.Again == "" || strings.Contains(r.Dst, ":"):
		case auto && equal > 1:
			return nil, byHand("%d routes lead to %s, and their order cannot be kept", equal+1, r.Dst)
		case auto && equal == 1 && slices.Contains(wrong, prefix(fmt.Sprintf("%s/%d", r.Src, prefix(r.Dst).Bits()))):
			lines = append(lines, "ip route del "+words(r.Again)+" 2>/dev/null; ip route prepend "+words(r.Again))
		case !auto:
			lines = append(lines, addRoute(r))
		}
	}
	return lines, nil
}

// lost returns the addresses that a file had and has no longer.
func lost(f File) (out []netip.Prefix) {
	if f.Old == nil || f.New == nil {
		return nil
	}
	here := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF.:/", r) })
	}
	for _, s := range here(*f.Old) {
		if p := prefix(s); p.IsValid() && p != p.Masked() && !slices.Contains(here(*f.New), s) {
			out = append(out, p)
		}
	}
	return out
}

// without are lines that take addresses from a netdev. A GID is free for the next
// address a moment after its own is gone: the kernel's del_gid leaves the rest to a
// queue. Whoever waits keeps the indices.
func without(netdev string, gone []string) (lines []string) {
	for _, a := range gone {
		lines = append(lines, sh("ip addr del "+esc(words(bare(a)))+" dev %s 2>/dev/null || true", netdev))
	}
	if len(gone) > 0 {
		lines = append(lines, "sleep 0.5")
	}
	return lines
}

// with are lines that give a netdev addresses that it may have.
func with(netdev string, addrs []string) (lines []string) {
	for _, a := range addrs {
		if sure([]string{a}) {
			lines = append(lines, sh("ip addr replace "+esc(words(a))+" dev %s", netdev))
		}
	}
	return lines
}

// showAddrs prints the addresses and routes of a netdev.
func showAddrs(netdev string) string {
	return sh("ip -4 addr show dev %s | grep -w inet; ip -4 route show dev %[1]s", netdev)
}

// static returns the addresses that a netdev should have from the next boot on: of those
// that are to be there the ones that its file has, and those that are new; and its IPv6
// ones. Others came by DHCP, or by hand until the next boot.
func (d *draft) static(n *fact.Node, dev *fact.Netdev, to []string) (out []string, err error) {
	text := ""
	if dev.Config != "" {
		if text, _, err = d.read(n, dev.Config); err != nil {
			return nil, byHand("%v", err)
		}
	}
	before := four(dev)
	for _, a := range to {
		p := prefix(strings.Fields(a)[0])
		if p.IsValid() && !p.Addr().IsLinkLocalUnicast() && (!slices.Contains(before, a) || strings.Contains(text, p.String())) {
			out = append(out, p.String())
		}
	}
	for _, a := range dev.Addrs {
		if p := prefix(a); p.Addr().Is6() && !p.Addr().IsLinkLocalUnicast() && strings.Contains(text, a) {
			out = append(out, a)
		}
	}
	return out, nil
}
