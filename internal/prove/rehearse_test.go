package prove

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/collective"
	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/rehearsal"
	"weft/internal/trial"
)

// rehearsalOf is a model's rehearsal among loopbacks.
func rehearsalOf(t *testing.T, nodes int, l rehearsal.Layout, batch int) (Rehearsal, *Way) {
	t.Helper()
	m, err := forecast.ModelByName("Qwen3-30B-A3B")
	if err != nil {
		t.Fatal(err)
	}
	o := Rehearsal{Batch: batch, Disturb: true}
	if o.Steps, err = rehearsal.Token(m, l, batch); err != nil {
		t.Fatal(err)
	}
	o.Effort, _ = trial.EffortByWord("quick")
	c, way := loopbacks(t, nodes)
	o.Case = c
	for _, n := range c.Nodes {
		o.Nodes = append(o.Nodes, n.Name)
	}
	return o, way
}

// TestRehearse rehearses every layout over TCP between meters on this machine; RDMA, which
// it has not, is said to be missing, with the reason.
func TestRehearse(t *testing.T) {
	for _, c := range []struct {
		l     rehearsal.Layout
		want  string // kind, bytes, nodes, how many
		steps int
	}{
		{rehearsal.Layout{TP: 3}, "all-reduce 4096 3 96", 96}, // not a divisor: the steps are made by hand
		{rehearsal.Layout{TP: 2, PP: 2}, "all-reduce 4096 2 96; hop 4096 2 2; hop 8 2 2", 100},
		{rehearsal.Layout{EP: 4}, "all-to-all 4096 4 96", 96},
	} {
		l := c.l
		if l.TP == 3 {
			l.TP = 2
		}
		o, way := rehearsalOf(t, c.l.Ranks(), l, 1)
		if c.l.TP == 3 {
			for i := range o.Steps {
				o.Steps[i].Ranks = []int{0, 1, 2}
			}
		}
		r := Rehearse(t.Context(), way, o)
		var kinds []string
		for _, s := range r.Syncs {
			kinds = append(kinds, fmt.Sprint(s.Kind, " ", s.Bytes, " ", s.Nodes, " ", s.Count))
			if s.Transport != "tcp" || s.Micros.Min <= 0 || s.Micros.Median < s.Micros.Min || s.Micros.P99 < s.Micros.Median {
				t.Errorf("%v: %+v", c.l, s)
			}
			if s.Kind == collective.AllReduce && (s.How == "" || len(s.Tried) != len(collective.Ways(s.Nodes)) || s.Tried[s.How] != s.Micros) {
				t.Errorf("%v: %s among %v", c.l, s.How, s.Tried)
			}
		}
		if got := strings.Join(kinds, "; "); got != c.want {
			t.Errorf("%v: %s, want %s", c.l, got, c.want)
		}
		if len(r.Tokens) != 1 || r.Tokens[0].Steps != c.steps || r.Tokens[0].Count < fewTokens || r.Tokens[0].PerSecond <= 0 || r.Rail != "127.0.0.0/8" {
			t.Errorf("%v: %+v", c.l, r)
		}
		if len(r.Left) != 1 || !strings.HasPrefix(r.Left[0], "rdma: ") {
			t.Errorf("%v: left %q", c.l, r.Left)
		}
	}
}

// TestRehearseWithout: what stands in the way is said, and it ends.
func TestRehearseWithout(t *testing.T) {
	o, way := rehearsalOf(t, 2, rehearsal.Layout{TP: 2}, 1)
	way.Targets["n2"] = exec.Target{Name: "n2", SSH: "nobody@127.0.0.1:1"}
	if r := Rehearse(t.Context(), way, o); len(r.Tokens) != 0 || !strings.Contains(strings.Join(r.Left, ""), "n2") {
		t.Errorf("a node that cannot be reached: %+v", r)
	}

	o, way = rehearsalOf(t, 2, rehearsal.Layout{TP: 2}, 1)
	o.Case.Nodes[1].Ports[0].State = "DOWN"
	if r := Rehearse(t.Context(), way, o); len(r.Tokens) != 0 || !strings.Contains(strings.Join(r.Left, ""), "no rail has a port that is up on all of n1, n2") {
		t.Errorf("no common rail: %+v", r)
	}

	o, way = rehearsalOf(t, 2, rehearsal.Layout{TP: 2}, 1)
	o.Disturb, o.Case.Nodes[0].GPUs = false, []*fact.GPU{{Util: fact.Some(99)}}
	if r := Rehearse(t.Context(), way, o); len(r.Tokens) != 0 || !strings.Contains(strings.Join(r.Left, ""), "99 % in use; --busy") {
		t.Errorf("a busy node: %+v", r)
	}

	o, way = rehearsalOf(t, 2, rehearsal.Layout{TP: 2}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	o.Say = func(_, _ int, what string) {
		if strings.HasPrefix(what, "tcp: ") {
			cancel()
		}
	}
	start := time.Now()
	if r := Rehearse(ctx, way, o); len(r.Tokens) != 0 || len(r.Left) != 2 || time.Since(start) > 15*time.Second {
		t.Errorf("interrupted: %+v after %v", r, time.Since(start))
	}
}
