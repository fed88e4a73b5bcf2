package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/journal"
	"weft/internal/meter"
)

// maxRequest bounds what a node reads from the one who asks.
const maxRequest = 64 << 20

// node is weft on the node's side of weft apply and weft prove. People do not call it:
// apply, undo, prove and the units that apply writes do.
func (a *app) node() *cobra.Command {
	j := &journal.Journal{}
	cmd := &cobra.Command{Use: "node", Short: "The node's side of weft apply", Hidden: true}
	sub := func(use string, args cobra.PositionalArgs, f func(ctx context.Context, args []string) error) *cobra.Command {
		c := &cobra.Command{Use: use, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
			if os.Geteuid() != 0 {
				return fail("sudo weft node "+use, "only root can do this")
			}
			return f(cmd.Context(), args)
		}}
		cmd.AddCommand(c)
		return c
	}
	cmd.AddCommand(&cobra.Command{Use: "meter", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return meter.Serve(cmd.Context(), a.in, a.out) // for weft prove; needs no root
	}})
	sub("begin", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		q, err := a.request()
		if err != nil {
			return err
		}
		r, err := j.Begin(ctx, q)
		return a.start(ctx, j, r, err)
	})
	sub("undo RUN", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		q, err := a.request()
		if err != nil {
			return err
		}
		r, err := j.Undo(ctx, q, args[0])
		return a.start(ctx, j, r, err)
	})
	sub("supervise RUN", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		pauseAt(j, args[0])
		return j.Supervise(ctx, args[0])
	})
	sub("guard RUN SECONDS", cobra.ExactArgs(2), func(ctx context.Context, args []string) error {
		seconds, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return j.Guard(ctx, args[0], time.Duration(seconds)*time.Second)
	})
	sub("confirm RUN", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		s, err := j.Confirm(ctx, args[0])
		return a.say(journal.Word{State: s}, err)
	})
	sub("revert RUN WHY", cobra.ExactArgs(2), func(ctx context.Context, args []string) error {
		s, err := j.Revert(ctx, args[0], args[1])
		return a.say(journal.Word{State: s}, err)
	})
	sub("follow RUN", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		return a.follow(ctx, j, args[0])
	})
	sub("runs", cobra.NoArgs, func(context.Context, []string) error {
		all, err := j.All()
		if err != nil {
			return a.say(journal.Word{}, err)
		}
		return json.NewEncoder(a.out).Encode(all)
	})
	var late bool
	boot := sub("boot", cobra.NoArgs, func(context.Context, []string) error { return j.Boot(late) })
	boot.Flags().BoolVar(&late, "late", false, "the machine is up: undo what no file holds")
	return cmd
}

// request reads what weft asks of this node.
func (a *app) request() (q journal.Request, err error) {
	b, err := io.ReadAll(io.LimitReader(a.in, maxRequest))
	if err == nil {
		err = json.Unmarshal(b, &q)
	}
	if err == nil {
		q.Binary, err = os.Executable()
	}
	return q, err
}

// start starts a run that was begun, and follows it.
func (a *app) start(ctx context.Context, j *journal.Journal, r *journal.Run, err error) error {
	if err != nil {
		return a.say(journal.Word{}, err)
	}
	if err := j.Start(r); err != nil {
		return a.say(journal.Word{}, err)
	}
	return a.follow(ctx, j, r.ID)
}

// follow says every state of a run until it waits or is over.
func (a *app) follow(ctx context.Context, j *journal.Journal, id string) error {
	last := ""
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		r, err := j.Load(id)
		if err != nil {
			return a.say(journal.Word{}, err)
		}
		s, err := r.State()
		if err != nil {
			return a.say(journal.Word{}, err)
		}
		if now := fmt.Sprint(s.State, s.Act); now != last {
			last = now
			w := journal.Word{State: s, Acts: len(r.Acts)}
			if s.Act > 0 && s.Act <= len(r.Acts) {
				w.What = r.Acts[s.Act-1].What
			}
			if err := a.say(w, nil); err != nil {
				return err // nobody listens any more
			}
		}
		if s.Over() || s.State == journal.Waiting {
			return nil
		}
	}
	return ctx.Err()
}

// say answers the one who asked, in one line of JSON.
func (a *app) say(w journal.Word, err error) error {
	var refused *journal.Refused
	switch {
	case errors.As(err, &refused):
		w.Refused, w.Next = refused.What, refused.Next
	case err != nil:
		w.Error = err.Error()
	}
	return json.NewEncoder(a.out).Encode(w)
}

// pauseAt makes the supervisor of a test stop for a while at the point that the run's
// request names, so that something can be killed just there.
func pauseAt(j *journal.Journal, id string) {
	r, err := j.Load(id)
	if err != nil || r.PauseAt == "" {
		return
	}
	j.Point = func(name string) {
		if name == r.PauseAt && r.Pause() {
			time.Sleep(time.Duration(r.PauseSeconds) * time.Second)
		}
	}
}
