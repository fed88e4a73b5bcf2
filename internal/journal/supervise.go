package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Supervise makes a run's changes and sees it to its end: kept when it is confirmed in
// time, else reverted. Called for a run that was begun before, because the supervisor
// was killed, it reverts.
func (j *Journal) Supervise(ctx context.Context, id string) error {
	lock, err := j.lock(30 * time.Second)
	if err != nil {
		return err
	}
	defer lock.Close()
	r, err := j.Load(id)
	if err != nil {
		return err
	}
	s, err := r.State()
	if err != nil {
		return err
	}
	if s.State != New {
		return j.lost(r, s, cmp.Or(s.Why, "the supervisor was killed"))
	}
	done, err := j.make(ctx, r)
	if err == nil {
		err = j.wait(ctx, r, done)
	}
	if err != nil {
		return j.revert(r, err.Error(), done)
	}
	return j.keepAll(r)
}

// lost brings a run to its end whose supervisor is no more. What could not be put back
// keeps its unit at boot, which tries again.
func (j *Journal) lost(r *Run, s State, why string) error {
	switch {
	case s.State == Stuck:
		return nil
	case s.Over():
		j.tidy(r) // killed just before that
		return nil
	case s.State == Waiting && r.marked("confirm"):
		return j.keepAll(r)
	}
	return j.revert(r, why, s.Act)
}

// make makes all changes and returns how many acts it began.
func (j *Journal) make(ctx context.Context, r *Run) (begun int, err error) {
	r.logf("run %s of %s: %d acts, %d changes", r.ID, r.Who, len(r.Acts), len(r.Changes))
	j.point("begun")
	if err := j.hook(r); err != nil {
		return 0, fmt.Errorf("nothing would put the old state back after a reboot: %w", err)
	}
	j.point("hooked")
	if err := r.set(State{State: Open}); err != nil {
		return 0, err
	}
	j.point("open")
	if err := j.stageAll(r); err != nil {
		return 0, err
	}
	j.point("staged")
	for i, a := range r.Acts {
		if err := r.set(State{State: Open, Act: i + 1}); err != nil {
			return i, err
		}
		j.point(fmt.Sprintf("act %d", i+1))
		if err := j.act(ctx, r, i, a); err != nil {
			return i + 1, fmt.Errorf("%s: %w", a.What, err)
		}
		j.point(fmt.Sprintf("act %d done", i+1))
	}
	r.noteKept()
	if err := r.probe(ctx); err != nil {
		return len(r.Acts), err
	}
	j.point("probed")
	return len(r.Acts), nil
}

// act makes one act's changes and runs its commands.
func (j *Journal) act(ctx context.Context, r *Run, i int, a Act) error {
	for _, n := range a.Changes {
		c := r.Changes[n]
		if c.Will.Kind == dir {
			continue // made when its files were staged
		}
		if ok, err := same(c.Path, c.Was); err != nil {
			return err
		} else if !ok && !c.Loose {
			return fmt.Errorf("%s: somebody has changed it just now", c.Path)
		}
		r.logf("put %s", c.Path)
		if c.Was.Kind == dir {
			r.unstage(c.Path)
		}
		if err := put(c.Path, staged(c.Path, r.ID, newTag(n)), c.Will); err != nil {
			return err
		}
		j.point(fmt.Sprintf("change %d", n+1))
	}
	for k, line := range a.Do {
		r.logf("$ %s", line)
		out, err := run(ctx, line, time.Duration(a.Seconds)*time.Second)
		r.logf("%s%v", out, cmp.Or(err, errors.New("ok")))
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		j.point(fmt.Sprintf("act %d line %d", i+1, k+1))
	}
	return nil
}

// stageAll gets everything ready, both the new and the way back, so that from here on
// no change needs space.
func (j *Journal) stageAll(r *Run) error {
	for n, c := range r.Changes {
		if c.Will.Kind == dir { // the folders that files will be in
			if err := put(c.Path, "", c.Will); err != nil {
				return err
			}
			continue
		}
		b, err := r.content(c.Will)
		if err != nil {
			return err
		}
		if err := stage(staged(c.Path, r.ID, newTag(n)), c.Will, b); err != nil {
			return err
		}
		if c.Will.Kind == file && c.Was.Kind == absent {
			label(staged(c.Path, r.ID, newTag(n)), c.Path)
		}
		if c.Was.Kind == file && !c.Loose {
			back := staged(c.Path, r.ID, backTag(n))
			os.Remove(back)
			if err := os.Link(c.Path, back); err != nil && exists(c.Path) {
				if b, err = r.content(c.Was); err == nil { // a file system without hard links
					err = stage(back, c.Was, b)
				}
				if err != nil {
					return err
				}
			}
		}
		if err := syncDir(filepath.Dir(c.Path)); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for the confirmation. Deadline 0 is: the one who runs this sees it.
func (j *Journal) wait(ctx context.Context, r *Run, acts int) error {
	if err := r.set(State{State: Waiting, Act: acts, Left: r.unlike(ctx, r.Expect)}); err != nil {
		return err
	}
	if r.Deadline <= 0 {
		return nil
	}
	r.logf("waiting %d s for a confirmation", r.Deadline)
	j.point("waiting")
	end := time.After(time.Duration(r.Deadline) * time.Second)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		switch {
		case r.marked("revert"):
			return errors.New(r.markText("revert"))
		case r.marked("confirm"):
			j.point("confirmed")
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the supervisor was told to stop")
		case <-end:
			if !r.marked("confirm") {
				return fmt.Errorf("no confirmation within %d s", r.Deadline)
			}
		}
	}
}

// keepAll ends a run that was confirmed.
func (j *Journal) keepAll(r *Run) error {
	s, err := r.State()
	if err != nil {
		return err
	}
	if err := r.set(State{State: Kept, Act: len(r.Acts), Left: s.Left}); err != nil {
		return err
	}
	j.point("kept")
	r.logf("kept")
	if r.Undoes != "" {
		if of, err := j.Load(r.Undoes); err == nil {
			if err := of.set(State{State: Undone, Why: "undone by run " + r.ID}); err != nil {
				return err
			}
		}
	}
	j.tidy(r)
	j.point("tidied")
	return nil
}

// noteKept notes the files that commands have rewritten, to tell later whether somebody
// else has, since.
func (r *Run) noteKept() {
	after := map[string]string{}
	for path := range r.Kept {
		if s, _, err := look(path); err == nil {
			after[path] = s.SHA256
		}
	}
	if b, err := json.Marshal(after); err == nil && len(after) > 0 {
		writeFile(filepath.Join(r.dir, "after"), b, 0o600)
	}
}

// after reads what noteKept wrote.
func (r *Run) after() map[string]string {
	after := map[string]string{}
	if b, err := os.ReadFile(filepath.Join(r.dir, "after")); err == nil {
		json.Unmarshal(b, &after)
	}
	return after
}

// markText is what stands in a mark.
func (r *Run) markText(word string) string {
	b, err := os.ReadFile(filepath.Join(r.dir, word))
	if err != nil || len(b) == 0 {
		return word
	}
	return string(b[:min(len(b), 500)])
}
