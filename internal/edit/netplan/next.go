package netplan

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/edit"
)

// next returns the next change towards the wish, none when it is fulfilled.
func (d *doc) next(want edit.Netdev) ([]splice, error) {
	b, err := d.find(want.Name)
	if err != nil {
		return nil, err
	}
	if b == nil {
		if !asks(want) {
			return nil, nil
		}
		return d.define(want.Name)
	}
	if want.Mode != "" && b.kind != "ethernets" {
		return nil, fmt.Errorf("line %d: %s is one of the %s, which have no IPoIB mode", b.item.line+1, want.Name, b.kind)
	}
	w := wish{d, b.item, want}
	if ours := d.renderer(b) == "NetworkManager"; want.Mode == "connected" && b.item.value.str("infiniband-mode") != want.Mode && !ours {
		return nil, fmt.Errorf("line %d: systemd-networkd ignores the IPoIB mode that netplan writes for it; with renderer: NetworkManager in this file it would hold", b.item.line+1)
	}
	for _, do := range []func() ([]splice, error){w.mtu, w.mode, w.addrs, w.routes, w.noDefault} {
		if changes, err := do(); err != nil || len(changes) > 0 {
			return changes, err
		}
	}
	return nil, nil
}

// renderer is who takes a definition, as far as this text says.
func (d *doc) renderer(b *block) string {
	for _, n := range []*node{b.item.value, d.root.at("network").at(b.kind), d.root.at("network")} {
		if r := n.str("renderer"); r != "" {
			return r
		}
	}
	return ""
}

// define adds an empty definition.
func (d *doc) define(name string) ([]splice, error) {
	net := d.root.get("network")
	if net == nil {
		return nil, fmt.Errorf("line %d: no network: in the file", d.root.line+1)
	}
	if kind := net.value.get("ethernets"); kind != nil {
		return d.addKey(kind, quoted(name), part{})
	}
	return d.addKey(net, "ethernets", part{})
}

// wish is what is asked of one definition.
type wish struct {
	*doc
	of   *item
	want edit.Netdev
}

func (w wish) mtu() ([]splice, error) {
	if w.want.MTU == 0 {
		return nil, nil
	}
	return w.setWord(w.of, "mtu", strconv.Itoa(w.want.MTU))
}

func (w wish) mode() ([]splice, error) {
	if w.want.Mode == "" {
		return nil, nil
	}
	return w.setWord(w.of, "infiniband-mode", w.want.Mode)
}

// setWord gives a key of a table a word for its value.
func (d *doc) setWord(of *item, key, word string) ([]splice, error) {
	it := of.value.get(key)
	switch {
	case it == nil:
		return d.addKey(of, key, part{word: word})
	case it.value.kind == scalar && it.value.value == word:
		return nil, nil
	case it.value.kind == null && it.value.to == 0:
		return []splice{{it.colon, it.colon, " " + word}}, nil
	case it.value.kind == scalar || it.value.kind == null:
		return d.replace(it.value, word)
	}
	return nil, fmt.Errorf("line %d: %s is not one word", it.line+1, key)
}

// word is an address or network as netplan takes it. Colons are quoted: some readers
// take them for a key's, in brackets.
func word(s string) string {
	if strings.Contains(s, ":") {
		return `"` + s + `"`
	}
	return s
}

// list returns the list of a key, and nil when there is none.
func (w wish) list(key string) (*item, error) {
	it := w.of.value.get(key)
	if it != nil && it.value.kind != list {
		return nil, fmt.Errorf("line %d: %s is not a list", it.line+1, key)
	}
	return it, nil
}

func (w wish) addrs() ([]splice, error) {
	if w.want.Addrs == nil {
		return nil, nil
	}
	wanted, _ := w.want.Prefixes() // checked
	it, err := w.list("addresses")
	switch {
	case err != nil || it == nil && len(wanted) == 0:
		return nil, err
	case it == nil:
		return w.addKey(w.of, "addresses", words(wanted))
	}
	var there []netip.Prefix
	var places []*node
	for _, a := range it.value.items {
		// With options, the address is the key of a table.
		n := a.value
		if n.kind == table && len(n.items) == 1 {
			n = n.items[0].key
		}
		p, err := netip.ParsePrefix(n.value)
		if n.kind != scalar || err != nil {
			return nil, fmt.Errorf("line %d: %q is not an address with its prefix length", a.line+1, n.value)
		}
		there, places = append(there, p), append(places, n)
	}
	becomes, add := edit.Align(there, wanted, func(int) bool { return true })
	for i, p := range becomes {
		if p.IsValid() && p != there[i] {
			return w.replace(places[i], word(p.String()))
		}
	}
	if len(add) > 0 {
		return w.addItem(it.value, part{word: word(add[0].String())})
	}
	// The last of a list goes with its lines: so what goes, goes last.
	if i := slices.Index(becomes, netip.Prefix{}); i >= 0 {
		return w.remove(it, i)
	}
	return nil, nil
}

func words(prefixes []netip.Prefix) (p part) {
	for _, x := range prefixes {
		p.items = append(p.items, part{word: word(x.String())})
	}
	return p
}

func yes(s string) bool {
	return slices.Contains([]string{"true", "on", "yes", "y"}, strings.ToLower(s))
}

func no(s string) bool {
	return slices.Contains([]string{"false", "off", "no", "n"}, strings.ToLower(s))
}

func (w wish) noDefault() ([]splice, error) {
	if !w.want.NoDefault {
		return nil, nil
	}
	for i, it := range w.of.value.items {
		if k := it.key.value; k == "gateway4" || k == "gateway6" {
			return w.remove(w.of, i)
		}
	}
	all, err := w.static()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.isDef {
			return w.remove(w.of.value.get("routes"), r.index)
		}
	}
	if !yes(w.of.value.str("dhcp4")) {
		return nil, nil
	}
	// networkd wants the same of both, where both are on.
	for _, key := range []string{"dhcp4", "dhcp6"} {
		over := w.of.value.get(key + "-overrides")
		switch {
		case !yes(w.of.value.str(key)):
		case over == nil:
			return w.addKey(w.of, key+"-overrides", part{keys: []string{"use-routes"}, items: []part{{word: "false"}}})
		case !no(over.value.str("use-routes")):
			return w.setWord(over, "use-routes", "false")
		}
	}
	return nil, nil
}

// route is a route of the main table.
type route struct {
	index int
	line  int
	to    netip.Prefix
	isDef bool
	via   string
}

// static returns the routes: those of other tables are for packets that were chosen by a
// rule, and those of another type than unicast lead nowhere; both are left out.
func (w wish) static() (out []route, err error) {
	it, err := w.list("routes")
	if it == nil || err != nil {
		return nil, err
	}
	for i, x := range it.value.items {
		if x.value.kind != table {
			return nil, fmt.Errorf("line %d: a route that is not understood", x.line+1)
		}
		r := route{index: i, line: x.line, via: x.value.str("via")}
		table, kind := x.value.str("table"), x.value.str("type")
		if table != "" && table != "254" || kind != "" && kind != "unicast" {
			continue
		}
		switch to := x.value.str("to"); to {
		case "default", "0.0.0.0/0", "0/0", "::/0":
			r.isDef, r.to = true, everything(to == "::/0" || strings.Contains(r.via, ":"))
		default:
			if r.to, err = netip.ParsePrefix(to); err != nil {
				a, err := netip.ParseAddr(to)
				if err != nil {
					return nil, fmt.Errorf("line %d: a route to %q is not understood", x.line+1, to)
				}
				r.to = netip.PrefixFrom(a, a.BitLen())
			}
			r.to, r.isDef = r.to.Masked(), r.to.Bits() == 0
		}
		out = append(out, r)
	}
	return out, nil
}

func everything(six bool) netip.Prefix {
	if six {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

func (w wish) routes() ([]splice, error) {
	there, err := w.static()
	if err != nil || len(w.want.Routes) == 0 {
		return nil, err
	}
	for _, key := range []string{"gateway4", "gateway6"} {
		if it := w.of.value.get(key); it != nil {
			there = append(there, route{line: it.line, to: everything(key == "gateway6"), via: it.value.value})
		}
	}
wishes:
	for _, r := range w.want.Routes {
		to, via, _ := r.Parse() // checked
		for _, t := range there {
			if t.to != to {
				continue
			}
			if a, err := netip.ParseAddr(t.via); err != nil || a != via {
				return nil, fmt.Errorf("line %d: there is a route to %s already, by %q", t.line+1, r.To, t.via)
			}
			continue wishes
		}
		p := part{keys: []string{"to", "via"}, items: []part{{word: word(to.String())}, {word: word(via.String())}}}
		if it, _ := w.list("routes"); it != nil {
			return w.addItem(it.value, p)
		}
		return w.addKey(w.of, "routes", part{items: []part{p}})
	}
	return nil, nil
}
