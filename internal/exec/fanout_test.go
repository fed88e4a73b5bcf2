package exec

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// The figures of DESIGN.md: 200 nodes of which 5 are dead take at most 1.3
// times as long as the 195 live ones alone. Every node is an address on loopback
// with a real sshd behind it, so this machine does both ends of 200 handshakes.
//
//	go test -run '^$' -bench Fanout -benchtime 1x ./internal/exec
//
// cold makes every connection anew: that is the figure. warm finds all of them
// shared and alive, and then 195 nodes may take less time than it takes to give
// up on one; there the dead, all together, must cost no more than one of them.
// The dead come last in the list, where they can hide behind nobody's work.
const (
	deadNodes = 5
	ratioMax  = 1.3
)

// fleet is n live nodes, and the dead: some refuse, some do not answer.
func fleet(n int) (live, dead []Target) {
	for i := 1; i <= n; i++ {
		name := fmt.Sprintf(nodeFormat, i)
		live = append(live, Target{name, name})
	}
	for _, name := range []string{"refused1", "refused2", "deaf1", "deaf2", "deaf3"} {
		dead = append(dead, Target{name, name})
	}
	return live, dead
}

// round runs one script everywhere and returns how long that took.
func round(b *testing.B, r *Runner, targets []Target) time.Duration {
	b.Helper()
	start := time.Now()
	errs := Each(b.Context(), targets, func(ctx context.Context, t Target) error {
		return r.Run(ctx, t, Job{Script: "uname -r"})
	})
	took := time.Since(start)
	for i, err := range errs {
		want := map[byte]Class{'r': Refused, 'd': Unreachable}[targets[i].Name[0]]
		var e *Error
		errors.As(err, &e)
		if want == "" && err != nil || want != "" && (e == nil || e.Class != want) {
			b.Fatalf("%v, want class %q", err, want)
		}
	}
	return took
}

func BenchmarkFanout(b *testing.B) {
	l := sharedLab(b)
	l.nodes(b)
	live, dead := fleet(liveNodes - deadNodes)
	all := append(live[:len(live):len(live)], dead...)
	for _, warm := range []bool{false, true} {
		name := map[bool]string{false: "cold", true: "warm"}[warm]
		b.Run(name, func(b *testing.B) {
			r := l.runner(b, 0)
			if warm {
				round(b, r, live)
			}
			var without, with time.Duration
			for b.Loop() {
				// In both orders, so that a drifting machine favours neither.
				for _, dead := range []bool{false, true, true, false} {
					if !warm {
						r.Close()
					}
					if dead {
						with += round(b, r, all)
					} else {
						without += round(b, r, live)
					}
				}
			}
			rounds := float64(2 * b.N)
			b.ReportMetric(without.Seconds()/rounds, "s/195-live")
			b.ReportMetric(with.Seconds()/rounds, "s/200-with-5-dead")
			ratio := with.Seconds() / without.Seconds()
			b.ReportMetric(ratio, "ratio")
			b.ReportMetric(0, "ns/op")
			if ratio > ratioMax && (!warm || (with-without).Seconds()/rounds > probeTimeout.Seconds()) {
				b.Errorf("%v with 5 dead nodes, %v without: more than %.1f times", with/2, without/2, ratioMax)
			}
		})
	}
}

// BenchmarkWidth is where DefaultWidth comes from.
func BenchmarkWidth(b *testing.B) {
	l := sharedLab(b)
	l.nodes(b)
	live, _ := fleet(100)
	for _, width := range []int{1, 4, 8, 16, 32, 64, 100} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			r := l.runner(b, width)
			var cold, warm time.Duration
			for b.Loop() {
				r.Close()
				cold += round(b, r, live)
				warm += round(b, r, live)
			}
			b.ReportMetric(cold.Seconds()/float64(b.N), "s/cold")
			b.ReportMetric(warm.Seconds()/float64(b.N), "s/warm")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLookup is what ssh -G costs each job.
func BenchmarkLookup(b *testing.B) {
	r := sharedLab(b).runner(b, 0)
	for b.Loop() {
		if _, err := r.lookup(b.Context(), Target{"ok", "ok"}); err != nil {
			b.Fatal(err)
		}
	}
}
