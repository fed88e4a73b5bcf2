package check

import (
	"testing"

	"weft/internal/fact"
)

func TestIBSteering(t *testing.T) {
	node := func(do func(n *fact.Node)) func(c *Case) {
		return func(c *Case) {
			c.Nodes[1].Ports[0].Driver = "mlx4"
			do(c.Nodes[1])
		}
	}
	param := func(n *fact.Node, v string) {
		n.Settings.ModParams = map[string]string{"mlx4_core.log_num_mgm_entry_size": v}
	}
	log := func(n *fact.Node, text string) {
		n.Settings.Kmsg = []fact.KmsgEvent{{Kind: "mlx4.steering", Text: text, Count: 1}}
	}
	const why = "the card looks packets up the slow way; the fast way gives up VLANs, which nothing uses here"
	judge(t, ibSteering, []row{
		{name: "no ConnectX-3", want: "cluster skip: no data port is a ConnectX-3"},
		{name: "-7 is on", do: node(func(n *fact.Node) { param(n, "-7") }), want: "n2 pass: optimised"},
		{name: "-4 is on", do: node(func(n *fact.Node) { param(n, "-4") }), want: "n2 pass: optimised"},
		{name: "-1 is not", do: node(func(n *fact.Node) { param(n, "-1") }), want: "n2 warn: disabled, want optimised: " + why, fix: "options mlx4_core log_num_mgm_entry_size=-7"},
		{name: "10, the default, is not", do: node(func(n *fact.Node) { param(n, "10") }), want: "n2 warn: disabled, want optimised: " + why, fix: "sudo update-initramfs -u"},
		{name: "Fedora rebuilds with dracut", do: node(func(n *fact.Node) { param(n, "10"); n.Host.Distro, n.Host.Like = "fedora", "" }),
			want: "n2 warn: disabled, want optimised: " + why, fix: "sudo dracut -f"},
		{name: "the log says disabled", do: node(func(n *fact.Node) { log(n, "disabled performance optimized steering") }), want: "n2 warn: disabled, want optimised: " + why},
		{name: "the log beats the parameter", do: node(func(n *fact.Node) {
			param(n, "10")
			log(n, "performance optimized for limited rule configuration (static)")
		}), want: "n2 pass: optimised"},
		{name: "old firmware", do: node(func(n *fact.Node) { log(n, "performance optimized steering not supported") }), want: "n2 skip: this card's firmware has no optimised steering"},
		{name: "set, not in effect", do: node(func(n *fact.Node) {
			param(n, "10")
			n.Settings.ModOptions = map[string]string{"mlx4_core": "log_num_mgm_entry_size=-7 debug_level=1"}
		}), fix: "sudo reboot",
			want: "n2 warn: optimised in modprobe.d, not in effect, want optimised: the driver was loaded before it read the option, most likely from the initramfs"},
		{name: "VLANs are in use", do: node(func(n *fact.Node) {
			param(n, "10")
			n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: "eth2.5", Kind: "vlan"})
		}), want: "n2 skip: VLANs are in use here, and optimised steering gives them up"},
		{name: "unread", do: node(func(n *fact.Node) {}), want: "n2 unknown: neither the kernel log nor the parameter log_num_mgm_entry_size of mlx4_core was read", fix: "dmesg"},
	})
}
