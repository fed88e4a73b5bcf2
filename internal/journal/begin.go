package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/plan"
)

// Refused is the error of a run that was not begun: nothing was changed.
type Refused struct {
	What string
	Next string // a command for the node or for weft; "" when there is none
}

func (e *Refused) Error() string { return e.What }

// newFor is how long a run may stay new: its supervisor is started at once.
const newFor = time.Minute

// Begin writes down what is there and what is to come. Nothing is changed yet: Start
// does that.
func (j *Journal) Begin(ctx context.Context, q Request) (*Run, error) {
	if !validID(q.ID) {
		return nil, &Refused{What: fmt.Sprintf("%q is no name for a run", q.ID)}
	}
	lock, err := j.lock(0)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := j.free(); err != nil {
		return nil, err
	}
	r := &Run{Request: q, Began: time.Now().UTC(), dir: filepath.Join(j.runs(), q.ID)}
	if err := os.MkdirAll(j.runs(), 0o700); err != nil {
		return nil, unwritable(j.runs(), err)
	}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, &Refused{What: "run " + q.ID + " is there already"}
		}
		return nil, unwritable(r.dir, err)
	}
	if err := j.record(ctx, r); err != nil {
		os.RemoveAll(r.dir) // a run that was never begun
		return nil, err
	}
	return r, nil
}

// unwritable says why nothing could be written down.
func unwritable(path string, err error) error {
	return &Refused{What: fmt.Sprintf("nothing can be written down: %v", err), Next: "df -h " + filepath.Dir(path)}
}

// free refuses while another run is open: its undo would be wrong afterwards.
func (j *Journal) free() error {
	ids, err := j.List()
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, err := j.Load(id)
		if errors.Is(err, os.ErrNotExist) {
			continue // never begun
		}
		var s State
		if err == nil {
			s, err = r.State()
		}
		switch {
		case errors.Is(err, os.ErrNotExist): // never begun
		case err != nil:
			return &Refused{What: fmt.Sprintf("whether a run is open here cannot be told: %v", err), Next: "ls -l " + j.runs() + "/" + id}
		case s.Over() && s.State != Stuck:
		case s.State == New && time.Since(s.At) > newFor:
		case s.State == Stuck:
			return &Refused{What: fmt.Sprintf("run %s could not be put back: %s", id, strings.Join(s.Left, "; ")), Next: "weft undo " + id}
		default:
			return &Refused{What: fmt.Sprintf("run %s of %s is open here since %s (%s)", id, r.Who, r.Began.Format(time.DateTime), s.State), Next: "weft undo " + id}
		}
	}
	return nil
}

// record fills a run's folder: what is there, what will be, and every value.
func (j *Journal) record(ctx context.Context, r *Run) error {
	if err := os.Mkdir(filepath.Join(r.dir, "was"), 0o700); err != nil {
		return unwritable(r.dir, err)
	}
	if err := os.Mkdir(filepath.Join(r.dir, "will"), 0o700); err != nil {
		return unwritable(r.dir, err)
	}
	if err := j.plan(r); err != nil {
		return err
	}
	for _, s := range r.Steps {
		for _, p := range s.Keeps {
			if err := j.keep(r, p); err != nil {
				return err
			}
		}
	}
	return j.seal(ctx, r)
}

// seal notes every value and which probes work, and puts a run on disk: all of it, and
// the state last.
func (j *Journal) seal(ctx context.Context, r *Run) error {
	r.Values = map[string]string{}
	for _, a := range r.Acts {
		if a.Shows != "" {
			out, err := run(ctx, a.Shows, time.Minute)
			if err != nil {
				return &Refused{What: fmt.Sprintf("%s: its value cannot be seen: %s: %v", a.What, a.Shows, err)}
			}
			r.Values[a.Shows] = out
		}
	}
	for _, p := range r.Probes {
		if p.try(ctx) == nil {
			r.Worked = append(r.Worked, p)
		}
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(r.dir, "run.json"), b, 0o600); err != nil {
		return unwritable(r.dir, err)
	}
	if err := writeFile(filepath.Join(r.dir, "undo.sh"), []byte(r.byHand()), 0o700); err != nil {
		return unwritable(r.dir, err)
	}
	if err := r.set(State{State: New}); err != nil {
		return unwritable(r.dir, err)
	}
	for _, d := range []string{filepath.Join(r.dir, "was"), filepath.Join(r.dir, "will"), j.runs()} {
		if err := syncDir(d); err != nil {
			return unwritable(d, err)
		}
	}
	return nil
}

// plan turns steps into acts and changes. A file that is not as the plan saw it is not
// overwritten.
func (j *Journal) plan(r *Run) error {
	now := map[string]Snap{} // as the changes so far leave it
	for _, s := range r.Steps {
		a := Act{What: s.What, Do: s.Do, Undo: s.Undo, Shows: s.Shows, Lasts: s.Lasts, Seconds: s.Limit()}
		for _, f := range s.Files {
			path, err := j.real(f)
			if err != nil {
				return err
			}
			was, seen := now[path]
			if !seen {
				var b []byte
				if was, b, err = look(path); err != nil {
					return &Refused{What: err.Error()}
				}
				if err := moved(f, was, b); err != nil {
					return err
				}
				if was.Copy, err = r.copy("was", b, was.Kind); err != nil {
					return unwritable(r.dir, err)
				}
				if err := j.parents(r, &a, path, now); err != nil {
					return err
				}
			}
			will := will(f, was)
			if will.Kind == file {
				if will.Copy, err = r.copy("will", []byte(*f.New), file); err != nil {
					return unwritable(r.dir, err)
				}
			}
			a.Changes = append(a.Changes, len(r.Changes))
			r.Changes = append(r.Changes, Change{Path: path, Was: was, Will: will})
			now[path] = will
		}
		r.Acts = append(r.Acts, a)
	}
	return nil
}

// real follows a symbolic link at a path to the file it means, which is what the plan
// saw, so that the link stays.
func (j *Journal) real(f plan.File) (string, error) {
	if !filepath.IsAbs(f.Path) || f.Path != filepath.Clean(f.Path) {
		return "", &Refused{What: fmt.Sprintf("%q is no path for a file", f.Path)}
	}
	path := j.path(f.Path)
	if f.Link || !exists(path) {
		return path, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &Refused{What: err.Error()}
	}
	return real, nil
}

// moved refuses a file that somebody edited since the plan was made.
func moved(f plan.File, was Snap, b []byte) error {
	var is *string
	switch was.Kind {
	case file:
		text := string(b)
		is = &text
	case symlnk:
		is = &was.Link
	case dir:
		return &Refused{What: f.Path + " is a folder"}
	}
	if f.Old == nil && is == nil || f.Old != nil && is != nil && *f.Old == *is && (was.Kind == symlnk) == f.Link {
		return nil
	}
	return &Refused{What: f.Path + " is not as the plan saw it: somebody has changed it since", Next: "weft plan"}
}

// will is what a step makes of a path: a file keeps its owner, mode and attributes.
func will(f plan.File, was Snap) Snap {
	switch {
	case f.New == nil:
		return Snap{Kind: absent}
	case f.Link:
		return Snap{Kind: symlnk, Link: *f.New}
	}
	s := Snap{Kind: file, Mode: f.Mode, SHA256: sum([]byte(*f.New))}
	if was.Kind == file {
		s.Mode, s.UID, s.GID, s.Xattrs = was.Mode, was.UID, was.GID, was.Xattrs
	}
	if s.Mode == 0 {
		s.Mode = 0o644
	}
	return s
}

// parents adds the folders that are missing above a path.
func (j *Journal) parents(r *Run, a *Act, path string, now map[string]Snap) error {
	var missing []string
	for d := filepath.Dir(path); !exists(d); d = filepath.Dir(d) {
		if _, seen := now[d]; seen {
			break
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		made := Snap{Kind: dir, Mode: 0o755}
		a.Changes = append(a.Changes, len(r.Changes))
		r.Changes = append(r.Changes, Change{Path: d, Was: Snap{Kind: absent}, Will: made})
		now[d] = made
	}
	return nil
}

// keep notes a file that a command will rewrite.
func (j *Journal) keep(r *Run, path string) error {
	if !filepath.IsAbs(path) {
		return &Refused{What: fmt.Sprintf("%q is no path for a file", path)}
	}
	p := j.path(path)
	if real, err := filepath.EvalSymlinks(p); err == nil {
		p = real
	}
	if _, seen := r.Kept[p]; seen {
		return nil
	}
	s, b, err := look(p)
	if err == nil && s.Kind == dir {
		err = fmt.Errorf("%s is a folder", path)
	}
	if err != nil {
		return &Refused{What: err.Error()}
	}
	if s.Copy, err = r.copy("was", b, s.Kind); err != nil {
		return unwritable(r.dir, err)
	}
	if r.Kept == nil {
		r.Kept = map[string]Snap{}
	}
	r.Kept[p] = s
	return nil
}

// copy keeps content in the run's folder and returns its name there.
func (r *Run) copy(in string, b []byte, kind string) (string, error) {
	if kind != file {
		return "", nil
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, in))
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s/%04d", in, len(entries))
	return name, writeFile(filepath.Join(r.dir, name), b, 0o600)
}

// content returns what a snapshot holds, and refuses one that was damaged.
func (r *Run) content(s Snap) ([]byte, error) {
	if s.Kind != file {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(r.dir, s.Copy))
	if err == nil && sum(b) != s.SHA256 {
		err = fmt.Errorf("%s: damaged: it is not what was kept", filepath.Join(r.dir, s.Copy))
	}
	return b, err
}
