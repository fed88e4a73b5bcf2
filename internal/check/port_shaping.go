package check

import (
	"slices"

	"weft/internal/fact"
)

var portShaping = Check{
	ID:    "port.shaping",
	Title: "Nothing delays, drops or limits the packets of a data port",
	None:  "no data port has a network interface",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if d := n.Netdev(p.Netdev); d != nil {
				out = append(out, judgeShaping(n, p, d))
			}
		}
		return out
	},
}

// judgeShaping fails where RDMA itself suffers, on software devices, and warns
// elsewhere: a card's RDMA packets go past the kernel's queues (they are made in
// hardware, from memory that the kernel does not touch), its TCP does not.
func judgeShaping(n *fact.Node, p *fact.Port, d *fact.Netdev) Finding {
	f := Finding{Subject: on(n, p)}
	rate := p.Rate
	if p.Soft() { // it makes its rate up: 100 Gb/s on a virtio NIC
		rate = d.Speed
	}
	read := true
	for _, dev := range shapingPath(n, d) {
		read = read && (dev.QdiscsRead || len(dev.Qdiscs) == 1 && slices.Contains(shapesNothing, dev.Qdiscs[0].Kind))
		for _, q := range dev.Qdiscs {
			got, sure := shapes(q, rate, dev.QdiscsRead)
			if got == "" || f.Status == Fail || f.Status == Warn && !sure {
				continue
			}
			f.Status, f.Got, f.Want = Warn, got+" on "+dev.Name, "no such qdisc"
			f.Fix = []string{"sudo tc qdisc del dev " + dev.Name + " root   # the kernel's own comes back"}
			switch {
			case !sure:
				f.Why = "what it does to packets was not read, and it is made to hold them back"
				f.Fix = append([]string{"tc -s qdisc show dev " + dev.Name + "; tc -s class show dev " + dev.Name}, f.Fix...)
			case p.Soft():
				f.Status, f.Why = Fail, "every RDMA packet of "+p.Device+" waits in it"
			default:
				f.Why = "TCP over this port suffers, and with it Ray and NCCL's bootstrap; RDMA itself goes past the kernel's queues"
			}
		}
	}
	if f.Status == Pass && !read {
		f.Status, f.Why = Unknown, "what the packets of "+d.Name+" wait in was not read"
		f.Fix = []string{"tc -j qdisc show", install(n, "iproute2", "iproute-tc") + "   # where tc is missing"}
	}
	return f
}
