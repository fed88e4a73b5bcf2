package journal

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// byHand is a shell script that puts back what a run changed, for a machine on which
// weft itself cannot be run.
func (r *Run) byHand() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# Puts back what weft run %s of %s changed, without weft. Run it as root.\n# Better, where weft is: %s undo --local %s\ncd %s || exit 1\n",
		r.ID, oneLine(r.Who), r.Binary, r.ID, quote(r.dir))
	paths := map[string]Snap{}
	var order []string
	for n, c := range slices.Backward(r.Changes) {
		if slices.IndexFunc(r.Changes, func(o Change) bool { return o.Path == c.Path }) == n {
			paths[c.Path] = c.Was
			order = append(order, c.Path)
		}
	}
	for path, s := range r.Kept {
		paths[path] = s
		order = append(order, path)
	}
	restore := func() {
		for _, p := range order {
			switch s := paths[p]; s.Kind {
			case file:
				fmt.Fprintf(&b, "cp %s %s && chown %d:%d %s && chmod %o %s && touch -d @%.9f %s\n", s.Copy, quote(p), s.UID, s.GID, quote(p), s.Mode, quote(p), float64(s.MTime)/float64(time.Second), quote(p))
			case symlnk:
				fmt.Fprintf(&b, "ln -sfn %s %s\n", quote(s.Link), quote(p))
			case absent:
				fmt.Fprintf(&b, "rm -f %s 2>/dev/null || rmdir %s\n", quote(p), quote(p))
			}
		}
	}
	restore()
	for _, a := range slices.Backward(r.Acts) {
		for _, line := range a.Undo {
			b.WriteString(line + "\n")
		}
	}
	if len(r.Kept) > 0 {
		restore()
	}
	fmt.Fprintf(&b, "rm -f %s %s %s %s %s\n", earlyWant, lateWant, earlyUnit, lateUnit, cronHook)
	fmt.Fprintf(&b, "printf '{\"state\":\"reverted\",\"why\":\"by hand\"}\\n' > %s\n", quote(filepath.Join(r.dir, "state")))
	return b.String()
}

// quote makes one shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
