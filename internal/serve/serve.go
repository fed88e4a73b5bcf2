// Package serve starts what a launch says, follows it, and takes it away again. Edge: what
// runs where, in which order, and what a line or a number means comes from job, englog and
// transport.
package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"weft/internal/exec"
	"weft/internal/format/englog"
	"weft/internal/job"
)

// Run is one launch and the way to its nodes.
type Run struct {
	Launch  *job.Launch
	Run     *exec.Runner
	Targets map[string]exec.Target
	Secrets map[string]string // values of Launch.Secrets, and "key" of the key itself

	Get func(ctx context.Context, node string, q Query) (Answer, error) // asks the engine, from a node
	Say func(done, all int, what string)                                // what goes on; nil is nobody

	Every   time.Duration // between two looks at most; 0 is 2 s, the first ones sooner
	Settle  time.Duration // how long a failure that was said may be followed by silence; 0 is 30 s
	Silence time.Duration // how long nothing may move at all; 0 is 5 min

	mu      sync.Mutex
	follow  map[string]*follower // by node and part
	samples []job.Sample
	ray     string    // what Ray said last
	step    int       // how many steps are done
	rayAt   time.Time // when it was asked last
}

// follower reads what one part says.
type follower struct {
	node   string
	part   *job.Part
	log    englog.Reader
	nccl   []byte // lines of NCCL, for the verdict
	cursor string
	lines  int
	state  State
	since  time.Time // when it was started
	ran    bool      // it was seen to run
	seen   time.Time // when its state was read last
	told   int       // how many restarts were said
	failed time.Time // when a failure was said
	moved  time.Time // when something was said last that is no failure
}

// State is how a part is.
type State struct {
	Active   string        `json:"active"` // "active", "activating", "failed", "inactive"; "" unknown
	Sub      string        `json:"sub,omitempty"`
	Result   string        `json:"result,omitempty"`
	Restarts int           `json:"restarts"`
	Exit     int           `json:"exit"`
	CPU      time.Duration `json:"cpu_ns"`
	CPUOK    bool          `json:"-"`
	Gone     bool          `json:"gone,omitempty"`   // nobody knows it
	Queued   bool          `json:"queued,omitempty"` // systemd has a job for it that waits
	Why      string        `json:"why,omitempty"`    // why it could not be asked
}

// Failure is why a start did not become a service.
type Failure struct {
	ID   string   `json:"id"`
	Node string   `json:"node,omitempty"`
	Part string   `json:"part,omitempty"`
	What string   `json:"what"`
	Why  string   `json:"why,omitempty"`
	Do   string   `json:"do,omitempty"`
	Line string   `json:"line,omitempty"`
	Last []string `json:"last,omitempty"` // the last lines of that part
	Also []string `json:"also,omitempty"` // what else was noticed
}

func (f *Failure) Error() string {
	at := f.Node
	if f.Part != "" {
		at += " " + f.Part
	}
	return strings.TrimSpace(at+": ") + " " + f.What
}

func (r *Run) say(format string, args ...any) {
	if r.Say != nil {
		r.Say(r.step, len(r.Launch.Order), exec.Sanitise(fmt.Sprintf(format, args...)))
	}
}

// short bounds a script that only looks.
const short = 30 * time.Second

// sh runs a script on a node and returns what it printed.
func (r *Run) sh(ctx context.Context, node, script, stdin string, deadline time.Duration) (string, error) {
	t, ok := r.Targets[node]
	if !ok {
		return "", fmt.Errorf("%s: no way to this node is known", node)
	}
	out := exec.Capped{Max: 2 << 20}
	j := exec.Job{Script: script, Stdout: &out, Deadline: deadline}
	if stdin != "" {
		j.Stdin = strings.NewReader(stdin)
	}
	err := r.Run.Run(ctx, t, j)
	return out.String(), err
}

// each runs f for every node of the launch, at the same time, and waits for all.
func (r *Run) each(f func(n *job.NodeLaunch)) {
	var wg sync.WaitGroup
	for i := range r.Launch.Nodes {
		wg.Go(func() { f(&r.Launch.Nodes[i]) })
	}
	wg.Wait()
}

// Images asks every node for the image.
func (r *Run) Images(ctx context.Context) map[string]job.ImageAt {
	at := map[string]job.ImageAt{}
	if r.Launch.Image == "" {
		return at
	}
	r.each(func(n *job.NodeLaunch) {
		out, err := r.sh(ctx, n.Node, r.Launch.ImageScript(), "", short)
		is, ok := job.ParseImage(out)
		var failed *exec.Error
		switch {
		case err == nil && !ok:
			is = job.ImageAt{Why: "an answer that says nothing"}
		case errors.As(err, &failed) && failed.Class == exec.CommandFailed && strings.Contains(strings.ToLower(failed.Detail), "no such image") || err != nil && strings.Contains(err.Error(), "image not known"):
			is = job.ImageAt{Missing: true}
		case err != nil:
			is = job.ImageAt{Why: err.Error()}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		at[n.Node] = is
	})
	return at
}

// Ports asks every node who listens.
func (r *Run) Ports(ctx context.Context) map[string][]int {
	taken := map[string][]int{}
	r.each(func(n *job.NodeLaunch) {
		out, err := r.sh(ctx, n.Node, job.PortScript, "", short)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err == nil && out != "" {
			taken[n.Node] = job.Listening(out)
		}
	})
	return taken
}

// Programs sees that every node has the programs that it is to run, where there is no image,
// and that nothing of this name runs there.
func (r *Run) Programs(ctx context.Context) (bars []job.Bar) {
	r.each(func(n *job.NodeLaunch) {
		var script strings.Builder
		script.WriteString("[ ! -e " + r.Launch.Folder + "/record.json ] || echo runs\n")
		if r.Launch.Bare != "" {
			for _, p := range n.Parts {
				fmt.Fprintf(&script, "[ -x '%s' ] || echo 'program %s'\n", p.Command[0], p.Command[0])
			}
		}
		for _, f := range n.Files {
			fmt.Fprintf(&script, "[ ! -e '%s' ] || echo 'file %s'\n", f.Path, f.Path)
		}
		out, err := r.sh(ctx, n.Node, script.String(), "", short)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			bars = append(bars, job.Bar{Name: job.BarProgram, Node: n.Node, What: "it could not be looked at: " + err.Error()})
			return
		}
		runs := strings.Contains(out, "runs\n")
		if runs {
			bars = append(bars, job.Bar{Name: job.BarRuns, Node: n.Node, What: "weft serve up " + r.Launch.Name + " left its files here", Next: "weft serve down " + r.Launch.Name})
		}
		for line := range strings.Lines(out) {
			if p, ok := strings.CutPrefix(strings.TrimSpace(line), "program "); ok {
				bars = append(bars, job.Bar{Name: job.BarProgram, Node: n.Node, What: p + " is not there", Why: "every node runs the same programs"})
			}
			if f, ok := strings.CutPrefix(strings.TrimSpace(line), "file "); ok && !runs {
				bars = append(bars, job.Bar{Name: job.BarRuns, Node: n.Node, What: f + " is there already, and weft did not write it", Next: "weft serve up --name ANOTHER"})
			}
		}
	})
	return bars
}
