package trial

import (
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
	"weft/internal/unit"
)

func made(s *sample.Cluster) *check.Case {
	return &check.Case{Cluster: format.Facts(s.Dump()), Want: s.Want}
}

// two are two nodes with one port each: a rate, a layer, an RDMA MTU and a PCIe link.
func two(gbps float64, layer, speed string, mtu int, gts float64, width int) *check.Case {
	c := &check.Case{}
	for _, name := range []string{"a", "b"} {
		l := fact.Link{GTs: gts, Width: width}
		c.Nodes = append(c.Nodes, &fact.Node{Name: name,
			Ports: []*fact.Port{{Name: "mlx5_0/1", Device: "mlx5_0", Num: 1, BDF: "0000:c1:00.0", Driver: "mlx5", Layer: layer, Speed: speed, State: "ACTIVE", Netdev: "eth0",
				Rate: fact.Some(unit.Rate(gbps * 1e9)), ActiveMTU: fact.Some(mtu)}},
			Netdevs: []*fact.Netdev{{Name: "eth0", Type: "ether", MTU: fact.Some(9000), Addrs: []string{"10.0.0.1/24"}}},
			PCI:     []*fact.PCI{{BDF: "0000:c1:00.0", Vendor: 0x15b3, Device: 0x1017, Cur: l, Max: l}}})
	}
	return c
}

func pairOf(c *check.Case, a, b int) Pair {
	return Pair{End{c.Nodes[a].Name, c.Nodes[a].Ports[0].Name}, End{c.Nodes[b].Name, c.Nodes[b].Ports[0].Name}}
}

// What people measured on hardware that they held for healthy passes, and what is half as
// quick does not.
func TestPublishedFiguresPass(t *testing.T) {
	sparks := made(sample.Sparks("spark"))
	for _, n := range sparks.Nodes {
		for _, p := range n.Ports {
			p.ActiveMTU = fact.Some(1024) // as in NVIDIA's guide
		}
	}
	strix := made(sample.Strix("strix", 2))
	eth, ib := "Ethernet", "InfiniBand"
	tests := []struct {
		source string
		trial  string
		c      *check.Case
		gbps   float64
	}{
		{"seed 001: 100 Gb/s, 95 to 98", "rdma.send.bw", two(100, eth, "EDR", 4096, 8, 16), 95},
		{"seed 001", "rdma.send.bw", two(100, ib, "EDR", 4096, 8, 16), 95},
		{"seed 001", "rdma.send.bw", two(100, ib, "EDR", 4096, 8, 16), 98},
		{"seed 001: 200 Gb/s, 188 to 197", "rdma.send.bw", two(200, eth, "HDR", 4096, 16, 16), 188},
		{"seed 001", "rdma.send.bw", two(200, ib, "HDR", 4096, 16, 16), 188},
		{"seed 001", "rdma.send.bw", two(200, ib, "HDR", 4096, 16, 16), 197},
		{"seed 001: 400 Gb/s, 370 to 395", "rdma.send.bw", two(400, eth, "NDR", 4096, 32, 16), 370},
		{"seed 001", "rdma.send.bw", two(400, ib, "NDR", 4096, 32, 16), 370},
		{"seed 001", "rdma.send.bw", two(400, ib, "NDR", 4096, 32, 16), 395},
		{"nccl issue 2409: 400 Gb/s RoCE, 128 KiB", "rdma.write.bw", two(400, eth, "NDR", 4096, 32, 16), 392.1},
		{"nccl issue 2409: 16 KiB", "rdma.write.bw", two(400, eth, "NDR", 4096, 32, 16), 380},
		{"Oracle's limits: 96, 192, 384 (anchors.md)", "rdma.write.bw", two(400, ib, "NDR", 4096, 32, 16), 384},
		{"seed 004: ConnectX-7 to ConnectX-5, 11664 MB/s", "rdma.send.bw", two(100, eth, "EDR", 4096, 8, 16), 93.3},
		{"seed 000: FDR on PCIe 3.0 x4, 3293.56 MiB/s", "rdma.write.bw", two(56, ib, "FDR", 4096, 8, 4), 27.63},
		{"CHECKS.md: PCIe 3.0 x4 carries about 26", "rdma.write.bw", two(56, ib, "FDR", 4096, 8, 4), 26},
		{"CHECKS.md: PCIe 4.0 x4 about 50", "rdma.write.bw", strix, 50},
		{"kyuz0: E810 behind PCIe 4.0 x4", "rdma.write.bw", strix, 50.64},
		{"NVIDIA, two Sparks: first half of the port, MTU 1024", "rdma.write.bw", sparks, 92.57},
		{"NVIDIA, two Sparks: second half", "rdma.write.bw", sparks, 97.28},
		{"wkljohn: ConnectX-4 Lx, 25 Gb/s RoCE", "rdma.write.bw", two(25, eth, "EDR", 1024, 8, 4), 22.75},
		{"superbenchmark: loopback on HDR, 24056.72 MB/s", "rdma.loop.bw", two(200, ib, "HDR", 4096, 16, 16), 192.45},
		{"daqiri: Spark to itself, RoCE send", "rdma.send.bw", sparks, 102.2},
		{"imbue: NDR both ways, 720 with GPUDirect", "rdma.write.bibw", two(400, ib, "NDR", 4096, 32, 16), 740},
	}
	for _, tt := range tests {
		trial, _ := ByID(tt.trial)
		p := pairOf(tt.c, 0, 1)
		if trial.Over == Ports {
			p.B = p.A
		}
		got := Amount(tt.gbps * 1e9)
		cell := Cell{Trial: tt.trial, Pair: p, Got: fact.Some(got), Tests: 2}
		half := cell
		half.Got = fact.Some(got / 2)
		cells, problems := Judge(tt.c, []Cell{cell})
		if cells[0].Status != check.Pass || len(problems) > 0 {
			t.Errorf("%s: %g Gb/s is %v of %v by %q", tt.source, tt.gbps, cells[0].Status, BitsPerSecond.Text(cells[0].Want.Or(0)), cells[0].Limiter)
		}
		cells, problems = Judge(tt.c, []Cell{half})
		if cells[0].Status != check.Fail || len(problems) != 1 {
			t.Errorf("%s: half of %g Gb/s is %v with %d problems", tt.source, tt.gbps, cells[0].Status, len(problems))
		}
	}
}

func TestPublishedLatenciesPass(t *testing.T) {
	eth, ib := "Ethernet", "InfiniBand"
	slow := two(25, eth, "EDR", 1024, 8, 4)
	tests := []struct {
		source string
		c      *check.Case
		us     float64
		want   check.Status
	}{
		{"seed 001: EDR 1.0 to 1.5", two(100, ib, "EDR", 4096, 8, 16), 1.5, check.Pass},
		{"seed 001: HDR 0.9 to 1.3", two(200, ib, "HDR", 4096, 16, 16), 1.3, check.Pass},
		{"seed 001: NDR 0.8 to 1.1", two(400, ib, "NDR", 4096, 32, 16), 1.1, check.Pass},
		{"seed 000: FDR on PCIe 3.0 x4", two(56, ib, "FDR", 4096, 8, 4), 1.12, check.Pass},
		{"wkljohn: ConnectX-4 Lx", slow, 2.61, check.Pass},
		{"kyuz0: E810", made(sample.Strix("strix", 2)), 5.23, check.Pass},
		{"between", two(100, ib, "EDR", 4096, 8, 16), 4, check.Warn},
		{"seed 001: over 5 through one switch is broken", two(100, ib, "EDR", 4096, 8, 16), 5.1, check.Fail},
		{"and on 100 GbE", two(100, eth, "EDR", 4096, 8, 16), 5.1, check.Fail},
		{"kyuz0: what TCP takes on the E810", made(sample.Strix("strix", 2)), 68, check.Fail},
	}
	for _, tt := range tests {
		cell := Cell{Trial: "rdma.write.lat", Pair: pairOf(tt.c, 0, 1), Got: fact.Some(Amount(tt.us * 1000)), Tests: 2}
		cells, _ := Judge(tt.c, []Cell{cell})
		if cells[0].Status != tt.want {
			t.Errorf("%s: %g µs is %v, want %v; limit %v by %q", tt.source, tt.us, cells[0].Status, tt.want, Nanoseconds.Text(cells[0].Want.Or(0)), cells[0].Limiter)
		}
	}
	read, _ := ByID("rdma.read.lat")
	write, _ := ByID("rdma.write.lat")
	c := two(100, ib, "EDR", 4096, 8, 16)
	if r, w := Expect(c, read, pairOf(c, 0, 1)).Want.Or(0), Expect(c, write, pairOf(c, 0, 1)).Want.Or(0); r <= w || r >= 2*w {
		t.Errorf("a read may take %v where a write may take %v", r, w)
	}
}

// NVIDIA's guide has 92.57 Gb/s of a Spark's half port at MTU 1024: what headers leave of
// 100 Gb/s, to the digit.
func TestWhatHeadersLeave(t *testing.T) {
	tests := []struct {
		link link
		rate unit.Rate
		mtu  int
		want float64
	}{
		{roce, 100 * unit.Gbps, 1024, 92.565},
		{roce, 100 * unit.Gbps, 4096, 98.014},
		{infiniBand, 100 * unit.Gbps, 4096, 99.345},
		{infiniBand, 100 * unit.Gbps, 2048, 98.722},
		{iWARP, 100 * unit.Gbps, 9000, 98.915},
		{iWARP, 100 * unit.Gbps, 1500, 93.628},
		{roce, 100 * unit.Gbps, 0, 98.014}, // not read: taken for full
	}
	for _, tt := range tests {
		got := float64(tt.link.leaves(tt.rate, tt.mtu)) / 1e9
		if got < tt.want-0.001 || got > tt.want+0.001 {
			t.Errorf("link %d, MTU %d: %.3f Gb/s are left, want %.3f", tt.link, tt.mtu, got, tt.want)
		}
	}
}

func TestLimitersAreNamed(t *testing.T) {
	mixed := two(100, "Ethernet", "EDR", 4096, 8, 16)
	mixed.Nodes[1].Ports[0].ActiveMTU = fact.Some(1024)
	narrow := two(100, "InfiniBand", "EDR", 4096, 8, 16)
	narrow.Nodes[1].PCI[0].Cur.Width = 4
	soft := two(100, "Ethernet", "EDR", 4096, 8, 16)
	soft.Nodes[0].Ports[0].Driver, soft.Nodes[1].Ports[0].Driver = "rxe", "rxe"
	soft.Nodes[1].Netdevs[0].Qdiscs = []fact.Qdisc{{Kind: "netem", Rate: fact.Some(100 * unit.Mbps)}}
	unread := two(100, "Ethernet", "EDR", 4096, 8, 16)
	unread.Nodes[1].Ports[0].Rate = fact.Val[unit.Rate]{}
	tests := []struct {
		name          string
		c             *check.Case
		trial         string
		want, limiter string
		why           string
	}{
		{"port", two(100, "Ethernet", "EDR", 4096, 8, 16), "rdma.write.bw", "98 Gb/s", "port rate of a mlx5_0/1, 100 Gb/s", ""},
		{"MTU", mixed, "rdma.write.bw", "92.6 Gb/s", "MTU 1024 at b mlx5_0/1, on 100 Gb/s", ""},
		{"PCIe at one end", narrow, "rdma.write.bw", "26.8 Gb/s", "PCIe of b mlx5_0: 8 GT/s x4 at 0000:c1:00.0", ""},
		{"QDR states the signal", two(40, "InfiniBand", "QDR", 4096, 8, 8), "rdma.write.bw", "31.8 Gb/s", "port rate of a mlx5_0/1, 40 Gb/s", ""},
		{"twins", made(sample.Sparks("spark")), "rdma.write.bw", "98 Gb/s", "half the port of spark1 roceP2p1s0f0/1, 200 Gb/s, whose other half is rocep1s0f0/1", ""},
		{"software", soft, "rdma.write.bw", "", "netem rate 100 Mb/s on eth0 of b", "Soft-RoCE has no rate of its own"},
		{"software is as quick as its processor", soft, "rdma.write.lat", "", "netem rate 100 Mb/s on eth0 of b", "Soft-RoCE is as quick as its processor: nobody can say how quick that should be"},
		{"rate not read", unread, "rdma.write.bw", "", "", "the rate of b mlx5_0/1 was not read"},
		{"TCP", mixed, "tcp.bw", "", "", "TCP is shown beside RDMA and not judged by itself"},
		{"path MTU", mixed, "path.mtu", "9000 bytes", "MTU 9000 of a mlx5_0/1", ""},
		{"path MTU of InfiniBand", narrow, "path.mtu", "", "", "InfiniBand: the subnet manager sets the MTU of a path, see ib.mtu"},
		{"unknown node", &check.Case{}, "rdma.write.bw", "", "", "nothing is known of a"},
	}
	for _, tt := range tests {
		trial, _ := ByID(tt.trial)
		p := Pair{End{"a", "mlx5_0/1"}, End{"b", "mlx5_0/1"}}
		if len(tt.c.Nodes) > 0 {
			p = pairOf(tt.c, 0, 1)
		}
		v := Expect(tt.c, trial, p)
		want := ""
		if w, ok := v.Want.Get(); ok {
			want = trial.Unit.Text(w)
		}
		if want != tt.want || v.Limiter != tt.limiter || v.Why != tt.why {
			t.Errorf("%s: got %q by %q because %q\nwant %q by %q because %q", tt.name, want, v.Limiter, v.Why, tt.want, tt.limiter, tt.why)
		}
	}
}

func TestGPUMemory(t *testing.T) {
	c := &check.Case{Cluster: fact.Cluster{Nodes: []*fact.Node{{Name: "g", GPUs: []*fact.GPU{{Index: 0, Name: "NVIDIA H200"}, {Index: 1, Name: "Strange 9000"}}}}}}
	cell := func(port string, gbs float64) Cell {
		return Cell{Trial: "gpu.membw", Pair: Pair{End{"g", port}, End{"g", port}}, Got: fact.Some(Amount(gbs * 8e9)), Tests: 1}
	}
	cells, problems := Judge(c, []Cell{cell("gpu0", 4100), cell("gpu1", 100)})
	if cells[0].Status != check.Pass || !strings.Contains(cells[0].Limiter, "H200, 4800 GB/s") {
		t.Errorf("an H200 with 4100 GB/s: %v by %q", cells[0].Status, cells[0].Limiter)
	}
	if cells[1].Status != check.Unknown || !strings.Contains(cells[1].Why, "Strange 9000") {
		t.Errorf("a GPU that nobody knows: %v, %q", cells[1].Status, cells[1].Why)
	}
	if len(problems) > 0 {
		t.Errorf("problems: %+v", problems)
	}
	if _, problems = Judge(c, []Cell{cell("gpu0", 2000)}); len(problems) != 1 || problems[0].At[0] != (End{"g", "gpu0"}) || problems[0].Status != "fail" {
		t.Errorf("an H200 with 2000 GB/s: %+v", problems)
	}
}

func TestGPUDirectIsHeldAgainstTheHost(t *testing.T) {
	c := made(sample.RoCE("n", 2))
	for _, tt := range []struct {
		gbps float64
		want check.Status
		why  string
	}{
		{190, check.Pass, ""},
		{170, check.Warn, "89 % of what host memory reaches"},
		{38, check.Fail, "copied through host memory"},
	} {
		cell := Cell{Trial: "gpu.direct", Pair: pairOf(c, 0, 1), Got: fact.Some(Amount(tt.gbps * 1e9)), Host: fact.Some(Amount(191e9)), Tests: 2}
		cells, problems := Judge(c, []Cell{cell})
		if cells[0].Status != tt.want || !strings.Contains(cells[0].Why, tt.why) || (len(problems) > 0) != (tt.want != check.Pass) {
			t.Errorf("%g of 191 Gb/s: %v, %q, %d problems", tt.gbps, cells[0].Status, cells[0].Why, len(problems))
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		u    Unit
		a    Amount
		want string
	}{
		{BitsPerSecond, 97_400_000_000, "97.4 Gb/s"},
		{BitsPerSecond, 170_000_000, "170 Mb/s"},
		{Nanoseconds, 850, "850 ns"},
		{Nanoseconds, 1120, "1.12 µs"},
		{Nanoseconds, 5000, "5 µs"},
		{Nanoseconds, 301_400, "301 µs"},
		{Nanoseconds, 2_050_000, "2.05 ms"},
		{Nanoseconds, 100_000, "100 µs"},
		{Bytes, 9000, "9000 bytes"},
	}
	for _, tt := range tests {
		if got := tt.u.Text(tt.a); got != tt.want {
			t.Errorf("%d: got %q, want %q", tt.a, got, tt.want)
		}
	}
}
