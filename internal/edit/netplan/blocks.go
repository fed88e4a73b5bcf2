package netplan

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// block is the definition of one interface.
type block struct {
	item *item
	kind string // "ethernets"
	name string // of the interface; "" when it cannot be told
	glob string // the pattern that it matches by
}

// blocks returns the definitions.
func (d *doc) blocks() (out []block, err error) {
	net := d.root.at("network")
	if net == nil || net.kind == null && net.to == 0 {
		return nil, nil
	}
	if net.kind != table {
		return nil, fmt.Errorf("line %d: network holds no keys", d.root.get("network").line+1)
	}
	for i := range net.items {
		kind := &net.items[i]
		if kind.key.value == "openvswitch" || kind.value.kind != table {
			continue // version, renderer, an empty section
		}
		for j := range kind.value.items {
			b := block{item: &kind.value.items[j], kind: kind.key.value}
			if b.item.key.value == "renderer" {
				continue // of all in this section
			}
			if v := b.item.value; v.kind != table && (v.kind != null || v.to != 0) {
				return nil, fmt.Errorf("line %d: %s holds no keys", b.item.line+1, b.item.key.value)
			}
			b.named()
			out = append(out, b)
		}
	}
	return out, nil
}

// named tells the interface's name: what it is renamed to, else what it is matched by,
// else its key. A key beside a match is a word of its own, but often the name.
func (b *block) named() {
	match := b.item.value.at("match")
	byName := match.str("name")
	switch {
	case b.item.value.str("set-name") != "":
		b.name = b.item.value.str("set-name")
	case byName != "" && !strings.ContainsAny(byName, "*?["):
		b.name = byName
	case byName != "":
		b.glob = byName
	case match == nil || match.kind == table && len(match.items) == 0:
		b.name = b.item.key.value
	}
}

// changed are the kinds of definition that take what weft writes. A VRF, for one, has no
// address of its own.
var changed = []string{"ethernets", "bonds", "bridges", "vlans", "wifis", "tunnels", "dummy-devices", "virtual-ethernets"}

// find returns the definition of an interface, nil when there is none. The name is the
// interface's, or else the definition's own: whoever knows that one need not be told.
func (d *doc) find(name string) (*block, error) {
	all, err := d.blocks()
	if err != nil {
		return nil, err
	}
	var found *block
	for i := range all {
		b := &all[i]
		if b.name != name && b.item.key.value != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("line %d: %s is defined for the second time", b.item.line+1, name)
		}
		found = b
	}
	if found != nil {
		return found, found.alone(name)
	}
	for _, b := range all {
		at := b.item.line + 1
		if ok, err := path.Match(b.glob, name); ok || err != nil {
			return nil, fmt.Errorf("line %d: %s matches %q, which is not %s alone", at, b.item.key.value, b.glob, name)
		}
		if b.name == "" && b.glob == "" {
			return nil, fmt.Errorf("line %d: whether %s is %s cannot be told from its match", at, b.item.key.value, name)
		}
	}
	return nil, nil
}

// alone tells whether a definition is for one interface, and one that weft changes.
func (b *block) alone(name string) error {
	switch at := b.item.line + 1; {
	case !slices.Contains(changed, b.kind):
		return fmt.Errorf("line %d: %s is one of the %s, which weft does not change", at, name, b.kind)
	case b.name == "" && b.item.value.at("match").str("macaddress") == "":
		return fmt.Errorf("line %d: %s may match more than one interface", at, b.item.key.value)
	}
	return nil
}
