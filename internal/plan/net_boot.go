package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"weft/internal/edit"
	"weft/internal/edit/keyfile"
	"weft/internal/edit/netplan"
	"weft/internal/edit/networkd"
	"weft/internal/fact"
)

// runtimeOnly is the note of a step that the next boot forgets.
const runtimeOnly = "runtime only: nothing keeps it over a boot"

// boot is how a change of a netdev is kept for the next boot, and how the manager that
// runs is told.
type boot struct {
	file *File
	do   []string // when the file is in place
	undo []string // when the old one is back
	risk Risk
	note string
}

// keep adds a step for a netdev, with the file that keeps the change over a boot. A
// manager that reads a file anew sets the netdev up anew, and takes away what it did not
// give: addresses and routes that were there come back after it.
func (d *draft) keep(n *fact.Node, dev *fact.Netdev, want edit.Netdev, s Step) error {
	if d.has(n, s.What) {
		d.add(n, s)
		return nil
	}
	b, err := d.boot(n, dev, want)
	if err != nil {
		return err
	}
	if s.Note = strings.TrimPrefix(s.Note+"; "+b.note, "; "); b.note == "" {
		s.Note = strings.TrimSuffix(s.Note, "; ")
	}
	if b.file != nil {
		before, err := d.now(n)
		if err != nil {
			return err
		}
		after, err := d.now(n, s)
		if err != nil {
			return err
		}
		s.Files = []File{*b.file}
		s.Do = once(b.do, s.Do, remake(after, dev.Name))
		s.Undo = once(b.undo, s.Undo, remake(before, dev.Name))
		s.Risk = worse(s.Risk, b.risk)
	}
	d.add(n, s)
	return nil
}

// once joins lines, each only where it stands last: a route comes after the address that
// it needs.
func once(lists ...[]string) (out []string) {
	all := slices.Concat(lists...)
	for i, line := range all {
		if !slices.Contains(all[i+1:], line) {
			out = append(out, line)
		}
	}
	return out
}

// worse is the graver of two risks.
func worse(a, b Risk) Risk {
	order := []Risk{RiskNone, RiskLink, RiskSSH, RiskBoot}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// boot finds who configures a netdev and writes what they should say of it.
func (d *draft) boot(n *fact.Node, dev *fact.Netdev, want edit.Netdev) (boot, error) {
	want.Name, want.Kind = dev.Name, "ethernet"
	if dev.Type == "infiniband" {
		want.Kind = "infiniband"
	}
	if !n.Settings.FilesRead {
		return boot{}, byHand("who configures %s was not read", dev.Name)
	}
	switch manager := cmp.Or(dev.Manager, n.Settings.NetManager); manager {
	case "":
		return boot{note: runtimeOnly}, nil
	case "networkd":
		return d.networkd(n, dev, want)
	case "netplan":
		return d.netplan(n, dev, want)
	case "NetworkManager":
		return d.keyfile(n, dev, want)
	default:
		return boot{}, byHand("%s configures %s, and weft does not edit its files", manager, dev.Name)
	}
}

// config makes a file hold what make says of its text; nil when it does already.
func (d *draft) config(n *fact.Node, file string, mode uint32, make func(text string, there bool) (string, error)) (*File, error) {
	old, there, err := d.read(n, file)
	if err != nil {
		return nil, byHand("%v", err)
	}
	text, err := make(old, there)
	if err != nil {
		return nil, byHand("%s: %v", file, err)
	}
	if there && text == old {
		return nil, nil
	}
	f, err := d.write(n, file, text)
	if !there {
		f.Mode = mode
	}
	return &f, err
}

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

// netplan edits the YAML that defines a netdev.
func (d *draft) netplan(n *fact.Node, dev *fact.Netdev, want edit.Netdev) (b boot, err error) {
	file := dev.Config
	switch {
	case dev.Manager == "":
		file = "/etc/netplan/60-weft.yaml"
	case file == "":
		return b, byHand("%s is not defined by exactly one file below /etc/netplan", dev.Name)
	}
	want.Name = cmp.Or(dev.Profile, dev.Name)
	b.file, err = d.config(n, file, 0o600, func(text string, there bool) (string, error) {
		if there {
			return netplan.Set(text, want)
		}
		return netplan.New([]edit.Netdev{want}, "")
	})
	take := netplanWrites(want.Name)
	for file, text := range n.Settings.Files {
		if path.Dir(file) == "/etc/netplan" && strings.Contains(text, "NetworkManager") {
			conn := "/run/NetworkManager/system-connections/netplan-" + want.Name + ".nmconnection"
			b.do = slices.Concat(take, []string{sh("nmcli connection load %s", conn), sh("nmcli -w 20 device reapply %s", dev.Name), nmSettled(dev.Name)})
			b.undo = slices.Concat(take, []string{
				sh("if [ -e %s ]; then nmcli connection load %[1]s; else nmcli connection reload; fi", conn),
				sh("nmcli -w 20 device reapply %s || true", dev.Name), nmSettled(dev.Name)})
			if dev.Manager == "" {
				b.do[len(take)+1], b.risk = sh("nmcli -w 20 connection up id %s", "netplan-"+want.Name), RiskLink
			}
			return b, err
		}
	}
	b.do = slices.Concat(take, networkdReads(dev.Name))
	b.undo = b.do
	return b, err
}

// netplanWrites are lines that write what netplan makes of one definition, and of no
// other: netplan generate writes every file anew, and systemd-networkd then sets every
// interface up anew, management included. netplan apply does so by design.
func netplanWrites(id string) []string {
	const at = "/run/weft-netplan"
	return []string{
		"rm -rf " + at + " && mkdir -p " + at + "/etc " + at + "/lib " + at + "/run && for d in etc lib run; do [ ! -d /$d/netplan ] || cp -a /$d/netplan " + at + "/$d/; done && netplan generate --root-dir " + at,
		sh("cd "+at+" && for f in %s %s %s; do if [ -e \"$f\" ]; then cmp -s \"$f\" \"/$f\" || { mkdir -p \"/${f%%/*}\" && cp -p \"$f\" \"/$f\"; }; else rm -f \"/$f\"; fi || exit 1; done; rm -rf "+at,
			"run/systemd/network/10-netplan-"+id+".network", "run/systemd/network/10-netplan-"+id+".link", "run/NetworkManager/system-connections/netplan-"+id+".nmconnection"),
	}
}

const keyfileDir = "/etc/NetworkManager/system-connections/"

// keyfile edits the connection of a netdev, or gives it one.
func (d *draft) keyfile(n *fact.Node, dev *fact.Netdev, want edit.Netdev) (b boot, err error) {
	file, name := dev.Config, dev.Name
	if file != "" {
		if path.Dir(file)+"/" != keyfileDir {
			return b, byHand("%s is not one of NetworkManager's keyfiles, and weft edits no other", file)
		}
		b.file, err = d.config(n, file, 0o600, func(text string, _ bool) (string, error) { return keyfile.Set(text, want) })
		b.do = []string{sh("nmcli connection load %s", file), sh("nmcli -w 20 device reapply %s", name), nmSettled(name)}
		b.undo = []string{sh("nmcli connection load %s", file), sh("nmcli -w 20 device reapply %s || true", name), nmSettled(name)}
		if want.Kind == "infiniband" && dev.Profile != "" { // whose link settings NetworkManager does not reapply
			up := sh("nmcli -w 20 device reapply %s || nmcli -w 20 connection up uuid %s", name, dev.Profile)
			b.do[1], b.undo[1], b.risk = up, up+" || true", RiskLink
		}
		return b, err
	}
	if dev.Manager != "" && dev.Profile == "" {
		return b, byHand("more than one connection is for %s: which of them counts is yours to say", name)
	}
	file = keyfileDir + "weft-" + name + ".nmconnection"
	id := uuid("weft", n.Name, name)
	if dev.Manager != "" { // NetworkManager made a connection up, and the new one takes its place
		if want, err = d.whole(n, dev, want); err != nil {
			return b, err
		}
	}
	b.file, err = d.config(n, file, 0o600, func(text string, there bool) (string, error) {
		if there {
			return keyfile.Set(text, want)
		}
		return keyfile.New(want, id)
	})
	b.risk = RiskLink
	b.do = []string{sh("nmcli connection load %s", file), sh("nmcli -w 20 connection up uuid %s", id), nmSettled(name)}
	b.undo = []string{"nmcli connection reload", nmSettled(name)}
	if dev.Profile != "" {
		b.undo = []string{"nmcli connection reload", sh("nmcli -w 20 connection up uuid %s 2>/dev/null || true", dev.Profile), nmSettled(name)}
	}
	return b, err
}

// nmSettled waits until NetworkManager is done with a netdev: 100 is activated, 30 is
// disconnected, 10 and 20 are unmanaged and unavailable (NMDeviceState).
func nmSettled(netdev string) string {
	return settled(sh("nmcli -g GENERAL.STATE device show %s", netdev), "100*|30*|10*|20*")
}

// uuid is the same for the same words: of version 8, whose bits are the maker's own (RFC 9562).
func uuid(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	s := hex.EncodeToString(sum[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
