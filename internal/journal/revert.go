package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/diff"
)

// revert puts everything back: files first, then commands, last act first. It is safe
// to call again at any time.
func (j *Journal) revert(r *Run, why string, begun int) error {
	r.logf("reverting: %s", why)
	if err := r.set(State{State: Reverting, Why: why, Act: begun}); err != nil {
		r.logf("state: %v", err) // the way back needs no space; go on
	}
	j.point("reverting")
	// The supervisor may have been told to stop, and still has to do this.
	ctx := context.Background()
	r.restore()
	j.point("restored")
	var left []string
	for i, a := range slices.Backward(r.Acts[:begun]) {
		left = append(left, r.undo(ctx, a)...)
		j.point(fmt.Sprintf("undone %d", i+1))
	}
	stuck := r.restore() // commands may have rewritten what was back already
	left = append(left, r.unlike(ctx, r.begunValues(begun))...)
	return j.reverted(r, why, stuck, left)
}

// reverted writes the end of a revert down.
func (j *Journal) reverted(r *Run, why string, stuck, left []string) error {
	s := State{State: Reverted, Why: why, Left: left}
	if len(stuck) > 0 {
		s.State, s.Left = Stuck, append(stuck, left...)
	}
	for _, l := range s.Left {
		r.logf("not as it was: %s", l)
	}
	if err := r.set(s); err != nil {
		return err
	}
	r.logf("%s", s.State)
	j.point("reverted")
	if s.State == Reverted {
		j.tidy(r)
	}
	return nil
}

// undo runs the lines that take one act back and returns what did not work.
func (r *Run) undo(ctx context.Context, a Act) (left []string) {
	for _, line := range a.Undo {
		r.logf("$ %s", line)
		out, err := run(ctx, line, time.Duration(a.Seconds)*time.Second)
		r.logf("%s%v", out, cmp.Or(err, errors.New("ok")))
		if err != nil {
			left = append(left, fmt.Sprintf("%s: %s: %v", a.What, line, err))
		}
	}
	return left
}

// restore makes every file what it was, and returns what it could not.
func (r *Run) restore() (stuck []string) {
	for n, c := range slices.Backward(r.Changes) {
		if slices.IndexFunc(r.Changes, func(o Change) bool { return o.Path == c.Path }) != n {
			continue // an earlier change knows what was there
		}
		if err := r.back(n, c); err != nil {
			stuck = append(stuck, err.Error())
		}
	}
	for path, s := range r.Kept {
		if ok, err := same(path, s); ok && err == nil {
			continue
		}
		if err := r.bring(path, staged(path, r.ID, keptTag), s); err != nil {
			stuck = append(stuck, err.Error())
		}
	}
	return stuck
}

// back makes one path what it was. What somebody else wrote into it meanwhile stays.
func (r *Run) back(n int, c Change) error {
	if ok, err := same(c.Path, c.Was); ok || err != nil {
		return err
	}
	is, b, err := look(c.Path)
	if err != nil {
		return err
	}
	if is.Kind == dir {
		r.unstage(c.Path)
	}
	ours := is.Kind == absent || is.Kind == dir || c.Loose
	for _, o := range r.Changes {
		ours = ours || o.Path == c.Path && is.Kind == o.Will.Kind && is.SHA256 == o.Will.SHA256 && is.Link == o.Will.Link || is.Kind == file && is.SHA256 == c.Was.SHA256
	}
	if !ours {
		return r.merge(c, is, b)
	}
	back := staged(c.Path, r.ID, backTag(n))
	if s, _, err := look(back); err == nil && s.Kind == file && s.SHA256 == c.Was.SHA256 {
		return put(c.Path, back, c.Was)
	}
	return r.bring(c.Path, back, c.Was)
}

// bring stages a snapshot from the run's folder and puts it in place.
func (r *Run) bring(path, tmp string, s Snap) error {
	b, err := r.content(s)
	if err == nil {
		err = stage(tmp, s, b)
	}
	if err == nil {
		err = put(path, tmp, s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// merge takes weft's lines out of a file that somebody has edited since, and leaves
// theirs. Where the two cannot be told apart the file stays as it is.
func (r *Run) merge(c Change, is Snap, b []byte) error {
	text, err := r.merged(c, b)
	if err != nil {
		return err
	}
	to := is
	to.MTime, to.SHA256 = 0, sum([]byte(text))
	tmp := staged(c.Path, r.ID, mergedTag)
	if err := stage(tmp, to, []byte(text)); err != nil {
		return err
	}
	r.logf("%s: edited meanwhile: merged", c.Path)
	return put(c.Path, tmp, to)
}

// merged is a file without weft's changes and with everybody else's.
func (r *Run) merged(c Change, now []byte) (string, error) {
	last := c.Will
	for _, o := range r.Changes {
		if o.Path == c.Path {
			last = o.Will
		}
	}
	wrote, err := r.content(last)
	if err != nil {
		return "", err
	}
	was, err := r.content(c.Was)
	if err != nil {
		return "", err
	}
	text, conflicts := diff.Merge(string(wrote), string(now), string(was))
	if len(conflicts) > 0 || last.Kind != file || c.Was.Kind != file {
		at := ""
		if len(conflicts) > 0 {
			at = fmt.Sprintf(" (line %d of what weft wrote)", conflicts[0].Line)
		}
		return "", fmt.Errorf("%s: somebody has edited it since%s: it stays as it is; what was there before weft is in %s", c.Path, at, r.dir+"/"+cmp.Or(c.Was.Copy, "run.json"))
	}
	return text, nil
}

// begunValues are the values of the acts that were begun.
func (r *Run) begunValues(begun int) map[string]string {
	values := map[string]string{}
	for _, a := range r.Acts[:begun] {
		if a.Shows != "" {
			values[a.Shows] = r.Values[a.Shows]
		}
	}
	return values
}

// unlike waits until lines show the values they should, and says which do not.
func (r *Run) unlike(ctx context.Context, values map[string]string) (left []string) {
	end := time.Now().Add(settle)
	for i, a := range r.Acts {
		want, ok := values[a.Shows]
		if !ok || slices.ContainsFunc(r.Acts[:i], func(b Act) bool { return b.Shows == a.Shows }) {
			continue
		}
		for {
			is, err := run(ctx, a.Shows, time.Minute)
			if err == nil && is == want {
				break
			}
			if time.Now().After(end) {
				left = append(left, fmt.Sprintf("%s is %q, was %q", a.What, oneLine(is), oneLine(want)))
				break
			}
			time.Sleep(300 * time.Millisecond)
		}
	}
	return left
}

func oneLine(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ")
	return s[:min(len(s), 200)]
}

// tidy takes away what a run needed only while it was open.
func (j *Journal) tidy(r *Run) {
	r.unstage("")
	j.unhook()
	if j.systemd() && j.Root == "" {
		exec.Command("systemctl", "stop", "--no-block", guardUnit(r.ID)+".timer").Run()
	}
}

// unstage removes what was staged in a folder, or everywhere.
func (r *Run) unstage(in string) {
	for n, c := range r.Changes {
		if in == "" || in == filepath.Dir(c.Path) {
			os.Remove(staged(c.Path, r.ID, newTag(n)))
			os.Remove(staged(c.Path, r.ID, backTag(n)))
		}
	}
}
