package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/job"
)

func TestStateOf(t *testing.T) {
	for _, x := range []struct {
		out  string
		err  error
		want State
	}{
		{"LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nNRestarts=2\nExecMainStatus=0\nCPUUsageNSec=5000000000\n", nil, State{Active: "active", Sub: "running", Result: "success", Restarts: 2, CPU: 5 * time.Second, CPUOK: true}},
		{"ActiveState=failed\nExecMainStatus=134\nCPUUsageNSec=[not set]\n", nil, State{Active: "failed", Exit: 134}},
		{"CPUUsageNSec=18446744073709551615\nActiveState=active\n", nil, State{Active: "active"}}, // systemd's word for not known
		{"ActiveState=inactive\nJob=123\n", nil, State{Active: "inactive", Queued: true}},
		{"LoadState=not-found\nActiveState=inactive\n", nil, State{Active: "inactive", Gone: true}},
		{"", errors.New("n1: command failed: Error: no such container weft-serve-x"), State{Gone: true}},
		{"", errors.New("n1: no way to n1"), State{Why: "n1: no way to n1"}},
		{"rubbish\n=\nActiveState\n\x00", nil, State{}},
	} {
		got := stateOf(x.out, x.err)
		if !x.want.CPUOK {
			got.CPU = 0
		}
		if got != x.want {
			t.Errorf("%q, %v: %+v, want %+v", x.out, x.err, got, x.want)
		}
	}
}

func TestTake(t *testing.T) {
	unit := &follower{part: &job.Part{Unit: "x.service"}}
	if text := unit.take("a NCCL INFO line\nb\n-- cursor: s=12;i=3\n"); text != "a NCCL INFO line\nb\n" || unit.cursor != "s=12;i=3" || string(unit.nccl) != "a NCCL INFO line\n" {
		t.Errorf("%q %q %q", text, unit.cursor, unit.nccl)
	}
	if text := unit.take(""); text != "" || unit.cursor != "s=12;i=3" {
		t.Errorf("nothing new: %q %q", text, unit.cursor)
	}
	if text := unit.take("an engine that says -- cursor: itself\n"); !strings.Contains(text, "itself") || unit.cursor != "s=12;i=3" {
		t.Errorf("%q %q", text, unit.cursor)
	}
	hand := &follower{part: &job.Part{}}
	if text := hand.take("one\ntwo\nhalf"); text != "one\ntwo\n" || hand.lines != 2 {
		t.Errorf("%q %d", text, hand.lines)
	}
	for range 100 {
		unit.take(strings.Repeat("NCCL "+strings.Repeat("x", 1000)+"\n", 200))
	}
	if len(unit.nccl) > maxNCCL {
		t.Errorf("%d bytes of NCCL are kept", len(unit.nccl))
	}
}

func TestPercents(t *testing.T) {
	if got := percents("3\n 97 \n[N/A]\n-1\n101\n"); !slices.Equal(got, []int{3, 97}) {
		t.Error(got)
	}
}

// run is a launch that is only judged: parts by name, with what they said and how they are.
func run(parts map[string]*follower) *Run {
	l := &job.Launch{Name: "m", Nodes: []job.NodeLaunch{{Node: "n1", Addr: "10.0.0.1", Parts: []job.Part{{Name: "ray"}, {Name: "engine"}}}, {Node: "n2", Addr: "10.0.0.2", Parts: []job.Part{{Name: "ray"}}}}}
	r := &Run{Launch: l, follow: parts}
	for key, f := range parts {
		f.node, _, _ = strings.Cut(key, " ")
		f.part = l.Part(f.node, key[len(f.node)+1:])
		f.part.Role = f.part.Name
	}
	return r
}

func said(lines string, state State, failed, moved time.Time) *follower {
	f := &follower{state: state, failed: failed, moved: moved, ran: true, since: moved, seen: moved}
	f.log.Add([]byte(lines))
	return f
}

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	active, failed := State{Active: "active"}, State{Active: "failed", Exit: 1, Restarts: 2}
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB\n"
	for _, x := range []struct {
		name  string
		parts map[string]*follower
		id    string // "" is no failure
		node  string
	}{
		{"all is well", map[string]*follower{"n1 engine": said("Loading safetensors checkpoint shards:  50% Completed | 2/4\n", active, time.Time{}, ago(1))}, "", ""},
		{"it said a failure and goes on", map[string]*follower{"n1 engine": said(oom, active, ago(5), ago(10))}, "", ""},
		{"it said a failure, and nothing since", map[string]*follower{"n1 engine": said(oom, active, ago(40), ago(50))}, "gpu.oom", "n1"},
		{"it said a failure, and got on", map[string]*follower{"n1 engine": said(oom, active, ago(40), ago(2))}, "", ""},
		{"it said a failure and ended", map[string]*follower{"n1 engine": said(oom, failed, ago(1), ago(1))}, "gpu.oom", "n1"},
		{"it ended without a word", map[string]*follower{"n1 engine": said("strange\n", failed, time.Time{}, ago(1))}, "engine.ended", "n1"},
		{"a worker knows why the engine ended", map[string]*follower{"n1 engine": said("ActorDiedError\n", failed, ago(1), ago(1)), "n2 ray": said(oom, active, ago(1), ago(1))}, "gpu.oom", "n2"},
		{"Ray passes on what a worker said", map[string]*follower{"n1 engine": said("(RayWorkerWrapper pid=1, ip=10.0.0.2) "+oom, failed, ago(1), ago(1))}, "gpu.oom", "n2"},
		{"a node does not answer", map[string]*follower{"n2 ray": said("", State{Why: "no way"}, time.Time{}, ago(60))}, "node.lost", "n2"},
		{"a node does not answer for a moment", map[string]*follower{"n2 ray": said("", State{Why: "no way"}, time.Time{}, ago(20))}, "", ""},
		{"not started yet", map[string]*follower{"n1 engine": {state: State{Active: "inactive"}, since: ago(3)}}, "", ""},
		{"it waits for its turn", map[string]*follower{"n1 engine": {state: State{Active: "inactive", Queued: true}, since: ago(30)}}, "", ""},
		{"never started", map[string]*follower{"n1 engine": {state: State{Active: "inactive"}, since: ago(30)}}, "engine.ended", "n1"},
	} {
		err := run(x.parts).judge(now)
		var f *Failure
		switch {
		case x.id == "" && err != nil:
			t.Errorf("%s: %v", x.name, err)
		case x.id != "" && (!errors.As(err, &f) || f.ID != x.id || f.Node != x.node || f.Do == ""):
			t.Errorf("%s: %+v, want %s at %s", x.name, err, x.id, x.node)
		}
	}
}

// TestHang: what nobody said, and what nobody did.
func TestHang(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	r := run(map[string]*follower{"n1 engine": said("No available shared memory broadcast block found in 60 seconds\n", State{Active: "active"}, time.Time{}, now)})
	for i := range 10 {
		r.samples = append(r.samples, job.Sample{At: now.Add(time.Duration(i-9) * time.Minute), Lines: 4, CPUOK: true, GPU: []int{0}})
	}
	var f *Failure
	if err := r.judge(now); !errors.As(err, &f) || f.ID != "engine.hang" || len(f.Also) != 1 || !strings.Contains(f.What, "GPUs idle") {
		t.Errorf("%+v", err)
	}
}

func TestAsk(t *testing.T) {
	var auth string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/long":
			io.WriteString(w, strings.Repeat("x", 2*maxBody))
		case "/away":
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		case "/slow":
			<-r.Context().Done()
		default:
			io.WriteString(w, r.Method)
		}
	}))
	defer s.Close()
	ctx := context.Background()
	if a := Ask(ctx, Query{URL: s.URL + "/x", Key: "k", Within: 5}); a.Status != 200 || a.Body != "GET" || auth != "Bearer k" {
		t.Errorf("%+v %q", a, auth)
	}
	if a := Ask(ctx, Query{URL: s.URL + "/x", Body: "{}", Within: 5}); a.Body != "POST" || auth != "" {
		t.Errorf("%+v %q", a, auth)
	}
	if a := Ask(ctx, Query{URL: s.URL + "/long", Within: 5}); len(a.Body) != maxBody {
		t.Errorf("%d bytes", len(a.Body))
	}
	if a := Ask(ctx, Query{URL: s.URL + "/away", Within: 5}); a.Status != http.StatusFound {
		t.Errorf("a redirect is followed: %+v", a)
	}
	if a := Ask(ctx, Query{URL: s.URL + "/slow", Within: 1}); a.Error == "" {
		t.Errorf("%+v", a)
	}
	if a := Ask(ctx, Query{URL: "http://127.0.0.1:1/", Within: 1}); a.Error != "connection refused" || a.say() != "connection refused" {
		t.Errorf("%+v", a)
	}
	if a := Ask(ctx, Query{URL: "::", Within: 1}); a.Error == "" {
		t.Errorf("%+v", a)
	}
}
