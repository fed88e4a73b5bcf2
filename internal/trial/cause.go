package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
)

// problems makes a problem of every thing that is to blame, whatever trials it shows in.
func (j *judge) problems(faults []fault) []Problem {
	var all []Problem
	for _, same := range few(merged(j.pruned(faults))) {
		all = append(all, j.problem(same))
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Status, b.Status), cmp.Compare(b.Cells, a.Cells)) // "fail" comes before "warn"
	})
	return all
}

// pruned leaves out losses at ports that something larger is said of already.
func (j *judge) pruned(faults []fault) (kept []fault) {
	for _, f := range faults {
		if f.losses == 0 || !slices.ContainsFunc(faults, func(o fault) bool { return o.kind != "port" && o.kind != "pair" && j.covers(o, f.at[0]) }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// covers reports whether a fault is about something that an end is, or is a part of.
func (j *judge) covers(f fault, e End) bool {
	switch f.kind {
	case "rail":
		return f.at[0].Node == j.ss.rails[e]
	case "cluster":
		return true
	case "switch":
		return slices.ContainsFunc(f.at, func(at End) bool { return at.Node == j.ss.plugs[e].leaf })
	case "node":
		return f.at[0].Node == e.Node
	}
	return slices.Contains(f.at, e)
}

// merged puts faults together that blame the same thing, in the order they were found. A
// pair that one trial blames is the same as a port that another trial, or a counter, blames,
// when it is one of its ends.
func merged(faults []fault) (groups [][]fault) {
	for _, f := range faults {
		i := slices.IndexFunc(groups, func(g []fault) bool { return g[0].kind == f.kind && sameEnds(g[0].at, f.at) })
		if i < 0 {
			groups = append(groups, []fault{f})
			continue
		}
		groups[i] = append(groups[i], f)
	}
	for i := 0; i < len(groups); i++ {
		if groups[i][0].kind != "pair" {
			continue
		}
		k := slices.IndexFunc(groups, func(g []fault) bool {
			return g[0].kind == "port" && slices.Contains(groups[i][0].at, g[0].at[0]) &&
				slices.ContainsFunc(g, func(f fault) bool { return f.trial.ID != groups[i][0].trial.ID || f.losses > 0 })
		})
		if k >= 0 {
			groups[k] = append(groups[k], groups[i]...)
			groups = slices.Delete(groups, i, i+1)
			i--
		}
	}
	return groups
}

// mostPairs is how many bad pairs of a trial are named one by one.
const mostPairs = 16

// few makes one of the pairs that are more than anybody reads: the worst are kept, the
// others are counted.
func few(groups [][]fault) (kept [][]fault) {
	named, rest := map[string]int{}, map[string]int{} // trial → how many, where
	for _, worst := range []check.Status{check.Fail, check.Warn} {
		for _, g := range groups {
			id := g[0].trial.ID
			switch {
			case g[0].status != worst:
			case g[0].kind != "pair":
				kept = append(kept, g)
			case named[id] < mostPairs:
				named[id]++
				kept = append(kept, g)
			default:
				i, ok := rest[id]
				if !ok {
					i = len(kept)
					rest[id] = i
					g[0].kind, g[0].at, g[0].way, g[0].got, g[0].want = "cluster", nil, "", 0, 0
					g[0].reason = "nothing is common to them: many links are bad, or something disturbed the measurement; measure again when the cluster is quiet"
					g[0].wantText = "none"
					kept = append(kept, g)
					continue
				}
				f := &kept[i][0]
				f.cells = append(f.cells, g[0].cells...)
			}
		}
	}
	for _, i := range rest {
		f := &kept[i][0]
		f.of = len(f.cells)
		f.gotText = fmt.Sprintf("%d more bad pairs", len(f.cells))
	}
	return kept
}

// sameEnds reports whether two lists have the same ends, in either order.
func sameEnds(a, b []End) bool {
	return slices.Equal(a, b) || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// problem is what is known of a thing that is to blame.
func (j *judge) problem(same []fault) Problem {
	worst, thing := same[0], same[0]
	for _, f := range same[1:] {
		if rank(f.status) > rank(worst.status) || rank(f.status) == rank(worst.status) && worst.losses > 0 {
			worst = f
		}
	}
	p := Problem{Trial: worst.trial.ID, Status: worst.status.String(), Kind: thing.kind, At: thing.at, Way: wayOf(same)}
	var cells []int
	seen := map[int]bool{}
	for _, f := range same {
		for _, i := range f.cells {
			if !seen[i] {
				seen[i] = true
				cells = append(cells, i)
			}
		}
		if f.trial.ID != p.Trial && !slices.Contains(p.Also, f.trial.ID) {
			p.Also = append(p.Also, f.trial.ID)
		}
	}
	p.Cells = len(cells)
	p.Got, p.Want = worst.texts()
	j.explainWhy(&p, worst, cells)
	return p
}

// wayOf is the direction that all directed trials agree on.
func wayOf(same []fault) string {
	way, told := "", false
	for _, f := range same {
		switch {
		case !directed(f.trial) || f.kind != same[0].kind || f.losses > 0 && told:
		case !told:
			way, told = f.way, true
		case f.way != way:
			way = ""
		}
	}
	return way
}

// texts are what was seen and what should have been.
func (f *fault) texts() (got, want string) {
	u := f.trial.Unit
	switch {
	case f.gotText != "":
		got = f.gotText
	case f.got == 0:
		got = cmp.Or(f.reason, "no number")
	case len(f.cells) < f.of:
		got = fmt.Sprintf("%s in %d of %d cells", u.Text(f.got), len(f.cells), f.of)
	default:
		got = u.Text(f.got)
	}
	switch {
	case f.wantText != "":
		want = f.wantText
	case f.want == 0:
		want = "a number"
	case f.like:
		want = u.Text(f.want) + ", as on like paths"
	default:
		want = u.Text(f.want)
	}
	return got, want
}
