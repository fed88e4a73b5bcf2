package journal

import (
	"context"
	"fmt"
	"time"
)

// Confirm keeps a run's changes. It returns the state that came of it: a confirmation
// that comes too late finds the run reverted.
func (j *Journal) Confirm(ctx context.Context, id string) (State, error) {
	return j.tell(ctx, id, "confirm", "")
}

// Revert puts a run back that is not over yet.
func (j *Journal) Revert(ctx context.Context, id, why string) (State, error) {
	return j.tell(ctx, id, "revert", why)
}

// tell leaves a word for the supervisor and waits for what comes of it. When there is
// no supervisor it does the work itself.
func (j *Journal) tell(ctx context.Context, id, word, why string) (State, error) {
	r, err := j.Load(id)
	if err != nil {
		return State{}, err
	}
	s, err := r.State()
	if err != nil || s.Over() && s.State != Stuck {
		return s, err
	}
	if word == "confirm" && s.State != Waiting {
		return s, fmt.Errorf("run %s is %s, not waiting for a confirmation", id, s.State)
	}
	if err := r.mark(word, why); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.longest()) // both ways, at every limit
	defer cancel()
	for ctx.Err() == nil {
		if s, err = r.State(); err != nil || s.Over() && s.State != Stuck {
			return s, err
		}
		if lock, err := j.lock(0); err == nil { // nobody supervises
			lock.Close()
			if err := j.end(id, why); err != nil {
				return s, err
			}
			return r.State()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return s, fmt.Errorf("run %s is still %s", id, s.State)
}

// Guard reverts a run whose supervisor is lost: as soon as nobody holds the node, or
// when the run should be over.
func (j *Journal) Guard(ctx context.Context, id string, after time.Duration) error {
	r, err := j.Load(id)
	if err != nil {
		return err
	}
	for end := time.Now().Add(after); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
		s, err := r.State()
		if err != nil || s.Over() {
			return err
		}
		lock, err := j.lock(0)
		if err != nil {
			continue // it is supervised
		}
		lock.Close()
		if s.State != New { // else it is only about to be
			break
		}
	}
	return j.end(id, "the supervisor was lost")
}

// end brings a run without a supervisor to its end.
func (j *Journal) end(id, why string) error {
	lock, err := j.lock(time.Minute)
	if err != nil {
		return err
	}
	defer lock.Close()
	r, err := j.Load(id)
	if err != nil {
		return err
	}
	s, err := r.State()
	switch {
	case err != nil:
		return err
	case s.State == New:
		j.tidy(r)
		return r.set(State{State: Reverted, Why: "it was never begun"})
	case s.State == Stuck: // somebody asks for one more try
		return j.revert(r, why, len(r.Acts))
	}
	return j.lost(r, s, why)
}
