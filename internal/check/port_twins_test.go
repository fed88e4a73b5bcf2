package check

import (
	"fmt"
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
	"weft/internal/unit"
)

// sparks turns the good cluster into two DGX Sparks: one cable between them, two
// PCIe functions behind it, each with a subnet of its own.
func sparks(c *Case) {
	for i, n := range c.Nodes {
		n.GPUs[0].Name = "NVIDIA GB10"
		n.Ports = nil
		for k, name := range []string{"rocep1s0f0", "roceP2p1s0f0"} {
			netdev := []string{"enp1s0f0np0", "enP2p1s0f0np0"}[k]
			n.Ports = append(n.Ports, &fact.Port{Name: name + "/1", Device: name, Num: 1, BDF: fmt.Sprintf("%04x:01:00.0", 2*k), Driver: "mlx5", Netdev: netdev, Layer: "Ethernet", State: "ACTIVE", Phys: "LinkUp", Rate: fact.Some(200 * unit.Gbps)})
			n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: netdev, MAC: fmt.Sprintf("02:00:00:01:%02x:%02x", k, i), Oper: "up", Addrs: []string{fmt.Sprintf("10.%d.0.%d/24", k+1, i+1)}})
		}
	}
}

func TestPortTwins(t *testing.T) {
	spark := func(do func(c *Case)) func(c *Case) {
		return func(c *Case) { sparks(c); do(c) }
	}
	noAddress := func(c *Case, netdev string) { c.Nodes[1].Netdev(netdev).Addrs = []string{"fe80::1/64"} }
	slow := func(c *Case) {
		for _, p := range c.Nodes[1].Ports {
			p.Rate = fact.Some(100 * unit.Gbps)
		}
	}
	judge(t, portTwins, []row{
		{name: "no Spark", want: "cluster skip: no Spark port is in use"},
		{name: "both up and addressed", do: sparks, want: "n2 roceP2p1s0f0/1 pass: both up and addressed"},
		{name: "the second has no address", do: spark(func(c *Case) { noAddress(c, "enP2p1s0f0np0") }), fix: "dev enP2p1s0f0np0",
			want: "n2 roceP2p1s0f0/1 fail: no address, want an address in a subnet of its own: only its twin rocep1s0f0/1 is used, so one function carries what two should"},
		{name: "the first has no address", do: spark(func(c *Case) { noAddress(c, "enp1s0f0np0") }), fix: "NCCL_IB_HCA=roceP2p1s0f0,rocep1s0f0",
			want: "n2 rocep1s0f0/1 fail: no address, want an address in a subnet of its own: only its twin roceP2p1s0f0/1 is used, so one function carries what two should"},
		{name: "neither has one", do: spark(func(c *Case) { noAddress(c, "enp1s0f0np0"); noAddress(c, "enP2p1s0f0np0") }),
			want: "n2 roceP2p1s0f0/1 skip: neither twin has an address yet"},
		{name: "the second is down", do: spark(func(c *Case) { c.Nodes[1].Ports[1].State = "DOWN" }), fix: "sudo ip link set dev enP2p1s0f0np0 up",
			want: "n2 roceP2p1s0f0/1 fail: DOWN, LinkUp, want ACTIVE: its twin rocep1s0f0/1 is up, and one function alone carries half of what the cable can"},
		{name: "the first is down", do: spark(func(c *Case) { c.Nodes[1].Ports[0].State = "DOWN" }),
			want: "n2 rocep1s0f0/1 fail: DOWN, LinkUp, want ACTIVE: its twin roceP2p1s0f0/1 is up, and one function alone carries half of what the cable can"},
		{name: "the second is missing", do: spark(func(c *Case) { c.Nodes[1].Ports = c.Nodes[1].Ports[:1] }), fix: "lspci",
			want: "n2 rocep1s0f0/1 fail: one PCIe function, want two: the other function of this QSFP port is missing, and each carries only half of the bandwidth"},
		{name: "weft.yaml knows one", do: spark(func(c *Case) {
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "rocep1s0f0/1"}}}}
		}), want: "n2 roceP2p1s0f0/1 warn: not in weft.yaml, want roceP2p1s0f0/1: weft.yaml names only its twin rocep1s0f0/1, so half of the cable stays idle", fix: "weft.yaml"},
		{name: "no address, which costs nothing at 100 Gb/s", do: spark(func(c *Case) { noAddress(c, "enP2p1s0f0np0"); slow(c) }),
			want: "n2 roceP2p1s0f0/1 pass: no address, which costs nothing: rocep1s0f0/1 alone carries the link's 100 Gb/s"},
		{name: "missing, which costs nothing at 100 Gb/s", do: spark(func(c *Case) { slow(c); c.Nodes[1].Ports = c.Nodes[1].Ports[:1] }),
			want: "n2 rocep1s0f0/1 pass: one PCIe function, which costs nothing: rocep1s0f0/1 alone carries the link's 100 Gb/s"},
		{name: "not in weft.yaml, which costs nothing at 100 Gb/s", do: spark(func(c *Case) {
			slow(c)
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "rocep1s0f0/1"}}}}
		}), want: "n2 roceP2p1s0f0/1 pass: not in weft.yaml, which costs nothing: rocep1s0f0/1 alone carries the link's 100 Gb/s"},
		{name: "no address, in a machine whose function can do 16 GT/s alone", do: spark(func(c *Case) {
			noAddress(c, "enP2p1s0f0np0")
			slow(c)
			c.Nodes[1].PCI = append(c.Nodes[1].PCI, &fact.PCI{BDF: "0000:01:00.0", Cur: fact.Link{GTs: 16, Width: 4}, Max: fact.Link{GTs: 16, Width: 4}})
		}), want: "n2 roceP2p1s0f0/1 fail: no address, want an address in a subnet of its own: only its twin rocep1s0f0/1 is used, so one function carries what two should"},
		{name: "no address, and the rate was not read", do: spark(func(c *Case) {
			noAddress(c, "enP2p1s0f0np0")
			c.Nodes[1].Ports[0].Rate = fact.Val[unit.Rate]{}
		}), want: "n2 roceP2p1s0f0/1 unknown: no address: the rate of rocep1s0f0/1 was not read, so nobody can tell whether it needs its twin"},
		{name: "nothing plugged", do: spark(func(c *Case) {
			for _, n := range c.Nodes {
				for _, p := range n.Ports {
					p.State = "DOWN"
					n.Netdev(p.Netdev).Addrs = nil
				}
			}
		}), want: "cluster skip: no Spark port is in use"},
	})
}

func TestASparkPairIsJudgedOnce(t *testing.T) {
	c := good()
	sparks(c)
	if got := of(portTwins, c); len(got) != 2 {
		t.Errorf("%d findings for two pairs, want 2: %v", len(got), got)
	}
}
