package lab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weft/internal/lab"
	"weft/internal/trial"
)

// prove runs weft prove and returns the proof, wanting one of these exit codes.
func prove(t *testing.T, codes []int, args ...string) trial.Proof {
	t.Helper()
	return proveUntil(t, codes, nil, args...)
}

// measuring is a writer that calls strike once, when weft says a word that shows that it
// measures: it says what it does every ten seconds.
type measuring struct {
	said   bytes.Buffer
	word   string
	strike func()
	once   sync.Once
}

func (m *measuring) Write(b []byte) (int, error) {
	n, err := m.said.Write(b)
	if m.strike != nil && strings.Contains(m.said.String(), m.word) {
		m.once.Do(func() { go m.strike() })
	}
	return n, err
}

func (m *measuring) String() string { return m.said.String() }

// proveUntil does something to the machines as soon as weft measures.
func proveUntil(t *testing.T, codes []int, strike func(), args ...string) trial.Proof {
	t.Helper()
	cmd := real(t, append([]string{"prove", "--json"}, args...)...)
	var out bytes.Buffer
	said := &measuring{word: ", rdma.", strike: strike}
	cmd.Stdout, cmd.Stderr = &out, said
	cmd.Run() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(codes, code) {
		t.Fatalf("weft prove %s: exit code %d, want one of %d\n%s%s", strings.Join(args, " "), code, codes, &out, said)
	}
	p, err := trial.ParseProof(out.Bytes())
	if err != nil {
		t.Fatalf("weft prove %s: %v\n%s%s", strings.Join(args, " "), err, &out, said)
	}
	return *p
}

// nothingLeft wants no meter and no perftest on any machine.
func nothingLeft(t *testing.T, l lab.Lab, s lab.State) {
	t.Helper()
	for _, n := range s.Nodes {
		left := ""
		for range 20 {
			if left = strings.TrimSpace(inside(t, l, n.Name, "pgrep -af '[n]ode meter|^[i]b_' || true")); left == "" {
				break
			}
			time.Sleep(500 * time.Millisecond)
		}
		if left != "" {
			t.Errorf("left on %s: %s", n.Name, left)
		}
	}
}

// measured counts the cells with a number, and says why others have none.
func measured(p trial.Proof) (n int, why []string) {
	for _, c := range p.Cells {
		if c.Got.Known() {
			n++
		} else {
			why = append(why, fmt.Sprintf("%s %v: %s", c.Trial, c.Pair, c.Missing))
		}
	}
	return n, why
}

// TestRealProve measures all pairs of healthy machines: everything is measured, nothing is
// accused, and RDMA's counters moved.
func TestRealProve(t *testing.T) {
	l := place(t, false)
	s := up(t, "--nodes", "3")
	trials := []string{"path.mtu", "rdma.loop.bw", "rdma.write", "tcp.lat"}
	if os.Getenv("WEFT_LAB_TEST") == "full" {
		trials = []string{"path.mtu", "rdma", "tcp"}
	}
	p := prove(t, []int{0}, append(trials, "--quick", "--at-once", "1")...)
	want := 0
	for _, id := range p.Trials {
		switch tr, _ := trial.ByID(id); {
		case tr.Over == trial.Ports:
			want += 3
		case tr.Both:
			want += 6
		default:
			want += 3
		}
	}
	if n, why := measured(p); n != want || len(p.Cells) != want || len(p.Problems) != 0 {
		t.Errorf("%d of %d cells measured, want %d; problems %+v\n%s", n, len(p.Cells), want, p.Problems, strings.Join(why, "\n"))
	}
	for _, c := range p.Cells {
		if strings.HasPrefix(c.Trial, "rdma.") && !slices.ContainsFunc(c.Moved, func(m trial.Moved) bool { return m.End == c.A && m.Sent+m.Received > 0 }) {
			t.Errorf("%s %v: no counter moved: %+v", c.Trial, c.Pair, c.Moved)
		}
	}
	nothingLeft(t, l, s)
}

// speedTrials are what the figure is about.
var speedTrials = []string{"rdma.write.bw", "rdma.write.lat"}

// TestRealProveFaster holds weft's engine against perftest run pair by pair with its own
// durations: all pairs of four machines, bandwidth and latency.
func TestRealProveFaster(t *testing.T) {
	place(t, true)
	up(t, "--nodes", "4")
	prove(t, []int{0}, append(speedTrials, "--quick")...) // weft is put on the machines once
	seconds := func(args ...string) float64 {
		return prove(t, []int{0, 1}, append(slices.Concat(speedTrials, []string{"--once"}), args...)...).Seconds
	}
	var own, other, ring []float64
	for range 3 {
		own = append(own, seconds())
		other = append(other, seconds("--engine", "perftest", "--at-once", "1"))
		ring = append(ring, seconds("--pairs", "ring"))
	}
	slices.Sort(own)
	slices.Sort(other)
	slices.Sort(ring)
	round := own[1] - ring[1] // all pairs are three rounds, the ring is two
	fmt.Printf("a round takes %.1f s, all before the first %.1f s (trial's labCost)\n", round, ring[1]-2*round)
	ratio := own[1] / other[1]
	fmt.Printf("all pairs of 4 machines, write bandwidth and latency: weft %.1f s, perftest pair by pair %.1f s, ratio %.3f (medians of 3)\n", own[1], other[1], ratio)
	if ratio > 0.2 {
		t.Errorf("weft's engine takes %.3f of perftest's time, want a fifth at most", ratio)
	}
}

// verdictFaults are the faults that a verdict must name.
var verdictFaults = []string{"slow-link", "loss", "mtu"}

// TestRealVerdict breaks one port of four, by the seed, and wants exactly that port named
// and no other accused.
func TestRealVerdict(t *testing.T) {
	l := place(t, false)
	seeds := []int{0, 1, 2}
	if os.Getenv("WEFT_LAB_TEST") == "full" {
		for seed := 3; seed < 20; seed++ {
			seeds = append(seeds, seed)
		}
	}
	if some := os.Getenv("WEFT_VERDICT_SEEDS"); some != "" { // "10,13": to look again
		seeds = nil
		for _, word := range strings.Split(some, ",") {
			seed, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, seed)
		}
	}
	s := up(t, "--nodes", "4")
	right := 0
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		fault, node := verdictFaults[seed%len(verdictFaults)], s.Nodes[r.IntN(len(s.Nodes))].Name
		weft(t, "lab", "break", fault, node)
		p := prove(t, []int{0, 1, 3}, "path.mtu", "rdma.write.bw", "rdma.write.lat", "--quick", "--at-once", "1", "--seed", fmt.Sprint(seed+1))
		weft(t, "lab", "heal", fault, node)
		said := accused(p)
		ok := len(said) > 0 && !slices.ContainsFunc(said, func(a string) bool { return a != node+" rdma0/1" })
		fmt.Printf("seed %d, %s on %s: %q, %.0f s\n", seed, fault, node, said, p.Seconds)
		if ok {
			right++
		} else {
			b, _ := json.MarshalIndent(p.Problems, "", " ")
			t.Errorf("seed %d, %s on %s: accused %q\n%s", seed, fault, node, said, b)
			save(t, fmt.Sprintf("verdict-%d.json", seed), p)
		}
	}
	fmt.Printf("the verdict was right in %d of %d runs\n", right, len(seeds))
	p := prove(t, []int{0}, "rdma.write.bw", "rdma.write.lat", "--quick", "--at-once", "1")
	if said := accused(p); len(said) > 0 {
		t.Errorf("healthy machines are accused: %q", said)
	}
	nothingLeft(t, l, s)
}

// save keeps a proof for a closer look, where WEFT_LAB_KEEP names a folder.
func save(t *testing.T, name string, p trial.Proof) {
	if dir := os.Getenv("WEFT_LAB_KEEP"); dir != "" {
		b, _ := json.Marshal(p)
		if err := os.WriteFile(dir+"/"+name, b, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// accused are the ports that problems name.
func accused(p trial.Proof) (all []string) {
	for _, x := range p.Problems {
		for _, e := range x.At {
			if !slices.Contains(all, e.String()) {
				all = append(all, e.String())
			}
		}
		if len(x.At) == 0 {
			all = append(all, x.Kind)
		}
	}
	return all
}

// duringTrials take long enough for something to happen in the middle.
var duringTrials = []string{"rdma.write", "rdma.send.bw", "rdma.read", "tcp"}

// badLuck is what may go wrong while weft measures: what is done to the second of three
// machines, before or during the run, how that is taken back, and what the answer must say.
var badLuck = []struct {
	name         string
	during       bool
	breaks, heal string   // scripts inside the machine
	fault        string   // or a fault of the lab
	args         []string // of weft prove
	codes        []int
	says         string // in what is missing
	others       bool   // the other pair must be measured all the same
	stays        bool   // what was there before is not weft's to end
}{
	{name: "a node freezes", during: true, fault: "frozen", args: duringTrials, codes: []int{1, 3}, says: "node2", others: true},
	{name: "a node loses its power", during: true, fault: "off", args: duringTrials, codes: []int{1, 3}, says: "node2", others: true},
	{name: "a node is reset", during: true, fault: "reboot", args: duringTrials, codes: []int{1, 3}, says: "node2", others: true},
	{name: "a port goes down", during: true, fault: "port-down", args: duringTrials, codes: []int{1, 3}, says: "", others: true},
	{name: "perftest is missing", breaks: "mv /usr/bin/ib_write_bw /usr/bin/ib_write_bw.away", heal: "mv /usr/bin/ib_write_bw.away /usr/bin/ib_write_bw",
		args: []string{"rdma.write.bw", "--engine", "perftest"}, codes: []int{3}, says: "install perftest", others: true},
	{name: "a stale server holds the port", breaks: "for p in 18522 18529 18536; do setsid ib_write_bw -d rdma0 -p $p >/dev/null 2>&1 & done; sleep 2", heal: "pkill -x ib_write_bw",
		args: []string{"rdma.write.bw", "--engine", "perftest", "--quick"}, codes: []int{0, 1}, others: true, stays: true},
	{name: "libibverbs is missing", breaks: "for f in /usr/lib/x86_64-linux-gnu/libibverbs.so.1*; do mv $f $f.away; done", heal: "for f in /usr/lib/x86_64-linux-gnu/libibverbs.so.1*.away; do mv $f ${f%.away}; done",
		args: []string{"rdma.write.bw"}, codes: []int{3}, says: "libibverbs", others: true},
	{name: "memlock is too small", fault: "memlock", args: []string{"rdma.write.bw"}, codes: []int{3}, says: "MEMLOCK", others: true},
	{name: "a firewall", fault: "firewall-roce", args: []string{"rdma.write.bw"}, codes: []int{1, 3}, says: "", others: true},
}

// TestRealBadLuck: whatever happens to one machine, the others are measured, the answer
// says what is missing and why, and nothing is left running.
func TestRealBadLuck(t *testing.T) {
	l := place(t, true)
	s := up(t, "--nodes", "3")
	prove(t, []int{0}, "rdma.write.bw", "--quick") // weft is put on the machines once
	for _, b := range badLuck {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			strike := func() {
				if b.fault != "" {
					weft(t, "lab", "break", b.fault, "node2")
				} else {
					inside(t, l, "node2", b.breaks)
				}
			}
			start := time.Now()
			struck := make(chan struct{})
			when := func() {
				strike()
				close(struck)
			}
			args := slices.Concat(b.args, []string{"--at-once", "1", "--busy", "--once"})
			if !b.during {
				when()
				when = nil
			}
			p := proveUntil(t, b.codes, when, args...)
			<-struck
			if b.stays && strings.Count(inside(t, l, "node2", "pgrep -x ib_write_bw || true"), "\n") != 3 {
				t.Error("weft ended servers that were not its own")
			}
			if b.fault != "" {
				weft(t, "lab", "heal", b.fault, "node2")
			} else {
				inside(t, l, "node2", b.heal)
			}
			n, why := measured(p)
			fmt.Printf("%s: %d of %d cells in %.0f s\n  %s\n", b.name, n, len(p.Cells), time.Since(start).Seconds(), strings.Join(why, "\n  "))
			if len(why) == 0 && len(b.codes) > 0 && b.codes[0] != 0 && len(p.Problems) == 0 {
				t.Error("nothing is missing and nothing is said")
			}
			if b.stays && len(why) > 0 {
				t.Errorf("another port would have done: %q", why)
			}
			for _, w := range why {
				if !strings.Contains(w, b.says) {
					t.Errorf("not said why: %s", w)
				}
				if b.others && !strings.Contains(w, "node2") {
					t.Errorf("missing although node2 has no part in it: %s", w)
				}
			}
			nothingLeft(t, l, s)
		})
	}
	t.Run("Ctrl-C", func(t *testing.T) {
		cmd := real(t, "prove", "rdma", "--thorough", "--at-once", "1")
		var ended time.Time
		out := &measuring{word: ", rdma.", strike: func() {
			ended = time.Now()
			cmd.Process.Signal(syscall.SIGINT)
		}}
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(ended) > 10*time.Second || !strings.Contains(out.String(), "nothing is left running") {
			t.Errorf("exit code %d after %v\n%s", code, time.Since(ended), out)
		}
		nothingLeft(t, l, s)
	})
}
