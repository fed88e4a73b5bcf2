package plan

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"weft/internal/edit"
	"weft/internal/edit/netplan"
	"weft/internal/fact"
)

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
