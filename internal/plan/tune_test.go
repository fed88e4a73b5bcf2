package plan

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
	"weft/internal/spec"
)

// inTree is a machine without OFED, whose queues dcb sets.
func inTree(do func(q *sample.QoS)) func(m *sample.Machine) {
	return func(m *sample.Machine) {
		m.OFED, m.DKMS = "", nil
		do(m.Netdev("ens1f0np0").QoS)
	}
}

func queues(do func(q *sample.QoS)) func(m *sample.Machine) {
	return func(m *sample.Machine) { do(m.Netdev("ens1f0np0").QoS) }
}

func firstPort(do func(p *fact.Port)) func(n *fact.Node) {
	return func(n *fact.Node) { do(n.Ports[0]) }
}

// noSystemdHere is a host with another init.
func noSystemdHere(n *fact.Node) { n.Settings.ServicesRead = false }

// intel is two machines with an E810 behind a lossless switch, the second of them changed.
func intel(do func(n *fact.Node)) func() *check.Case {
	return func() *check.Case {
		c := sample.Strix("n", 2)
		c.Want.Data.Switch = "lossless"
		for _, m := range c.Machines {
			m.Netdev("enp194s0np0").QoS.Lossless()
		}
		k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
		for _, n := range k.Nodes {
			n.Ports[0].QoS.FWAgent = fact.Some(false)
		}
		do(k.Nodes[1])
		return k
	}
}

// classes gives the first port traffic classes, as dcb tells them.
func classes(kind string, tcs ...int) func(n *fact.Node) {
	return firstPort(func(p *fact.Port) {
		p.QoS.PrioTC, p.QoS.TSA, p.QoS.TCBW = tcs, slices.Repeat([]string{kind}, 8), make([]int, 8)
		if kind == "ets" {
			p.QoS.TCBW[tcs[0]], p.QoS.TCBW[tcs[7]] = 75, 25
		}
	})
}

func iwarp(m *sample.Machine) { m.RDMA[0].IWARP = true }

// settings wants kernel settings of two machines, of which the second has others.
func settings(want, second map[string]string, do func(n *fact.Node)) func() *check.Case {
	return func() *check.Case {
		c := sample.RoCE("n", 2)
		k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
		k.Want.Sysctl = want
		for i, n := range k.Nodes {
			n.Settings.SysctlRead, n.Settings.Sysctl = true, map[string]string{}
			for key, value := range want {
				n.Settings.Sysctl[key] = spec.SysctlValue(value)
			}
			for key, value := range second {
				if i == 1 {
					n.Settings.Sysctl[key] = value
				}
			}
		}
		if do != nil {
			do(k.Nodes[1])
		}
		return k
	}
}

// switched is a machine whose GPU and NIC meet at a PCIe switch.
func switched(do func(n *fact.Node)) func() *check.Case {
	return func() *check.Case {
		m := sample.New("n1", 1)
		full := sample.Link{GTs: 16, Width: 16}
		down := m.SwitchBelow(m.Root("0000:16:02.0", 0, full), 0x17, full)
		m.Plug(sample.ConnectX6, "0000:19:00.0", down[0], "mlx5_0", "ens1np0", 200)
		m.AddGPU(sample.A100, "0000:1a:00.0", down[1])
		m.At("0000:18:01.0").Redirect = true
		c := &sample.Cluster{Machines: []*sample.Machine{m}}
		k := &check.Case{Cluster: format.Facts(c.Dump())}
		if do != nil {
			do(k.Nodes[0])
		}
		return k
	}
}

// fabric is three machines on a switch of InfiniBand, changed as a whole.
func fabric(do func(c *sample.Cluster), then func(k *check.Case)) func() *check.Case {
	return func() *check.Case {
		c := sample.InfiniBand("n", 3)
		if do != nil {
			do(c)
		}
		k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
		if then != nil {
			then(k)
		}
		return k
	}
}

// unmanaged has ports that wait for a manager, and none.
func unmanaged(c *sample.Cluster) {
	c.Machines[0].Opensm, c.Fabric.SMs = "", nil
	for _, m := range c.Machines {
		for _, d := range m.RDMA {
			d.Ports[0].State, d.Ports[0].LID, d.Ports[0].SMLID = sample.Init, 0, 0
		}
	}
}

// stopped is opensm, installed, and how it is.
func stopped(enabled, active string) func(k *check.Case) {
	return func(k *check.Case) {
		n := k.Nodes[0]
		n.Settings.Services["opensm.service"] = fact.Service{Load: "loaded", Enabled: enabled, Active: active}
		n.Settings.Packages["opensm"] = "3.3.24-9"
	}
}

func unasked(k *check.Case) { k.Fabric.SMs, k.Fabric.SMsRead = nil, false }

var tuneTries = []try{
	{"roce.irdma", "devlink", second(sample.Strix, iwarp, nil)},
	{"roce.irdma", "Intel's own driver", second(sample.Strix, iwarp, func(n *fact.Node) { n.Settings.ModParams = map[string]string{"irdma.roce_ena": "0"} })},
	{"roce.v2", "rdma_cm", second(sample.RoCE, nil, firstPort(func(p *fact.Port) { p.CMARoCE = "IB/RoCE v1" }))},

	{"roce.trust", "the VLAN tag, mlnx_qos", second(sample.RoCE, queues(func(q *sample.QoS) { q.DSCP = nil }), nil)},
	{"roce.trust", "the VLAN tag, dcb", second(sample.RoCE, inTree(func(q *sample.QoS) { q.DSCP = nil }), nil)},
	{"roce.trust", "the VLAN tag, everywhere", func() *check.Case {
		c := sample.RoCE("n", 2)
		for _, m := range c.Machines {
			m.Netdev("ens1f0np0").QoS.DSCP, m.Netdev("ens2f0np0").QoS.DSCP = nil, nil
		}
		return &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
	}},
	{"roce.trust", "another priority, mlnx_qos", second(sample.RoCE, queues(func(q *sample.QoS) { q.DSCP[26] = 0 }), nil)},
	{"roce.trust", "another priority, dcb", second(sample.RoCE, inTree(func(q *sample.QoS) { q.DSCP[26] = 0 }), nil)},
	{"roce.trust", "a map unlike the others'", second(sample.RoCE, queues(func(q *sample.QoS) { q.DSCP[48] = 0; delete(q.DSCP, 5) }), nil)},
	{"roce.trust", "E810", intel(func(n *fact.Node) { n.Ports[0].QoS.DSCP[26], n.Ports[0].QoS.FWAgent = 1, fact.Some(true) })},

	{"roce.ets", "all in one, mlnx_qos", second(sample.RoCE, nil, classes("vendor", make([]int, 8)...))},
	{"roce.ets", "shares, mlnx_qos", second(sample.RoCE, nil, classes("ets", 0, 0, 0, 0, 0, 0, 0, 3))},
	{"roce.ets", "shares, dcb", second(sample.RoCE, inTree(func(*sample.QoS) {}), classes("ets", 0, 0, 0, 0, 0, 0, 0, 1))},
	{"roce.ets", "E810", intel(classes("strict", make([]int, 8)...))},

	{"roce.pfc", "off, mlnx_qos", second(sample.RoCE, queues(func(q *sample.QoS) { q.PFC = [8]bool{} }), nil)},
	{"roce.pfc", "off, dcb", second(sample.RoCE, inTree(func(q *sample.QoS) { q.PFC = [8]bool{} }), nil)},
	{"roce.pfc", "one too many", second(sample.RoCE, queues(func(q *sample.QoS) { q.PFC[5] = true }), nil)},
	{"roce.pfc", "E810 with its agent", intel(func(n *fact.Node) { n.Ports[0].QoS.PFC, n.Ports[0].QoS.FWAgent = make([]bool, 8), fact.Some(true) })},
	{"roce.pfc", "without systemd", second(sample.RoCE, queues(func(q *sample.QoS) { q.PFC = [8]bool{} }), noSystemdHere)},
	{"roce.pause", "both ways", second(sample.RoCE, queues(func(q *sample.QoS) { q.Pause = true }), nil)},
	{"roce.pause", "one way", second(sample.RoCE, nil, firstPort(func(p *fact.Port) { p.QoS.PauseTx = fact.Some(true) }))},
	{"roce.tc", "0", second(sample.RoCE, queues(func(q *sample.QoS) { q.TC = 0 }), nil)},
	{"roce.tc", "none", second(sample.RoCE, nil, firstPort(func(p *fact.Port) { p.TrafficClass = fact.Some(-1) }))},
	{"roce.ecn", "off", second(sample.RoCE, nil, firstPort(func(p *fact.Port) { p.QoS.ECNNP[3], p.QoS.ECNRP[3] = false, false }))},
	{"roce.ecn", "off one way", second(sample.RoCE, nil, firstPort(func(p *fact.Port) { p.QoS.ECNNP[3] = false }))},

	{"pcie.mrrs", "512", second(sample.RoCE, func(m *sample.Machine) { m.At("0000:17:00.0").MaxRead = 512 }, nil)},
	{"node.acs", "one bridge", switched(nil)},
	{"node.acs", "request alone", switched(func(n *fact.Node) { n.At("0000:18:01.0").ACSCtl = fact.Some(4) })},
	{"node.aspm", "policy", second(sample.RoCE, func(m *sample.Machine) {
		m.CmdLine = "BOOT_IMAGE=/vmlinuz root=/dev/mapper/root ro quiet iommu=pt"
		m.At("0000:17:00.0").L1 = true
		m.ModParams = map[string]string{"pcie_aspm.policy": "[default] performance powersave powersupersave"}
	}, nil)},
	{"node.aspm", "turned off on the command line", second(sample.RoCE, func(m *sample.Machine) { m.At("0000:17:00.0").L1 = true }, nil)},

	{"node.sysctl", "one", settings(map[string]string{"vm.swappiness": "1"}, map[string]string{"vm.swappiness": "60"}, nil)},
	{"node.sysctl", "several", settings(map[string]string{"vm.swappiness": "1", "net.ipv4.tcp_rmem": "4096  131072 6291456", "net/ipv4/conf/eth0.5/rp_filter": "2"},
		map[string]string{"net.ipv4.tcp_rmem": "4096 16384 4194304", "net/ipv4/conf/eth0.5/rp_filter": "1"}, nil)},

	{"ib.sm", "nobody is master", fabric(func(c *sample.Cluster) { c.Machines[0].Opensm, c.Fabric.SMs = "", nil }, stopped("disabled", "inactive"))},
	{"ib.sm", "nobody is master, not installed", fabric(func(c *sample.Cluster) { c.Machines[0].Opensm, c.Fabric.SMs = "", nil }, nil)},
	{"ib.sm", "two masters", fabric(func(c *sample.Cluster) {
		c.Machines[1].Opensm = "active"
		c.Fabric.SMs = append(c.Fabric.SMs, sample.SM{Host: 1, State: 3})
	}, nil)},
	{"ib.sm", "two run, nobody was asked", fabric(func(c *sample.Cluster) { c.Machines[1].Opensm = "active" }, unasked)},
	{"ib.sm", "not at boot", fabric(nil, stopped("disabled", "active"))},
	{"port.up", "waits for a manager", fabric(unmanaged, stopped("disabled", "inactive"))},
	{"port.up", "waits for a manager that failed", fabric(unmanaged, stopped("enabled", "failed"))},
	{"port.up", "waits for a manager, not installed", fabric(unmanaged, nil)},
	{"port.up", "waits for a manager, nobody was asked", fabric(unmanaged, func(k *check.Case) { stopped("disabled", "inactive")(k); unasked(k) })},
}

// TestTuningIsLeftToPeople has circumstances in which a remedy must not act.
func TestTuningIsLeftToPeople(t *testing.T) {
	off := queues(func(q *sample.QoS) { q.PFC = [8]bool{} })
	for _, tt := range []struct {
		remedy, name string
		broken       func() *check.Case
		why          string
	}{
		{"roce.pfc", "no tool", second(sample.RoCE, off, func(n *fact.Node) { n.Settings.Tools = lacking(lacking(n.Settings.Tools, "dcb"), "mlnx_qos") }), "neither dcb nor mlnx_qos"},
		{"roce.pfc", "tools not read", second(sample.RoCE, off, func(n *fact.Node) { n.Settings.ToolsRead = false }), "was not read"},
		{"roce.pfc", "management", second(sample.RoCE, off, func(n *fact.Node) { n.Host.SSHTo = "10.10.1.2" }), "how the node is managed"},
		{"roce.pfc", "a name that is more than a name", second(sample.RoCE, off, func(n *fact.Node) {
			n.Ports[0].Netdev = "x;reboot"
			n.Netdev("ens1f0np0").Name = "x;reboot"
		}), "not plain"},
		{"roce.pfc", "an agent nobody asked about", intel(func(n *fact.Node) { n.Ports[0].QoS.PFC, n.Ports[0].QoS.FWAgent = make([]bool, 8), fact.Val[bool]{} }), "fw-lldp-agent"},
		{"roce.pfc", "not seen", second(sample.RoCE, nil, firstPort(func(p *fact.Port) { p.QoS.PFC = nil })), "not known to be wrong"},
		{"roce.ets", "shares not read", second(sample.RoCE, nil, firstPort(func(p *fact.Port) { p.QoS.PrioTC = make([]int, 8) })), "was not read"},
		{"roce.ets", "a shaper", second(sample.RoCE, nil, classes("cbs", make([]int, 8)...)), "does not share out"},
		{"roce.v2", "version 1 alone", second(sample.RoCE, nil, firstPort(func(p *fact.Port) {
			for i := range p.GIDs {
				p.GIDs[i].Type = "IB/RoCE v1"
			}
		})), "version 1 only"},
		{"roce.irdma", "X722", second(sample.Strix, iwarp, func(n *fact.Node) { n.At(n.Ports[0].BDF).Driver = "i40e" }), "only an E810"},
		{"node.acs", "virtual machines", switched(func(n *fact.Node) { n.Settings.Modules = append(n.Settings.Modules, "vfio_pci") }), "virtual machines"},
		{"node.acs", "bits not read", switched(func(n *fact.Node) { n.At("0000:18:01.0").ACSCtl = fact.Val[int]{} }), "was not read"},
		{"node.aspm", "the BIOS's", second(sample.RoCE, func(m *sample.Machine) {
			m.CmdLine = "root=/dev/mapper/root ro quiet iommu=pt"
			m.At("0000:17:00.0").L1 = true
		}, nil), "to the BIOS"},
		{"node.sysctl", "no such setting", settings(map[string]string{"vm.nonsense": "1"}, nil, func(n *fact.Node) { n.Settings.Sysctl = nil }), "no setting"},
		{"node.sysctl", "a later file", settings(map[string]string{"vm.swappiness": "1"}, map[string]string{"vm.swappiness": "60"}, func(n *fact.Node) {
			n.Settings.Files["/etc/sysctl.d/99-z.conf"] = "vm.swappiness = 60\n"
		}), "/etc/sysctl.d/99-z.conf comes later"},
		{"ib.sm", "opensm runs and is no master", fabric(func(c *sample.Cluster) { c.Fabric.SMs = nil }, nil), "its log knows why"},
		{"ib.sm", "cables", fabric(func(c *sample.Cluster) { c.Machines[0].Opensm, c.Fabric.SMs = "", nil; c.Want.Data.Switch = "none" }, nil), "subnets"},
		{"port.up", "Omni-Path", fabric(unmanaged, func(k *check.Case) {
			for _, n := range k.Nodes {
				n.Ports[0].Driver = "hfi1"
			}
		}), "opafm"},
		{"port.up", "a masked manager", fabric(unmanaged, stopped("masked", "inactive")), "masked"},
	} {
		t.Run(tt.remedy+" "+tt.name, func(t *testing.T) {
			c := tt.broken()
			loud := of(c, tt.remedy)
			if len(loud) == 0 {
				t.Fatal("nothing is broken")
			}
			p := Make(c, tt.broken(), check.All, loud)
			if len(p.Steps) > 0 {
				t.Errorf("steps: %+v", p.Steps)
			}
			if !slices.ContainsFunc(p.Hand, func(h Hand) bool { return strings.Contains(h.Why, tt.why) }) {
				t.Errorf("by hand is %+v, want why it is so: %s", p.Hand, tt.why)
			}
		})
	}
}

// TestTuningIsBound: a plan is stale when what its steps start from has moved.
func TestTuningIsBound(t *testing.T) {
	for _, x := range tuneTries {
		c := x.broken()
		p := Make(c, x.broken(), check.All, of(c, x.remedy))
		for _, s := range p.Steps {
			i := slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Name == s.Node })
			if err := SetIn(&c.Cluster, s.Node, s.What, s.To); err != nil {
				t.Fatal(err)
			}
			if moved := p.Nodes[i].Moved(Bound(c.Node(s.Node))); len(moved) == 0 {
				t.Errorf("%s %s: %s becomes %q, and the plan does not see it", x.remedy, x.name, s.What, s.To)
			}
		}
	}
}
