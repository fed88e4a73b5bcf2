package prove

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/check"
	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/format/perftest"
	"weft/internal/trial"
	"weft/internal/unit"
)

// loopbacks are nodes that are all this machine, each with an address of its own on the
// loopback and an RDMA port that is not there.
func loopbacks(t *testing.T, n int) (*check.Case, *Way) {
	c := &check.Case{}
	var names []string
	for i := range n {
		addr := fmt.Sprintf("127.0.%d.1", i+1)
		node := &fact.Node{Name: fmt.Sprintf("n%d", i+1),
			Ports: []*fact.Port{{Name: "mlx5_9/1", Device: "mlx5_9", Num: 1, Driver: "mlx5", Netdev: "lo0", State: "ACTIVE", Layer: "Ethernet", Rate: fact.Some(100 * unit.Gbps),
				GIDs: []fact.GID{{Index: 3, GID: fmt.Sprintf("0000:0000:0000:0000:0000:ffff:7f00:%02x01", i+1), Type: "RoCE v2", Netdev: "lo0"}}, GIDsRead: true}},
			Netdevs: []*fact.Netdev{{Name: "lo0", Addrs: []string{addr + "/8"}, MTU: fact.Some(9000)}}}
		node.Index()
		c.Nodes = append(c.Nodes, node)
		names = append(names, node.Name)
	}
	return c, here(t, names...)
}

func orderOf(c *check.Case, ids ...string) Order {
	o := Order{Case: c, Which: trial.Which{Word: "all"}, Engine: "weft", AtOnce: 1, Disturb: true, Perm: rand.New(rand.NewPCG(1, 1)).Perm}
	o.Effort, _ = trial.EffortByWord("quick")
	for _, id := range ids {
		t, _ := trial.ByID(id)
		o.Trials = append(o.Trials, t)
	}
	return o
}

// TestRun measures all pairs of three nodes: what can be measured is, what cannot says why,
// and every meter ends.
func TestRun(t *testing.T) {
	c, way := loopbacks(t, 3)
	var last [2]int
	o := orderOf(c, "path.mtu", "rdma.write.bw", "tcp.lat")
	o.Say = func(done, all int, _ string) { last = [2]int{done, all} }
	r := Run(t.Context(), way, o)
	count := map[string]int{}
	for _, cell := range r.Cells {
		switch {
		case cell.Trial == "rdma.write.bw":
			if cell.Got.Known() || cell.Missing == "" || cell.Skipped {
				t.Errorf("RDMA without a device: %+v", cell)
			}
		case !cell.Got.Known():
			t.Errorf("%s %v: %s", cell.Trial, cell.Pair, cell.Missing)
		case cell.Trial == "path.mtu" && cell.Got.Or(0) != 9000:
			t.Errorf("%v carries %d", cell.Pair, cell.Got.Or(0))
		}
		count[cell.Trial]++
	}
	if count["path.mtu"] != 6 || count["rdma.write.bw"] != 6 || count["tcp.lat"] != 3 {
		t.Errorf("cells: %v", count)
	}
	if last[0] == 0 || last[0] != last[1] {
		t.Errorf("progress ended at %d of %d", last[0], last[1])
	}
}

// TestRunWithoutANode: a node that cannot be reached takes its own cells with it.
func TestRunWithoutANode(t *testing.T) {
	c, way := loopbacks(t, 3)
	way.Targets["n2"] = exec.Target{Name: "n2", SSH: "nobody@127.0.0.1:1"}
	way.Binary = func(string) (string, error) { return "", fmt.Errorf("no weft for it") }
	r := Run(t.Context(), way, orderOf(c, "tcp.lat"))
	for _, cell := range r.Cells {
		if cell.Got.Known() || !strings.Contains(cell.Missing, "no weft for it") && !strings.Contains(cell.Missing, "n2") {
			t.Errorf("%v: %s", cell.Pair, cell.Missing)
		}
	}
	if len(r.Cells) != 3 {
		t.Errorf("%d cells", len(r.Cells))
	}
}

// TestRunInterrupted: what was not measured says so, and it ends at once.
func TestRunInterrupted(t *testing.T) {
	c, way := loopbacks(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	o := orderOf(c, "tcp.bw")
	o.Say = func(done, all int, what string) {
		if what == "tcp.bw" && done == 2 {
			cancel()
		}
	}
	start := time.Now()
	r := Run(ctx, way, o)
	none := slices.ContainsFunc(r.Cells, func(c trial.Cell) bool { return !c.Got.Known() && c.Missing != "" })
	some := slices.ContainsFunc(r.Cells, func(c trial.Cell) bool { return c.Got.Known() })
	if !none || !some || len(r.Cells) != 12 || time.Since(start) > 20*time.Second {
		t.Errorf("%d cells, some %v, none %v, %v", len(r.Cells), some, none, time.Since(start))
	}
}

// TestBusyNodesAreLeftAlone: a GPU in use keeps a node out, unless it is asked for.
func TestBusyNodesAreLeftAlone(t *testing.T) {
	c, way := loopbacks(t, 2)
	c.Nodes[1].GPUs = []*fact.GPU{{Index: 0, Util: fact.Some(85)}}
	o := orderOf(c, "tcp.lat")
	o.Disturb = false
	r := Run(t.Context(), way, o)
	if len(r.Cells) != 1 || !r.Cells[0].Skipped || !strings.Contains(r.Cells[0].Missing, "85 %") || r.Busy["n2"] == "" {
		t.Errorf("%+v, busy %v", r.Cells, r.Busy)
	}
}

// TestPaths: the GID is the one of the rail's address; what weft's engine cannot do is
// barred with the reason.
func TestPaths(t *testing.T) {
	c, _ := loopbacks(t, 1)
	n := c.Nodes[0]
	p := n.Ports[0]
	p.GIDs = append([]fact.GID{{Index: 0, GID: "fe80:0000:0000:0000:0000:0000:0000:0001", Type: "RoCE v2"}, {Index: 1, GID: "0000:0000:0000:0000:0000:ffff:0a00:0001", Type: "RoCE v2"}}, p.GIDs...)
	if at := pathOf(n, p); at.GID != 3 || at.Addr != "127.0.1.1" || at.MTU != 9000 || at.Bar != "" {
		t.Errorf("%+v", at)
	}
	p.GIDs = p.GIDs[:1]
	if at := pathOf(n, p); !strings.Contains(at.Bar, "no RoCE v2 GID") {
		t.Errorf("without a GID: %+v", at)
	}
	p.Driver = "siw"
	if at := pathOf(n, p); !strings.Contains(at.Bar, "--engine perftest") || !at.CM || at.gid() != nil {
		t.Errorf("iWARP: %+v", at)
	}
	p.Driver, p.Layer = "mlx5", "InfiniBand"
	if at := pathOf(n, p); at.Bar != "" || at.gid() != nil {
		t.Errorf("InfiniBand: %+v", at)
	}
}

// On a rail that has IPv6 alone, both sides of perftest are told so.
func TestPerftestMeets(t *testing.T) {
	for host, want := range map[string]bool{"10.0.0.2": false, "fd00::2": true, "spark2": false} {
		serve, ask := sides(perftest.Options{}, Path{}, Path{Addr: host, Meet: "elsewhere"})
		if ask.Host != host || ask.IPv6 != want || serve.IPv6 != want {
			t.Errorf("%s: client %+v, server %+v", host, ask, serve)
		}
	}
}

// TestAnErrorIsNoNumber: an MTU that could not be looked for is missing, not 0 bytes.
func TestAnErrorIsNoNumber(t *testing.T) {
	c, way := loopbacks(t, 2)
	for _, n := range c.Nodes {
		n.Netdevs[0].MTU = fact.Some(100) // no interface has that
	}
	for _, cell := range Run(t.Context(), way, orderOf(c, "path.mtu")).Cells {
		if cell.Got.Known() || cell.Missing == "" {
			t.Errorf("%+v", cell)
		}
	}
}

// TestWrongSumsAreNoNumber: a collective that computed wrong has failed, however quick.
func TestWrongSumsAreNoNumber(t *testing.T) {
	p := &prover{Order: Order{Case: rdmaNodes(false)}}
	c, err := p.collected(`{"weft":"collective","op":"all_reduce","bytes":268435456,"seconds":[0.1],"ranks":2,"nodes":2,"correct":false}`, []string{"a", "b"}, 2, "PyTorch", nil)
	if err == nil || len(c.Rows) != 1 || !strings.Contains(err.Error(), "not the data that was sent") {
		t.Errorf("%+v, %v", c, err)
	}
}
