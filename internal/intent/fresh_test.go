package intent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/format"
	"weft/internal/sample"
	"weft/internal/spec"
)

// fresh takes from a cluster what its owner has set up: the addresses and MTU of its
// data interfaces, and weft.yaml.
func fresh(c *sample.Cluster) *sample.Cluster {
	for _, m := range c.Machines {
		for _, d := range m.RDMA {
			for _, p := range d.Ports {
				net := m.Netdev(p.Netdev)
				net.Addrs = nil
				if net.IPoIB == "" {
					net.MTU = 1500
				}
			}
		}
	}
	c.Want = spec.Spec{}
	return c
}

// wished drafts weft.yaml for a cluster and makes it the cluster's.
func wished(t *testing.T, c *sample.Cluster, g Given) spec.Spec {
	t.Helper()
	w, err := Parse(g)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Draft(caseOf(c), w, nil, "", "2026-11-15")
	if err != nil {
		t.Fatal(err)
	}
	c.Want = parsed(t, text)
	return c.Want
}

func parsed(t *testing.T, text string) spec.Spec {
	t.Helper()
	want, err := spec.Parse([]byte(text))
	if err != nil {
		t.Fatalf("the draft is wrong: %v\n%s", err, text)
	}
	return want
}

// loud is what weft check says of a cluster, a line each, passes and skips left out.
func loud(c *sample.Cluster) (lines []string) {
	for _, f := range check.Run(check.All, &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}) {
		if f.Status != check.Pass && f.Status != check.Skip {
			lines = append(lines, strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%v %s %v: %s, want %s", f.Status, f.Check, f.Subject, f.Got, f.Want), ", want "), " "))
		}
	}
	slices.Sort(lines)
	return lines
}

// apply sets what weft.yaml wants, as a plan would.
func apply(c *sample.Cluster) {
	for _, n := range c.Want.Nodes {
		for _, m := range c.Machines {
			if m.Name != n.Name {
				continue
			}
			for _, p := range n.Data {
				net := m.Netdev(p.Netdev)
				net.Addrs = []string{p.Address}
				if net.IPoIB == "" {
					net.MTU = c.Want.Data.MTU
				} else if net.IPoIB = c.Want.Data.IPoIB; net.IPoIB == "connected" {
					net.MTU = 65520
				}
			}
		}
	}
}

// sparkAndWorkstation is seeds/004: one cable of 100 Gb/s between a Spark and a
// workstation whose ConnectX-5 has a second, empty port.
func sparkAndWorkstation() *sample.Cluster {
	ws := sample.New("ws", 2)
	up := ws.Root("0000:00:01.0", 0, sample.Link{GTs: 8, Width: 16})
	ws.Plug(sample.ConnectX5, "0000:03:00.0", up, "mlx5_0", "enp3s0f0np0", 100)
	ws.Unplug(ws.Plug(sample.ConnectX5, "0000:03:00.1", up, "mlx5_1", "enp3s0f1np1", 100))
	return &sample.Cluster{Machines: []*sample.Machine{sample.Spark("spark", 1, 100), ws}}
}

// strixIB is seeds/000: two Strix Halo with used ConnectX-3 cards of two ports, one of
// which has a cable, and no subnet manager yet.
func strixIB(state string) *sample.Cluster {
	c := &sample.Cluster{}
	for i := 1; i <= 2; i++ {
		m := sample.Halo(fmt.Sprintf("pc%d", i), i)
		d := m.Plug(sample.ConnectX3, "0000:c3:00.0", m.Root("0000:00:02.5", 0, sample.Link{GTs: 8, Width: 4}), "ibp195s0", "ibp195s0", 56)
		d.Ports[0].State = state
		d.Ports[0].LID, d.Ports[0].SMLID = 0, 0
		if state == sample.Active {
			d.Ports[0].LID, d.Ports[0].SMLID = i, 1
		}
		m.Modprobe, m.ModParams = "options mlx4_core log_num_mgm_entry_size=-7\n", map[string]string{"mlx4_core.log_num_mgm_entry_size": "-7"}
		m.Firewalld("ibp195s0")
		c.Machines = append(c.Machines, m)
	}
	return c
}

func noQoS(c *sample.Cluster) *sample.Cluster {
	for _, m := range c.Machines {
		for _, d := range m.Net {
			if d.QoS != nil {
				d.QoS = &sample.QoS{DSCP: map[int]int{}, Cable: d.QoS.Cable}
			}
		}
	}
	return c
}

func iwarp(c *sample.Cluster) *sample.Cluster {
	for _, m := range c.Machines {
		m.RDMA[0].IWARP = true
	}
	return c
}

// TestFreshClusters: the wish becomes weft.yaml, weft check tells exactly what differs
// from it, and a cluster that is so passes.
func TestFreshClusters(t *testing.T) {
	const gid, mtu = ": link-local GIDs only, want an IPv4-mapped RoCE v2 GID", ": mtu 1500, want 9000"
	const qos = `
fail roce.pfc gpu1 mlx5_0/1: PFC off, want PFC on priority 3 alone
fail roce.pfc gpu1 mlx5_1/1: PFC off, want PFC on priority 3 alone
fail roce.tc gpu1 mlx5_0/1: traffic class 0, want 106
fail roce.tc gpu1 mlx5_1/1: traffic class 0, want 106
fail roce.trust gpu1 mlx5_0/1: trusts pcp, want DSCP 26 to priority 3
fail roce.trust gpu1 mlx5_1/1: trusts pcp, want DSCP 26 to priority 3
`
	for _, x := range []struct {
		name    string
		cluster *sample.Cluster
		given   Given
		ports   string // node port netdev address, in weft.yaml
		loud    string // before
		after   string // when it is so; what is wrong beside the wish
	}{
		{"two Sparks", sample.Sparks("spark"), Given{Subnets: []string{"192.168.200.0/24", "192.168.201.0/24"}, MTU: "9000", Switch: "none"}, `
spark1 rocep1s0f0/1 enp1s0f0np0 192.168.200.1/24
spark1 roceP2p1s0f0/1 enP2p1s0f0np0 192.168.201.1/24
spark2 rocep1s0f0/1 enp1s0f0np0 192.168.200.2/24
spark2 roceP2p1s0f0/1 enP2p1s0f0np0 192.168.201.2/24
`, `
fail roce.gid spark1 roceP2p1s0f0/1` + gid + `
fail roce.gid spark1 rocep1s0f0/1` + gid + `
fail roce.gid spark2 roceP2p1s0f0/1` + gid + `
fail roce.gid spark2 rocep1s0f0/1` + gid + `
fail roce.mtu spark1 roceP2p1s0f0/1` + mtu + `
fail roce.mtu spark1 rocep1s0f0/1` + mtu + `
fail roce.mtu spark2 roceP2p1s0f0/1` + mtu + `
fail roce.mtu spark2 rocep1s0f0/1` + mtu + `
`, ""},
		{"a Spark and a workstation", sparkAndWorkstation(), Given{Subnets: []string{"192.168.200.0/24"}, Switch: "none"}, `
spark rocep1s0f0/1 enp1s0f0np0 192.168.200.1/24
ws mlx5_0/1 enp3s0f0np0 192.168.200.2/24
`, `
fail roce.gid spark rocep1s0f0/1` + gid + `
fail roce.gid ws mlx5_0/1` + gid + `
fail roce.mtu spark rocep1s0f0/1` + mtu + `
fail roce.mtu ws mlx5_0/1` + mtu + `
warn port.rate spark rocep1s0f0/1: 100 Gb/s, want 200 Gb/s
`, ""}, // without addresses nothing tells that the other end can do no more
		{"a lossless rack without QoS", noQoS(sample.RoCE("gpu", 1)), Given{Subnets: []string{"10.10.1.0/24", "10.10.2.0/24"}, Switch: "lossless"}, `
gpu1 mlx5_0/1 ens1f0np0 10.10.1.1/24
gpu1 mlx5_1/1 ens2f0np0 10.10.2.1/24
`, `
fail roce.gid gpu1 mlx5_0/1` + gid + `
fail roce.gid gpu1 mlx5_1/1` + gid + `
fail roce.mtu gpu1 mlx5_0/1` + mtu + `
fail roce.mtu gpu1 mlx5_1/1` + mtu + qos, qos},
		{"Strix Halo on InfiniBand", strixIB(sample.Active), Given{Subnets: []string{"192.168.100.0/24"}, IPoIB: "datagram", Layer: "infiniband"}, `
pc1 ibp195s0/1 ibp195s0 192.168.100.1/24
pc2 ibp195s0/1 ibp195s0 192.168.100.2/24
`, `
fail ib.ipoib pc1 ibp195s0/1: no address, want 192.168.100.1/24
fail ib.ipoib pc2 ibp195s0/1: no address, want 192.168.100.2/24
unknown fabric.switch cluster:
`, "unknown fabric.switch cluster:"}, // nobody could look at the fabric
		{"Strix Halo on InfiniBand without a subnet manager", strixIB(sample.Init), Given{Subnets: []string{"192.168.100.0/24"}, IPoIB: "connected"}, `
pc1 ibp195s0/1 ibp195s0 192.168.100.1/24
pc2 ibp195s0/1 ibp195s0 192.168.100.2/24
`, `
fail ib.ipoib pc1 ibp195s0/1: no address, want 192.168.100.1/24
fail ib.ipoib pc2 ibp195s0/1: no address, want 192.168.100.2/24
fail port.up pc1 ibp195s0/1: INIT, want ACTIVE
fail port.up pc2 ibp195s0/1: INIT, want ACTIVE
warn ib.ipoib pc1 ibp195s0/1: datagram, mtu 2044, want connected
warn ib.ipoib pc2 ibp195s0/1: datagram, mtu 2044, want connected
`, `
fail port.up pc1 ibp195s0/1: INIT, want ACTIVE
fail port.up pc2 ibp195s0/1: INIT, want ACTIVE
`},
		{"an InfiniBand lab", sample.InfiniBand("lab", 3), Given{Subnets: []string{"192.168.40.0/24"}}, `
lab1 mlx5_0/1 ibp4s0 192.168.40.1/24
lab2 mlx5_0/1 ibp4s0 192.168.40.2/24
lab3 mlx5_0/1 ibp4s0 192.168.40.3/24
`, `
fail ib.ipoib lab1 mlx5_0/1: no address, want 192.168.40.1/24
fail ib.ipoib lab2 mlx5_0/1: no address, want 192.168.40.2/24
fail ib.ipoib lab3 mlx5_0/1: no address, want 192.168.40.3/24
`, ""},
		{"an InfiniBand lab without IPoIB addresses", sample.InfiniBand("lab", 2), Given{Layer: "infiniband"}, `
lab1 mlx5_0/1 ibp4s0
lab2 mlx5_0/1 ibp4s0
`, "", "-"},
		{"an InfiniBand lab that should speak Ethernet", sample.InfiniBand("lab", 2), Given{Layer: "roce", Subnets: []string{"192.168.40.0/24"}}, `
lab1 mlx5_0/1  192.168.40.1/24
lab2 mlx5_0/1  192.168.40.2/24
`, `
fail port.layer lab1 mlx5_0/1: InfiniBand, want Ethernet
fail port.layer lab2 mlx5_0/1: InfiniBand, want Ethernet
`, "-"},
		{"a rack that should speak InfiniBand", sample.RoCE("gpu", 2), Given{Layer: "infiniband", Subnets: []string{"192.168.40.0/24", "192.168.41.0/24"}}, `
gpu1 mlx5_0/1  192.168.40.1/24
gpu1 mlx5_1/1  192.168.41.1/24
gpu2 mlx5_0/1  192.168.40.2/24
gpu2 mlx5_1/1  192.168.41.2/24
`, `
fail port.layer gpu1 mlx5_0/1: Ethernet, want InfiniBand
fail port.layer gpu1 mlx5_1/1: Ethernet, want InfiniBand
fail port.layer gpu2 mlx5_0/1: Ethernet, want InfiniBand
fail port.layer gpu2 mlx5_1/1: Ethernet, want InfiniBand
`, "-"},
		{"Strix Halo that came up as iWARP", iwarp(sample.Strix("strix", 2)), Given{Layer: "roce", Subnets: []string{"192.168.100.0/24"}, Switch: "plain"}, `
strix1 rocep194s0/1 enp194s0np0 192.168.100.1/24
strix2 rocep194s0/1 enp194s0np0 192.168.100.2/24
`, `
fail roce.irdma strix1 rocep194s0/1: iWARP, want RoCE v2
fail roce.irdma strix2 rocep194s0/1: iWARP, want RoCE v2
fail roce.subnets strix1 rocep194s0/1: no address, want 192.168.100.1/24
fail roce.subnets strix2 rocep194s0/1: no address, want 192.168.100.2/24
`, "-"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := fresh(x.cluster)
			want := wished(t, c, x.given)
			var ports string
			for _, n := range want.Nodes {
				for _, p := range n.Data {
					ports += strings.TrimSpace(fmt.Sprintf("%s %s %s %s", n.Name, p.Port, p.Netdev, p.Address)) + "\n"
				}
			}
			if ports != strings.TrimPrefix(x.ports, "\n") {
				t.Errorf("weft.yaml has the ports\n%s", ports)
			}
			if got := strings.Join(loud(c), "\n"); got != strings.TrimSpace(x.loud) {
				t.Errorf("before:\n%s", got)
			}
			if x.after == "-" {
				return
			}
			apply(c)
			if got := strings.Join(loud(c), "\n"); got != strings.TrimSpace(x.after) {
				t.Errorf("after:\n%s", got)
			}
		})
	}
}
