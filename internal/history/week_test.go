package history

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/unit"
)

// TestWeekInFlatMemory watches four nodes for a simulated week: ports flap, counters grow,
// wrap and are reset, nodes boot, vanish and send rubbish, pings fail, checks come and go.
// What the tracker holds must not grow after the first day.
func TestWeekInFlatMemory(t *testing.T) {
	const nodes, ports, names, every = 4, 4, 12, 30 * time.Second
	r := rand.New(rand.NewPCG(7, 7))
	track := New(Usual, "week", day, every)
	var counters []string
	for i := range names - 4 {
		counters = append(counters, fmt.Sprintf("counter_%02d", i))
	}
	counters = append(counters, "symbol_error", "link_downed", "port_xmit_data", "port_rcv_data")
	slices.Sort(counters)
	values := make([][]uint64, nodes*ports)
	for i := range values {
		values[i] = make([]uint64, names)
	}
	up := make([]bool, nodes*ports)
	looks := 0
	var first, most uint64
	measure := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for now := day; now.Before(day.Add(7 * 24 * time.Hour)); now = now.Add(every) {
		for n := range nodes {
			name := fmt.Sprintf("node%d", n)
			switch r.IntN(500) {
			case 0:
				track.Miss(name, now, fmt.Sprintf("connection %d reset", r.IntN(1000)), false)
				continue
			case 1:
				track.Miss(name, now, "not an answer", true)
				continue
			}
			l := &Look{Boot: fmt.Sprint(now.Sub(day) / (36 * time.Hour)), GPUd: true}
			for p := range ports {
				i := n*ports + p
				if r.IntN(2000) == 0 {
					up[i] = !up[i]
				}
				v := values[i]
				for c := range v {
					if counters[c] != "link_downed" || r.IntN(1000) == 0 {
						v[c] += uint64(r.IntN(1000))
					}
				}
				if r.IntN(5000) == 0 {
					clear(v)
				}
				q := PortLook{Name: fmt.Sprintf("mlx5_%d/1", p), Device: fmt.Sprintf("mlx5_%d", p), Num: 1, State: "ACTIVE", Rate: fact.Some(unit.Rate(100e9)), MTU: fact.Some(9000 - 10*r.IntN(2)*r.IntN(2)),
					GIDs: []string{fmt.Sprint(r.IntN(3))}, GIDd: r.IntN(50) == 0, Count: Counters{counters, v}}
				if up[i] {
					q.State = "DOWN"
				}
				l.Ports = append(l.Ports, q)
			}
			if r.IntN(1000) == 0 { // a port of a name that was never there
				l.Ports = append(l.Ports, PortLook{Name: fmt.Sprintf("zz_%d/1", looks), State: "ACTIVE", Count: Counters{[]string{fmt.Sprintf("c%d", looks)}, []uint64{1}}})
			}
			l.Bound()
			track.Add(name, now, l)
			looks++
		}
		track.Tick(now)
		o := Ping{Kind: "rdma", From: "node0", To: fmt.Sprintf("node%d", 1+r.IntN(3)), When: now, Latency: 2e-6 * r.Float64()}
		if r.IntN(50) == 0 {
			o.Failed = fmt.Sprintf("reason %d", r.IntN(1000))
		}
		track.Ping(o)
		if now.Sub(day)%time.Hour == 0 {
			track.Checked(LiveChecks{When: now, Counts: map[Level]int{Pass: 10, Fail: r.IntN(2)}, Findings: []LiveFinding{{Check: "x.y", Node: fmt.Sprint(r.IntN(9)), Level: Fail}}}, nil)
		}
		switch gone := now.Sub(day); {
		case gone == 24*time.Hour:
			first = measure()
		case gone > 24*time.Hour && gone%(12*time.Hour) == 0:
			most = max(most, measure())
		}
	}
	live := track.Live(day.Add(7 * 24 * time.Hour))
	t.Logf("%d looks; %d KiB after a day, at most %d KiB later; %d ports, %d changes kept", looks, first>>10, most>>10, live.Totals.Ports, len(live.Changes))
	if most > first+first/4+(256<<10) {
		t.Errorf("memory grew from %d KiB after a day to %d KiB", first>>10, most>>10)
	}
	if live.Totals.Ports > nodes*MaxPorts || len(live.Changes) > MaxChanges {
		t.Errorf("unbounded: %d ports, %d changes", live.Totals.Ports, len(live.Changes))
	}
	if _, err := track.Save(day.Add(7 * 24 * time.Hour)); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(track)
}
