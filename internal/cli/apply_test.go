package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/journal"
	"weft/internal/plan"
)

func TestRisksAccepted(t *testing.T) {
	p := plan.Plan{Steps: []plan.Step{{What: "net/eth2/mtu", Risk: plan.RiskLink}, {What: "boot/iommu", Risk: plan.RiskBoot}, {What: "hosts"}}}
	if err := risksAccepted(p, []string{"link", "boot"}); err != nil {
		t.Error(err)
	}
	for accept, next := range map[string]string{"": "weft apply --accept-risk=link,boot", "boot": "weft apply --accept-risk=boot,link"} {
		err := risksAccepted(p, strings.FieldsFunc(accept, func(r rune) bool { return r == ',' }))
		var no *trouble
		if !errors.As(err, &no) || no.next != next || !strings.Contains(no.what, "link: a data link drops for a moment: RDMA connections over it end (net/eth2/mtu)") {
			t.Errorf("accepting %q: %v, want the next command %s", accept, err, next)
		}
	}
	if err := risksAccepted(plan.Plan{}, []string{"force"}); err == nil || !strings.Contains(err.Error(), "want link, ssh or boot") {
		t.Errorf("a risk that does not exist: %v", err)
	}
}

// TestProbes: pings of addresses that the plan moves prove nothing.
func TestProbes(t *testing.T) {
	peers := []fact.Peer{{Node: "n2", Addr: "10.0.0.2", Ping: fact.Some(true)}, {Node: "n3", Addr: "10.0.0.3", Ping: fact.Some(true)}, {Node: "n4", Addr: "10.0.0.4", Ping: fact.Some(false)}}
	c := &check.Case{Cluster: fact.Cluster{Nodes: []*fact.Node{{Name: "n1", Peers: peers}}}}
	for _, tt := range []struct{ moves, want string }{
		{"", "[{route  } {dns  } {ping 10.0.0.2 n2} {ping 10.0.0.3 n3}]"},
		{"n3", "[{route  } {dns  } {ping 10.0.0.2 n2}]"},
		{"n1", "[{route  } {dns  }]"},
	} {
		got := []string{}
		for _, p := range probes(c, plan.Plan{Steps: []plan.Step{{Node: tt.moves, What: "net/eth2/addr"}}}, "n1") {
			got = append(got, fmt.Sprintf("{%s %s %s}", p.Kind, p.Addr, p.Node))
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%q moves: %v, want %s", tt.moves, got, tt.want)
		}
	}
}

func TestLastToUndo(t *testing.T) {
	past := func(id, state, undoes string) journal.Past {
		return journal.Past{ID: id, Undoes: undoes, State: journal.State{State: state}}
	}
	all := []journal.Past{past("1", journal.Kept, ""), past("2", journal.Undone, ""), past("3", journal.Kept, "2"), past("4", journal.Reverted, ""), past("5", journal.New, "")}
	for id, want := range map[string]int{"": 0, "1": 0, "2": -1, "3": -1, "4": -1, "5": -1, "9": -1} {
		if got := lastToUndo(all, id); got != want {
			t.Errorf("%q: %d, want %d", id, got, want)
		}
	}
	for _, state := range []string{journal.Open, journal.Waiting, journal.Stuck} {
		if got := lastToUndo(append(all, past("6", state, "")), ""); got != 5 {
			t.Errorf("a run that is %s: %d, want it first", state, got)
		}
	}
}

// TestChangesNothing: flags that make no sense are refused before any node is asked.
func TestChangesNothing(t *testing.T) {
	for _, d := range []time.Duration{0, 9 * time.Second, 2 * time.Hour} {
		if err := (&app{}).changes("undo", d); err == nil || !strings.Contains(err.Error(), "want 10s to 1h") {
			t.Errorf("--deadline %v: %v", d, err)
		}
	}
	if err := (&app{from: "x.dump"}).changes("undo", time.Minute); err == nil {
		t.Error("a dump was to be changed")
	}
	if err := (&app{}).changes("undo", time.Minute); err != nil {
		t.Error(err)
	}
}
