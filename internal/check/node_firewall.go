package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
)

var nodeFirewall = Check{
	ID:    "node.firewall",
	Title: "The firewall lets the data plane through",
	None:  "no data port has a netdev that a firewall could guard",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if p.Netdev != "" {
				out = append(out, judgeFirewall(c, n, p))
			}
		}
		return out
	},
}

func judgeFirewall(c *Case, n *fact.Node, p *fact.Port) Finding {
	fw := n.Settings.Firewall
	f := Finding{Subject: on(n, p), Got: fw.Kind}
	verdicts := map[string][]string{} // verdict → ports
	for _, fp := range fw.Ports {
		if fp.Netdev == p.Netdev {
			verdicts[fp.Verdict] = append(verdicts[fp.Verdict], fp.Port)
		}
	}
	blocked := verdicts["blocked"]
	d := n.Netdev(p.Netdev)
	switch {
	case fw.Kind == "":
		f.Status, f.Why = Unknown, "the firewall's rules were not read"
		f.Fix = []string{asRoot(c, n)}
	case len(blocked) > 0:
		f.Status, f.Got, f.Want = Fail, fw.Kind+" blocks "+strings.Join(blocked, ", ")+" on "+p.Netdev, "all allowed on "+p.Netdev
		f.Why = "Ray, NCCL's connections or RoCE cannot reach this node, so jobs hang while they start"
		f.Fix = firewallFix(fw, p.Netdev)
		// A card makes and takes RoCE packets by itself; only software RoCE passes
		// the kernel's UDP stack and with it the firewall.
		if !p.Soft() && !slices.ContainsFunc(blocked, func(port string) bool { return port != "4791/udp" }) {
			f.Status = Warn
			f.Why = "the card's own RoCE packets do not pass the firewall, so this does not hurt yet; software RoCE would stand still"
		}
	case len(verdicts["unknown"]) > 0:
		f.Status, f.Why = Unknown, "the rules do not tell whether "+strings.Join(verdicts["unknown"], ", ")+" may reach "+p.Netdev
		f.Fix = firewallFix(fw, p.Netdev)
	case fw.Kind != "none" && len(verdicts) == 0 && (d == nil || d.Zone != "trusted"):
		f.Status, f.Why = Unknown, "no verdict was reached for "+p.Netdev
		f.Fix = firewallFix(fw, p.Netdev)
	}
	return f
}

// firewallFix trusts one interface and opens nothing else.
func firewallFix(fw fact.Firewall, netdev string) []string {
	switch fw.Kind {
	case "firewalld":
		return []string{"sudo firewall-cmd --permanent --zone=trusted --change-interface=" + netdev, "sudo firewall-cmd --reload"}
	case "ufw":
		return []string{"sudo ufw allow in on " + netdev}
	case "iptables":
		return []string{"sudo iptables-legacy -S INPUT   # what drops packets of " + netdev + "?", "sudo iptables-legacy -I INPUT -i " + netdev + " -j ACCEPT"}
	}
	var fix, chains []string
	for _, fp := range fw.Ports {
		if fp.Netdev == netdev && fp.Chain != "" && !slices.Contains(chains, fp.Chain) {
			chains = append(chains, fp.Chain)
			fix = append(fix, fmt.Sprintf("sudo nft insert rule %s iifname %q accept   # and into /etc/nftables.conf for good", fp.Chain, netdev))
		}
	}
	if len(fix) == 0 {
		fix = []string{"sudo nft list ruleset   # find what drops packets of " + netdev}
	}
	return fix
}
