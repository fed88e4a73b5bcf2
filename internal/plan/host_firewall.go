package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

// mendFirewall trusts the netdev of a data port and opens nothing else.
func mendFirewall(d *draft, n *fact.Node, f check.Finding) error {
	if f.Status == check.Warn {
		return byHand("a card's own packets do not pass the firewall: open it only where software RoCE is to run")
	}
	if err := unseen(f); err != nil {
		return err
	}
	p := n.Port(f.Subject.Part)
	if p == nil || !plainName.MatchString(p.Netdev) {
		return byHand("the port has no netdev with a plain name")
	}
	dev := n.Netdev(p.Netdev)
	if dev == nil {
		return byHand("%s was not read", p.Netdev)
	}
	if m, _ := d.Management(n); m == dev || check.DefaultRoute(n) != nil && check.DefaultRoute(n).Dev == dev.Name {
		return byHand("%s is also the way to the outside: to trust it would open the node", dev.Name)
	}
	var not []fact.FirewallPort
	for _, fp := range n.Settings.Firewall.Ports {
		if fp.Netdev == dev.Name && fp.Verdict != "allowed" {
			not = append(not, fp)
		}
	}
	s := Step{What: "firewall/" + dev.Name, From: firewallWords(dev.Zone, not), To: firewallWords(dev.Zone, allowed(not))}
	var err error
	switch n.Settings.Firewall.Kind {
	case "firewalld":
		err = d.trustZone(n, dev, &s)
		s.To = firewallWords("trusted", allowed(not))
	case "ufw":
		s.Do = []string{sh("ufw prepend allow in on %s", dev.Name)}
		s.Undo = []string{sh("ufw delete allow in on %s >/dev/null 2>&1 || true", dev.Name), "ufw reload"}
		s.Shows = "ufw show added"
		s.Keeps = []string{"/etc/ufw/user.rules", "/etc/ufw/user6.rules"}
	case "nftables":
		err = d.trustRule(n, dev, not, &s)
	default:
		err = byHand("weft does not change rules of %s", n.Settings.Firewall.Kind)
	}
	if err == nil {
		d.add(n, s)
	}
	return err
}

// allowed are the same ports, let in.
func allowed(ports []fact.FirewallPort) []fact.FirewallPort {
	out := slices.Clone(ports)
	for i := range out {
		out[i].Verdict, out[i].Chain = "allowed", ""
	}
	return out
}

// firewallWords is the value of a netdev's firewall: "zone public; 6379/tcp blocked".
func firewallWords(zone string, ports []fact.FirewallPort) string {
	var words []string
	if zone != "" {
		words = append(words, "zone "+zone)
	}
	for _, fp := range ports {
		words = append(words, strings.TrimSpace(fp.Port+" "+fp.Verdict+" "+fp.Chain))
	}
	return strings.Join(words, "; ")
}

// trustZone fills the lines that put a netdev into firewalld's zone trusted. Where
// NetworkManager brings it up, its connection says in which zone.
func (d *draft) trustZone(n *fact.Node, dev *fact.Netdev, s *Step) error {
	if dev.Zone != "" && !plainName.MatchString(dev.Zone) {
		return byHand("%q is no plain name of a zone", dev.Zone)
	}
	back := sh("firewall-cmd -q --zone=trusted --remove-interface=%s || true", dev.Name)
	if dev.Zone != "" {
		back = sh("firewall-cmd -q --zone=%s --change-interface=%s", dev.Zone, dev.Name)
	}
	s.Do, s.Undo = []string{sh("firewall-cmd -q --zone=trusted --change-interface=%s", dev.Name)}, []string{back}
	s.Shows = sh("firewall-cmd --get-zone-of-interface=%s 2>&1; true", dev.Name)
	switch {
	case dev.Manager == "NetworkManager":
		text, there, err := d.read(n, dev.Config)
		if err != nil {
			return err
		}
		if !there || dev.Config == "" {
			return byHand("the connection of %s was not read, and it says in which zone it is", dev.Name)
		}
		if text, err = zoneOf(text, "trusted"); err != nil {
			return byHand("%s: %v", dev.Config, err)
		}
		if s.Files, err = d.change(n, dev.Config, text); err != nil {
			return err
		}
		load := sh("nmcli connection load %s", dev.Config)
		s.Do, s.Undo = append([]string{load}, s.Do...), append([]string{load}, s.Undo...)
	case dev.Manager == "netplan" && n.Settings.Has("nmcli"):
		return byHand("netplan may hand %s to NetworkManager, and then the zone is its", dev.Name)
	default:
		// For boot it may be in another zone than now, or in none.
		f := forGood + "/zone-" + dev.Name
		s.Do = append(s.Do, sh(`f=%s; mkdir -p %s; z=$(firewall-cmd --permanent --get-zone-of-interface=%s 2>/dev/null || true); `+
			`[ "$z" = trusted ] || { echo "$z" >$f; firewall-cmd -q --permanent --zone=trusted --change-interface=%s; }`, f, forGood, dev.Name, dev.Name))
		s.Undo = append(s.Undo, sh(`f=%s; [ -e $f ] || exit 0; z=$(cat $f); if [ -n "$z" ]; then firewall-cmd -q --permanent --zone="$z" --change-interface=%s; `+
			`else firewall-cmd -q --permanent --zone=trusted --remove-interface=%s || true; fi; rm -f $f`, f, dev.Name, dev.Name))
		for _, zone := range slices.Compact([]string{"trusted", cmp.Or(dev.Zone, "trusted")}) {
			file := "/etc/firewalld/zones/" + zone + ".xml"
			s.Keeps = append(s.Keeps, file, file+".old")
		}
		s.Lasts = true
	}
	return nil
}

// zoneOf gives the connection of a keyfile a zone.
func zoneOf(text, zone string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	at, section := -1, "" // the last line of the section that says something
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		if section != "[connection]" || line == "" {
			continue
		}
		at = i
		if key, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "zone" {
			lines[i] = "zone=" + zone + "\n"
			return strings.Join(lines, ""), nil
		}
	}
	if at < 0 || !strings.HasSuffix(lines[at], "\n") {
		return "", errors.New("no section connection")
	}
	return strings.Join(slices.Insert(lines, at+1, "zone="+zone+"\n"), ""), nil
}

// nftChain is a chain as nft takes it. A chain in capitals is one of iptables, which
// does not read the rules of others among its own.
var nftChain = regexp.MustCompile(`^(inet|ip|ip6) [A-Za-z_][A-Za-z0-9_./-]* [a-z_][A-Za-z0-9_./-]*$`)

// trustRule fills the lines that put a rule at the head of every chain that blocks.
func (d *draft) trustRule(n *fact.Node, dev *fact.Netdev, ports []fact.FirewallPort, s *Step) error {
	var chains []string
	for _, fp := range ports {
		switch {
		case fp.Verdict != "blocked":
			return byHand("whether %s is let in is not known", fp.Port)
		case !nftChain.MatchString(fp.Chain):
			return byHand("weft does not change the chain %q", fp.Chain)
		case !slices.Contains(chains, fp.Chain):
			chains = append(chains, fp.Chain)
		}
	}
	var boot []string
	for _, chain := range chains {
		comment := "weft " + dev.Name
		find := fmt.Sprintf(`nft -a list chain %s 2>/dev/null | sed -n 's/.* comment "%s" # handle \([0-9]*\)$/\1/p'`, chain, strings.ReplaceAll(comment, ".", `\.`))
		insert := fmt.Sprintf(`nft insert rule %s iifname '"%s"' accept comment '"%s"'`, chain, dev.Name, comment)
		do := fmt.Sprintf(`[ -n "$(%s)" ] || %s`, find, insert)
		s.Do = append(s.Do, do)
		s.Undo = append(s.Undo, fmt.Sprintf(`%s | while read -r h; do nft delete rule %s handle "$h"; done`, find, chain))
		boot = append(boot, fmt.Sprintf(`! nft list chain %s >/dev/null 2>&1 || %s`, chain, do))
		s.Shows += fmt.Sprintf("nft -s list chain %s; ", chain)
	}
	s.Shows = strings.TrimSuffix(s.Shows, "; ")
	const service = "nftables.service"
	if n.Settings.Services[service].Enabled != "enabled" {
		s.Note = "until the next boot: nftables.service is not enabled, so the rules that block go then, too, or come from somewhere that weft does not know"
		return nil
	}
	text, err := unit.With("let the data plane in on "+dev.Name, service, boot)
	if err != nil {
		return err
	}
	name := unit.Name("firewall", dev.Name)
	if s.Files, err = d.atBoot(n, name, text); err != nil {
		return err
	}
	// Started now, so that it sees the next reload of the rules.
	s.Do = append(append([]string{"systemctl daemon-reload"}, s.Do...), sh("systemctl start %s", name))
	s.Undo = append([]string{sh("systemctl stop %s 2>/dev/null || true", name), "systemctl daemon-reload"}, s.Undo...)
	return nil
}
