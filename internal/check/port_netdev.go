package check

import (
	"fmt"

	"weft/internal/fact"
)

var portNetdev = Check{
	ID:    "port.netdev",
	Title: "Every RDMA port has a network interface, under a name that stays",
	After: []string{"port.present"},
	None:  "no data port needs a network interface",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if p.Netdev == "" && p.Layer != "Ethernet" {
				continue // InfiniBand works without IPoIB
			}
			out = append(out, judgeNetdev(n, p, earlierPort(c.about(n).before, p), c.wish(n, p).Netdev))
		}
		return out
	},
}

func judgeNetdev(n *fact.Node, p, before *fact.Port, wish string) Finding {
	f := Finding{Subject: on(n, p), Got: p.Netdev}
	vf := n.At(p.BDF) != nil && n.At(p.BDF).PhysFn != ""
	switch {
	case p.Netdev == "" && vf:
		f.Status, f.Got, f.Want = Warn, "no netdev", "a netdev"
		f.Why = "this virtual function's interface is in a container or a guest, so the host cannot use the port"
		f.Fix = []string{"sudo lsns -t net", "leave the port out of weft.yaml if it belongs to a container"}
	case p.Netdev == "":
		f.Status, f.Got, f.Want = Fail, "no netdev", "a netdev"
		f.Why = "an Ethernet RDMA port without an interface has no address and no usable GID"
		f.Fix = []string{"rdma link show", "sudo modprobe -r mlx5_ib && sudo modprobe mlx5_ib   # on ConnectX: binds the two again"}
	case n.Netdev(p.Netdev) == nil:
		f.Status, f.Got = Unknown, ""
		f.Why = "the port names " + p.Netdev + ", and nothing was read of that interface"
	case wish != "" && wish != p.Netdev:
		f.Status, f.Want = Warn, wish
		f.Why = "weft.yaml names another interface for this port, so addresses and routes may go elsewhere"
		f.Fix = []string{fmt.Sprintf("in weft.yaml, under %s: netdev: %s", p.Name, p.Netdev)}
	case before != nil && before.Name != p.Name:
		f.Status, f.Got, f.Want = Warn, p.Name, before.Name
		f.Why = "the RDMA device had another name last time, so NCCL_IB_HCA and scripts may name one that is gone"
		f.Fix = []string{fmt.Sprintf("sudo rdma dev set %s name %s   # or change every place that says %s", p.Device, before.Device, before.Device)}
	case before != nil && before.Netdev != "" && before.Netdev != p.Netdev:
		f.Status, f.Want = Warn, before.Netdev
		f.Why = "the interface had another name last time, so netplan, firewall zones and NCCL_SOCKET_IFNAME may name one that is gone"
		f.Fix = []string{fmt.Sprintf("name it in a file: printf '[Match]\\nPermanentMACAddress=%s\\n[Link]\\nName=%s\\n' | sudo tee /etc/systemd/network/10-%s.link",
			n.Netdev(p.Netdev).MAC, before.Netdev, before.Netdev)}
	}
	return f
}
