package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Undo begins a run that undoes a kept one. It is a run like any other: what is there
// now is written down first, and comes back unless the undo is confirmed.
func (j *Journal) Undo(ctx context.Context, q Request, of string) (*Run, error) {
	lock, err := j.lock(0)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := j.free(); err != nil {
		return nil, err
	}
	old, err := j.undoable(of)
	if err != nil {
		return nil, err
	}
	r := &Run{Request: q, Undoes: of, Began: time.Now().UTC(), dir: filepath.Join(j.runs(), q.ID)}
	r.Steps = nil
	if !validID(q.ID) {
		return nil, &Refused{What: fmt.Sprintf("%q is no name for a run", q.ID)}
	}
	for _, d := range []string{"", "was", "will"} {
		if err := os.Mkdir(filepath.Join(r.dir, d), 0o700); err != nil {
			return nil, unwritable(r.dir, err)
		}
	}
	if err := j.reverse(ctx, r, old); err != nil {
		os.RemoveAll(r.dir)
		return nil, err
	}
	return r, nil
}

// undoable loads a run that can be undone: a kept one, and no later one built on it.
func (j *Journal) undoable(id string) (*Run, error) {
	old, err := j.Load(id)
	if err != nil {
		return nil, &Refused{What: err.Error()}
	}
	s, err := old.State()
	if err != nil {
		return nil, err
	}
	if s.State != Kept {
		return nil, &Refused{What: fmt.Sprintf("run %s is %s here: there is nothing to undo", id, s.State)}
	}
	ids, err := j.List()
	if err != nil {
		return nil, err
	}
	for _, later := range ids[slices.Index(ids, id)+1:] {
		r, err := j.Load(later)
		if err != nil {
			continue
		}
		if s, err := r.State(); err != nil || s.State != Kept || r.Undoes != "" {
			continue
		}
		if what := old.shares(r); what != "" {
			return nil, &Refused{What: fmt.Sprintf("run %s came later and changed %s, too: undo that first", later, what), Next: "weft undo " + later}
		}
	}
	return old, nil
}

// shares returns something that two runs both changed, or "".
func (r *Run) shares(o *Run) string {
	for _, c := range r.Changes {
		if c.Will.Kind != dir && slices.ContainsFunc(o.Changes, func(d Change) bool { return d.Path == c.Path }) {
			return c.Path
		}
	}
	for _, a := range r.Acts {
		if slices.ContainsFunc(o.Acts, func(b Act) bool { return b.What == a.What }) {
			return a.What
		}
	}
	return ""
}

// reverse fills a run with the way back from another: all files, then the commands,
// last act first, then the files that commands rewrite.
func (j *Journal) reverse(ctx context.Context, r, old *Run) error {
	files := Act{What: "files", Seconds: 60}
	for n, c := range slices.Backward(old.Changes) {
		if slices.IndexFunc(old.Changes, func(o Change) bool { return o.Path == c.Path }) != n {
			continue
		}
		back, err := r.turn(old, c)
		if err != nil {
			return err
		}
		if back != nil {
			files.Changes = append(files.Changes, len(r.Changes))
			r.Changes = append(r.Changes, *back)
		}
	}
	r.Acts, r.Expect = []Act{files}, old.Values
	for _, a := range slices.Backward(old.Acts) {
		r.Acts = append(r.Acts, Act{What: a.What, Do: a.Undo, Undo: a.Do, Shows: a.Shows, Lasts: a.Lasts, Seconds: a.Seconds})
	}
	kept := Act{What: "files that commands rewrite", Seconds: 60}
	after := old.after()
	for path, s := range old.Kept {
		is, b, err := look(path)
		if err != nil {
			return err
		}
		if is.SHA256 != after[path] {
			continue // somebody else has written it since: the undo's commands see to it
		}
		c := Change{Path: path, Was: is, Will: s, Loose: true}
		if err := r.carry(old, &c, b); err != nil {
			return err
		}
		kept.Changes = append(kept.Changes, len(r.Changes))
		r.Changes = append(r.Changes, c)
	}
	r.Acts = append(r.Acts, kept)
	return j.seal(ctx, r)
}

// turn is the change that takes a change of another run back; nil when it is back
// already.
func (r *Run) turn(old *Run, c Change) (*Change, error) {
	is, b, err := look(c.Path)
	if err != nil {
		return nil, &Refused{What: err.Error()}
	}
	if ok, err := same(c.Path, c.Was); ok || err != nil {
		return nil, err
	}
	last := c.Will
	for _, o := range old.Changes {
		if o.Path == c.Path {
			last = o.Will
		}
	}
	t := Change{Path: c.Path, Was: is, Will: c.Was}
	if is.Kind != last.Kind || is.SHA256 != last.SHA256 || is.Link != last.Link {
		text, err := old.merged(c, b)
		if err != nil {
			return nil, &Refused{What: err.Error()}
		}
		t.Will = is
		t.Will.MTime, t.Will.SHA256 = 0, sum([]byte(text))
		if t.Will.Copy, err = r.copy("will", []byte(text), file); err != nil {
			return nil, unwritable(r.dir, err)
		}
		t.Was.Copy, err = r.copy("was", b, is.Kind)
		return &t, err
	}
	return &t, r.carry(old, &t, b)
}

// carry copies the contents of a change from another run's folder into this one's.
func (r *Run) carry(old *Run, c *Change, now []byte) error {
	b, err := old.content(c.Will)
	if err != nil {
		return &Refused{What: err.Error()}
	}
	if c.Will.Copy, err = r.copy("will", b, c.Will.Kind); err == nil {
		c.Was.Copy, err = r.copy("was", now, c.Was.Kind)
	}
	if err != nil {
		return unwritable(r.dir, err)
	}
	return nil
}
