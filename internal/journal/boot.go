package journal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Boot puts back what was not confirmed before the machine went down. Early it restores
// files, before anything has read them: the running kernel has forgotten the rest. Late
// it runs the undo of what no file holds.
func (j *Journal) Boot(late bool) error {
	lock, err := j.lock(time.Minute)
	if err != nil {
		return err
	}
	defer lock.Close()
	ids, err := j.List()
	var errs []error
	restored, open := false, false
	for _, id := range slices.Backward(ids) {
		r, err := j.Load(id)
		var s State
		if err == nil {
			s, err = r.State()
		}
		if errors.Is(err, os.ErrNotExist) {
			continue // never begun
		}
		switch {
		case err != nil:
			errs, open = append(errs, err), true
			continue
		case s.State == New || s.Over() && s.State != Stuck:
			r.unstage("") // the power may have gone just before that
		case s.State == Waiting && r.marked("confirm"):
			errs = append(errs, j.keepAll(r))
		case late:
			errs = append(errs, j.finish(r, s))
		default:
			restored = true
			errs = append(errs, j.restoreAt(r, s))
		}
		if s, err := r.State(); err == nil && (s.State == Reverting || s.State == Stuck) {
			open = true
		}
	}
	if !open {
		j.unhook()
	}
	if restored && j.systemd() && j.Root == "" {
		// Units and what generators made of the files of before are loaded already.
		errs = append(errs, exec.Command("systemctl", "daemon-reload").Run())
	}
	return errors.Join(append(errs, err)...)
}

// restoreAt restores a run's files, and ends the run where that is all.
func (j *Journal) restoreAt(r *Run, s State) error {
	why := "the machine restarted before the changes were confirmed"
	if s.Why != "" {
		why = s.Why
	}
	r.logf("boot: %s", why)
	if err := r.set(State{State: Reverting, Why: why, Act: s.Act}); err != nil {
		return err
	}
	j.point("booting")
	stuck := r.restore()
	j.point("boot restored")
	if len(stuck) == 0 && slices.ContainsFunc(r.Acts[:s.Act], func(a Act) bool { return a.Lasts }) {
		return nil // the late unit goes on
	}
	return j.reverted(r, why, stuck, nil)
}

// finish runs the undo of what outlives a boot.
func (j *Journal) finish(r *Run, s State) error {
	var left []string
	for _, a := range slices.Backward(r.Acts[:s.Act]) {
		if a.Lasts {
			left = append(left, r.undo(context.Background(), a)...)
		}
	}
	return j.reverted(r, s.Why, r.restore(), left)
}
