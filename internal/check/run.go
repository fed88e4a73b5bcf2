package check

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Run judges a case with every given check. The answers are sorted: worst first,
// then in the order of the checks, then by subject. Same case, same findings.
func Run(checks []Check, c *Case) []Finding {
	c.prepare()
	results := make([][]Finding, len(checks))
	// Checks are pure and independent, so they may run side by side.
	var wg sync.WaitGroup
	work := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range work {
				results[i] = checks[i].Judge(c)
				for j := range results[i] {
					results[i][j].Check = checks[i].ID
				}
			}
		})
	}
	for i := range checks {
		work <- i
	}
	close(work)
	wg.Wait()
	silence(checks, results)
	return merge(results)
}

// merge puts the answers of all checks in one order: worst first, then by check,
// then by subject. Passes outnumber the rest a thousand to one in a large cluster,
// so they are moved once and not sorted against everything else.
func merge(results [][]Finding) []Finding {
	total := 0
	for i, fs := range results {
		total += len(fs)
		bySubject := func(a, b Finding) int {
			return cmp.Or(strings.Compare(a.Subject.Node, b.Subject.Node), strings.Compare(a.Subject.Part, b.Subject.Part))
		}
		if !slices.IsSortedFunc(fs, bySubject) {
			slices.SortStableFunc(results[i], bySubject)
		}
	}
	all := make([]Finding, 0, total)
	for s := Fail; s >= Pass; s-- {
		for _, fs := range results {
			for j := range fs {
				if fs[j].Status == s {
					all = append(all, fs[j])
				}
			}
		}
	}
	return all
}

// silence turns findings into skips where a check they come after failed for the
// same subject or for one that contains it: a downed port silences its own
// echoes and no other port's.
func silence(checks []Check, results [][]Finding) {
	type at struct {
		check   string
		subject Subject
	}
	failed := map[at]bool{}
	for i, ck := range checks {
		for j := range results[i] {
			f := &results[i][j]
			if f.Status == Pass || f.Status == Skip {
				continue
			}
			for _, id := range ck.After {
				if failed[at{id, f.Subject}] || failed[at{id, Subject{Node: f.Subject.Node}}] || failed[at{id, Subject{}}] {
					*f = Finding{Check: f.Check, Subject: f.Subject, Status: Skip, Why: id + " failed here first"}
					break
				}
			}
			if f.Status == Fail {
				failed[at{ck.ID, f.Subject}] = true
			}
		}
	}
}

// Count returns how many findings have each status.
func Count(fs []Finding) (n [5]int) {
	for _, f := range fs {
		n[f.Status]++
	}
	return n
}
