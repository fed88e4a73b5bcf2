package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/apply"
	"weft/internal/check"
	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/journal"
	"weft/internal/report"
	"weft/internal/store"
)

func (a *app) undo() *cobra.Command {
	var local, yes bool
	var deadline time.Duration
	cmd := &cobra.Command{
		Use:   "undo [RUN]",
		Short: "Put back what weft apply changed, byte for byte",
		Long: `Puts back what the last weft apply, or RUN, changed: every file as it was, with owner,
mode and labels, and every value of the running system. What somebody else has
written into those files since stays.

The record of what was there is on the nodes, so that any machine can undo: without
RUN the nodes are asked for their last one. On a node itself, weft undo --local needs
no network. An undo is a run like any other: a node that it cuts off comes back.`,
		Example: "  weft undo\n  weft undo 20261115-101530\n  sudo /var/lib/weft/bin/weft-* undo --local",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := ""
			if len(args) > 0 {
				run = args[0]
			}
			if err := a.changes("undo", deadline); err != nil {
				return err
			}
			if local {
				return a.undoLocal(cmd.Context(), run)
			}
			return a.undoRun(cmd.Context(), run, yes, deadline)
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "this machine, from its own record: no network, no other machine")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().DurationVar(&deadline, "deadline", 90*time.Second, "how long a node waits for the confirmation before it goes back")
	return cmd
}

// undoLocal undoes a run of this machine, with nobody to confirm it but the person here.
func (a *app) undoLocal(ctx context.Context, id string) error {
	if os.Geteuid() != 0 {
		return fail("sudo "+os.Args[0]+" undo --local "+id, "only root can put things back")
	}
	j := &journal.Journal{}
	all, err := j.All()
	if err != nil {
		return fail("", "%v", err)
	}
	i := lastToUndo(all, id)
	if i < 0 {
		return fail("ls /var/lib/weft/runs", "%s", nothingToUndo(all, id))
	}
	p := all[i]
	if p.State.State != journal.Kept { // open: put it back now
		s, err := j.Revert(ctx, p.ID, "weft undo --local")
		if err == nil && s.State != journal.Reverted {
			err = fmt.Errorf("run %s is %s: %v", p.ID, s.State, s.Left)
		}
		return a.undoneLocal(p.ID, s, err)
	}
	q := journal.Request{ID: runID(), Who: who() + " --local"}
	if q.Binary, err = os.Executable(); err != nil {
		return fail("", "%v", err)
	}
	if _, err := j.Undo(ctx, q, p.ID); err != nil {
		var no *journal.Refused
		if errors.As(err, &no) {
			return fail(no.Next, "%s", no.What)
		}
		return fail("", "%v", err)
	}
	if err := j.Supervise(context.WithoutCancel(ctx), q.ID); err != nil {
		return fail("", "%v", err)
	}
	r, err := j.Load(q.ID)
	if err != nil {
		return fail("", "%v", err)
	}
	s, err := r.State()
	if err == nil && s.State != journal.Kept {
		err = fmt.Errorf("run %s was not undone: %s", p.ID, s.Why)
	}
	return a.undoneLocal(p.ID, s, err)
}

func (a *app) undoneLocal(id string, s journal.State, err error) error {
	if err != nil {
		return fail("less /var/lib/weft/runs/"+id+"/log", "%v", err)
	}
	for _, l := range s.Left {
		fmt.Fprintln(a.err, "weft: not as it was: "+exec.Sanitise(l))
	}
	fmt.Fprintf(a.err, "weft: run %s is undone\n", id)
	return nil
}

// runID names a run by the time it begins.
func runID() string { return time.Now().UTC().Format("20060102-150405") }

// lastToUndo is the index of a run, or of the last one that can be undone; -1 is none.
func lastToUndo(all []journal.Past, id string) int {
	for i, p := range slices.Backward(all) {
		can := p.Undoes == "" && p.State.State == journal.Kept || !p.State.Over() && p.State.State != journal.New || p.State.State == journal.Stuck
		if can && (id == "" || p.ID == id) {
			return i
		}
	}
	return -1
}

func nothingToUndo(all []journal.Past, id string) string {
	for _, p := range all {
		if p.ID == id {
			return fmt.Sprintf("run %s is %s: there is nothing to undo", id, p.State.State)
		}
	}
	if id != "" {
		return fmt.Sprintf("no run is called %s here", id)
	}
	return "no run is on record here"
}

// undoRun undoes a run on every node that has it.
func (a *app) undoRun(ctx context.Context, id string, yes bool, deadline time.Duration) error {
	l, err := a.whom()
	if err != nil {
		return err
	}
	lock, err := store.At(a.folder).Lock()
	if err != nil {
		return fail("weft status", "%v", err)
	}
	defer lock.Close()
	c := a.crew(l)
	defer c.close()
	r, orders, err := c.undoes(ctx, id, deadline)
	if err != nil {
		return err
	}
	if err := a.askYes("undo", yes, fmt.Sprintf("Undo run %s on %d nodes?", r.Undoes, len(orders))); err != nil {
		return err
	}
	r.Nodes = append(r.Nodes, c.widen(ctx, orders)...)
	c.close()
	return a.finish(ctx, r, nil)
}

// whom names the nodes of weft.yaml, or this machine, without a look at them: an undo
// asks their journals.
func (a *app) whom() (*look, error) {
	want, _, folder, err := a.spec(nil)
	if err == nil {
		a.folder = folder
		err = a.sshFrom(want, folder)
	}
	if err != nil {
		return nil, err
	}
	asks, source, err := a.asks(want)
	if err != nil {
		return nil, err
	}
	l := &look{source: source, kase: &check.Case{Want: want}}
	for _, k := range asks {
		l.kase.Nodes = append(l.kase.Nodes, &fact.Node{Name: k.Target.Name})
	}
	return l, nil
}

// undoes asks the nodes what they have on record, and orders the undo of one run: the
// one that is named, or the last of any node.
func (c *crew) undoes(ctx context.Context, id string, deadline time.Duration) (report.Run, []apply.Order, error) {
	var order []exec.Target
	for _, n := range c.look.kase.Nodes {
		order = append(order, c.targets[n.Name])
	}
	type answer struct {
		runs []journal.Past
		err  error
	}
	answers := exec.Each(ctx, order, func(ctx context.Context, t exec.Target) answer {
		runs, err := c.Runs(ctx, t)
		return answer{runs, err}
	})
	last := id
	for _, x := range answers {
		if i := lastToUndo(x.runs, id); i >= 0 && id == "" {
			last = max(last, x.runs[i].ID)
		}
	}
	r := report.Run{ID: runID(), Undoes: last}
	var orders []apply.Order
	said := nothingToUndo(nil, id)
	for i, x := range answers {
		if x.err != nil {
			r.Nodes = append(r.Nodes, report.RunNode{Node: order[i].Name, Error: "cannot be asked: " + x.err.Error()})
			continue
		}
		at := lastToUndo(x.runs, last)
		if last == "" || at < 0 {
			if id != "" && len(x.runs) > 0 {
				said = nothingToUndo(x.runs, id)
			}
			continue
		}
		o := c.order(order[i].Name, r.ID, deadline)
		o.Undoes, o.Request.Probes = last, []journal.Probe{{Kind: "route"}, {Kind: "dns"}}
		if x.runs[at].State.State != journal.Kept {
			o.Revert = last // it is still open: no new run is needed
		}
		orders = append(orders, o)
	}
	if len(orders) == 0 {
		for _, n := range r.Nodes {
			said += "\n" + n.Error
		}
		return r, nil, fail("weft status", "%s", said)
	}
	return r, orders, nil
}

// saveRun keeps what became of a run beside weft.yaml.
func (a *app) saveRun(r report.Run) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return store.At(a.folder).SaveRun(r.ID, append(b, '\n'))
}
