package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/unit"
)

// world is a cluster that does not exist, with faults, and a noise of its own.
type world struct {
	*rand.Rand
	c      *check.Case
	soft   bool
	noise  float64 // standard deviation of the logarithm of a run
	odd    float64 // the share of runs that something else disturbs
	gone   float64 // the share of pairs that are not measured
	tests  int     // how often suspects are tested again
	ends   [][]End // by rail
	leafs  map[string]string
	faults []ill
	keep   []Pair // measured in any case
	which  string // pairs: all, sample
}

// ill is a fault: which directions of which trial it makes how many times worse.
type ill struct {
	hits  func(t Trial, from, to End) bool
	times float64
	mtu   int     // the largest packet that crosses; 0 all
	loss  float64 // lost packets a run, counted
}

// newWorld has n nodes with one port on each rail. leaf is how many nodes share a switch; 0
// is one switch that tells nothing of itself.
func newWorld(seed uint64, n, rails, leaf int, soft bool) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 7)), soft: soft, c: &check.Case{}, leafs: map[string]string{}, tests: 2, which: "all"}
	w.noise, w.odd = 0.01, 0.005
	if soft {
		w.noise, w.odd, w.tests = 0.05+0.07*w.Float64(), 0.03, 3 // 30 % at most, 19 of 20 times
	}
	w.ends = make([][]End, rails)
	for i := range n {
		node := &fact.Node{Name: fmt.Sprintf("n%02d", i+1)}
		for r := range rails {
			dev, netdev := fmt.Sprintf("mlx5_%d", r), fmt.Sprintf("eth%d", r+1)
			p := &fact.Port{Name: dev + "/1", Device: dev, Num: 1, Driver: "mlx5", Layer: "Ethernet", State: "ACTIVE", Phys: "LinkUp", Netdev: netdev,
				Rate: fact.Some(100 * unit.Gbps), ActiveMTU: fact.Some(4096), MaxMTU: fact.Some(4096)}
			if soft {
				p.Driver, p.Name, p.Device = "rxe", fmt.Sprintf("rxe_%d/1", r), fmt.Sprintf("rxe_%d", r)
			}
			node.Ports = append(node.Ports, p)
			node.Netdevs = append(node.Netdevs, &fact.Netdev{Name: netdev, Type: "ether", Oper: "up", MTU: fact.Some(9000), Speed: fact.Some(100 * unit.Gbps),
				Addrs: []string{fmt.Sprintf("10.%d.%d.%d/16", r, i/200, i%200+1)}, QdiscsRead: true})
			if leaf > 0 {
				name := fmt.Sprintf("leaf%d", i/leaf+1)
				w.leafs[node.Name] = name
				node.Settings.LLDP = append(node.Settings.LLDP, fact.LLDP{Netdev: netdev, Chassis: name, Port: fmt.Sprintf("swp%d", i%leaf+1)})
			}
			w.ends[r] = append(w.ends[r], End{node.Name, p.Name})
		}
		w.c.Nodes = append(w.c.Nodes, node)
	}
	return w
}

// run is what one run of a cell gives.
func (w *world) run(t Trial, p Pair) Cell {
	cell := Cell{Trial: t.ID, Pair: p, Tests: 1}
	good := 97e9
	switch {
	case t.Unit == Bytes:
		good = 9000
	case t.Unit == Nanoseconds && w.soft:
		good = 600e3
	case t.Unit == Nanoseconds:
		good = 1300
	case w.soft:
		good = 400e6
	}
	from, to := p.A, p.B
	worst, mtu := 1.0, 9000
	lost := uint64(w.IntN(8) / 5 * w.IntN(6)) // a busy host resends a little for no reason
	for _, f := range w.faults {
		if f.hits(t, from, to) || !directed(t) && f.hits(t, to, from) {
			worst = max(worst, f.times)
			if f.mtu > 0 {
				mtu = min(mtu, f.mtu)
			}
			if f.loss > 0 {
				lost += uint64(f.loss * (0.5 + w.Float64()))
			}
		}
	}
	if w.soft {
		cell.Moved = []Moved{{End: from, Sent: 3000, Packets: true, Grew: map[string]uint64{"rcvd_seq_err": lost, "completer_retry_err": lost}},
			{End: to, Received: 3000, Packets: true, Grew: map[string]uint64{"out_of_seq_request": lost}}}
	}
	if t.Unit == Bytes {
		cell.Samples = []Amount{Amount(mtu)}
		return cell.Filled()
	}
	bad := math.Log(worst) + w.noise*max(-2, w.student()) // much can disturb a run, little can better it
	if w.Float64() < w.odd {
		if w.soft {
			bad += 0.5 + 0.7*w.Float64()
		} else {
			bad += 0.1 + 0.2*w.Float64()
		}
	}
	for range 8 {
		x := bad + w.noise/3*w.NormFloat64()
		if t.Unit.More() {
			x = -x
		}
		cell.Samples = append(cell.Samples, Amount(good*math.Exp(x)))
	}
	return cell.Filled()
}

// student is noise with heavy tails: four degrees of freedom.
func (w *world) student() float64 {
	sum := 0.0
	for range 4 {
		x := w.NormFloat64()
		sum += x * x
	}
	return w.NormFloat64() / math.Sqrt(sum/4)
}

// prove measures all pairs the way weft prove does and judges them.
func (w *world) prove(ids ...string) ([]Cell, []Problem) {
	var cells []Cell
	for _, id := range ids {
		t, _ := ByID(id)
		cells = append(cells, w.measure(t)...)
	}
	return Judge(w.c, cells)
}

func (w *world) measure(t Trial) (cells []Cell) {
	at := map[Pair]int{}
	measure := func(pairs []Pair) {
		for _, p := range pairs {
			both := []Pair{p}
			if t.Both {
				both = append(both, p.Turned())
			}
			for _, q := range both {
				cell := w.run(t, q)
				if i, ok := at[q]; ok {
					cells[i] = cells[i].Again(cell)
					continue
				}
				at[q] = len(cells)
				cells = append(cells, cell)
			}
		}
	}
	measure(w.first())
	for range w.tests {
		measure(Suspects(w.c, cells))
	}
	measure(Partners(w.c, cells))
	return cells
}

// first returns the pairs to begin with: all of them, a sample, or all but some.
func (w *world) first() []Pair {
	var rails []Rail
	for i, ends := range w.ends {
		rails = append(rails, Rail{fmt.Sprint(i), ends})
	}
	rounds, _ := Rounds(rails, Which{Word: w.which}, w.Perm)
	list := pairList{}
	for _, p := range w.keep {
		list.add(p)
	}
	for _, r := range rounds {
		for _, p := range r.Pairs {
			if w.Float64() >= w.gone {
				list.add(p)
			}
		}
	}
	return list.pairs
}

// sends, receives and touches say what a fault of an end hits in trials of bandwidth.
func sends(e End) func(Trial, End, End) bool {
	return func(t Trial, from, to End) bool { return t.Unit == BitsPerSecond && from == e }
}

func receives(e End) func(Trial, End, End) bool {
	return func(t Trial, from, to End) bool { return t.Unit == BitsPerSecond && to == e }
}

func touches(u Unit, ends ...End) func(Trial, End, End) bool {
	return func(t Trial, from, to End) bool {
		return t.Unit == u && (slices.Contains(ends, from) || slices.Contains(ends, to))
	}
}

// said writes problems for comparing: "port n01 mlx5_0/1 sending".
func said(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		var at []string
		for _, e := range p.At {
			at = append(at, e.String())
		}
		if p.Kind == "pair" || p.Kind == "switch" {
			slices.Sort(at)
		}
		out = append(out, strings.TrimSpace(p.Kind+" "+strings.Join(at, ", ")+" "+p.Way))
	}
	slices.Sort(out)
	return out
}

// sickness is one kind of fault, and what should be said of it.
type sickness struct {
	name   string
	trials []string
	least  int // nodes
	rails  int
	leaf   int
	make   func(w *world, times float64) (want []string)
}

var bandwidth = []string{"rdma.write.bw"}

func (w *world) anyEnd() End {
	rail := w.ends[w.IntN(len(w.ends))]
	return rail[w.IntN(len(rail))]
}

// others returns two ends of one rail on different nodes.
func (w *world) twoEnds() (a, b End) {
	rail := w.ends[w.IntN(len(w.ends))]
	i := w.Perm(len(rail))
	return rail[i[0]], rail[i[1]]
}

var sicknesses = []sickness{
	{"none", []string{"rdma.write.bw", "rdma.write.lat", "path.mtu"}, 2, 1, 0, func(w *world, times float64) []string { return nil }},
	{"slow sender", bandwidth, 3, 1, 0, func(w *world, times float64) []string {
		e := w.anyEnd()
		w.faults = []ill{{hits: sends(e), times: times}}
		return []string{"port " + e.String() + " sending"}
	}},
	{"lossy receiver", bandwidth, 3, 1, 0, func(w *world, times float64) []string {
		e := w.anyEnd()
		w.faults = []ill{{hits: receives(e), times: times, loss: 30}}
		return []string{"port " + e.String() + " receiving"}
	}},
	{"slow both ways", bandwidth, 3, 1, 0, func(w *world, times float64) []string {
		e := w.anyEnd()
		w.faults = []ill{{hits: touches(BitsPerSecond, e), times: times}}
		return []string{"port " + e.String()}
	}},
	{"delay", []string{"rdma.write.lat"}, 3, 1, 0, func(w *world, times float64) []string {
		e := w.anyEnd()
		w.faults = []ill{{hits: touches(Nanoseconds, e), times: max(3, times)}}
		return []string{"port " + e.String()}
	}},
	{"MTU in facts", []string{"path.mtu", "rdma.write.bw"}, 3, 1, 0, func(w *world, times float64) []string {
		e := w.anyEnd()
		n := w.c.Node(e.Node)
		p := n.Port(e.Port)
		p.ActiveMTU = fact.Some(1024)
		n.Netdev(p.Netdev).MTU = fact.Some(1500)
		w.faults = []ill{{hits: touches(BitsPerSecond, e), times: times}, {hits: touches(Bytes, e), times: 1, mtu: 1500}}
		return []string{"port " + e.String()}
	}},
	{"MTU in a switch", []string{"path.mtu", "rdma.write.bw"}, 3, 1, 0, func(w *world, times float64) []string {
		e := w.anyEnd()
		w.faults = []ill{{hits: touches(BitsPerSecond, e), times: times}, {hits: touches(Bytes, e), times: 1, mtu: 1500}}
		return []string{"port " + e.String()}
	}},
	{"bad pair", bandwidth, 4, 1, 0, func(w *world, times float64) []string {
		a, b := w.twoEnds()
		w.keep = []Pair{{a, b}}
		w.faults = []ill{{hits: func(t Trial, from, to End) bool { return from == a && to == b || from == b && to == a }, times: times}}
		return []string{"pair " + min(a.String(), b.String()) + ", " + max(a.String(), b.String())}
	}},
	{"bad node", bandwidth, 3, 2, 0, func(w *world, times float64) []string {
		i := w.IntN(len(w.ends[0]))
		w.faults = []ill{{hits: touches(BitsPerSecond, w.ends[0][i], w.ends[1][i]), times: times}}
		return []string{"node " + w.ends[0][i].Node}
	}},
	{"one port of two", bandwidth, 3, 2, 0, func(w *world, times float64) []string {
		e := w.anyEnd()
		w.faults = []ill{{hits: sends(e), times: times}}
		return []string{"port " + e.String() + " sending"}
	}},
	{"bad leaf", bandwidth, 12, 1, 4, func(w *world, times float64) []string {
		leaf := fmt.Sprintf("leaf%d", 1+w.IntN((len(w.ends[0])+3)/4))
		if len(w.c.Nodes)%4 == 1 {
			leaf = "leaf1" // the last has one node: its port is the same as the switch
		}
		w.faults = []ill{{hits: func(t Trial, from, to End) bool {
			return (w.leafs[from.Node] == leaf) != (w.leafs[to.Node] == leaf)
		}, times: times}}
		return []string{"switch " + leaf}
	}},
	{"two faults", bandwidth, 6, 1, 0, func(w *world, times float64) []string {
		a, b := w.twoEnds()
		w.faults = []ill{{hits: sends(a), times: times}, {hits: receives(b), times: times * 1.2}}
		want := []string{"port " + a.String() + " sending", "port " + b.String() + " receiving"}
		slices.Sort(want)
		return want
	}},
	{"two bad ports", bandwidth, 5, 1, 0, func(w *world, times float64) []string {
		a, b := w.twoEnds()
		w.faults = []ill{{hits: touches(BitsPerSecond, a, b), times: times}}
		want := []string{"port " + a.String(), "port " + b.String()}
		slices.Sort(want)
		return want
	}},
}

// A fault is named exactly, whatever it is and however noisy the medium, and nothing that
// is healthy is accused.
func TestBlameNamesWhatIsBad(t *testing.T) {
	seeds := 100 // WEFT_SEEDS=500 was seen to hold
	if n, err := strconv.Atoi(os.Getenv("WEFT_SEEDS")); err == nil {
		seeds = n
	}
	for _, sick := range sicknesses {
		for _, medium := range []struct {
			name  string
			soft  bool
			times float64
			most  int
		}{{"hardware", false, 1 / 0.9, 64}, {"lab", true, 2, 16}} {
			t.Run(sick.name+"/"+medium.name, func(t *testing.T) {
				wrong := 0
				for seed := range uint64(seeds) {
					most := max(medium.most, sick.least)
					w := newWorld(seed, sick.least, sick.rails, sick.leaf, medium.soft)
					if n := sick.least + w.IntN(min(6, most-sick.least+1)); seed%50 == 49 {
						w = newWorld(seed, most, sick.rails, sick.leaf, medium.soft)
					} else {
						w = newWorld(seed, n, sick.rails, sick.leaf, medium.soft)
					}
					switch {
					case seed%4 == 3 && len(w.c.Nodes) > 5:
						w.gone = 0.1
					case seed%50 == 49 && sick.leaf == 0:
						w.which = "sample"
					}
					want := sick.make(w, medium.times*(1+0.5*w.Float64()))
					_, problems := w.prove(sick.trials...)
					if got := said(problems); !slices.Equal(got, want) {
						if wrong++; wrong <= 3 {
							t.Errorf("seed %d, %d nodes:\n got %q\nwant %q", seed, len(w.c.Nodes), got, want)
						}
					}
				}
				if wrong > 0 {
					t.Errorf("%d of %d wrong", wrong, seeds)
				}
			})
		}
	}
}

// With two nodes it cannot be told which end is bad: the pair is named, and the direction.
// In the lab there are two numbers to know the noise from: now and then they do not do.
func TestTwoNodesAreAPair(t *testing.T) {
	const seeds = 300
	for _, soft := range []bool{false, true} {
		missed, most := 0, 0
		for seed := range uint64(seeds) {
			w := newWorld(seed, 2, 1, 0, soft)
			times := 1.15
			if soft {
				times, w.tests, most = 3, 4, seeds/100
			}
			a, b := w.ends[0][0], w.ends[0][1]
			w.faults = []ill{{hits: sends(a), times: times}}
			_, problems := w.prove("rdma.write.bw")
			if len(problems) == 0 {
				missed++
				continue
			}
			if p := problems[0]; len(problems) != 1 || p.Kind != "pair" || p.At[0] != a || p.At[1] != b || p.Way != sending || !strings.Contains(p.Why, "either end") {
				t.Errorf("soft %v, seed %d: got %+v", soft, seed, problems)
			}
		}
		if missed > most {
			t.Errorf("soft %v: %d of %d missed", soft, missed, seeds)
		}
	}
}
