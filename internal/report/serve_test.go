package report

import (
	"strings"
	"testing"
	"time"

	"weft/internal/format/englog"
	"weft/internal/job"
)

// tricks is what a node, an engine or a model might be called to play tricks.
const tricks = "\x1b[31m<script>\u202e\a"

func TestServeTextIsClean(t *testing.T) {
	l := &job.Launch{Name: tricks, Model: tricks, Engine: "vllm", Addr: tricks, Image: tricks, Says: []string{tricks},
		Fit:   job.Fit{TP: 1, PP: 1, Context: 1, Ranks: []job.RanksAt{{Node: tricks, Count: 1}}},
		Nodes: []job.NodeLaunch{{Node: tricks, Addr: "10.0.0.1", Files: []job.File{{Path: tricks, Text: tricks}, {Path: "s", Secret: true}}, Parts: []job.Part{{Role: tricks, Start: tricks}}}},
		Order: []job.Step{{Do: "wait", Node: tricks, What: tricks, Wait: &job.Wait{Within: 90 * time.Minute}}, {Do: "start", What: tricks}}}
	bar := []job.Bar{{Name: "proof.none", Node: tricks, What: tricks, Why: tricks, Next: tricks}}
	down := []ServeDown{{Node: tricks, Left: []string{tricks}}, {Node: tricks, Failed: tricks}}
	bad := englog.Event{ID: "gpu.oom", Kind: englog.Fail, What: tricks, Why: tricks, Do: tricks, Line: tricks}
	var out strings.Builder
	for _, err := range []error{
		ServePlan{Launch: l, Bars: bar, Accepted: bar, Next: tricks}.Text(&out, Options{}),
		ServeBarred{Launch: l, Bars: bar, Next: tricks, Accept: tricks}.Text(&out, Options{}),
		Served{Launch: l, Failure: &ServeFailure{ID: "x", Node: tricks, Part: tricks, What: tricks, Why: tricks, Do: tricks, Line: tricks, Last: []string{tricks, strings.Repeat("x", 999)}, Also: []string{tricks}}, Down: down, LogFile: tricks, Next: tricks}.Text(&out, Options{}),
		Served{Launch: l, OK: true, Proof: &ServeProof{Expected: true, Says: []string{tricks}, Counters: &job.Carried{Why: tricks}}, Noticed: []Noticed{{tricks, tricks, bad}}}.Text(&out, Options{}),
		ServeGone{Name: tricks, Down: down}.Text(&out, Options{}),
		ServeStatus{Launch: l, Health: tricks, Ray: tricks, Parts: []ServePart{{Node: tricks, Role: tricks, Active: "failed", Said: tricks, Why: tricks, Bad: []englog.Event{bad}}}, Next: tricks}.Text(&out, Options{}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\a\u202e") {
		t.Errorf("something hostile comes through:\n%q", out.String())
	}
	if strings.Count(out.String(), "<script>") < 20 {
		t.Error("what is only text is not shown as text")
	}
}

func TestServeWords(t *testing.T) {
	var b strings.Builder
	gone(&b, []ServeDown{{Node: "a", Stopped: []string{"x"}, Removed: []string{"f", "g"}}, {Node: "b"}})
	if b.String() != "nothing is left on 2 nodes: 1 part stopped, 2 files removed\n" {
		t.Error(b.String())
	}
	for d, want := range map[time.Duration]string{90 * time.Second: "1m30s", 2 * time.Minute: "2m", 40 * time.Minute: "40m", time.Hour: "1h"} {
		if got := shortly(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
	for _, x := range []struct {
		p    ServeProof
		want string
	}{
		{ServeProof{Expected: true, RDMA: true}, "pass  RDMA carries it: yes\n"},
		{ServeProof{Expected: true}, "fail  RDMA carries it: no\n"},
		{ServeProof{}, "skip  RDMA carries it: not expected\n"},
	} {
		b.Reset()
		if x.p.text(&b); b.String() != x.want {
			t.Errorf("%q, want %q", b.String(), x.want)
		}
	}
}
