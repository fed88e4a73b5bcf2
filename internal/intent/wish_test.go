package intent

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/sample"
	"weft/internal/spec"
)

func nets(words ...string) Given { return Given{Subnets: words} }

// with is a wish with another value for one flag, as weft init proposes it.
func (g Given) with(flag, value string) Given {
	list := strings.Split(value, ",")
	if value == "" {
		list = nil
	}
	switch flag {
	case "subnet":
		g.Subnets = list
	case "port":
		g.Ports = list
	case "layer":
		g.Layer = value
	case "mtu":
		g.MTU = value
	case "ipoib":
		g.IPoIB = value
	case "switch":
		g.Switch = value
	}
	return g
}

func tried(c *check.Case, g Given) (string, error) {
	w, err := Parse(g)
	if err != nil {
		return "", err
	}
	return Draft(c, w, nil, "", "2026-11-15")
}

// TestWishesThatCannotBe: each is refused with its reason, and what is proposed
// instead can be had.
func TestWishesThatCannotBe(t *testing.T) {
	sparks := func() *sample.Cluster { return fresh(sample.Sparks("spark")) }
	lab := func() *sample.Cluster { return fresh(sample.InfiniBand("lab", 3)) }
	rack := func() *sample.Cluster { return fresh(sample.RoCE("gpu", 4)) }
	two := []string{"192.168.200.0/24", "192.168.201.0/24"}
	change := func(c *sample.Cluster, do func(m *sample.Machine)) *sample.Cluster {
		do(c.Machines[len(c.Machines)-1])
		return c
	}
	for _, x := range []struct {
		name    string
		cluster *sample.Cluster
		given   Given
		want    string // a part of the error
		try     string // "flag value"; "" none
	}{
		{"no subnet", sparks(), nets("nonsense"), `--subnet "nonsense" is not a subnet like 192.168.200.0/24`, ""},
		{"empty", sparks(), nets(""), `--subnet "" is not a subnet`, ""},
		{"no prefix length", sparks(), nets("192.168.200.0", "192.168.201.0/24"), "has no prefix length", "subnet 192.168.200.0/24,192.168.201.0/24"},
		{"an address", sparks(), nets("192.168.200.0/24", "192.168.201.7/24"), "is an address", "subnet 192.168.200.0/24,192.168.201.0/24"},
		{"/31", sparks(), nets("192.168.200.0/31", "192.168.201.0/30"), "is too small: two nodes need a /30", "subnet 192.168.200.0/30,192.168.201.0/30"},
		{"/32", sparks(), nets("192.168.200.7/32", "192.168.201.0/24"), "is too small", "subnet 192.168.200.4/30,192.168.201.0/24"},
		{"/7", sparks(), nets("10.0.0.0/7"), "is too large", ""},
		{"everything", sparks(), nets("0.0.0.0/0"), "is too large", ""},
		{"IPv6", sparks(), nets("fd00::/64"), "is not IPv4: NCCL looks for IPv4", ""},
		{"IPv4 in IPv6", sparks(), nets("::ffff:192.168.200.0/120"), "is not IPv4", ""},
		{"loopback", sparks(), nets("127.0.0.0/8"), "is not for hosts", ""},
		{"link-local", sparks(), nets("169.254.9.0/24"), "is not for hosts", ""},
		{"multicast", sparks(), nets("239.0.0.0/24"), "is not for hosts", ""},
		{"twice", sparks(), nets("192.168.200.0/24", "192.168.200.0/24"), "192.168.200.0/24 overlaps 192.168.200.0/24: each data port", "subnet 192.168.200.0/24,192.168.201.0/24"},
		{"one in the other", sparks(), nets("192.168.200.0/22", "192.168.201.0/24"), "192.168.201.0/24 overlaps 192.168.200.0/22", "subnet 192.168.200.0/22,192.168.204.0/24"},
		{"management", sparks(), nets("192.168.200.0/24", "10.0.0.0/16"), "--subnet 10.0.0.0/16: enP7s7 of spark1 is in it already, with 10.0.0.1/24", "subnet 192.168.200.0/24,10.1.0.0/16"},
		{"a part of management", sparks(), nets("10.0.0.128/25", "192.168.201.0/24"), "enP7s7 of spark1 is in it already", "subnet 10.0.1.0/25,192.168.201.0/24"},
		{"a container bridge", change(sparks(), func(m *sample.Machine) {
			m.Net = append(m.Net, &sample.Netdev{Name: "docker0", MAC: "02:42:00:00:00:01", Addrs: []string{"172.17.0.1/16"}})
		}), nets("192.168.200.0/24", "172.17.9.0/24"), "docker0 of spark2 is in it already, with 172.17.0.1/16", "subnet 192.168.200.0/24,172.18.0.0/24"},
		{"the subnet of the other port", change(sparks(), func(m *sample.Machine) { m.Netdev("enP2p1s0f0np0").Addrs = []string{"192.168.200.9/24"} }), Given{Subnets: two},
			"enP2p1s0f0np0 of spark2 is in it already, with 192.168.200.9/24", "subnet 192.168.202.0/24,192.168.201.0/24"},
		{"a route elsewhere", change(sparks(), func(m *sample.Machine) {
			m.Routes = append(m.Routes, sample.Route{Dst: "192.168.201.128/25", Via: "10.0.0.9", Dev: "enP7s7"})
		}), Given{Subnets: two}, "spark2 has a route to 192.168.201.128/25 by enP7s7", "subnet 192.168.200.0/24,192.168.202.0/24"},
		{"too few addresses", rack(), nets("192.168.200.0/30", "192.168.201.0/24"), "192.168.200.0/30 has 2 addresses for hosts, and there are 4 nodes", "subnet 192.168.200.0/29,192.168.201.0/24"},
		{"too few subnets", rack(), nets("192.168.200.0/24"), "gpu1 has 2 RDMA ports with a cable (mlx5_0/1, mlx5_1/1), and --subnet gives 1 subnet", "subnet 192.168.200.0/24,192.168.201.0/24"},
		{"too few for twins that are needed", sparks(), nets("192.168.200.0/24"), "spark1 has 2 RDMA ports with a cable (rocep1s0f0/1, roceP2p1s0f0/1)", "subnet 192.168.200.0/24,192.168.201.0/24"},
		{"too many subnets", lab(), Given{Subnets: two}, "lab1 has 1 RDMA port with a cable (mlx5_0/1), and --subnet gives 2 subnets", "subnet 192.168.200.0/24"},
		{"nodes that differ", change(rack(), func(m *sample.Machine) { m.Unplug(m.Device("mlx5_0")) }), nets("192.168.200.0/24"),
			"gpu1 has 2 RDMA ports with a cable", "port gpu1:mlx5_0/1,gpu2:mlx5_0/1,gpu3:mlx5_0/1,gpu4:mlx5_1/1"},
		{"a node that lacks a cable", change(rack(), func(m *sample.Machine) { m.Unplug(m.Device("mlx5_0")) }), Given{Subnets: two}, "gpu4 has 1 RDMA port with a cable (mlx5_1/1)", ""},
		{"no cable at all", change(rack(), func(m *sample.Machine) { m.Unplug(m.Device("mlx5_0")); m.Unplug(m.Device("mlx5_1")) }), Given{Subnets: two},
			"gpu4 has no RDMA port with a cable: mlx5_0/1 is DOWN, mlx5_1/1 is DOWN", "node gpu4"},
		{"no driver", change(rack(), func(m *sample.Machine) { m.RDMA = nil }), Given{Subnets: two}, "gpu4 has no RDMA port with a cable: its ConnectX-6 at 0000:17:00.0 is no RDMA device", "node gpu4"},
		{"management on the only port", change(lab(), func(m *sample.Machine) {
			m.Netdev("ibp4s0").Addrs, m.SSHTo = []string{"10.7.0.3/24"}, "10.7.0.3"
		}), nets("192.168.200.0/24"), "lab3 has no RDMA port with a cable: mlx5_0/1 carries management", "node lab3"},
		{"management on a named port", change(lab(), func(m *sample.Machine) {
			m.Netdev("ibp4s0").Addrs, m.SSHTo = []string{"10.7.0.3/24"}, "10.7.0.3"
		}), Given{Subnets: two[:1], Ports: []string{"mlx5_0/1"}}, "mlx5_0/1 carries ssh or the default route of lab3", ""},
		{"bad port", rack(), Given{Ports: []string{"mlx5_0"}}, `--port "mlx5_0" is not an RDMA port like mlx5_0/1`, ""},
		{"port 0", rack(), Given{Ports: []string{"mlx5_0/0"}}, "is not an RDMA port", ""},
		{"a port with a shell in it", rack(), Given{Ports: []string{"$(reboot)/1"}}, "is not an RDMA port", ""},
		{"a port of nobody", rack(), Given{Ports: []string{"mlx5_9/1"}}, "no node has it; gpu1 has mlx5_0/1, mlx5_1/1", ""},
		{"a port that one lacks", change(rack(), func(m *sample.Machine) { m.RDMA = m.RDMA[:1] }), Given{Ports: []string{"mlx5_0/1", "mlx5_1/1"}}, "gpu4 has no mlx5_1/1; it has mlx5_0/1", ""},
		{"a port of a node that is not there", rack(), Given{Ports: []string{"gpu9:mlx5_0/1"}}, "there is no node gpu9", ""},
		{"a port twice", rack(), Given{Ports: []string{"mlx5_0/1", "mlx5_0/1"}}, "mlx5_0/1 is there twice", ""},
		{"more ports than subnets", rack(), Given{Ports: []string{"mlx5_0/1", "mlx5_1/1"}, Subnets: two[:1]}, "gpu1 has 2 data ports (mlx5_0/1, mlx5_1/1), and --subnet gives 1 subnet", "subnet 192.168.200.0/24,192.168.201.0/24"},
		{"a word for the layer", rack(), Given{Layer: "ethernet"}, `--layer "ethernet" is not one of roce, infiniband`, ""},
		{"a word for the mode", lab(), Given{IPoIB: "fast"}, `--ipoib "fast" is not one of`, ""},
		{"a word for the switch", rack(), Given{Switch: "yes"}, `--switch "yes" is not one of none, plain, lossless`, ""},
		{"a word for the purpose", rack(), Given{Purpose: "games"}, `--purpose "games" is not one of`, ""},
		{"no MTU", rack(), Given{MTU: "9k"}, `--mtu "9k" is not an MTU`, ""},
		{"MTU 0", rack(), Given{MTU: "0"}, "is not an MTU", ""},
		{"MTU too large", rack(), Given{MTU: "65521"}, "is not an MTU", ""},
		{"MTU of Ethernet", rack(), Given{MTU: "1500"}, "--mtu 1500: a RoCE packet carries 4096 bytes only with an MTU of 4192 or more", "mtu 9000"},
		{"MTU of RoCE for datagrams", lab(), Given{MTU: "9000"}, "--mtu 9000: an IPoIB datagram is an InfiniBand packet", "mtu 4092"},
		{"MTU of datagrams, connected", fresh(strixIB(sample.Active)), Given{MTU: "4092", IPoIB: "connected"}, "worth its cost only with 65520", "mtu 65520"},
		{"connected on mlx5", lab(), Given{IPoIB: "connected"}, "mlx5, which drives mlx5_0/1 of lab1, does IPoIB itself (enhanced IPoIB) and has no connected mode", "ipoib datagram"},
		{"IPoIB on RoCE", rack(), Given{IPoIB: "datagram"}, "the data ports speak roce", ""},
		{"IPoIB and RoCE", rack(), Given{IPoIB: "datagram", Layer: "roce"}, "does not go with --layer roce", ""},
		{"a lossless InfiniBand switch", lab(), Given{Switch: "lossless"}, "InfiniBand loses nothing by itself", "switch "},
		{"InfiniBand on an Ethernet card", fresh(sample.Strix("strix", 2)), Given{Layer: "infiniband"}, "rocep194s0/1 of strix1 is a E810-C, which speaks Ethernet alone", ""},
		{"direct cables between three", lab(), Given{Subnets: two[:1], Switch: "none"}, "3 nodes on direct cables", ""},
		{"two layers", &sample.Cluster{Machines: append(fresh(sample.InfiniBand("lab", 1)).Machines, fresh(strixIB(sample.Active)).Machines[0], fresh(sample.Strix("strix", 1)).Machines[0])}, Given{Subnets: two[:1]},
			"rocep194s0/1 of strix1 speaks roce and most data ports infiniband", "layer infiniband"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := caseOf(x.cluster)
			text, err := tried(c, x.given)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("no error, but\n%s", text)
			}
			if !strings.Contains(e.What, x.want) {
				t.Errorf("says %q", e.What)
			}
			try := strings.TrimPrefix(e.Flag+" "+e.Try, " ")
			if e.Node != "" {
				try = "node " + e.Node
			}
			if try != x.try {
				t.Errorf("proposes %q, want %q", try, x.try)
			}
			if e.Flag == "" || x.name == "two layers" { // there an E810 is in the way of the wish that most nodes suggest
				return
			}
			if text, err := tried(c, x.given.with(e.Flag, e.Try)); err != nil {
				t.Errorf("what it proposes is refused: %v", err)
			} else if _, err := spec.Parse([]byte(text)); err != nil {
				t.Errorf("the draft is wrong: %v\n%s", err, text)
			}
		})
	}
}

// TestSSHStaysReachable: a subnet that ssh comes from must not move to the data plane.
func TestSSHStaysReachable(t *testing.T) {
	c := caseOf(fresh(sample.Sparks("spark")))
	c.Nodes[1].Host.SSHFrom = "192.168.200.77"
	_, err := tried(c, nets("192.168.200.0/24", "192.168.201.0/24"))
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.What, "ssh comes to spark2 from 192.168.200.77") || e.Try != "192.168.202.0/24,192.168.201.0/24" {
		t.Errorf("got %v", err)
	}
}

// TestPortsOfDifferentNodes: the same wish means other ports and interfaces elsewhere.
func TestPortsOfDifferentNodes(t *testing.T) {
	c := fresh(sparkAndWorkstation())
	for _, given := range []Given{
		{Subnets: []string{"10.9.0.0/30"}},
		{Subnets: []string{"10.9.0.0/30"}, Ports: []string{"mlx5_0/1"}}, // the Spark has none, so: its cable
		{Subnets: []string{"10.9.0.0/30"}, Ports: []string{"mlx5_0/1", "spark:rocep1s0f0/1"}},
	} {
		c.Want = spec.Spec{}
		want := wished(t, c, given)
		got := fmt.Sprint(want.Nodes[0].Data, want.Nodes[1].Data)
		if got != "[{rocep1s0f0/1 enp1s0f0np0 10.9.0.1/30}] [{mlx5_0/1 enp3s0f0np0 10.9.0.2/30}]" {
			t.Errorf("%+v gives %s", given, got)
		}
	}
}

// TestSwitchedOffPorts: Ubuntu leaves an interface that nobody configured switched off,
// and then only the module tells that there is a cable.
func TestSwitchedOffPorts(t *testing.T) {
	c := caseOf(fresh(sample.RoCE("gpu", 2)))
	for _, n := range c.Nodes {
		for _, p := range n.Ports {
			p.State, p.Phys = "DOWN", "Disabled"
			d := n.Netdev(p.Netdev)
			d.Oper, d.Carrier, d.Off = "down", fact.Val[bool]{}, true
		}
		on := n.Netdev(n.Ports[1].Netdev) // switched on, and nothing at the other end
		on.Carrier, on.Off = fact.Some(false), false
	}
	text, err := tried(c, nets("10.9.0.0/24"))
	if err != nil || !strings.Contains(text, "- port: mlx5_0/1\n        netdev: ens1f0np0\n        address: 10.9.0.2/24") || strings.Contains(text, "mlx5_1/1") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestSoftwareAndVirtualPorts: they are data ports only where there is nothing better.
func TestSoftwareAndVirtualPorts(t *testing.T) {
	c := caseOf(fresh(sample.Strix("strix", 2)))
	for _, n := range c.Nodes {
		n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: "enx0", Type: "ether", Oper: "up", Carrier: fact.Some(true)}, &fact.Netdev{Name: "vf0", Type: "ether", Carrier: fact.Some(true)})
		n.PCI = append(n.PCI, &fact.PCI{BDF: "0000:c2:01.0", PhysFn: "0000:c2:00.0"})
		n.Ports = append(n.Ports, &fact.Port{Name: "rxe0/1", Driver: "rxe", Netdev: "enx0", Layer: "Ethernet", State: "ACTIVE"},
			&fact.Port{Name: "rxe1/1", Driver: "rxe", Netdev: "eno1", Layer: "Ethernet", State: "ACTIVE"},
			&fact.Port{Name: "vf/1", Driver: "irdma", BDF: "0000:c2:01.0", Netdev: "vf0", Layer: "Ethernet", State: "ACTIVE"})
		n.Index()
	}
	text, err := tried(c, nets("10.9.0.0/24"))
	if err != nil || strings.Contains(text, "rxe") || strings.Contains(text, "vf") || !strings.Contains(text, "rocep194s0/1") {
		t.Errorf("%v\n%s", err, text)
	}
	for _, n := range c.Nodes {
		n.Ports = n.Ports[1:3] // the software ones; rxe1 is on the management interface
	}
	if text, err = tried(c, nets("10.9.0.0/24")); err != nil || !strings.Contains(text, "rxe0/1") || strings.Contains(text, "rxe1/1") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestAddressesThatAreThere: a node keeps its number, and has the same on all rails.
func TestAddressesThatAreThere(t *testing.T) {
	c := fresh(sample.RoCE("gpu", 4))
	c.Machines[2].Netdev("ens1f0np0").Addrs = []string{"10.10.1.1/24"}                     // wants what the first would have
	c.Machines[3].Netdev("ens2f0np0").Addrs = []string{"10.99.0.4/24", "10.10.2.77/23"}    // another subnet, and the right one too wide
	c.Machines[1].Netdev("ens1f0np0").Addrs = []string{"192.168.7.7/24", "10.10.1.255/23"} // nothing that could stay: that is a broadcast address
	want := wished(t, c, nets("10.10.1.0/24", "10.10.2.0/24"))
	var got []string
	for _, n := range want.Nodes {
		got = append(got, n.Data[0].Address+" "+n.Data[1].Address)
	}
	if s := strings.Join(got, ", "); s != "10.10.1.5/24 10.10.2.5/24, 10.10.1.2/24 10.10.2.2/24, 10.10.1.1/24 10.10.2.1/24, 10.10.1.77/24 10.10.2.77/24" {
		t.Errorf("got %s", s)
	}
	var wrong []string
	for _, line := range loud(c) {
		if strings.Contains(line, "roce.subnets") {
			wrong = append(wrong, line)
		}
	}
	if s := strings.Join(wrong, "\n"); s != "fail roce.subnets gpu2 mlx5_0/1: 192.168.7.7/24, want 10.10.1.2/24\nfail roce.subnets gpu4 mlx5_1/1: 10.10.2.77/23, want 10.10.2.77/24" {
		t.Errorf("got\n%s", s)
	}
}

// TestDownNodes keep their number for the day they answer.
func TestDownNodes(t *testing.T) {
	c := caseOf(fresh(sample.Strix("strix", 3)))
	c.Nodes[1] = &fact.Node{Name: "strix2", Down: "strix2: no route to host"}
	text, err := tried(c, nets("10.9.0.0/24"))
	if err != nil || !strings.Contains(text, "10.9.0.1/24") || strings.Contains(text, "10.9.0.2/24") || !strings.Contains(text, "10.9.0.3/24") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestNobodyAnswered: a wish for nodes of which nothing is known comes to nothing.
func TestNobodyAnswered(t *testing.T) {
	for _, c := range []*check.Case{{}, {Cluster: fact.Cluster{Nodes: []*fact.Node{{Name: "a", Down: "refused"}}}}} {
		text, err := tried(c, Given{Subnets: []string{"10.9.0.0/24"}, Ports: []string{"mlx5_0/1", "a:x/1"}, Layer: "roce"})
		if err != nil || !strings.Contains(text, "layer: roce") {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestEveryAddressIsGood: whatever the nodes have, what they get is theirs alone, in
// the subnet, and stays where it was.
func TestEveryAddressIsGood(t *testing.T) {
	base := fresh(sample.RoCE("gpu", 6))
	check := func(have [6][2]uint8, bits uint8) bool {
		size := 24 + int(bits%6) // /24 to /29
		subnets := []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr("10.10.1.0"), size), netip.PrefixFrom(netip.MustParseAddr("10.10.2.0"), size)}
		for i, m := range base.Machines {
			for r, name := range []string{"ens1f0np0", "ens2f0np0"} {
				m.Netdev(name).Addrs = nil
				if have[i][r]%3 > 0 {
					m.Netdev(name).Addrs = []string{fmt.Sprintf("10.10.%d.%d/24", r+1, have[i][r])}
				}
			}
		}
		c := caseOf(base)
		d, err := settle(c, Wish{Subnets: subnets})
		if err != nil {
			t.Log(err)
			return false
		}
		seen := map[netip.Addr]bool{}
		for _, n := range c.Nodes {
			for r, s := range subnets {
				a := d.addrs[at{n, r}]
				k := number(s, a.Addr())
				if k == 0 || a.Bits() != size || seen[a.Addr()] {
					t.Logf("%s rail %d: %v", n.Name, r, a)
					return false
				}
				seen[a.Addr()] = true
			}
		}
		// The first node that has an address in the subnet keeps it.
		for r, s := range subnets {
			kept := map[netip.Addr]bool{}
			for _, n := range c.Nodes {
				for _, a := range now(n, d.ports[n][r]) {
					if number(s, a.Addr()) > 0 && !kept[a.Addr()] && d.addrs[at{n, r}].Addr() != a.Addr() {
						t.Logf("%s rail %d had %v and gets %v", n.Name, r, a, d.addrs[at{n, r}])
						return false
					}
					kept[a.Addr()] = true
				}
			}
		}
		return true
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 100}); err != nil {
		t.Error(err)
	}
}

func TestNaturalOrder(t *testing.T) {
	names := []string{"mlx5_10/1", "mlx5_2/1", "mlx5_2/2", "mlx4_0/1", "mlx5_02/1", "", "mlx5_", "9", "10", "99999999999999999999999/1"}
	slices.SortFunc(names, natural)
	if got := strings.Join(names, " "); got != " 9 10 99999999999999999999999/1 mlx4_0/1 mlx5_ mlx5_2/1 mlx5_2/2 mlx5_02/1 mlx5_10/1" {
		t.Errorf("sorted: %s", got)
	}
}

// TestNamesFromNodes: a name is read back as it was, whatever a node calls its parts.
func TestNamesFromNodes(t *testing.T) {
	for _, name := range []string{"eth0", "a: b", "x #y", "- z", "yes", "Null", "0x10", "1e3", "'q'", `"q"`, "{a}", "[b]", "*c", "&d", "!e", "a\tb", "ünet", "~", ".5"} {
		c := caseOf(fresh(sample.Strix("strix", 1)))
		n := c.Nodes[0]
		n.Netdev(n.Ports[0].Netdev).Name, n.Ports[0].Netdev = name, name
		n.Ports[0].Name = name + "/1"
		n.Index()
		text, err := tried(c, nets("10.9.0.0/24"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := spec.Parse([]byte(text))
		if err != nil || want.Nodes[0].Data[0].Netdev != name || want.Nodes[0].Data[0].Port != name+"/1" {
			t.Errorf("%q is read as %+v, %v", name, want.Nodes[0].Data, err)
		}
	}
}

func FuzzWish(f *testing.F) {
	f.Add("192.168.200.0/24,192.168.201.0/24", "", "9000", "roce")
	f.Add("10.0.0.0/8", "mlx5_0/1,gpu1:mlx5_1/1", "", "")
	f.Add("0.0.0.0/30,255.255.255.252/30", "x/1", "65520", "infiniband")
	c := caseOf(fresh(sample.RoCE("gpu", 2)))
	f.Fuzz(func(t *testing.T, subnets, ports, mtu, layer string) {
		g := Given{MTU: mtu, Layer: layer}.with("subnet", subnets).with("port", ports)
		text, err := tried(c, g)
		var e *Error
		switch {
		case errors.As(err, &e):
			if e.What == "" {
				t.Fatal("refused without a reason")
			}
		case err != nil:
			t.Fatalf("another error: %v", err)
		default:
			if _, err := spec.Parse([]byte(text)); err != nil {
				t.Fatalf("the draft is wrong: %v\n%s", err, text)
			}
		}
	})
}
