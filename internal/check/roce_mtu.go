package check

import (
	"fmt"

	"weft/internal/fact"
)

var roceMTU = Check{
	ID:    "roce.mtu",
	Title: "RoCE ports send 4096-byte packets",
	After: []string{"port.up", "port.layer"},
	None:  "no RoCE port is in use",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if p.RoCE() {
				out = append(out, judgeMTU(c, n, p))
			}
		}
		return out
	},
}

// The headers a RoCE packet may carry besides its payload. The kernel subtracts
// the same before it rounds down: iboe_get_mtu in include/rdma/ib_addr.h.
const roceHeaders = 40 + 8 + 12 + 4 + 28 + 4 // GRH, UDP, BTH, XRC, atomic, ICRC

// FullMTU is the smallest netdev MTU that lets a RoCE packet carry 4096 bytes.
const FullMTU = 4096 + roceHeaders

// roceMTUOf is the RDMA packet size that a netdev MTU allows.
func roceMTUOf(netdev int) int {
	for _, size := range []int{4096, 2048, 1024, 512, 256} {
		if netdev-roceHeaders >= size {
			return size
		}
	}
	return 0
}

func judgeMTU(c *Case, n *fact.Node, p *fact.Port) Finding {
	f := Finding{Subject: on(n, p)}
	want := c.Want.Data.MTU
	if want == 0 {
		want = 9000
	}
	var mtu int
	var ok bool
	if d := n.Netdev(p.Netdev); d != nil {
		mtu, ok = d.MTU.Get()
	}
	switch size := roceMTUOf(mtu); {
	case !ok:
		f.Status, f.Why = Unknown, "no MTU was read for the netdev of "+p.Device
	case size < 4096:
		f.Status, f.Got, f.Want = Fail, fmt.Sprintf("mtu %d", mtu), fmt.Sprint(want)
		f.Why = fmt.Sprintf("RDMA packets shrink to %d bytes, so there are %d times as many", size, 4096/max(size, 1))
		f.Fix = []string{fmt.Sprintf("sudo ip link set dev %s mtu %d   # until the next boot; see weft explain roce.mtu for good", p.Netdev, want)}
	case c.Want.Data.MTU != 0 && mtu != want:
		f.Status, f.Got, f.Want = Warn, fmt.Sprintf("mtu %d", mtu), fmt.Sprint(want)
		f.Why = "packets are full size, but this is not what weft.yaml says, and the two ends of a link must agree"
		f.Fix = []string{fmt.Sprintf("sudo ip link set dev %s mtu %d", p.Netdev, want)}
	default:
		f.Got = fmt.Sprintf("mtu %d", mtu)
	}
	return f
}
