package ibnet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

// census counts what a subnet holds: "2 SW, 8 CA, 10 links: 10 4xSDR".
func census(n Net) string {
	kinds, rates := map[string]int{}, map[string]int{}
	for _, node := range n.Nodes {
		kinds[node.Kind]++
	}
	var order []string
	for _, l := range n.Links {
		r := fmt.Sprintf("%dx%s", l.WidthLanes, l.Speed)
		if rates[r] == 0 {
			order = append(order, r)
		}
		rates[r]++
	}
	s := fmt.Sprintf("%d SW, %d CA, %d links", kinds["SW"], kinds["CA"], len(n.Links))
	for _, r := range order {
		s += fmt.Sprintf(", %d %s", rates[r], r)
	}
	return s
}

// find returns the link that ends in this port.
func find(t *testing.T, n Net, name string, port int) Link {
	t.Helper()
	for _, l := range n.Links {
		if l.A.Name == name && l.A.Port == port || l.B.Name == name && l.B.Port == port {
			return l
		}
	}
	t.Fatalf("no link at %s[%d]", name, port)
	return Link{}
}

func TestNetdiscoverCensus(t *testing.T) {
	for file, want := range map[string]string{
		"ibnetdiscover_topograph_head.txt":       "17 SW, 131 CA, 248 links, 248 4xNDR",
		"ibnetdiscover_hdr.txt":                  "4 SW, 3 CA, 4 links, 4 4xEDR",
		"ibnetdiscover_bad.txt":                  "0 SW, 1 CA, 0 links",
		"lab/ibsim/2sw8h/ibnetdiscover.txt":      "2 SW, 8 CA, 10 links, 10 4xSDR",
		"lab/ibsim/216h/ibnetdiscover.txt":       "18 SW, 216 CA, 432 links, 432 4xHDR",
		"lab/ibsim/ndr/ibnetdiscover.txt":        "3 SW, 8 CA, 12 links, 12 4xSDR",
		"lab/ibsim/width/ibnetdiscover.txt":      "2 SW, 8 CA, 10 links, 6 4xSDR, 1 4xEDR, 1 1xEDR, 2 4xQDR",
		"lab/ibsim/width/ibnetdiscover-down.txt": "2 SW, 7 CA, 8 links, 4 4xSDR, 1 4xEDR, 1 1xEDR, 2 4xQDR",
		"lab/ibsim/width/ibnetdiscover-err.txt":  "2 SW, 7 CA, 9 links, 5 4xSDR, 1 4xEDR, 1 1xEDR, 2 4xQDR",
	} {
		t.Run(file, func(t *testing.T) {
			n, err := ParseNetdiscover(fixture.Read(t, file))
			if err != nil {
				t.Error(err)
			}
			if got := census(n); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestNetdiscoverTopology(t *testing.T) {
	n, err := ParseNetdiscover(fixture.Read(t, "ibnetdiscover_topograph_head.txt"))
	if err != nil {
		t.Error(err)
	}
	if want := "0xe09d730300156ff6"; n.From != want {
		t.Errorf("from %s, want %s", n.From, want)
	}
	if d := cmp.Diff(Node{
		Kind: "SW", GUID: "0x2c5eab0300b87b40", Name: "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1", SysImageGUID: "0x2c5eab0300b87b40",
		VendorID: "0x2c9", DeviceID: "0xd2f2", LID: 73, NumPorts: 65,
	}, n.Nodes[0]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Link{
		A:          End{Kind: "SW", GUID: "0x2c5eab0300b87b40", Name: "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1", Port: 1, LID: 73},
		B:          End{Kind: "CA", GUID: "0xe09d7303007a4bd8", PortGUID: "0xe09d7303007a4bd8", Name: "a08-p1-dgx-04-c01 mlx5_5", Port: 1, LID: 647},
		WidthLanes: 4, Speed: "NDR",
	}, n.Links[0]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Link{
		A:          End{Kind: "SW", GUID: "0x2c5eab0300b87b40", Name: "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1", Port: 35, LID: 73},
		B:          End{Kind: "SW", GUID: "0x2c5eab0300c26280", Name: "MF0;A10-P1-IBSPINE-02:MQM9701/U1", Port: 32, LID: 236},
		WidthLanes: 4, Speed: "NDR",
	}, n.Links[17]); d != "" {
		t.Error(d)
	}
}

func TestNetdiscoverBadHead(t *testing.T) {
	n, err := ParseNetdiscover(fixture.Read(t, "ibnetdiscover_bad.txt"))
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(Net{From: "0xb8e92403009ca838", Nodes: []Node{{
		Kind: "CA", GUID: "0xb8e92403009ca838", Name: "dgx-gb200-n01-c1 HCA-1", SysImageGUID: "0xb8e92403009ca838",
		VendorID: "0x2c9", DeviceID: "0x1021", NumPorts: 1,
	}}}, n); d != "" {
		t.Error(d)
	}
}

func TestNetdiscoverBothEndsMeet(t *testing.T) {
	n, err := ParseNetdiscover(fixture.Read(t, "lab/ibsim/width/ibnetdiscover.txt"))
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(Link{
		A:          End{Kind: "SW", GUID: "0x0000000000200000", Name: "sw1", Port: 2, LID: 2},
		B:          End{Kind: "CA", GUID: "0x0000000000100002", PortGUID: "0x0000000000100003", Name: "host2", Port: 1, LID: 4},
		WidthLanes: 1, Speed: "EDR",
	}, find(t, n, "host2", 1)); d != "" {
		t.Error(d)
	}
	for _, node := range n.Nodes {
		if node.LID == 0 || node.NumPorts == 0 {
			t.Errorf("node %+v has no LID or no ports", node)
		}
	}
}

func TestNetdiscoverPortList(t *testing.T) {
	n, err := ParseNetdiscover(fixture.Read(t, "ibnetdiscover_hdr.txt"))
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]Node{
		{Kind: "CA", GUID: "0x7cfe9003003b4bde", Name: "o0001 HCA-1", LID: 134},
		{Kind: "SW", GUID: "0x7cfe9003009ce5b0", Name: "ib-i1l1s01", LID: 1719},
		{Kind: "CA", GUID: "0x7cfe9003003b4b96", Name: "o0002 HCA-1", LID: 133},
		{Kind: "CA", GUID: "0x506b4b0300cc02a6", Name: "p0001 HCA-1", LID: 1432},
		{Kind: "SW", GUID: "0x506b4b03005c2740", Name: "ib-i4l1s01", LID: 2052},
		{Kind: "SW", GUID: "0x7cfe900300b07320", Name: "ib-i1l2s01", LID: 1516},
	}, n.Nodes[:6]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]End{
		{Kind: "SW", GUID: "0x506b4b03005c2740", Name: "ib-i4l1s01", Port: 37, LID: 2052},
		{Kind: "SW", GUID: "0x08c0eb0300add20e", Name: "ib-i7l2s01", Port: 80, LID: 1781},
	}, n.Unlinked); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Link{
		A:          End{Kind: "SW", GUID: "0x7cfe9003009ce5b0", Name: "ib-i1l1s01", Port: 1, LID: 1719},
		B:          End{Kind: "SW", GUID: "0x7cfe900300b07320", Name: "ib-i1l2s01", Port: 1, LID: 1516},
		WidthLanes: 4, Speed: "EDR",
	}, find(t, n, "ib-i1l2s01", 1)); d != "" {
		t.Error(d)
	}
}

func TestNetdiscoverSamples(t *testing.T) {
	for _, tc := range []struct{ name, in, census, err string }{
		{name: "nothing", census: "0 SW, 0 CA, 0 links"},
		{name: "missing tool", in: "bash: ibnetdiscover: command not found\n", census: "0 SW, 0 CA, 0 links",
			err: `line 1: "bash: ibnetdiscover: command not found" is not ibnetdiscover output`},
		{
			name: "stderr in between, chassis ports, a router, CRLF",
			in: "src/query_smp.c:186; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11:0) bad status 110; Connection timed out\r\n" +
				"DR path slid 0; dlid 0; 0 -> new Switch {1} portnum 0 lid 0-0 \"\"\r\n" +
				"Switch\t36 \"S-0000000000000001\"\t\t# \"a \"#1\"\" enhanced port 0 lid 3 lmc 0\r\n" +
				"[19][ext 1]\t\"R-0000000000000002\"[3][ext 2](3)\t\t# \"r\" lid 4 4xFDR10 s=4 w=2 v=4\r\n",
			census: "1 SW, 0 CA, 1 links, 1 4xFDR10",
			err:    `line 1: tool says "src/query_smp.c:186; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11:0) bad status 110; Connection timed out"`,
		},
		{
			name: "tail only, a broken head, a broken port, an unnamed peer",
			in: "[1]\t\"H-0000000000000001\"[1](2)\t\t# \"h\" lid 1 4xEDR\nSwitch\tmany \"S-1\"\t\t# \"s\"\nSwitch\t36 \"S-1\"\t\t# \"s\" lid 9\n" +
				"[1]\t\"X-0000000000000001\"[1]\t\t# \"h\" lid 1 4xEDR\n[2]\t\"H-0000000000000001\"[1](2)\n[3]\t\"H-2\"[1](zz)\t# \"h\" lid 1 4xEDR\n",
			census: "1 SW, 0 CA, 0 links",
			err: "line 1: port: \"[1]\\t\\\"H-0000000000000001\\\"[1](2)\\t\\t# \\\"h\\\" lid 1 4xEDR\" belongs to no node\n" +
				"line 2: node: \"\\\"S-1\\\"\\t\\t# \\\"s\\\"\" has no port count and GUID\n" +
				"line 4: port: \"[1]\\t\\\"X-0000000000000001\\\"[1]\\t\\t# \\\"h\\\" lid 1 4xEDR\" does not name both ends\n" +
				"line 5: port: \"[2]\\t\\\"H-0000000000000001\\\"[1](2)\" does not name its peer\n" +
				"line 6: port: \"[3]\\t\\\"H-2\\\"[1](zz)\\t# \\\"h\\\" lid 1 4xEDR\" does not name both ends",
		},
		{
			name: "the ends disagree",
			in: "Switch\t36 \"S-1\"\t\t# \"s\" lid 9\n[1]\t\"H-2\"[1](3)\t\t# \"h\" lid 1 4xEDR\n[1]\t\"H-2\"[1](3)\t\t# \"h\" lid 1 4xEDR\n" +
				"[1]\t\"H-4\"[1](5)\t\t# \"i\" lid 2 4xEDR\n[2]\t\"H-2\"[1](3)\t\t# \"h\" lid 1 4xEDR\n" +
				"Ca\t1 \"H-2\"\t\t# \"h\"\n[1](3)\t\"S-1\"[1]\t\t# lid 1 lmc 0 \"s\" lid 9 1xEDR\n",
			census: "1 SW, 2 CA, 1 links, 1 4xEDR",
			err: "line 4: port 0x0000000000000001[1]: already linked elsewhere\n" +
				"line 5: port 0x0000000000000002[1]: already linked elsewhere\n" +
				"line 7: port 0x0000000000000002[1]: 1xEDR here, 4xEDR at its peer",
		},
		{
			name: "port list: unknown rates and broken lines",
			in: "CA 1 1 0x2 ??x ??? - SW 2 3 0x1 ( 'a' - 'b' )\nCA 1 x 0x2 4x EDR - SW 2 3 0x1 ( 'a' - 'b' )\n" +
				"CA 9 1 0x9 3x EdR - SW 2 4 0x1 ( 'a' - 'b' )\nSW 2 5 0x1 4x EDR\nSW 2 6 0x1 4x EDR - CA 1 1\n",
			census: "1 SW, 2 CA, 2 links, 2 0x",
			err: "line 2: port: \" - SW 2 3 0x1 ( 'a' - 'b' )\" is not LID, port, GUID and rate\n" +
				"line 3: width: \"3x\" is not a width\nline 3: speed: \"EdR\" is not a speed\n" +
				"line 4: port: \"\" names no node\nline 5: port: \"\" does not name both ends",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, err := ParseNetdiscover([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if got := census(n); got != tc.census {
				t.Errorf("%s, want %s", got, tc.census)
			}
		})
	}
}

func TestNodeList(t *testing.T) {
	hosts := func(names ...string) (nodes []Node) {
		for _, name := range names {
			var host uint64
			fmt.Sscanf(name, "host%d", &host)
			nodes = append(nodes, Node{Kind: "CA", GUID: guidText(0x100000 + 2*(host-1)), Name: name, NumPorts: 1})
		}
		return nodes
	}
	for file, want := range map[string][]Node{
		"lab/ibsim/2sw8h/ibhosts.txt":      hosts("host8", "host7", "host6", "host5", "host4", "host3", "host2", "host1"),
		"lab/ibsim/width/ibhosts-down.txt": hosts("host7", "host6", "host5", "host4", "host3", "host2", "host1"),
		"lab/ibsim/width/ibhosts-err.txt":  hosts("host8", "host6", "host5", "host4", "host3", "host2", "host1"),
		"lab/ibsim/ndr/ibswitches.txt": {
			{Kind: "SW", GUID: "0x0000000000200001", Name: "leaf001", LID: 3, NumPorts: 36},
			{Kind: "SW", GUID: "0x0000000000200002", Name: "spine000", LID: 4, NumPorts: 36},
			{Kind: "SW", GUID: "0x0000000000200000", Name: "leaf000", LID: 2, NumPorts: 36},
		},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseNodeList(fixture.Read(t, file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNodeListSamples(t *testing.T) {
	in := "Ca\t : 0x10000e ports 2 devid 0x1021 vendid 0x2c9 \"a b mlx5_0\"\nRt\t: 0x5 ports 1 \"r\" lid 8 lmc 0\nCa\t: 0x6 ports\n" +
		"ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 2)\n"
	got, err := ParseNodeList([]byte(in))
	if want := "line 3: node: \"Ca\\t: 0x6 ports\" has no GUID, port count and name\n" +
		`line 4: tool says "ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 2)"`; text(err) != want {
		t.Errorf("error %q, want %q", text(err), want)
	}
	if d := cmp.Diff([]Node{
		{Kind: "CA", GUID: "0x000000000010000e", Name: "a b mlx5_0", VendorID: "0x2c9", DeviceID: "0x1021", NumPorts: 2},
		{Kind: "RT", GUID: "0x0000000000000005", Name: "r", LID: 8, NumPorts: 1},
	}, got); d != "" {
		t.Error(d)
	}
	if _, err := ParseNodeList([]byte("ibhosts: not found")); text(err) != `line 1: "ibhosts: not found" is not ibhosts output` {
		t.Errorf("error %q", text(err))
	}
}

// fatTree writes a two-level fabric as ibnetdiscover would: each leaf has
// hosts below and one link to each spine.
func fatTree(leaves, spines, hosts int) string {
	var b strings.Builder
	head := func(word string, ports int, id, name, more string) {
		fmt.Fprintf(&b, "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x%s\n%s\t%d \"%s\"\t\t# \"%s\"%s\n", id[2:], word, ports, id, name, more)
	}
	leaf := func(l int) string { return fmt.Sprintf("S-%016x", 0x1000+l) }
	spine := func(s int) string { return fmt.Sprintf("S-%016x", 0x2000+s) }
	host := func(h int) string { return fmt.Sprintf("H-%016x", 0x10000+h) }
	for l := range leaves {
		head("Switch", hosts+spines, leaf(l), fmt.Sprintf("leaf%03d", l), fmt.Sprintf(" enhanced port 0 lid %d lmc 0", 1+l))
		for h := range hosts {
			n := l*hosts + h
			fmt.Fprintf(&b, "[%d]\t\"%s\"[1](%x) \t\t# \"node%04d mlx5_0\" lid %d 4xNDR\n", h+1, host(n), 0x10000+n, n, 1000+n)
		}
		for s := range spines {
			fmt.Fprintf(&b, "[%d]\t\"%s\"[%d]\t\t# \"spine%03d\" lid %d 4xNDR\n", hosts+s+1, spine(s), l+1, s, 500+s)
		}
		b.WriteByte('\n')
	}
	for s := range spines {
		head("Switch", leaves, spine(s), fmt.Sprintf("spine%03d", s), fmt.Sprintf(" enhanced port 0 lid %d lmc 0", 500+s))
		for l := range leaves {
			fmt.Fprintf(&b, "[%d]\t\"%s\"[%d]\t\t# \"leaf%03d\" lid %d 4xNDR\n", l+1, leaf(l), hosts+s+1, l, 1+l)
		}
		b.WriteByte('\n')
	}
	for n := range leaves * hosts {
		head("Ca", 1, host(n), fmt.Sprintf("node%04d mlx5_0", n), "")
		fmt.Fprintf(&b, "[1](%x) \t\"%s\"[%d]\t\t# lid %d lmc 0 \"leaf%03d\" lid %d 4xNDR\n\n", 0x10000+n, leaf(n/hosts), n%hosts+1, 1000+n, n/hosts, 1+n/hosts)
	}
	return b.String()
}

func TestNetdiscoverLarge(t *testing.T) {
	n, err := ParseNetdiscover([]byte(fatTree(56, 18, 18)))
	if err != nil {
		t.Error(err)
	}
	if got, want := census(n), "74 SW, 1008 CA, 2016 links, 2016 4xNDR"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func BenchmarkNetdiscover1008(b *testing.B) {
	in := []byte(fatTree(56, 18, 18))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseNetdiscover(in); err != nil {
			b.Fatal(err)
		}
	}
}

// text is the error's, "" for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
