// Package collect asks nodes everything that readers want to know and returns
// their answers as a dump. Edge: it decides nothing.
package collect

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"weft/internal/dump"
	"weft/internal/exec"
	"weft/internal/format"
)

// nodeSeconds is how long one node may take for everything. Twice the slowest
// honest node seen, with a margin for one command that hangs until its own limit.
const nodeSeconds = 90

// clockKey holds the node's time when it began to answer, format.ClockKey the
// local times around it.
const clockKey = format.DateKey

// Ask is what to ask of one node.
type Ask struct {
	Target  exec.Target
	Readers []format.Reader
}

// Cluster asks all nodes at once and returns their answers in the order given.
// A node that cannot be asked has one gap, format.Reach, that says why. done is
// called after each node, with what went wrong or nil.
func Cluster(ctx context.Context, run *exec.Runner, asks []Ask, done func(node string, err error)) []*dump.Node {
	targets := make([]exec.Target, len(asks))
	readers := make(map[string][]format.Reader, len(asks))
	for i, a := range asks {
		targets[i] = a.Target
		readers[a.Target.Name] = slices.DeleteFunc(slices.Clone(a.Readers), func(r format.Reader) bool { return r.Once != nil })
	}
	return exec.Each(ctx, targets, func(ctx context.Context, t exec.Target) *dump.Node {
		d, err := Node(ctx, run, t, readers[t.Name])
		done(t.Name, err)
		return d
	})
}

// Node asks one node. The dump node is never nil: what was answered before an
// error is in it.
func Node(ctx context.Context, run *exec.Runner, t exec.Target, readers []format.Reader) (*dump.Node, error) {
	if t.SSH != "" {
		return byScript(ctx, run, t, readers)
	}
	free, root := readers, []format.Reader(nil)
	if os.Geteuid() != 0 {
		free, root = split(readers)
	}
	d := local(ctx, t.Name, free)
	settle(free, d)
	if len(root) > 0 { // the script knows how to ask sudo, and what to say when it refuses
		r, err := byScript(ctx, run, t, root)
		if err != nil {
			return d, err
		}
		maps.Copy(d.Text, r.Text)
		maps.Copy(d.Gap, r.Gap)
		delete(d.Text, format.ClockKey) // this machine's clock is the one to hold others against
	}
	return d, context.Cause(ctx)
}

// split parts what anyone may read from what only root may.
func split(readers []format.Reader) (free, root []format.Reader) {
	for _, r := range readers {
		f, o := r, r
		f.Files, o.Files = part(r.Files, func(x format.File) bool { return x.Root })
		f.Cmds, o.Cmds = part(r.Cmds, func(x format.Cmd) bool { return x.Root })
		free = append(free, f)
		if len(o.Files)+len(o.Cmds) > 0 {
			root = append(root, o)
		}
	}
	return free, root
}

// part puts what is so into the second list and the rest into the first.
func part[T any](all []T, so func(T) bool) (rest, yes []T) {
	for _, x := range all {
		if so(x) {
			yes = append(yes, x)
		} else {
			rest = append(rest, x)
		}
	}
	return rest, yes
}

// byScript asks a node through a shell.
func byScript(ctx context.Context, run *exec.Runner, t exec.Target, readers []format.Reader) (*dump.Node, error) {
	nonce := rand.Text()
	a := newAnswers(t.Name, nonce)
	start := time.Now()
	err := run.Run(ctx, t, exec.Job{Script: script(readers, nonce), Deadline: nodeSeconds * time.Second, Stdout: &a.out, Stderr: &a.err})
	d := a.finish()
	reached := !a.clock.IsZero()
	if reached {
		setClock(d, d.Text[clockKey], start, a.clock)
		if a.clock.Sub(start) > 2*clockError && a.ended {
			askClock(ctx, run, t, d)
		}
	}
	settle(readers, d)
	var failed *exec.Error
	if errors.As(err, &failed) && reached && (failed.Class == exec.Lost || failed.Class == exec.TimedOut) {
		failed.Detail = "" // the script's frames and complaints, which say nothing of the connection
	}
	switch {
	case a.ended:
		return d, nil
	case errors.As(err, &failed) && !reached:
		d.Gap[format.Reach] = failed.Error() + "\n" + failed.Next()
	case err != nil:
		d.Gap[format.CutKey] = "cut short: " + err.Error()
	default:
		d.Gap[format.CutKey] = "cut short: the script ended early"
	}
	return d, err
}

// clockError is how well a node's clock should be known: half of what two clocks
// may differ by (CHECKS.md, node.clock: 100 ms).
const clockError = 50 * time.Millisecond

// askClock asks the time again over the connection that is open now: the first
// answer waited for the connection, so it only bounds the time loosely.
func askClock(ctx context.Context, run *exec.Runner, t exec.Target, d *dump.Node) {
	out := exec.Capped{Max: 64}
	start := time.Now()
	if run.Run(ctx, t, exec.Job{Script: "date +%s.%N", Deadline: 5 * time.Second, Stdout: &out}) == nil {
		setClock(d, out.String(), start, time.Now())
	}
}

// setClock notes the node's time and the local times around it.
func setClock(d *dump.Node, node string, before, after time.Time) {
	d.Text[clockKey] = node
	d.Text[format.ClockKey] = fmt.Sprintf("%.6f %.6f\n", seconds(before), seconds(after))
}

// settle drops what is not worth keeping and adds what weft itself knows.
func settle(readers []format.Reader, d *dump.Node) {
	format.Settle(readers, d)
	for _, r := range readers {
		maps.Copy(d.Text, r.Given)
	}
}

// Once asks, for every reader that wants one node only, the first node that it
// accepts, and adds the answer to that node's.
func Once(ctx context.Context, run *exec.Runner, asks []Ask, nodes []*dump.Node) {
	for _, r := range format.Readers {
		if r.Once == nil {
			continue
		}
		i := slices.IndexFunc(nodes, func(d *dump.Node) bool { return d.Gap[format.Reach] == "" && r.Once(d) })
		if i < 0 {
			continue
		}
		d, _ := Node(ctx, run, asks[i].Target, []format.Reader{r})
		delete(d.Text, clockKey)
		delete(d.Text, format.ClockKey)
		maps.Copy(nodes[i].Text, d.Text)
		maps.Copy(nodes[i].Gap, d.Gap)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
