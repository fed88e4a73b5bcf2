package check

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
)

var ibSteering = Check{
	ID:    "ib.steering",
	Title: "ConnectX-3 cards steer packets in their optimised way",
	None:  "no data port is a ConnectX-3",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if slices.ContainsFunc(c.Data(n), func(p *fact.Port) bool { return p.Driver == "mlx4" }) {
			out = append(out, judgeSteering(n))
		}
		return out
	},
}

const steeringParam = "log_num_mgm_entry_size"

// steeringOptimised reports whether a value of log_num_mgm_entry_size asks for
// optimised steering: negative, with bit 2 set, as -7 is (MLX4_DMFS_A0_STEERING
// in drivers/net/ethernet/mellanox/mlx4/main.c).
func steeringOptimised(value string) bool {
	v, err := strconv.Atoi(strings.TrimSpace(value))
	return err == nil && v < 0 && -v&4 != 0
}

// judgeSteering trusts the driver's own word in the kernel log first, then the
// parameter in effect; what modprobe.d says only tells what is to come.
func judgeSteering(n *fact.Node) Finding {
	f := Finding{Subject: node(n)}
	wished := false
	for _, option := range strings.Fields(n.Settings.ModOptions["mlx4_core"]) {
		if value, ok := strings.CutPrefix(option, steeringParam+"="); ok {
			wished = steeringOptimised(value)
		}
	}
	value, known := n.Settings.ModParams["mlx4_core."+steeringParam]
	on := steeringOptimised(value)
	for _, e := range n.Settings.Kmsg {
		if e.Kind == "mlx4.steering" { // the driver's words: dmfs_high_rate_steering_mode_str in mlx4/main.c
			if strings.Contains(e.Text, "not supported") {
				f.Status, f.Why = Skip, "this card's firmware has no optimised steering"
				return f
			}
			known, on = true, strings.Contains(e.Text, "static")
		}
	}
	vlan := slices.ContainsFunc(n.Netdevs, func(d *fact.Netdev) bool { return d.Kind == "vlan" })
	switch {
	case !known:
		f.Status, f.Why = Unknown, "neither the kernel log nor the parameter "+steeringParam+" of mlx4_core was read"
		f.Fix = []string{"sudo dmesg | grep 'steer mode'"}
	case on:
		f.Got = "optimised"
	case vlan:
		f.Status, f.Why = Skip, "VLANs are in use here, and optimised steering gives them up"
	case wished:
		f.Status, f.Got, f.Want = Warn, "optimised in modprobe.d, not in effect", "optimised"
		f.Why = "the driver was loaded before it read the option, most likely from the initramfs"
		f.Fix = []string{steeringInitramfs(n), "sudo reboot"}
	default:
		f.Status, f.Got, f.Want = Warn, "disabled", "optimised"
		f.Why = "the card looks packets up the slow way; the fast way gives up VLANs, which nothing uses here"
		f.Fix = []string{"echo 'options mlx4_core " + steeringParam + "=-7' | sudo tee /etc/modprobe.d/mlx4.conf", steeringInitramfs(n), "sudo reboot"}
	}
	return f
}

// steeringInitramfs rebuilds the initramfs, which loads mlx4_core with the options
// it was built with.
func steeringInitramfs(n *fact.Node) string {
	if n.Host.Debian() {
		return "sudo update-initramfs -u"
	}
	return "sudo dracut -f"
}
