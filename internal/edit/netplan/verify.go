package netplan

import (
	"fmt"
	"reflect"

	"weft/internal/edit"
)

// verify tells whether two texts say the same but for the wish. Changes are made by
// place; this is by meaning, so that a change that went astray does not leave the house.
func verify(old, now *doc, want edit.Netdev) error {
	a, err := rest(old, want)
	if err != nil {
		return err
	}
	b, err := rest(now, want)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("%s: the change would reach beyond what is asked for; make it by hand", want.Name)
	}
	return nil
}

// rest is what a text says beside the wish.
func rest(d *doc, want edit.Netdev) (any, error) {
	if d.root == nil {
		return nil, nil
	}
	b, err := d.find(want.Name)
	if err != nil {
		return nil, err
	}
	all := plain(d.root).(map[string]any)
	if b != nil {
		strip(all, b, wish{d, b.item, want})
	}
	net, _ := all["network"].(map[string]any)
	for kind, v := range net {
		if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
			delete(net, kind)
		}
	}
	if len(net) == 0 {
		delete(all, "network")
	}
	return all, nil
}

// plain is a node as maps, slices and strings.
func plain(n *node) any {
	switch n.kind {
	case scalar:
		return n.value
	case list:
		all := []any{}
		for _, it := range n.items {
			all = append(all, plain(it.value))
		}
		return all
	case table:
		all := map[string]any{}
		for _, it := range n.items {
			all[it.key.value] = plain(it.value)
		}
		return all
	}
	return nil
}

// strip takes the wish out of what a text says.
func strip(all map[string]any, b *block, w wish) {
	kind := all["network"].(map[string]any)[b.kind].(map[string]any) // where the block was found
	own, _ := kind[b.item.key.value].(map[string]any)
	if w.want.MTU != 0 {
		delete(own, "mtu")
	}
	if w.want.Mode != "" {
		delete(own, "infiniband-mode")
	}
	if w.want.Addrs != nil {
		delete(own, "addresses")
	}
	stripRoutes(own, w)
	if w.want.NoDefault {
		delete(own, "gateway4")
		delete(own, "gateway6")
		for _, key := range []string{"dhcp4-overrides", "dhcp6-overrides"} {
			over, _ := own[key].(map[string]any)
			delete(over, "use-routes")
			if len(over) == 0 {
				delete(own, key)
			}
		}
	}
	if len(own) == 0 {
		delete(kind, b.item.key.value)
	}
}

func stripRoutes(own map[string]any, w wish) {
	routes, _ := own["routes"].([]any)
	there, err := w.static()
	if err != nil {
		return
	}
	for _, r := range there {
		gone := w.want.NoDefault && r.isDef
		for _, x := range w.want.Routes {
			to, via, _ := x.Parse()
			gone = gone || to == r.to && via.String() == r.via
		}
		if gone {
			routes[r.index] = nil
		}
	}
	var left []any
	for _, r := range routes {
		if r != nil {
			left = append(left, r)
		}
	}
	if delete(own, "routes"); len(left) > 0 {
		own["routes"] = left
	}
}
