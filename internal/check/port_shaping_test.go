package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestPortShaping(t *testing.T) {
	// queue gives n2's data port these queues, after its own mq.
	queue := func(more ...fact.Qdisc) func(c *Case) {
		return func(c *Case) {
			d := c.Nodes[1].Netdev("eth2")
			d.Qdiscs = append(d.Qdiscs, more...)
		}
	}
	// soft makes n2's port Soft-RoCE on a netdev that does not tell its speed.
	soft := func(more ...fact.Qdisc) func(c *Case) {
		return func(c *Case) {
			p, d := c.Nodes[1].Ports[0], c.Nodes[1].Netdev("eth2")
			p.Driver, p.BDF = "rxe", ""
			d.Speed = fact.Val[unit.Rate]{}
			queue(more...)(c)
		}
	}
	told := func(kind string) func(c *Case) { // by ip addr alone
		return func(c *Case) {
			d := c.Nodes[1].Netdev("eth2")
			d.Qdiscs, d.QdiscsRead = []fact.Qdisc{{Kind: kind}}, false
			if kind == "" {
				d.Qdiscs = nil
			}
		}
	}
	at := func(r unit.Rate) fact.Val[unit.Rate] { return fact.Some(r) }
	delay := fact.Qdisc{Kind: "netem", Does: []string{"delay 5ms", "loss 1%"}}
	const (
		tcp    = ", want no such qdisc: TCP over this port suffers, and with it Ray and NCCL's bootstrap; RDMA itself goes past the kernel's queues"
		rdma   = ", want no such qdisc: every RDMA packet of mlx5_0 waits in it"
		unsure = ", want no such qdisc: what it does to packets was not read, and it is made to hold them back"
		unread = "n2 mlx5_0/1 unknown: what the packets of eth2 wait in was not read"
	)
	judge(t, portShaping, []row{
		{name: "mq and fair queues", want: "n2 mlx5_0/1 pass", not: "mlx5_1"},
		{name: "ingress, clsact and ets are fine", do: queue(fact.Qdisc{Kind: "ingress"}, fact.Qdisc{Kind: "clsact"}, fact.Qdisc{Kind: "ets"}), want: "n2 mlx5_0/1 pass"},
		{name: "netem on a card", do: queue(delay), fix: "sudo tc qdisc del dev eth2 root",
			want: "n2 mlx5_0/1 warn: netem delay 5ms, loss 1% on eth2" + tcp},
		{name: "netem under Soft-RoCE", do: soft(delay), fix: "sudo tc qdisc del dev eth2 root",
			want: "n2 mlx5_0/1 fail: netem delay 5ms, loss 1% on eth2" + rdma},
		{name: "a slow link under Soft-RoCE", do: soft(fact.Qdisc{Kind: "netem", Rate: at(100 * unit.Mbps)}),
			want: "n2 mlx5_0/1 fail: netem rate 100 Mb/s on eth2" + rdma},
		{name: "tbf under Soft-RoCE", do: soft(fact.Qdisc{Kind: "tbf", Rate: at(unit.Gbps)}), want: "n2 mlx5_0/1 fail: tbf rate 1 Gb/s on eth2" + rdma},
		{name: "netem that does nothing", do: soft(fact.Qdisc{Kind: "netem"}), want: "n2 mlx5_0/1 pass"},
		{name: "just below the port's rate", do: queue(fact.Qdisc{Kind: "tbf", Rate: at(199 * unit.Gbps)}), want: "n2 mlx5_0/1 warn: tbf rate 199 Gb/s on eth2" + tcp},
		{name: "just the port's rate", do: queue(fact.Qdisc{Kind: "tbf", Rate: at(200 * unit.Gbps)}), want: "n2 mlx5_0/1 pass"},
		{name: "a software port has its netdev's speed", do: func(c *Case) {
			soft(fact.Qdisc{Kind: "cake", Rate: at(unit.Gbps)})(c)
			c.Nodes[1].Netdev("eth2").Speed = at(unit.Gbps)
		}, want: "n2 mlx5_0/1 pass"},
		{name: "cake without a limit", do: soft(fact.Qdisc{Kind: "cake"}), want: "n2 mlx5_0/1 pass"},
		{name: "classes are not read", do: soft(fact.Qdisc{Kind: "htb"}), fix: "tc -s class show dev eth2", want: "n2 mlx5_0/1 warn: htb on eth2" + unsure},
		{name: "tbf without its rate", do: queue(fact.Qdisc{Kind: "tbf"}), want: "n2 mlx5_0/1 warn: tbf on eth2" + unsure},
		{name: "what is sure is said first", do: soft(fact.Qdisc{Kind: "htb"}, delay), want: "n2 mlx5_0/1 fail: netem delay 5ms, loss 1% on eth2" + rdma},
		{name: "below a bond", do: func(c *Case) {
			queue(delay)(c)
			n := c.Nodes[1]
			n.Netdev("eth2").Master = "bond0"
			n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: "bond0", Kind: "bond", QdiscsRead: true})
			n.Ports[0].Netdev = "bond0"
		}, want: "n2 mlx5_0/1 warn: netem delay 5ms, loss 1% on eth2" + tcp},
		{name: "on the bond above", do: func(c *Case) {
			n := c.Nodes[1]
			n.Netdev("eth2").Master = "bond0"
			n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: "bond0", Kind: "bond", Qdiscs: []fact.Qdisc{delay}, QdiscsRead: true})
		}, want: "n2 mlx5_0/1 warn: netem delay 5ms, loss 1% on bond0" + tcp},
		{name: "ip addr names a plain queue", do: told("fq_codel"), want: "n2 mlx5_0/1 pass"},
		{name: "ip addr names netem", do: told("netem"), want: "n2 mlx5_0/1 warn: netem on eth2" + unsure},
		{name: "below mq anything may be", do: told("mq"), fix: "sudo apt install iproute2", want: unread},
		{name: "unread", do: told(""), fix: "tc -j qdisc show", want: unread},
		{name: "on Fedora tc is a package of its own", do: func(c *Case) {
			told("")(c)
			c.Nodes[1].Host.Distro, c.Nodes[1].Host.Like = "fedora", ""
		}, fix: "sudo dnf install iproute-tc", want: unread},
		{name: "no netdev", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports[0].Netdev = ""
			}
		}, want: "cluster skip: no data port has a network interface"},
	})
}
