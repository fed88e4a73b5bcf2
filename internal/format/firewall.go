package format

import (
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/firewall"
)

// dataPorts are the ports that must be open on the data plane: RoCE v2 (IANA
// 4791), Ray's head, and one of the high ports that NCCL and Ray pick.
var dataPorts = []struct {
	name  string
	query firewall.Query
}{
	{"4791/udp", firewall.Query{Proto: "udp", Port: 4791}},
	{"6379/tcp", firewall.Query{Proto: "tcp", Port: 6379}},
	{"40000/tcp", firewall.Query{Proto: "tcp", Port: 40000}},
}

// readFirewall asks what the host's firewall would do to data-plane packets. The
// rules of nftables decide, when they can be read: firewalld and ufw write them.
func readFirewall(d *dump.Node, n *fact.Node) {
	f := &n.Settings.Firewall
	var ask func(firewall.Query) firewall.Answer
	if text, ok := d.Cmd("nft -j list ruleset"); ok {
		if rules, err := firewall.ParseNFT([]byte(text)); err == nil {
			f.Kind, ask = "nftables", rules.Inbound
			if len(rules.Chains) == 0 {
				f.Kind = "none"
			}
		}
	}
	if strings.Contains(word(d, "/proc/net/ip_tables_names"), "filter") {
		// Rules may be there that nobody read: nothing is known to be let in.
		f.Kind, ask = "iptables", func(firewall.Query) firewall.Answer { return firewall.Answer{Verdict: firewall.Unknown} }
	}
	if text, ok := d.Cmd("firewall-cmd --list-all-zones"); ok {
		if fw, err := firewall.ParseFirewalld([]byte(text)); err == nil && fw.Running {
			f.Kind, ask = "firewalld", fw.Inbound
			for _, z := range fw.Zones {
				for _, dev := range z.Interfaces {
					if nd := n.Netdev(dev); nd != nil {
						nd.Zone = z.Name
					}
				}
			}
		}
	}
	for _, cmd := range d.Cmds("ufw status") {
		text, _ := d.Cmd(cmd)
		if u, err := firewall.ParseUFW([]byte(text)); err == nil && u.Active && f.Kind != "firewalld" {
			f.Kind, ask = "ufw", u.Inbound
		}
	}
	if ask == nil {
		return
	}
	for _, p := range n.Ports {
		if p.Netdev == "" {
			continue
		}
		for _, port := range dataPorts {
			if port.name == "4791/udp" && !p.RoCE() {
				continue
			}
			q := port.query
			q.Interface = p.Netdev
			a := ask(q)
			f.Ports = append(f.Ports, fact.FirewallPort{Netdev: p.Netdev, Port: port.name, Verdict: string(a.Verdict), Chain: a.Chain()})
		}
	}
}
