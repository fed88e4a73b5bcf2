package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// problems makes a problem of every thing that is to blame, whatever trials it shows in.
func (j *judge) problems(faults []fault) []Problem {
	var all []Problem
	for _, same := range merged(faults) {
		all = append(all, j.problem(same))
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Status, b.Status), cmp.Compare(b.Cells, a.Cells)) // "fail" comes before "warn"
	})
	return all
}

// merged puts faults together that blame the same thing, in the order they were found.
func merged(faults []fault) (groups [][]fault) {
	for _, f := range faults {
		i := slices.IndexFunc(groups, func(g []fault) bool { return g[0].kind == f.kind && sameEnds(g[0].at, f.at) })
		if i < 0 {
			groups = append(groups, []fault{f})
			continue
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// sameEnds reports whether two lists have the same ends, in either order.
func sameEnds(a, b []End) bool {
	return slices.Equal(a, b) || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// problem is what is known of a thing that is to blame.
func (j *judge) problem(same []fault) Problem {
	worst := same[0]
	for _, f := range same[1:] {
		if rank(f.status) > rank(worst.status) {
			worst = f
		}
	}
	p := Problem{Trial: worst.trial.ID, Status: worst.status.String(), Kind: worst.kind, At: worst.at, Way: worst.way}
	for _, f := range same {
		p.Cells += len(f.cells)
		if f.trial.ID != p.Trial && !slices.Contains(p.Also, f.trial.ID) {
			p.Also = append(p.Also, f.trial.ID)
		}
		if f.trial.ID == p.Trial && f.way != p.Way {
			p.Way = "" // sending and receiving
		}
	}
	u := worst.trial.Unit
	switch {
	case worst.got == 0:
		p.Got = cmp.Or(worst.reason, "no number")
	case len(worst.cells) < worst.of:
		p.Got = fmt.Sprintf("%s in %d of %d cells", u.Text(worst.got), len(worst.cells), worst.of)
	default:
		p.Got = u.Text(worst.got)
	}
	switch {
	case worst.want == 0:
		p.Want = "a number"
	case worst.like:
		p.Want = u.Text(worst.want) + ", as on like paths"
	default:
		p.Want = u.Text(worst.want)
	}
	return p
}
