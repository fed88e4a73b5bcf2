package serve

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/format/englog"
	"weft/internal/job"
)

// look looks at every part that was started: its state, its words, GPUs. It returns a failure
// when one of them will not become what it should.
func (r *Run) look(ctx context.Context) error {
	now := time.Now()
	gpus := make([][]int, len(r.Launch.Nodes))
	r.each(func(n *job.NodeLaunch) {
		mine := r.followers(n.Node)
		if len(mine) == 0 {
			return
		}
		states := r.states(ctx, n, mine)
		for _, f := range mine {
			r.read(ctx, f, now)
			r.mu.Lock()
			f.state = states[f.part.Name]
			f.ran = f.ran || f.state.Active == "active"
			if f.state.Why == "" {
				f.seen = time.Now()
			}
			r.mu.Unlock()
		}
		out, err := r.sh(ctx, n.Node, gpuScript, "", short)
		if err == nil {
			gpus[slices.IndexFunc(r.Launch.Nodes, func(x job.NodeLaunch) bool { return x.Node == n.Node })] = percents(out)
		}
	})
	if context.Cause(ctx) != nil {
		return nil // the caller looks
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := job.Sample{At: now, CPUOK: len(r.follow) > 0}
	for _, f := range r.follow {
		s.Lines += f.log.Lines
		s.CPU += uint64(f.state.CPU)
		s.CPUOK = s.CPUOK && f.state.CPUOK
	}
	for _, g := range gpus {
		s.GPU = append(s.GPU, g...)
	}
	r.samples = append(r.samples, s)
	if len(r.samples) > maxSamples {
		r.samples = append(r.samples[:0], r.samples[len(r.samples)-maxSamples/2:]...)
	}
	return r.judge(now)
}

const (
	maxSamples = 4096
	settling   = 10 * time.Second // until a start that was asked for shows
	lost       = 45 * time.Second // ssh itself gives a node up after 20 s; one look more, and one for a reboot of its network
)

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (r *Run) followers(node string) (mine []*follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.node(node).Parts {
		if f := r.follow[node+" "+p.Name]; f != nil {
			mine = append(mine, f)
		}
	}
	return mine
}

// gpuScript prints the use of every GPU in per cent, one a line; nothing where it cannot.
const gpuScript = `nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits 2>/dev/null || cat /sys/class/drm/card[0-9]*/device/gpu_busy_percent 2>/dev/null || :`

func percents(out string) (all []int) {
	for line := range strings.Lines(out) {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 0 && n <= 100 && len(all) < 1024 {
			all = append(all, n)
		}
	}
	return all
}

// states asks a node for all its parts at once.
func (r *Run) states(ctx context.Context, n *job.NodeLaunch, parts []*follower) map[string]State {
	all := map[string]State{}
	for _, f := range parts {
		out, err := r.sh(ctx, n.Node, f.part.State, "", short)
		all[f.part.Name] = stateOf(out, err)
	}
	return all
}

// stateOf reads KEY=VALUE lines as systemctl show prints them.
func stateOf(out string, err error) (s State) {
	if err != nil {
		if strings.Contains(strings.ToLower(err.Error()), "no such container") || strings.Contains(strings.ToLower(err.Error()), "no such object") {
			s.Gone = true
			return s
		}
		s.Why = err.Error()
		return s
	}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		n, nerr := strconv.ParseUint(value, 10, 63)
		switch key {
		case "LoadState":
			s.Gone = value == "not-found"
		case "ActiveState":
			s.Active = value
		case "SubState":
			s.Sub = value
		case "Result":
			s.Result = value
		case "Job":
			s.Queued = n > 0
		case "NRestarts":
			s.Restarts = int(n)
		case "ExecMainStatus":
			s.Exit = int(n)
		case "CPUUsageNSec":
			s.CPU, s.CPUOK = time.Duration(n), nerr == nil
		}
	}
	return s
}

// maxNCCL bounds what is kept of NCCL's lines of one part.
const maxNCCL = 8 << 20

// read takes what a part has said since the last look.
func (r *Run) read(ctx context.Context, f *follower, now time.Time) {
	if f.part.Log == "" {
		return
	}
	out, err := r.sh(ctx, f.node, f.part.Since(f.cursor, f.lines, now.Sub(f.since)+time.Second), "", short)
	if err != nil {
		return // the state says what is wrong
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	text := f.take(out)
	for _, e := range f.log.Add([]byte(text)) {
		switch e.Kind {
		case englog.Fail:
			f.failed = now
		case englog.Progress, englog.Ready:
			f.moved = now
		}
	}
}

// take parts the cursor from the text, and keeps NCCL's lines.
func (f *follower) take(out string) string {
	if f.part.Unit != "" {
		if i := strings.LastIndex(out, "-- cursor: "); i >= 0 && (i == 0 || out[i-1] == '\n') {
			f.cursor = strings.TrimSpace(strings.TrimPrefix(out[i:], "-- cursor: "))
			out = out[:i]
		}
	} else {
		out = out[:strings.LastIndexByte(out, '\n')+1] // half a line comes whole next time
		f.lines += strings.Count(out, "\n")
	}
	for line := range bytes.Lines([]byte(out)) {
		if bytes.Contains(line, []byte("NCCL")) && len(f.nccl)+len(line) < maxNCCL {
			f.nccl = append(f.nccl, line...)
		}
	}
	return out
}

// judge says whether a launch has failed. It is called with the lock held.
func (r *Run) judge(now time.Time) error {
	settle := r.Settle
	if settle == 0 {
		settle = 30 * time.Second
	}
	silence := r.Silence
	if silence == 0 {
		silence = 5 * time.Minute
	}
	var all []englog.Event
	for _, key := range r.keys() {
		all = append(all, r.follow[key].log.Events...)
	}
	for _, key := range r.keys() {
		f := r.follow[key]
		ended := f.state.Active == "failed" || f.state.Active == "inactive" || f.state.Gone
		if f.state.Active == "inactive" && (f.state.Queued || !f.ran && now.Sub(f.since) < settling) {
			ended = false // systemd has not got to it yet
		}
		crashed := ended || f.state.Restarts > 0
		e, said := englog.Worst(f.log.Events)
		said = said && e.ID != "start.limit" // says that it ended, and nothing of why
		if silent := now.Sub(later(f.seen, f.since)); f.state.Why != "" && silent > lost {
			return &Failure{ID: "node.lost", Node: f.node, Part: f.part.Name, What: fmt.Sprintf("the node has not answered for %.0f s", silent.Seconds()), Why: f.state.Why, Do: "weft check node.read", Last: f.log.Last}
		}
		switch {
		case said && (crashed || now.Sub(f.failed) > settle && f.moved.Before(f.failed)):
			if w, ok := englog.Worst(all); ok && w.ID != e.ID { // another part knows the cause
				return r.because(w)
			}
			return r.failure(f, e)
		case ended:
			if w, ok := englog.Worst(all); ok && w.ID != "start.limit" {
				return r.because(w)
			}
			what := fmt.Sprintf("the %s ended with status %d", f.part.Role, f.state.Exit)
			if f.state.Restarts > 0 {
				what += fmt.Sprintf(", %d times, and is not started again", min(f.state.Restarts+1, job.Starts))
			}
			return &Failure{ID: "engine.ended", Node: f.node, Part: f.part.Name, What: what, Why: "its last lines may say why; weft knows none of them", Do: "weft serve logs " + r.Launch.Name, Last: f.log.Last}
		case f.state.Restarts > f.told:
			f.told = f.state.Restarts
			r.say("%s: the %s ended with status %d and is started again (%d of %d)", f.node, f.part.Role, f.state.Exit, min(f.told+1, job.Starts), job.Starts)
		}
	}
	if why, yes := job.Hangs(r.samples, silence); yes {
		key := r.quietest()
		f := r.follow[key]
		x := &Failure{ID: "engine.hang", Node: f.node, Part: f.part.Name, What: "it hangs: " + why,
			Why:  "it waits for something that does not come: a rank that is elsewhere, RDMA that is up and passes nothing, or a kernel that this GPU and driver do not run (on Strix Halo, AWQ of a mixture of experts, or a kernel before 6.19)",
			Do:   "weft prove; weft compat; another quantisation such as w4a16",
			Last: f.log.Last}
		for _, e := range all {
			if e.Kind == englog.Wait || e.Kind == englog.Warn {
				x.Also = append(x.Also, e.What)
			}
		}
		return x
	}
	return nil
}

func (r *Run) keys() (keys []string) {
	for k := range r.follow {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// quietest is the engine, or whatever was started last.
func (r *Run) quietest() string {
	head := r.Launch.Head()
	key := head.Node + " " + head.Parts[len(head.Parts)-1].Name
	if r.follow[key] != nil {
		return key
	}
	return r.keys()[0]
}

func (r *Run) failure(f *follower, e englog.Event) *Failure {
	x := &Failure{ID: e.ID, Node: f.node, Part: f.part.Name, What: e.What, Why: e.Why, Do: e.Do, Line: e.Line, Last: f.log.Last}
	if e.Host != "" {
		for _, n := range r.Launch.Nodes {
			if n.Addr == e.Host {
				x.Node = n.Node
			}
		}
	}
	if f.state.Restarts > 0 {
		x.Also = append(x.Also, fmt.Sprintf("it was started %d times", min(f.state.Restarts+1, job.Starts)))
	}
	return x
}

// because finds the part that said it.
func (r *Run) because(e englog.Event) *Failure {
	for _, key := range r.keys() {
		f := r.follow[key]
		for _, x := range f.log.Events {
			if x == e {
				return r.failure(f, e)
			}
		}
	}
	return &Failure{ID: e.ID, What: e.What, Why: e.Why, Do: e.Do, Line: e.Line}
}

// Log is what every part has said last, for a file.
func (r *Run) Log() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b bytes.Buffer
	for _, key := range r.keys() {
		f := r.follow[key]
		for _, line := range f.log.Last {
			fmt.Fprintf(&b, "%s %s | %s\n", f.node, f.part.Name, line)
		}
	}
	return b.Bytes()
}

// NCCL is what NCCL said in every part, by node.
func (r *Run) NCCL() map[string][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string][]byte{}
	for _, f := range r.follow {
		all[f.node] = append(all[f.node], f.nccl...)
	}
	return all
}

// Events are what was noticed, by part.
func (r *Run) Events() (all []Noticed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.keys() {
		f := r.follow[key]
		for _, e := range f.log.Events {
			all = append(all, Noticed{f.node, f.part.Name, e})
		}
	}
	return all
}

// Noticed is an event of a part.
type Noticed struct {
	Node string `json:"node"`
	Part string `json:"part"`
	englog.Event
}
