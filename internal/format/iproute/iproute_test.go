package iproute

import (
	"errors"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weft/internal/fixture"
)

var addrCmp = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})

func equal(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, addrCmp, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Addr{}, "Again"), cmpopts.IgnoreFields(Route{}, "Again")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("error %v, want none", err)
	}
}

func TestLinksIPoIBFixture(t *testing.T) {
	got, err := ParseLinks(fixture.Read(t, "ip_a_ipoib_connectx3.txt"))
	noErr(t, err)
	equal(t, []Link{
		{
			Index: 4, Name: "ibp195s0", Flags: []string{"BROADCAST", "MULTICAST", "UP", "LOWER_UP"}, MTU: new(2044),
			Qdisc: "fq_codel", State: "UP", TxQueueLen: new(1000), Type: "infiniband",
			MAC: "80:00:02:08:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:xx:xx:xx",
		},
		{
			Index: 5, Name: "ibp195s0d1", Flags: []string{"NO-CARRIER", "BROADCAST", "MULTICAST", "UP"}, MTU: new(4092),
			Qdisc: "fq_codel", State: "DOWN", TxQueueLen: new(1000), Type: "infiniband",
			MAC: "80:00:02:09:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:xx:xx:xx",
		},
	}, got)
}

func TestLinksSparkFixture(t *testing.T) {
	got, err := ParseLinks(fixture.Read(t, "ip_addr_spark_linklocal.txt"))
	noErr(t, err)
	equal(t, []Link{{
		Index: 4, Name: "enp1s0f1np1", Flags: []string{"BROADCAST", "MULTICAST", "UP", "LOWER_UP"}, MTU: new(1500),
		Qdisc: "mq", State: "UP", TxQueueLen: new(1000), Type: "ether", MAC: "3c:6d:66:cc:b3:b7",
		Addrs: []Addr{
			{IP: netip.MustParseAddr("169.254.35.62"), PrefixLen: new(16), Scope: "link"},
			{IP: netip.MustParseAddr("fe80::3e6d:66ff:fecc:b3b7"), PrefixLen: new(64), Scope: "link"},
		},
	}}, got)
}

func TestIfconfigFixture(t *testing.T) {
	got, err := ParseIfconfig(fixture.Read(t, "ifconfig_docker_lo_eth.txt"))
	noErr(t, err)
	equal(t, []Link{
		{
			Name: "docker0", Flags: []string{"UP", "BROADCAST", "RUNNING", "MULTICAST"}, MTU: new(1500), Type: "ether",
			MAC: "02:42:fe:15:1c:94", TxQueueLen: new(0), Addrs: []Addr{
				{IP: netip.MustParseAddr("172.99.0.1"), PrefixLen: new(16)},
				{IP: netip.MustParseAddr("f330::42:fe33:f335:7c94"), PrefixLen: new(64), Scope: "link"},
			},
		},
		{
			Name: "lo", Flags: []string{"UP", "LOOPBACK", "RUNNING"}, MTU: new(65536), Type: "loopback", TxQueueLen: new(1000),
			Addrs: []Addr{
				{IP: netip.MustParseAddr("127.0.0.1"), PrefixLen: new(8)},
				{IP: netip.MustParseAddr("::1"), PrefixLen: new(128), Scope: "host"},
			},
		},
		{
			Name: "eth0", Flags: []string{"UP", "BROADCAST", "RUNNING", "MULTICAST"}, MTU: new(1500), Type: "ether",
			MAC: "04:41:1a:16:17:bd", TxQueueLen: new(1000), Addrs: []Addr{
				{IP: netip.MustParseAddr("10.0.0.23"), PrefixLen: new(24)},
				{IP: netip.MustParseAddr("2601:3108:1c71:600:4224:7e4b:13e4:7b54"), PrefixLen: new(64), Scope: "global"},
			},
		},
	}, got)
}

func TestLinksSamples(t *testing.T) {
	for _, dir := range []string{"bookworm-perftest-4.5", "trixie-perftest-25.01"} {
		t.Run(dir, func(t *testing.T) {
			got, err := ParseLinks(fixture.Read(t, "lab/samples/"+dir+"/ip-addr.json"))
			noErr(t, err)
			if len(got) != 2 {
				t.Fatalf("%d links, want 2", len(got))
			}
			equal(t, Link{
				Index: 2, Name: "data0", Flags: []string{"BROADCAST", "MULTICAST", "UP", "LOWER_UP"}, MTU: new(9000),
				MinMTU: new(68), MaxMTU: new(65535), Qdisc: "fq_codel", State: "UP", Type: "ether", MAC: "52:54:00:01:00:01",
				TxQueueLen: new(1000), ParentBus: "virtio", ParentDev: "virtio2", Addrs: []Addr{
					{IP: netip.MustParseAddr("10.10.0.1"), PrefixLen: new(24), Scope: "global"},
					{IP: netip.MustParseAddr("fe80::5054:ff:fe01:1"), PrefixLen: new(64), Scope: "link"},
				},
			}, got[1])
			neigh, err := ParseNeigh(fixture.Read(t, "lab/samples/"+dir+"/ip-neigh.json"))
			noErr(t, err)
			equal(t, []Neigh{{IP: netip.MustParseAddr("10.10.0.2"), Dev: "data0", MAC: "52:54:00:01:00:02", States: []string{"REACHABLE"}}}, neigh)
			rlink, err := ParseRDMALink(fixture.Read(t, "lab/samples/"+dir+"/rdma-link.json"))
			noErr(t, err)
			equal(t, []RDMALink{{Device: "rxe_0", Port: 1, State: "ACTIVE", PhysicalState: "LINK_UP", Netdev: "data0", NetdevIndex: new(2)}}, rlink)
			rdev, err := ParseRDMADev(fixture.Read(t, "lab/samples/"+dir+"/rdma-dev.json"))
			noErr(t, err)
			want := RDMADev{Name: "rxe_0", NodeType: "ca", NodeGUID: "5054:00ff:fe01:0001", SysImageGUID: "5054:00ff:fe01:0001"}
			if strings.HasPrefix(dir, "trixie") {
				want.Protocol = "roce"
			}
			equal(t, []RDMADev{want}, rdev)
		})
	}
}

const detailJSON = `# source: written for this test
[{},{"ifindex":7,"ifname":"bond0.100","link":"bond0","flags":["UP"],"mtu":9000,"linkinfo":{"info_kind":"vlan","info_data":{"protocol":"802.1Q","id":100,"flags":[]}}},
{"ifindex":8,"ifname":"bond0","linkinfo":{"info_kind":"bond","info_data":{"mode":"802.3ad","miimon":100}},"altnames":["b"]},
{"ifindex":9,"ifname":"ib0","link_type":"infiniband","linkinfo":{"info_kind":"ipoib","info_data":{"pkey":"0xffff","mode":"connected"}},
 "addr_info":[{},{"family":"inet","local":"10.1.0.1","address":"10.1.0.2","prefixlen":32,"dynamic":true}]}]`

const detailText = `user@n1:~$ ip -d addr
7: bond0.100@bond0: <UP> mtu 9000 qdisc noqueue state UP mode DEFAULT group default
    link/ether 02:00:00:00:00:07 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 0 maxmtu 65535
    vlan protocol 802.1Q id 100 <REORDER_HDR> numtxqueues 1
8: bond0: <> mtu unknown
    link/ether 02:00:00:00:00:08 brd ff:ff:ff:ff:ff:ff parentbus pci parentdev 0000:c1:00.0
    bond mode 802.3ad miimon 100
    altname b
9: ib0: <UP> mtu 65520
    ipoib pkey 0xffff mode connected umcast 0000
    inet 10.1.0.1 peer 10.1.0.2/32 scope global dynamic ib0` + "\r\n"

func TestLinksDetail(t *testing.T) {
	peer := Addr{IP: netip.MustParseAddr("10.1.0.1"), Peer: netip.MustParseAddr("10.1.0.2"), PrefixLen: new(32), Dynamic: true}
	got, err := ParseLinks([]byte(detailJSON))
	noErr(t, err)
	equal(t, []Link{
		{Index: 7, Name: "bond0.100", Parent: "bond0", Flags: []string{"UP"}, MTU: new(9000), Kind: "vlan", VLAN: new(100)},
		{Index: 8, Name: "bond0", Kind: "bond", BondMode: "802.3ad", AltNames: []string{"b"}},
		{Index: 9, Name: "ib0", Type: "infiniband", Kind: "ipoib", IPoIBMode: "connected", Addrs: []Addr{peer}},
	}, got)

	peer.Scope = "global"
	got, err = ParseLinks([]byte(detailText))
	noErr(t, err)
	equal(t, []Link{
		{Host: "n1", Index: 7, Name: "bond0.100", Parent: "bond0", Flags: []string{"UP"}, MTU: new(9000), MinMTU: new(0), MaxMTU: new(65535),
			Qdisc: "noqueue", State: "UP", Type: "ether", MAC: "02:00:00:00:00:07", Kind: "vlan", VLAN: new(100)},
		{Host: "n1", Index: 8, Name: "bond0", Type: "ether", MAC: "02:00:00:00:00:08", Kind: "bond", BondMode: "802.3ad",
			ParentBus: "pci", ParentDev: "0000:c1:00.0", AltNames: []string{"b"}},
		{Host: "n1", Index: 9, Name: "ib0", Flags: []string{"UP"}, MTU: new(65520), Kind: "ipoib", IPoIBMode: "connected", Addrs: []Addr{peer}},
	}, got)
	if !got[0].Has("UP") || got[1].Has("UP") {
		t.Errorf("Has(UP) = %v, %v, want true, false", got[0].Has("UP"), got[1].Has("UP"))
	}
}

// TestThisMachine compares both forms that the installed ip prints.
func TestThisMachine(t *testing.T) {
	run := func(args ...string) []byte {
		out, err := exec.Command("ip", args...).Output()
		if err != nil {
			t.Skipf("ip %v does not run here: %v", args, err)
		}
		return out
	}
	js, err := ParseLinks(run("-j", "-d", "addr"))
	noErr(t, err)
	text, err := ParseLinks(run("-d", "addr"))
	noErr(t, err)
	if len(js) == 0 {
		t.Fatal("ip shows no interface, not even lo")
	}
	equal(t, js, text)

	jr, err := ParseRoutes(run("-j", "route"))
	noErr(t, err)
	tr, err := ParseRoutes(run("route"))
	noErr(t, err)
	equal(t, jr, tr)

	jg, err := ParseRouteGet(run("-j", "route", "get", "127.0.0.1"))
	noErr(t, err)
	tg, err := ParseRouteGet(run("route", "get", "127.0.0.1"))
	noErr(t, err)
	equal(t, jg, tg)
	if jg.Dev != "lo" {
		t.Errorf("127.0.0.1 leaves by %q, want lo", jg.Dev)
	}
}

func TestLinksOdd(t *testing.T) {
	for _, c := range []struct {
		name, in, err string
		links         int
	}{
		{"empty", "", "", 0},
		{"no device", `Device "nope" does not exist.`, "line 1: the tool reported an error", 0},
		{"truncated JSON", "[{\"ifname\":\"a\"},\n{\"ifname\":\"b\"", "line 2: unexpected EOF", 1},
		{"object for array", `{"ifname":"a"}`, "line 1: want a JSON array", 0},
		{"wrong type", `[{"ifname":"a","mtu":"big"},{"ifname":"b"}]`, "line 1: json:", 2},
		{"bad address", "1: a: <> mtu 1\n inet 300.1.1.1/8 scope global a\n inet", "line 2: ParseAddr", 1},
		{"bad JSON address", `[{"ifname":"a","addr_info":[{"local":"x"}]}]`, "a: address:", 1},
		{"line before interface", "inet 10.0.0.1/8", "line 1: \"inet 10.0.0.1/8\" before any interface", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseLinks([]byte(c.in))
			if len(got) != c.links {
				t.Errorf("%d links, want %d", len(got), c.links)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
	if _, err := ParseLinks([]byte(`Device "nope" does not exist.`)); !errors.Is(err, ErrTool) {
		t.Errorf("error %v is not ErrTool", err)
	}
	if _, err := ParseIfconfig([]byte("inet 1.2.3.4")); err == nil {
		t.Error("an address before any interface: no error")
	}
}

const routesTextSample = `default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.7 metric 100 
10.10.0.0/24 dev data0 proto kernel scope link src 10.10.0.1 linkdown 
default via inet6 fe80::1 dev swp1 proto bgp metric 20 onlink
10.9.0.0/16 proto static metric 20 mtu 9000
	nexthop via 10.0.0.1 dev a weight 1 
	nexthop via 10.0.1.1 dev b weight 2 dead
blackhole 10.66.0.0/16
local 127.0.0.1 dev lo table local src 127.0.0.1 uid 0 
    cache <local> 
2001:db8::/32 dev eth0 metric 1024 pref medium`

const routesJSONSample = `[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","protocol":"dhcp","prefsrc":"192.0.2.7","metric":100,"flags":[]},
{"dst":"10.10.0.0/24","dev":"data0","protocol":"kernel","scope":"link","prefsrc":"10.10.0.1","flags":["linkdown"]},
{"dst":"default","via":{"family":"inet6","host":"fe80::1"},"dev":"swp1","protocol":"bgp","metric":20,"flags":["onlink"]},
{"dst":"10.9.0.0/16","protocol":"static","metric":20,"flags":[],"metrics":[{"mtu":9000}],"nexthops":[{"gateway":"10.0.0.1","dev":"a","weight":1,"flags":[]},{"gateway":"10.0.1.1","dev":"b","weight":2,"flags":["dead"]}]},
{"type":"blackhole","dst":"10.66.0.0/16","flags":[]},
{"type":"local","dst":"127.0.0.1","dev":"lo","table":"local","prefsrc":"127.0.0.1","flags":[],"uid":0,"cache":["local"]},
{"type":"unicast","dst":"2001:db8::/32","dev":"eth0","metric":1024,"flags":[],"pref":"medium"}]`

func TestRoutes(t *testing.T) {
	ip, net := netip.MustParseAddr, netip.MustParsePrefix
	want := []Route{
		{Default: true, Via: ip("192.0.2.1"), Dev: "eth0", Proto: "dhcp", PrefSrc: ip("192.0.2.7"), Metric: new(100)},
		{Dst: net("10.10.0.0/24"), Dev: "data0", Proto: "kernel", Scope: "link", PrefSrc: ip("10.10.0.1"), Flags: []string{"linkdown"}},
		{Default: true, Via: ip("fe80::1"), Dev: "swp1", Proto: "bgp", Metric: new(20), Flags: []string{"onlink"}},
		{Dst: net("10.9.0.0/16"), Proto: "static", Metric: new(20), MTU: new(9000), Hops: []Hop{
			{Via: ip("10.0.0.1"), Dev: "a", Weight: new(1)}, {Via: ip("10.0.1.1"), Dev: "b", Weight: new(2), Flags: []string{"dead"}},
		}},
		{Type: "blackhole", Dst: net("10.66.0.0/16")},
		{Type: "local", Dst: net("127.0.0.1/32"), Dev: "lo", Table: "local", PrefSrc: ip("127.0.0.1")},
		{Dst: net("2001:db8::/32"), Dev: "eth0", Metric: new(1024)},
	}
	for name, in := range map[string]string{"text": routesTextSample, "json": routesJSONSample} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRoutes([]byte(in))
			noErr(t, err)
			equal(t, want, got)
		})
	}
}

func TestRouteGet(t *testing.T) {
	ip := netip.MustParseAddr
	want := Route{Dst: netip.MustParsePrefix("10.10.0.2/32"), Dev: "data0", PrefSrc: ip("10.10.0.1")}
	for name, in := range map[string]string{
		"text": "$ ip route get 10.10.0.2\n10.10.0.2 dev data0 src 10.10.0.1 uid 0 \n    cache \n",
		"json": `[{"dst":"10.10.0.2","dev":"data0","prefsrc":"10.10.0.1","flags":[],"uid":0,"cache":[]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRouteGet([]byte(in))
			noErr(t, err)
			equal(t, want, got)
		})
	}
	for _, in := range []string{"", "[]", "RTNETLINK answers: Network is unreachable\n", "nexthop via 1.2.3.4", "local", "1.2.3 dev a"} {
		if r, err := ParseRouteGet([]byte(in)); err == nil {
			t.Errorf("ParseRouteGet(%q) = %+v without an error", in, r)
		}
	}
}

func TestNeighText(t *testing.T) {
	got, err := ParseNeigh([]byte("10.0.0.2 dev eth0 lladdr 02:00:00:00:00:02 REACHABLE \nfe80::1 dev eth0 lladdr 02:00:00:00:00:01 router STALE\n10.0.0.3 dev eth0  FAILED\n"))
	noErr(t, err)
	equal(t, []Neigh{
		{IP: netip.MustParseAddr("10.0.0.2"), Dev: "eth0", MAC: "02:00:00:00:00:02", States: []string{"REACHABLE"}},
		{IP: netip.MustParseAddr("fe80::1"), Dev: "eth0", MAC: "02:00:00:00:00:01", States: []string{"STALE"}, Router: true},
		{IP: netip.MustParseAddr("10.0.0.3"), Dev: "eth0", States: []string{"FAILED"}},
	}, got)
	for i, want := range []bool{true, true, false} {
		if got[i].Resolved() != want {
			t.Errorf("entry %d: Resolved() = %v, want %v", i, got[i].Resolved(), want)
		}
	}
	got, err = ParseNeigh([]byte(`[{"dst":"fe80::1","dev":"e","lladdr":"02:00:00:00:00:01","router":null,"state":["STALE"]},{"dst":"oops"}]`))
	equal(t, []Neigh{{IP: netip.MustParseAddr("fe80::1"), Dev: "e", MAC: "02:00:00:00:00:01", States: []string{"STALE"}, Router: true}}, got)
	if err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("error %v, want one about oops", err)
	}
}

func TestRDMALinkFixtures(t *testing.T) {
	ib := func(dev string, lid, sm int, state, phys string) RDMALink {
		return RDMALink{Host: "node2", Device: dev, Port: 1, SubnetPrefix: "fe80:0000:0000:0000", LID: &lid, SMLID: &sm, LMC: new(0), State: state, PhysicalState: phys}
	}
	flap := func(state, phys string) RDMALink {
		l := ib("mlx5_7", 3403, 1, state, phys)
		l.Host = ""
		return l
	}
	for file, want := range map[string][]RDMALink{
		"rdma_link_flapping_ib.txt": {flap("DOWN", "POLLING"), flap("DOWN", "LINK_UP"), flap("ACTIVE", "LINK_UP")},
		"rdma_link_mixed_ib_eth_vf_down.txt": {
			ib("mlx5_0", 3, 1, "ACTIVE", "LINK_UP"), ib("mlx5_1", 65535, 0, "DOWN", "DISABLED"), ib("mlx5_2", 35, 1, "ACTIVE", "LINK_UP"),
			ib("mlx5_3", 65535, 0, "DOWN", "DISABLED"),
			{Host: "node2", Device: "mlx5_4", Port: 1, State: "ACTIVE", PhysicalState: "LINK_UP", Netdev: "enp97s0f0"},
			ib("mlx5_5", 65535, 0, "DOWN", "DISABLED"), ib("mlx5_6", 4, 1, "ACTIVE", "LINK_UP"),
			ib("mlx5_7", 65535, 0, "DOWN", "DISABLED"), ib("mlx5_8", 36, 1, "ACTIVE", "LINK_UP"),
		},
		"rdma_link_strixhalo_cx_25g.txt": {
			{Host: "strixhalo", Device: "rocep3s0f0", Port: 1, State: "ACTIVE", PhysicalState: "LINK_UP", Netdev: "enp3s0f0np0"},
			{Host: "strixhalo", Device: "rocep3s0f1", Port: 1, State: "DOWN", PhysicalState: "DISABLED", Netdev: "enp3s0f1np1"},
			{Host: "strix-halo-2", Device: "rocep3s0f0", Port: 1, State: "ACTIVE", PhysicalState: "LINK_UP", Netdev: "ens1f0np0"},
			{Host: "strix-halo-2", Device: "rocep3s0f1", Port: 1, State: "DOWN", PhysicalState: "DISABLED", Netdev: "ens1f1np1"},
		},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseRDMALink(fixture.Read(t, file))
			noErr(t, err)
			equal(t, want, got)
		})
	}
}

func TestRDMAForms(t *testing.T) {
	want := []RDMALink{{Device: "mlx5_0", Port: 1, State: "ACTIVE", PhysicalState: "LINK_UP", Netdev: "eth2", NetdevIndex: new(4)}}
	for name, in := range map[string]string{
		"text":       "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2 netdev_index 4 \n    caps: <CM, IP_BASED_GIDS>\n",
		"first text": "0/1: mlx5_0/1: state ACTIVE physical_state LINK_UP netdev eth2 netdev_index 4\n",
		"json":       `[{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth2","netdev_index":4}]`,
		"first json": `[{"ifindex":0,"ifname":"mlx5_0/1","state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth2","netdev_index":4}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRDMALink([]byte(in))
			noErr(t, err)
			equal(t, want, got)
		})
	}
	devs, err := ParseRDMADev([]byte("[admin@n1 ~]$ rdma dev\n1: mlx5_0: node_type ca fw 20.28.2006 node_guid 248a:0703:0055:4094 sys_image_guid 248a:0703:0055:4094 \n    adaptive-moderation on\n"))
	noErr(t, err)
	equal(t, []RDMADev{{Host: "n1", Index: 1, Name: "mlx5_0", NodeType: "ca", Firmware: "20.28.2006", NodeGUID: "248a:0703:0055:4094", SysImageGUID: "248a:0703:0055:4094"}}, devs)
	for _, in := range []string{"Failed to open NETLINK_RDMA socket", "link mlx5_0 state ACTIVE", "hello", `[{"ifname":"mlx5_0"}]`} {
		if got, err := ParseRDMALink([]byte(in)); err == nil || len(got) != 0 {
			t.Errorf("ParseRDMALink(%q) = %v, %v, want nothing and an error", in, got, err)
		}
	}
	if got, err := ParseRDMADev([]byte("rdma: not found")); !errors.Is(err, ErrTool) || len(got) != 0 {
		t.Errorf("ParseRDMADev = %v, %v, want nothing and ErrTool", got, err)
	}
}

func FuzzLinks(f *testing.F) {
	f.Add([]byte(detailJSON))
	f.Add([]byte(detailText))
	fixture.Seed(f, "i[pf]*")
	f.Fuzz(func(t *testing.T, b []byte) {
		links, _ := ParseLinks(b)
		named(t, links)
	})
}

func FuzzIfconfig(f *testing.F) {
	f.Add([]byte("eth0: flags=1<UP>  mtu 1500\n inet 10.0.0.1  netmask 255.0.0.0"))
	fixture.Seed(f, "ifconfig*")
	f.Fuzz(func(t *testing.T, b []byte) {
		links, _ := ParseIfconfig(b)
		named(t, links)
	})
}

func named(t *testing.T, links []Link) {
	for _, l := range links {
		if l.Name == "" && l.Parent == "" {
			t.Errorf("link without a name: %+v", l)
		}
		for _, a := range l.Addrs {
			if !a.IP.IsValid() {
				t.Errorf("%s: invalid address kept", l.Name)
			}
		}
	}
}

func FuzzRoutes(f *testing.F) {
	f.Add([]byte(routesJSONSample))
	f.Add([]byte(routesTextSample))
	f.Fuzz(func(t *testing.T, b []byte) {
		routes, _ := ParseRoutes(b)
		for _, r := range routes {
			if r.Default == r.Dst.IsValid() {
				t.Errorf("route is both or neither default and %v", r.Dst)
			}
		}
	})
}

func FuzzRouteGet(f *testing.F) {
	f.Add([]byte(routesJSONSample))
	f.Add([]byte(routesTextSample))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRouteGet(b)
		if err == nil && !r.Default && !r.Dst.IsValid() {
			t.Errorf("no error and no destination: %+v", r)
		}
	})
}

func FuzzNeigh(f *testing.F) {
	f.Add([]byte(`[{"dst":"fe80::1","dev":"e","router":null,"state":["STALE"]}]`))
	f.Add([]byte("10.0.0.2 dev eth0 lladdr 02:00:00:00:00:02 REACHABLE"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := ParseNeigh(b)
		for _, n := range got {
			if !n.IP.IsValid() {
				t.Errorf("invalid address kept: %+v", n)
			}
		}
	})
}

func FuzzRDMALink(f *testing.F) {
	f.Add([]byte(`[{"ifname":"mlx5_0","port":1,"lid":3}]`))
	f.Add([]byte("1: mlx5_0: node_type ca fw 1.2.3"))
	fixture.Seed(f, "rdma_link*")
	f.Fuzz(func(t *testing.T, b []byte) {
		links, _ := ParseRDMALink(b)
		for _, l := range links {
			if l.Device == "" || strings.Contains(l.Device, "/") {
				t.Errorf("device %q", l.Device)
			}
		}
	})
}

func FuzzRDMADev(f *testing.F) {
	f.Add([]byte(`[{"ifname":"mlx5_0","fw":"1"}]`))
	f.Add([]byte("1: mlx5_0: node_type ca fw 1.2.3"))
	fixture.Seed(f, "rdma_link*")
	f.Fuzz(func(t *testing.T, b []byte) {
		devs, _ := ParseRDMADev(b)
		if len(devs) > len(b) {
			t.Errorf("%d devices out of %d bytes", len(devs), len(b))
		}
	})
}
