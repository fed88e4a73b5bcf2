package plan

import (
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
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
