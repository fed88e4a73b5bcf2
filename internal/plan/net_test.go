package plan

import (
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
	"weft/internal/unit"
)

// broken makes a case of a cluster that do has changed, and see the facts of.
func broken(cluster func() *sample.Cluster, do func(c *sample.Cluster), see func(c *check.Case)) func() *check.Case {
	return func() *check.Case {
		s := cluster()
		if do != nil {
			do(s)
		}
		c := &check.Case{Cluster: format.Facts(s.Dump()), Want: s.Want}
		if see != nil {
			see(c)
		}
		return c
	}
}

func roce2() *sample.Cluster  { return sample.RoCE("n", 2) }
func roce3() *sample.Cluster  { return sample.RoCE("n", 3) }
func ib3() *sample.Cluster    { return sample.InfiniBand("i", 3) }
func strix2() *sample.Cluster { return sample.Strix("s", 2) }
func sparks() *sample.Cluster { return sample.Sparks("k") }

// managed is two RoCE nodes that somebody configures.
func managed(manager string) func() *sample.Cluster {
	return func() *sample.Cluster {
		c := roce2()
		for _, m := range c.Machines {
			m.Manager = manager
		}
		return c
	}
}

func mtu1500(c *sample.Cluster) { c.Machines[1].Netdev("ens1f0np0").MTU = 1500 }
func noAddr(c *sample.Cluster)  { c.Machines[1].Netdev("ens1f0np0").Addrs = nil }
func badAddr(c *sample.Cluster) {
	c.Machines[1].Netdev("ens1f0np0").Addrs = []string{"10.10.9.2/24"}
}
func badLength(c *sample.Cluster) {
	c.Machines[1].Netdev("ens1f0np0").Addrs = []string{"10.10.1.2/16"}
}

// gone is an address that the files still have and the netdev has lost.
func gone(c *check.Case) {
	n := c.Nodes[1]
	if err := Set(n, "net/ens1f0np0/addr", "none"); err != nil {
		panic(err)
	}
}

// unwished takes the addresses out of weft.yaml.
func unwished(c *check.Case) {
	for i := range c.Want.Nodes {
		for j := range c.Want.Nodes[i].Data {
			c.Want.Nodes[i].Data[j].Address = ""
		}
	}
}

// forSeveral lets a file configure the netdev that is not for it alone.
func forSeveral(file string) func(c *check.Case) {
	return func(c *check.Case) {
		n := c.Nodes[1]
		delete(n.Settings.Files, n.Netdev("ens1f0np0").Config)
		n.Netdev("ens1f0np0").Config = file
		if strings.HasPrefix(file, "/etc/") {
			n.Settings.Files[file] = "[Match]\nName=ens*\n"
		}
	}
}

// madeUp is a connection that NetworkManager made of what it found.
func madeUp(c *check.Case) {
	n := c.Nodes[1]
	delete(n.Settings.Files, n.Netdev("ens1f0np0").Config)
	n.Netdev("ens1f0np0").Config = ""
}

// rendered lets netplan write for NetworkManager.
func rendered(c *check.Case) {
	c.Nodes[1].Settings.Files["/etc/netplan/01-all.yaml"] = "network:\n  version: 2\n  renderer: NetworkManager\n"
}

var netTries = []try{
	{"roce.mtu", "netplan", broken(managed(sample.Netplan), mtu1500, nil)},
	{"roce.mtu", "networkd", broken(managed(sample.Networkd), mtu1500, nil)},
	{"roce.mtu", "NetworkManager", broken(managed(sample.NetworkManager), mtu1500, nil)},
	{"roce.mtu", "nobody", broken(managed(sample.Nobody), mtu1500, nil)},
	{"roce.mtu", "networkd, a file for several", broken(managed(sample.Networkd), mtu1500, forSeveral("/etc/systemd/network/30-all.network"))},
	{"roce.mtu", "networkd, a file of the vendor", broken(managed(sample.Networkd), mtu1500, forSeveral("/usr/lib/systemd/network/05-all.network"))},
	{"roce.mtu", "NetworkManager made a connection up", broken(managed(sample.NetworkManager), mtu1500, madeUp)},
	{"roce.mtu", "netplan for NetworkManager", broken(managed(sample.Netplan), mtu1500, rendered)},
	{"roce.mtu", "the file is right", broken(managed(sample.Networkd), nil, func(c *check.Case) { Set(c.Nodes[0], "net/ens1f0np0/mtu", "1500") })},
	{"roce.mtu", "full packets, another wish", broken(roce2, func(c *sample.Cluster) { c.Machines[0].Netdev("ens1f0np0").MTU = 4200 }, nil)},
	{"roce.gid", "netplan", broken(managed(sample.Netplan), noAddr, nil)},
	{"roce.gid", "networkd", broken(managed(sample.Networkd), noAddr, nil)},
	{"roce.gid", "NetworkManager", broken(managed(sample.NetworkManager), noAddr, nil)},
	{"roce.gid", "nobody", broken(managed(sample.Nobody), noAddr, nil)},
	{"roce.gid", "the file is right", broken(managed(sample.NetworkManager), nil, gone)},
	{"roce.gid", "no wish: the first that is free", broken(roce3, noAddr, unwished)},
	{"roce.gid", "no wish, two nodes", broken(func() *sample.Cluster { return sample.RoCE("n", 4) }, func(c *sample.Cluster) { noAddr(c); c.Machines[3].Netdev("ens1f0np0").Addrs = nil }, unwished)},
	{"roce.subnets", "netplan", broken(managed(sample.Netplan), badAddr, nil)},
	{"roce.subnets", "networkd", broken(managed(sample.Networkd), badAddr, nil)},
	{"roce.subnets", "NetworkManager", broken(managed(sample.NetworkManager), badAddr, nil)},
	{"roce.subnets", "NetworkManager's own routes", broken(managed(sample.NetworkManager), badAddr, func(c *check.Case) {
		n := c.Nodes[1]
		n.Netdev("ens1f0np0").Again[0] += " noprefixroute"
		for i := range n.Settings.Routes {
			if r := &n.Settings.Routes[i]; r.Dev == "ens1f0np0" {
				r.Metric, r.Again = 101, r.Again+" metric 101"
			}
		}
	})},
	{"roce.subnets", "nobody", broken(managed(sample.Nobody), badAddr, nil)},
	{"roce.subnets", "length", broken(managed(sample.Networkd), badLength, nil)},
	{"roce.subnets", "two in one subnet", broken(managed(sample.Networkd), func(c *sample.Cluster) {
		c.Machines[0].Netdev("ens2f0np0").Addrs = []string{"10.10.1.77/24"}
	}, nil)},
	{"roce.subnets", "another node's", broken(roce2, func(c *sample.Cluster) {
		c.Machines[1].Netdev("ens1f0np0").Addrs = []string{"10.10.1.1/24"}
	}, nil)},
	{"roce.subnets", "one of two", broken(managed(sample.Networkd), func(c *sample.Cluster) {
		c.Machines[0].Netdev("ens1f0np0").Addrs = []string{"10.10.1.1/24", "10.10.2.91/24"}
	}, nil)},
	{"port.twins", "no address", broken(sparks, func(c *sample.Cluster) { c.Machines[0].Netdev("enP2p1s0f0np0").Addrs = nil }, nil)},
	{"port.up", "switched off", broken(roce2, func(c *sample.Cluster) { c.Machines[0].Unplug(c.Machines[0].Device("mlx5_0")) }, func(c *check.Case) {
		dev := c.Nodes[0].Netdev("ens1f0np0")
		dev.Off, dev.Carrier = true, fact.Val[bool]{}
	})},
	{"plane.separate", "two default routes", broken(roce2, func(c *sample.Cluster) { c.Machines[0].Routes[0].Dev = "ens1f0np0" }, func(c *check.Case) {
		s := &c.Nodes[0].Settings
		s.Routes = append([]fact.Route{s.Routes[0], {Dst: "default", Via: "10.0.0.254", Dev: "eno1", Metric: 100, Again: "default via 10.0.0.254 dev eno1 proto static metric 100"}}, s.Routes[1:]...)
	})},
	{"plane.separate", "the only one, in a file", broken(managed(sample.Networkd), func(c *sample.Cluster) { c.Machines[0].Routes[0].Dev = "ens1f0np0" }, nil)},
	{"plane.route", "the subnet's route is gone", broken(roce2, nil, func(c *check.Case) {
		n := c.Nodes[0]
		for i, r := range n.Settings.Routes {
			if r.Dev == "ens1f0np0" {
				n.Settings.Routes = append(n.Settings.Routes[:i:i], n.Settings.Routes[i+1:]...)
				break
			}
		}
		n.Peers[0].RouteDev, n.Peers[0].RouteSrc = "eno1", "10.0.0.1"
	})},
	{"plane.route", "a narrower route", broken(roce2, nil, func(c *check.Case) {
		n := c.Nodes[0]
		n.Settings.Routes = append(n.Settings.Routes, fact.Route{Dst: "10.10.1.0/25", Via: "10.0.0.9", Dev: "eno1"})
		n.Peers[0].RouteDev, n.Peers[0].RouteSrc = "eno1", "10.0.0.1"
	})},
	{"ib.ipoib", "MTU", broken(ib3, func(c *sample.Cluster) { c.Machines[2].Netdev("ibp4s0").MTU = 1500 }, nil)},
	{"ib.ipoib", "mode", broken(ib3, nil, func(c *check.Case) {
		c.Want.Data.IPoIB = "connected"
		for _, n := range c.Nodes {
			n.Ports[0].Driver = "mlx4"
		}
	})},
	{"ib.ipoib", "one mode of three", broken(ib3, func(c *sample.Cluster) {
		c.Machines[1].Netdev("ibp4s0").IPoIB, c.Machines[1].Netdev("ibp4s0").MTU = "connected", 65520
	}, nil)},
	{"ib.ipoib", "address", broken(ib3, func(c *sample.Cluster) { c.Machines[1].Netdev("ibp4s0").Addrs = []string{"192.168.40.99/24"} }, nil)},
	{"port.shaping", "loss, delay and rate", broken(strix2, nil, func(c *check.Case) {
		c.Nodes[0].Netdev("enp194s0np0").Qdiscs = []fact.Qdisc{{Kind: "netem", Does: []string{"delay 5ms", "loss 1%"}, Rate: fact.Some(100 * unit.Mbps),
			Again: "root handle 8001: netem limit 1000 delay 5000us loss 1% rate 100000000bit"}}
	})},
	{"node.names", "management addresses", broken(roce2, nil, func(c *check.Case) {
		for i, n := range c.Nodes {
			n.Peers[0].Resolves, n.Peers[1].Resolves = []string{"10.0.0." + string(rune('2'-i))}, []string{"10.0.0." + string(rune('2'-i))}
			n.Settings.Files["/etc/hosts"] = "127.0.0.1 localhost\n127.0.1.1 " + n.Name + "\n"
		}
	})},
	{"node.names", "one does not know", broken(roce3, nil, func(c *check.Case) {
		n := c.Nodes[1]
		for i := range n.Peers {
			n.Peers[i].Resolves = nil
		}
		n.Settings.Files["/etc/hosts"] = "127.0.0.1 localhost"
	})},
}

// TestSeveralStepsOfOneNetdev: each begins where the one before ended, in the facts and
// in the files, and undone in reverse all is as it was.
func TestSeveralStepsOfOneNetdev(t *testing.T) {
	for _, manager := range []string{sample.Netplan, sample.Networkd, sample.NetworkManager, sample.Nobody} {
		make := broken(managed(manager), func(c *sample.Cluster) {
			mtu1500(c)
			badAddr(c)
			c.Machines[1].Routes[0].Dev = "ens1f0np0"
			c.Machines[1].Netdev("ens2f0np0").Addrs = nil
			c.Machines[1].Netdev("ens2f0np0").MTU = 1500
		}, func(c *check.Case) { // by a gateway in the subnet that goes
			r := &c.Nodes[1].Settings.Routes[0]
			r.Via, r.Again = "10.10.9.254", "default via 10.10.9.254 dev ens1f0np0 proto static"
		})
		c := make()
		start := asJSON(t, c.Nodes)
		p := Make(c, make(), check.All, check.Run(check.All, c))
		files := map[string]string{}
		for path, text := range c.Nodes[1].Settings.Files {
			files[path] = text
		}
		var whats []string
		for _, s := range p.Of("n2") {
			if !strings.HasPrefix(s.What, "net/") {
				continue
			}
			whats = append(whats, s.What)
			whole(t, s)
			for _, f := range s.Files {
				if old, there := files[f.Path]; there != (f.Old != nil) || there && old != *f.Old {
					t.Errorf("%s, %s: %s does not begin where the step before ended", manager, s.What, f.Path)
				}
				files[f.Path] = *f.New
			}
			if err := Set(c.Node("n2"), s.What, s.To); err != nil {
				t.Fatal(err)
			}
		}
		want := "net/ens1f0np0/default net/ens2f0np0/addr net/ens1f0np0/addr net/ens1f0np0/mtu net/ens2f0np0/mtu"
		if got := strings.Join(whats, " "); got != want {
			t.Errorf("%s: steps %s, want %s; by hand %+v", manager, got, want, p.Hand)
		}
		for _, id := range []string{"roce.gid", "roce.subnets", "roce.mtu", "plane.separate"} {
			if left := of(c, id); len(left) > 0 {
				t.Errorf("%s: left %+v", manager, left)
			}
		}
		for i := range p.Steps {
			if s := p.Steps[len(p.Steps)-1-i]; s.Node == "n2" && strings.HasPrefix(s.What, "net/") {
				Set(c.Node("n2"), s.What, s.From)
			}
		}
		if got := asJSON(t, c.Nodes); got != start {
			t.Errorf("%s: after the undo:\n%s", manager, firstDiff(start, got))
		}
	}
}

func TestLeftToAPerson(t *testing.T) {
	for _, tt := range []struct {
		check, why string
		broken     func() *check.Case
	}{
		{"roce.mtu", "how the node is managed", broken(roce2, mtu1500, func(c *check.Case) { c.Nodes[1].Host.SSHTo = "10.10.1.2" })},
		{"roce.mtu", "part of bond0", broken(roce2, mtu1500, func(c *check.Case) { c.Nodes[1].Netdev("ens1f0np0").Master = "bond0" })},
		{"roce.mtu", "full packets need 4192", broken(roce2, mtu1500, func(c *check.Case) { c.Want.Data.MTU = 1500 })},
		{"roce.mtu", "weft does not edit its files", broken(managed(sample.Ifupdown), mtu1500, nil)},
		{"roce.mtu", "was not read", broken(roce2, mtu1500, func(c *check.Case) { c.Nodes[1].Settings.FilesRead = false })},
		{"roce.mtu", "adds to", broken(managed(sample.Networkd), mtu1500, func(c *check.Case) {
			c.Nodes[1].Settings.Files["/etc/systemd/network/20-ens1f0np0.network.d/x.conf"] = "[Link]\nMTUBytes=1500\n"
		})},
		{"roce.gid", "would be in the subnet of", broken(roce2, noAddr, func(c *check.Case) { c.Nodes[1].Netdev("eno1").Addrs[0] = "10.10.1.7/24" })},
		{"roce.gid", "no other node has one", broken(roce2, func(c *sample.Cluster) {
			for _, m := range c.Machines {
				m.Netdev("ens1f0np0").Addrs = nil
			}
		}, func(c *check.Case) {
			for i := range c.Want.Nodes {
				c.Want.Nodes[i].Data[0].Address = ""
			}
		})},
		{"roce.subnets", "several addresses", broken(roce2, func(c *sample.Cluster) {
			c.Machines[0].Netdev("ens1f0np0").Addrs = []string{"10.77.1.1/24", "10.78.1.1/24"}
		}, nil)},
		{"roce.subnets", "came by DHCP", broken(roce2, badAddr, func(c *check.Case) { c.Nodes[1].Netdev("ens1f0np0").Again = nil })},
		{"roce.subnets", "would go with", broken(roce2, badAddr, func(c *check.Case) {
			s := &c.Nodes[1].Settings
			s.Routes = append(s.Routes, fact.Route{Dst: "10.66.0.0/16", Via: "10.10.9.9", Dev: "ens1f0np0", Again: "10.66.0.0/16 via 10.10.9.9 dev ens1f0np0 proto static"})
		})},
		{"roce.subnets", "does not have it", broken(managed(sample.Networkd), badAddr, func(c *check.Case) {
			c.Nodes[1].Settings.Files["/etc/systemd/network/20-ens1f0np0.network"] = "[Match]\nName=ens1f0np0\n[Network]\nAddress=10.55.1.2/24\n"
		})},
		{"port.up", "beyond it", broken(roce2, func(c *sample.Cluster) { c.Machines[0].Unplug(c.Machines[0].Device("mlx5_0")) }, nil)},
		{"plane.separate", "ssh comes in", broken(roce2, func(c *sample.Cluster) { c.Machines[1].SSHTo = "10.10.1.2" }, nil)},
		{"plane.separate", "make again", broken(roce2, func(c *sample.Cluster) { c.Machines[0].Routes[0].Dev = "ens1f0np0" }, func(c *check.Case) { c.Nodes[0].Settings.Routes[0].Again = "" })},
		{"plane.route", "ip rule", broken(roce2, nil, func(c *check.Case) { c.Nodes[0].Peers[0].RouteDev = "wg0" })},
		{"plane.route", "two nodes have", broken(roce2, nil, func(c *check.Case) { c.Nodes[0].Peers[0].RouteDev = "lo" })},
		{"port.shaping", "make it again", broken(strix2, nil, func(c *check.Case) {
			c.Nodes[0].Netdev("enp194s0np0").Qdiscs = []fact.Qdisc{{Kind: "netem", Does: []string{"delay 5ms 1ms"}}}
		})},
		{"port.shaping", "takes nothing away", broken(strix2, nil, func(c *check.Case) {
			c.Nodes[0].Netdev("enp194s0np0").Qdiscs = []fact.Qdisc{{Kind: "tbf", Rate: fact.Some(1 * unit.Gbps)}}
		})},
		{"node.names", "which weft did not write", broken(roce2, nil, func(c *check.Case) {
			c.Nodes[0].Peers[0].Resolves, c.Nodes[0].Peers[1].Resolves = []string{"10.0.0.2"}, []string{"10.0.0.2"}
			c.Nodes[0].Settings.Files["/etc/hosts"] = "10.0.0.2 n2\n"
		})},
	} {
		c := tt.broken()
		loud := of(c, tt.check)
		if len(loud) == 0 {
			t.Errorf("%s, %s: nothing is broken", tt.check, tt.why)
			continue
		}
		p := Make(c, tt.broken(), check.All, loud)
		found := false
		for _, h := range p.Hand {
			found = found || strings.Contains(h.Why, tt.why)
		}
		if !found {
			t.Errorf("%s: want by hand %q, got %+v and steps %+v", tt.check, tt.why, p.Hand, p.Steps)
		}
	}
}
