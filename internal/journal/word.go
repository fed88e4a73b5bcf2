package journal

import "time"

// Word is what a node says of a run, one line of JSON each.
type Word struct {
	State   State  `json:"state"`
	Acts    int    `json:"acts,omitempty"`    // how many there are
	What    string `json:"what,omitempty"`    // the act that was begun last
	Refused string `json:"refused,omitempty"` // why it was not begun
	Next    string `json:"next,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Past is a run as a list of them has it.
type Past struct {
	ID     string    `json:"id"`
	Who    string    `json:"who"`
	Began  time.Time `json:"began"`
	Undoes string    `json:"undoes,omitempty"`
	State  State     `json:"state"`
	What   []string  `json:"what"` // what it changed
}

// All returns every run of this node, oldest first.
func (j *Journal) All() ([]Past, error) {
	ids, err := j.List()
	all := []Past{}
	for _, id := range ids {
		r, err := j.Load(id)
		if err != nil {
			continue // never begun
		}
		s, err := r.State()
		if err != nil {
			continue
		}
		p := Past{ID: id, Who: r.Who, Began: r.Began, Undoes: r.Undoes, State: s}
		for _, a := range r.Acts {
			p.What = append(p.What, a.What)
		}
		all = append(all, p)
	}
	return all, err
}

// Pause notes that a test's supervisor stands at its point. It stands there once: the
// next one, after it was killed, goes on.
func (r *Run) Pause() (first bool) { return !r.marked("paused") && r.mark("paused", r.PauseAt) == nil }
