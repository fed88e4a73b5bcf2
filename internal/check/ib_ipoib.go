package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/topo"
)

var ibIPoIB = Check{
	ID:    "ib.ipoib",
	Title: "IPoIB interfaces agree in mode and MTU, and have their addresses",
	After: []string{"port.layer"}, // a port that waits for a subnet manager can be set up
	Judge: func(c *Case) (out []Finding) {
		var ports []topo.PortAt
		for _, pa := range c.DataPorts() {
			out = append(out, judgeIPoIBWish(c, pa.Node, pa.Port)...)
			if d := pa.Node.Netdev(pa.Port.Netdev); pa.Port.IB() && pa.Port.Up() && d != nil && (len(d.Addrs) > 0 || d.Oper == "up" || c.wishAddr(pa.Node, pa.Port) != "") {
				ports = append(ports, pa)
			}
		}
		if len(ports)+len(out) == 0 {
			return skip("no IPoIB interface is in use")
		}
		mode, _ := Usual(ports, func(pa topo.PortAt) string { return pa.Node.Netdev(pa.Port.Netdev).Mode })
		mtu, _ := Usual(ports, func(pa topo.PortAt) int { return pa.Node.Netdev(pa.Port.Netdev).MTU.Or(0) })
		if c.Want.Data.IPoIB != "" {
			mode = c.Want.Data.IPoIB
		}
		if c.Want.Data.MTU != 0 && c.Want.Data.Layer == "infiniband" {
			mtu = c.Want.Data.MTU
		}
		for _, pa := range ports {
			out = append(out, judgeIPoIB(c, pa.Node, pa.Port, mode, mtu))
		}
		return out
	},
}

// connectedMTU is the largest IPoIB MTU in connected mode: IPOIB_CM_MTU, 64 KiB
// less 16 bytes (drivers/infiniband/ulp/ipoib/ipoib.h).
const connectedMTU = 65520

// smallestMTU is what datagram mode has on a port of 2048 bytes: IPoIB takes four
// of them (IPOIB_ENCAP_LEN, same file), so 4092 on a port of 4096.
const smallestMTU = 2044

func judgeIPoIB(c *Case, n *fact.Node, p *fact.Port, mode string, usual int) Finding {
	d := n.Netdev(p.Netdev)
	f := Finding{Subject: on(n, p)}
	mtu, ok := d.MTU.Get()
	if d.Mode == "" || !ok {
		f.Status, f.Why = Unknown, "the mode or the MTU of "+d.Name+" was not read"
		return f
	}
	f.Got = fmt.Sprintf("%s, mtu %d", d.Mode, mtu)
	largest := p.ActiveMTU.Or(4096) - 4
	switch {
	case d.Mode != mode && mode == "connected" && p.Driver == "mlx5":
		f.Want, f.Why = "connected", "mlx5 drives IPoIB itself (enhanced IPoIB), which has no connected mode"
		f.Fix = []string{"in weft.yaml: ipoib: datagram   # on every node; RDMA itself does not use IPoIB"}
	case d.Mode != mode && c.Want.Data.IPoIB != "":
		f.Want, f.Why = mode, "weft.yaml wants another mode"
		f.Fix = ipoibFix(d.Name, mode)
	case d.Mode != mode:
		f.Want, f.Why = mode, "the modes are mixed, so large packets from connected nodes to this one are fragmented or lost"
		f.Fix = ipoibFix(d.Name, mode)
	case d.Mode == "connected" && mtu < connectedMTU:
		f.Want, f.Why = fmt.Sprint(connectedMTU), "connected mode is worth its cost only with large packets"
		f.Fix = ipoibFix(d.Name, mode)
	case d.Mode == "datagram" && mtu > largest:
		f.Want, f.Why = fmt.Sprint(largest), "datagram packets cannot be larger than the InfiniBand MTU, so these are lost"
		f.Fix = []string{fmt.Sprintf("sudo ip link set dev %s mtu %d", d.Name, largest)}
	case d.Mode == "datagram" && mtu < smallestMTU:
		f.Want, f.Why = fmt.Sprint(largest), "small packets make IP over this link slow"
		f.Fix = []string{fmt.Sprintf("sudo ip link set dev %s mtu %d", d.Name, largest)}
	case mtu != usual:
		f.Want, f.Why = fmt.Sprint(usual), "nodes of one subnet must agree in the MTU, or large packets vanish"
		f.Fix = []string{fmt.Sprintf("sudo ip link set dev %s mtu %d", d.Name, usual)}
	default:
		return f
	}
	f.Status = Warn
	return f
}

// judgeIPoIBWish holds an interface against the address that weft.yaml gives it, and
// the mode of one whose port is not up yet. What is right is left to the others.
func judgeIPoIBWish(c *Case, n *fact.Node, p *fact.Port) (out []Finding) {
	wish, d := c.wish(n, p).Address, n.Netdev(p.Netdev)
	if !p.IB() || p.State == "DOWN" || c.wishAddr(n, p) == "" {
		return nil
	}
	f := Finding{Subject: on(n, p), Status: Fail, Want: wish, Why: "weft.yaml gives this interface an address, and its peers look for it there"}
	switch got := addrNow(n, d, wish); {
	case unreadAddrs(n) != "":
		return []Finding{{Subject: on(n, p), Status: Unknown, Why: unreadAddrs(n), Fix: []string{"ip addr"}}}
	case d == nil && got == "":
		f.Got, f.Why = "no IPoIB interface", "weft.yaml gives this port an address, and there is no interface that could have it"
		f.Fix = []string{"sudo modprobe ib_ipoib", "ip -br link show type ipoib"}
		out = append(out, f)
	case got == "":
		f.Got, f.Fix = "no address", []string{fmt.Sprintf("sudo ip addr add %s dev %s", wish, d.Name)}
		out = append(out, f)
	case got != wish:
		f.Got, f.Fix = got, append(readdress(got, wish, p), "or write "+got+" into weft.yaml")
		out = append(out, f)
	}
	if mode := c.Want.Data.IPoIB; d != nil && !p.Up() && mode != "" && d.Mode != "" && d.Mode != mode {
		out = append(out, judgeIPoIB(c, n, p, mode, 0))
	}
	return out
}

func ipoibFix(netdev, mode string) []string {
	mtu := connectedMTU
	if mode == "datagram" {
		mtu = smallestMTU
	}
	return []string{"sudo ip link set dev " + netdev + " down && echo " + mode + " | sudo tee /sys/class/net/" + netdev + "/mode && sudo ip link set dev " + netdev + " up",
		fmt.Sprintf("sudo nmcli connection modify CONNECTION infiniband.transport-mode %s infiniband.mtu %d   # for good", mode, mtu)}
}
