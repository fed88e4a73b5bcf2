package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeFirewall(t *testing.T) {
	set := func(c *Case, kind string, ports ...string) {
		fw := fact.Firewall{Kind: kind}
		for i := 0; i < len(ports); i += 2 {
			p := fact.FirewallPort{Netdev: "eth2", Port: ports[i], Verdict: ports[i+1]}
			if kind == "nftables" && p.Verdict != "allowed" {
				p.Chain = "inet f in"
			}
			fw.Ports = append(fw.Ports, p)
		}
		c.Nodes[1].Settings.Firewall = fw
	}
	const hangs = ", want all allowed on eth2: Ray, NCCL's connections or RoCE cannot reach this node, so jobs hang while they start"
	judge(t, nodeFirewall, []row{
		{name: "old iptables that nft does not show", fix: "sudo iptables-legacy -S INPUT",
			do: func(c *Case) {
				c.Nodes[1].Settings.Firewall = fact.Firewall{Kind: "iptables", Ports: []fact.FirewallPort{{Netdev: "eth2", Port: "6379/tcp", Verdict: "unknown"}}}
			},
			want: "n2 mlx5_0/1 unknown: iptables: the rules do not tell whether 6379/tcp may reach eth2"},
		{name: "no firewall", want: "n1 mlx5_0/1 pass: none"},
		{name: "firewalld blocks", do: func(c *Case) { set(c, "firewalld", "4791/udp", "blocked", "6379/tcp", "blocked") }, fix: "--zone=trusted --change-interface=eth2",
			want: "n2 mlx5_0/1 fail: firewalld blocks 4791/udp, 6379/tcp on eth2" + hangs},
		{name: "ufw blocks one", do: func(c *Case) { set(c, "ufw", "4791/udp", "allowed", "32768-60999/tcp", "blocked") }, fix: "sudo ufw allow in on eth2",
			want: "n2 mlx5_0/1 fail: ufw blocks 32768-60999/tcp on eth2" + hangs},
		{name: "nftables blocks", do: func(c *Case) { set(c, "nftables", "6379/tcp", "blocked") }, fix: `sudo nft insert rule inet f in iifname "eth2" accept`,
			want: "n2 mlx5_0/1 fail: nftables blocks 6379/tcp on eth2" + hangs},
		{name: "a card's RoCE does not pass the firewall", do: func(c *Case) { set(c, "ufw", "4791/udp", "blocked", "6379/tcp", "allowed") },
			want: "n2 mlx5_0/1 warn: ufw blocks 4791/udp on eth2, want all allowed on eth2: the card's own RoCE packets do not pass the firewall, so this does not hurt yet; software RoCE would stand still"},
		{name: "software RoCE does", do: func(c *Case) { set(c, "ufw", "4791/udp", "blocked"); c.Nodes[1].Ports[0].Driver = "rxe" },
			want: "n2 mlx5_0/1 fail: ufw blocks 4791/udp on eth2" + hangs},
		{name: "other interfaces may be guarded", do: func(c *Case) {
			set(c, "firewalld", "6379/tcp", "allowed")
			c.Nodes[1].Settings.Firewall.Ports = append(c.Nodes[1].Settings.Firewall.Ports, fact.FirewallPort{Netdev: "eno1", Port: "6379/tcp", Verdict: "blocked"})
		}, want: "n2 mlx5_0/1 pass: firewalld"},
		{name: "the trusted zone needs no verdicts", do: func(c *Case) { set(c, "firewalld"); c.Nodes[1].Netdev("eth2").Zone = "trusted" }, want: "n2 mlx5_0/1 pass: firewalld"},
		{name: "no verdict", do: func(c *Case) { set(c, "firewalld") }, want: "n2 mlx5_0/1 unknown: firewalld: no verdict was reached for eth2"},
		{name: "rules that depend on more", do: func(c *Case) { set(c, "nftables", "6379/tcp", "unknown") },
			want: "n2 mlx5_0/1 unknown: nftables: the rules do not tell whether 6379/tcp may reach eth2"},
		{name: "unread", do: func(c *Case) { set(c, "") }, want: "n2 mlx5_0/1 unknown: the firewall's rules were not read"},
		{name: "InfiniBand without IPoIB", do: func(c *Case) { *c = *goodIB(); c.Nodes[0].Ports[0].Netdev, c.Nodes[1].Ports[0].Netdev = "", "" },
			want: "cluster skip: no data port has a netdev that a firewall could guard"},
	})
}
