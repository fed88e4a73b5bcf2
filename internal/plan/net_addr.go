package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit"
	"weft/internal/fact"
)

// mendGID gives a RoCE port an address, from which the kernel makes its GID.
func mendGID(d *draft, n *fact.Node, f check.Finding) error {
	p, dev, err := d.port(n, f)
	if err != nil {
		return err
	}
	if w, ok := d.wish(n, p); ok {
		return d.address(n, dev, w)
	}
	w, err := d.freeAddr(n, p)
	if err != nil {
		return err
	}
	if err := d.address(n, dev, w); err != nil {
		return err
	}
	s := d.steps[len(d.steps)-1]
	s.Note = strings.TrimSuffix("no node has "+w.Addr().String()+" yet; if something else has it, write another address into weft.yaml; "+s.Note, "; ")
	return nil
}

// mendTwins addresses the other PCIe function of a port, where weft.yaml says how.
func mendTwins(d *draft, n *fact.Node, f check.Finding) error {
	p, dev, err := d.port(n, f)
	if err != nil {
		return err
	}
	w, ok := d.wish(n, p)
	switch {
	case !p.Up():
		return mendUp(d, n, f)
	case len(dev.Prefixes()) > 0:
		return byHand("")
	case !ok:
		return byHand("weft.yaml gives %s no address: add it there", p.Name)
	}
	return d.address(n, dev, w)
}

// address gives a netdev one more address.
func (d *draft) address(n *fact.Node, dev *fact.Netdev, w netip.Prefix) error {
	for _, other := range n.Netdevs {
		for _, a := range other.Prefixes() {
			switch {
			case other != dev && a.Overlaps(w) && (other.Kind == "" || other.Kind == "bond"):
				return byHand("%s would be in the subnet of %s on %s", dev.Name, a, other.Name)
			case other == dev && a.Addr() == w.Addr():
				return byHand("%s has %s already, and the kernel made no GID of it", dev.Name, a)
			}
		}
	}
	return d.readdress(n, dev, nil, w)
}

// freeAddr returns an address for a port that weft.yaml gives none: the first of the subnet
// that the same port has on all other nodes which is nobody's. Nodes that did not answer
// may have any address.
func (d *draft) freeAddr(n *fact.Node, p *fact.Port) (netip.Prefix, error) {
	var subnet netip.Prefix
	taken := map[netip.Addr]bool{}
	for _, other := range d.Nodes {
		if other.Down != "" {
			return subnet, byHand("weft.yaml gives %s no address, and %s, which did not answer, may have any", p.Name, other.Name)
		}
		for _, e := range other.Netdevs {
			for _, a := range e.Prefixes() {
				taken[a.Addr()] = true
			}
		}
		for _, nb := range other.Settings.Neighbours {
			a, _ := netip.ParseAddr(nb.Addr)
			taken[a] = true
		}
		for _, r := range other.Settings.Routes {
			a, _ := netip.ParseAddr(r.Via)
			taken[a] = true
		}
		same := other.Port(p.Name)
		if same == nil || !same.RoCE() || other.Netdev(same.Netdev) == nil {
			continue
		}
		for _, a := range other.Netdev(same.Netdev).Prefixes() {
			switch {
			case !a.Addr().Is4():
			case subnet.IsValid() && subnet != a.Masked():
				return subnet, byHand("weft.yaml gives %s no address, and other nodes have it in %v and %v", p.Name, subnet, a.Masked())
			default:
				subnet = a.Masked()
			}
		}
	}
	for _, s := range d.steps {
		if strings.HasPrefix(s.What, "net/") && strings.HasSuffix(s.What, "/addr") {
			for _, word := range strings.Fields(strings.ReplaceAll(s.To, ",", " ")) {
				taken[prefix(word).Addr()] = true
			}
		}
	}
	for _, want := range d.Want.Nodes {
		for _, dp := range want.Data {
			taken[prefix(dp.Address).Addr()] = true
		}
	}
	if !subnet.IsValid() {
		return subnet, byHand("weft.yaml gives %s no address, and no other node has one on it", p.Name)
	}
	for a := subnet.Addr().Next(); subnet.Contains(a.Next()); a = a.Next() { // the first and the last are the subnet's own
		if !taken[a] {
			return netip.PrefixFrom(a, subnet.Bits()), nil
		}
	}
	return subnet, byHand("every address of %v is taken", subnet)
}

// mendSubnets gives ports the addresses that weft.yaml says: the port of the finding,
// and others of the node that are in its way.
func mendSubnets(d *draft, n *fact.Node, f check.Finding) error {
	p, dev, err := d.port(n, f)
	if err != nil {
		return err
	}
	moved := false
	for _, q := range d.Data(n) {
		other := n.Netdev(q.Netdev)
		if w, ok := d.wish(n, q); ok && other != nil && (q == p || overlap(dev, other)) {
			changed, err := d.asWished(n, other, w)
			if err != nil {
				return err
			}
			moved = moved || changed
		}
	}
	if _, ok := d.wish(n, p); !ok && !moved {
		return byHand("weft.yaml gives %s no address: add it there", p.Name)
	}
	node, err := d.now(n)
	if err != nil {
		return err
	}
	for _, other := range node.Netdevs {
		if other.Name != dev.Name && (other.Kind == "" || other.Kind == "bond") && overlap(node.Netdev(dev.Name), other) {
			return byHand("with the addresses of weft.yaml %s and %s would still share a subnet", dev.Name, other.Name)
		}
	}
	if !moved {
		return byHand("%s has the address of weft.yaml: the other node is wrong", dev.Name)
	}
	return nil
}

// overlap reports whether two netdevs have addresses in one subnet.
func overlap(a, b *fact.Netdev) bool {
	for _, x := range a.Prefixes() {
		if a != b && slices.ContainsFunc(b.Prefixes(), x.Overlaps) {
			return true
		}
	}
	return false
}

// asWished gives a netdev the address that weft.yaml says, in place of one that is
// wrong: the same with another length, one in another netdev's subnet, one that another
// node has, or the only one that there is.
func (d *draft) asWished(n *fact.Node, dev *fact.Netdev, w netip.Prefix) (changed bool, err error) {
	if err := d.own(n, dev); err != nil {
		return false, err
	}
	var mine, wrong []netip.Prefix
	for _, a := range dev.Prefixes() {
		if !a.Addr().Is4() || a.Addr().IsLinkLocalUnicast() {
			continue
		}
		mine = append(mine, a)
		if a != w && (a.Addr() == w.Addr() || d.elsewhere(n, dev, a)) {
			wrong = append(wrong, a)
		}
	}
	has := slices.Contains(mine, w)
	switch {
	case has && len(wrong) == 0:
		return false, nil
	case !has && len(wrong) == 0 && len(mine) > 1:
		return false, byHand("%s has several addresses, and not %v: which of them goes is yours to say", dev.Name, w)
	case !has && len(wrong) == 0:
		wrong = mine
	}
	if has {
		w = netip.Prefix{}
	}
	return true, d.readdress(n, dev, wrong, w)
}

// elsewhere reports whether an address of a netdev is in the subnet of another one, or
// on another node.
func (d *draft) elsewhere(n *fact.Node, dev *fact.Netdev, a netip.Prefix) bool {
	for _, other := range d.Up() {
		for _, e := range other.Netdevs {
			if e == dev || e.Kind != "" && e.Kind != "bond" {
				continue
			}
			for _, b := range e.Prefixes() {
				if other == n && a.Overlaps(b) || other != n && a.Addr() == b.Addr() {
					return true
				}
			}
		}
	}
	return false
}

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
