package plan

import (
	"cmp"
	"path"
	"strings"

	"weft/internal/edit"
	"weft/internal/edit/networkd"
	"weft/internal/fact"
)

const networkDir = "/etc/systemd/network/"

// networkd edits the .network file of a netdev. One that is for others, too, or not the
// administrator's, stays: a new one goes before it, with what the netdev has now.
func (d *draft) networkd(n *fact.Node, dev *fact.Netdev, want edit.Netdev) (boot, error) {
	b := boot{do: networkdReads(dev.Name), undo: networkdReads(dev.Name)}
	for file := range n.Settings.Files {
		if dev.Config != "" && strings.HasPrefix(file, networkDir+path.Base(dev.Config)+".d/") {
			return b, byHand("%s adds to %s: what of it counts is yours to say", file, dev.Config)
		}
	}
	text, there, err := d.read(n, dev.Config)
	if exact, _ := networkd.Matches(text, dev.Name); err == nil && there && exact && path.Dir(dev.Config)+"/" == networkDir {
		b.file, err = d.config(n, dev.Config, 0, func(text string, _ bool) (string, error) { return networkd.Set(text, want) })
		return b, err
	}
	name := "10-weft-" + dev.Name + ".network"
	if base := path.Base(dev.Config); dev.Config != "" && base <= name {
		name = "00-weft-" + dev.Name + ".network"
		if base <= name {
			return b, byHand("%s goes before every file that weft could write for %s", dev.Config, dev.Name)
		}
	}
	if dev.Config != "" {
		if want, err = d.whole(n, dev, want); err != nil {
			return b, err
		}
	}
	b.file, err = d.config(n, networkDir+name, 0o644, func(text string, there bool) (string, error) {
		if there {
			return networkd.Set(text, want)
		}
		return networkd.New(want)
	})
	return b, err
}

// whole is a wish with what the netdev has now, for a file that takes the place of
// another. What came by DHCP or from a router cannot be written down.
func (d *draft) whole(n *fact.Node, dev *fact.Netdev, want edit.Netdev) (edit.Netdev, error) {
	node, err := d.now(n)
	if err != nil {
		return want, err
	}
	now := node.Netdev(dev.Name)
	if want.MTU == 0 {
		want.MTU = now.MTU.Or(0)
	}
	if want.Addrs == nil {
		var addrs []string
		for i, a := range now.Addrs {
			switch p := prefix(a); {
			case p.Addr().IsLinkLocalUnicast():
			case i >= len(now.Again) || now.Again[i] == "":
				return want, byHand("%s is not only for %s, and %s came by DHCP or from a router", cmp.Or(dev.Config, "what configures it"), dev.Name, a)
			default:
				addrs = append(addrs, p.String())
			}
		}
		want.Addrs = &addrs
	}
	for _, r := range node.Settings.Routes {
		if r.Dev == dev.Name && r.Via != "" && !(want.NoDefault && r.Dst == "default") {
			want.Routes = append(want.Routes, edit.Route{To: r.Dst, Via: r.Via})
		}
	}
	return want, nil
}

// networkdReads are lines that make systemd-networkd read its files and wait until it
// has set the netdev up: it answers before it begins, so it must have been at rest for
// a second.
func networkdReads(netdev string) []string {
	return []string{"networkctl reload", settled(sh("networkctl --no-legend list %s", netdev), `*configured*|*unmanaged*`)}
}

// settled waits until an answer has looked like this for a second, and asks at most
// thirty times.
func settled(ask, like string) string {
	return `i=0 ok=0; while [ $ok -lt 5 ] && [ $i -lt 30 ]; do sleep 0.2; i=$((i+1)); case $(` + ask + `) in ` + like + `) ok=$((ok+1));; *) ok=0;; esac; done`
}
