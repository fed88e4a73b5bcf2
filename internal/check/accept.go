package check

import (
	"slices"
	"time"

	"weft/internal/nodeset"
	"weft/internal/spec"
)

// Accepted is a finding that the owner lives with, and why.
type Accepted struct {
	Finding
	Reason string
}

// Accept takes out the findings that the owner accepted and whose day has not
// passed. Passes and skips stay: there is nothing to accept in them.
func Accept(fs []Finding, accepts []spec.Accept, now time.Time) (rest []Finding, accepted []Accepted) {
	if len(accepts) == 0 {
		return fs, nil
	}
	on := map[string][]string{}
	for _, a := range accepts {
		on[a.Nodes], _ = nodeset.Expand(a.Nodes) // checked when weft.yaml was read
	}
	for _, f := range fs {
		i := -1
		if f.Status != Pass && f.Status != Skip {
			i = slices.IndexFunc(accepts, func(a spec.Accept) bool {
				return a.Check == f.Check && !a.Over(now) && (a.Nodes == "" || slices.Contains(on[a.Nodes], f.Subject.Node))
			})
		}
		if i < 0 {
			rest = append(rest, f)
			continue
		}
		accepted = append(accepted, Accepted{f, accepts[i].Reason})
	}
	return rest, accepted
}
