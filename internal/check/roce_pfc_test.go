package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
)

// pfcOff turns PFC off on every port.
func pfcOff(c *Case) {
	for _, n := range c.Nodes {
		n.Ports[0].QoS.PFC = make([]bool, 8)
	}
}

func TestRoCEPFC(t *testing.T) {
	prio := func(c *Case, on ...int) {
		for _, n := range c.Nodes {
			n.Ports[0].QoS.PFC = make([]bool, 8)
			for _, i := range on {
				n.Ports[0].QoS.PFC[i] = true
			}
		}
	}
	const (
		drop  = "the switch cannot pause this port when a queue fills: packets are dropped, and RoCE sends everything since the loss again"
		want3 = ", want PFC on priority 3 alone: "
	)
	judge(t, rocePFC, []row{
		{name: "priority 3 alone", want: "n1 mlx5_0/1 pass: PFC on priority 3"},
		{name: "off on a lossless switch", do: pfcOff, want: "n1 mlx5_0/1 fail: PFC off" + want3 + drop, fix: "sudo dcb pfc set dev eth2 prio-pfc all:off 3:on"},
		{name: "off under OFED", do: func(c *Case) { pfcOff(c); c.Nodes[0].Settings.OFED = "x" }, want: "n1 mlx5_0/1 fail: PFC off" + want3 + drop,
			fix: "sudo mlnx_qos -i eth2 --pfc 0,0,0,1,0,0,0,0"},
		{name: "E810 beside OFED", do: func(c *Case) { pfcOff(c); c.Nodes[0].Settings.OFED = "x"; c.Nodes[0].Ports[0].Driver = "irdma" },
			want: "n1 mlx5_0/1 fail: PFC off" + want3 + drop, fix: "sudo dcb pfc set dev eth2 prio-pfc all:off 3:on"},
		{name: "off, switch unknown", do: func(c *Case) { pfcOff(c); c.Want.Data.Switch = "" },
			want: "n1 mlx5_0/1 warn: PFC off" + want3 + drop, fix: "data: {switch: none}"},
		{name: "off at one end", do: func(c *Case) { c.Nodes[1].Ports[0].QoS.PFC = make([]bool, 8); c.Want.Data.Switch = "" },
			want: "n2 mlx5_0/1 fail: PFC off" + want3 + "n1 mlx5_0/1 has it, so one end asks for a pause that the other does not grant, and packets are dropped"},
		{name: "wrong priority", do: func(c *Case) { prio(c, 4) }, want: "n1 mlx5_0/1 fail: PFC on priority 4" + want3 + drop},
		{name: "the owner uses 4", do: func(c *Case) { prio(c, 4); c.Want.Data.Priority = 4 }, want: "n1 mlx5_0/1 pass: PFC on priority 4"},
		{name: "more than one", do: func(c *Case) { prio(c, 0, 3) },
			want: "n1 mlx5_0/1 warn: PFC on priority 0 3" + want3 + "one slow receiver pauses ordinary traffic too, ssh and storage among it"},
		{name: "E810", do: func(c *Case) { pfcOff(c); c.Nodes[0].Ports[0].Driver = "irdma" },
			want: "n1 mlx5_0/1 fail: PFC off" + want3 + drop, fix: "fw-lldp-agent off"},
		{name: "direct by word", do: func(c *Case) { pfcOff(c); c.Want.Data.Switch = "none" },
			want: "cluster skip: cables are direct: there is no switch whose queue could overflow"},
		{name: "direct by cable list", do: func(c *Case) {
			pfcOff(c)
			c.Want.Data.Switch = ""
			c.Want.Cables = []spec.Cable{{A: "n1:mlx5_0/1", B: "n2:mlx5_0/1"}}
		}, want: "cluster skip: cables are direct: there is no switch whose queue could overflow"},
		{name: "direct by LLDP", do: func(c *Case) {
			pfcOff(c)
			c.Want.Data.Switch = ""
			c.Nodes[0].Settings.LLDP = []fact.LLDP{{Netdev: "eth2", Chassis: "N2"}}
			c.Nodes[1].Settings.LLDP = []fact.LLDP{{Netdev: "eth2", Chassis: "02:00:00:00:01:01"}}
		}, want: "cluster skip: cables are direct: there is no switch whose queue could overflow"},
		{name: "LLDP shows a switch", do: func(c *Case) {
			pfcOff(c)
			c.Want.Data.Switch = ""
			c.Nodes[0].Settings.LLDP = []fact.LLDP{{Netdev: "eth2", Chassis: "leaf1"}}
		}, want: "n1 mlx5_0/1 warn: PFC off" + want3 + drop},
		{name: "plain switch", do: func(c *Case) { pfcOff(c); c.Want.Data.Switch = "plain" },
			want: "cluster skip: weft.yaml says the switch is plain: what it does not do, the hosts need not ask for"},
		{name: "software RoCE", do: func(c *Case) { c.Nodes[0].Ports[0].Driver, c.Nodes[1].Ports[0].Driver = "rxe", "rxe" },
			want: "cluster skip: software RoCE has no queues of its own"},
		{name: "unread", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.PFC = nil },
			want: "n1 mlx5_0/1 unknown: neither dcb nor mlnx_qos told the PFC state of eth2", fix: "sudo apt install iproute2"},
		{name: "unread under OFED", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.PFC = nil; c.Nodes[0].Settings.OFED = "x" },
			want: "n1 mlx5_0/1 unknown: neither dcb nor mlnx_qos told the PFC state of eth2", fix: "sudo mlnx_qos -i eth2"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
