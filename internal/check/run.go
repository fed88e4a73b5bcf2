package check

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"weft/internal/fact"
)

// Run judges a case with every given check. The answers are sorted: worst first,
// then in the order of the checks, then by subject. Same case, same findings.
func Run(checks []Check, c *Case) []Finding {
	c.prepare()
	results := judgeAll(checks, c)
	silence(checks, results)
	return merge(results)
}

// block is how many nodes are judged together by all checks that look at one node
// at a time: their facts, about 30 KiB a node, then stay in the processor's cache.
const block = 64

// judgeAll returns the findings of each check, in runs that are sorted by subject.
// Checks are pure and independent, so they work side by side.
func judgeAll(checks []Check, c *Case) [][][]Finding {
	nodes := slices.SortedFunc(slices.Values(c.Up()), func(a, b *fact.Node) int { return strings.Compare(a.Name, b.Name) })
	blocks := (len(nodes) + block - 1) / block
	results := make([][][]Finding, len(checks))
	var wg sync.WaitGroup
	work := make(chan func())
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for f := range work {
				f()
			}
		})
	}
	for i, ck := range checks {
		if ck.Judge == nil {
			results[i] = make([][]Finding, blocks)
			continue
		}
		work <- func() { results[i] = [][]Finding{stamp(ck.ID, ck.Judge(c))} }
	}
	for b := range blocks {
		work <- func() {
			here := nodes[b*block : min((b+1)*block, len(nodes))]
			for k, n := range here {
				for i, ck := range checks {
					if ck.Each != nil {
						old := results[i][b]
						all := ck.Each(c, n, old)
						stamp(ck.ID, all[len(old):])
						if k == 0 { // nodes are mostly alike, so the others want as much room
							all = slices.Grow(all, len(all)*(len(here)-1))
						}
						results[i][b] = all
					}
				}
			}
		}
	}
	close(work)
	wg.Wait()
	for i, ck := range checks {
		if ck.Each != nil && !slices.ContainsFunc(results[i], func(fs []Finding) bool { return len(fs) > 0 }) {
			results[i] = [][]Finding{stamp(ck.ID, skip(ck.None))}
		}
	}
	return results
}

// stamp writes the check's ID into its findings and sorts them by subject.
func stamp(id string, fs []Finding) []Finding {
	bySubject := func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Subject.Node, b.Subject.Node), strings.Compare(a.Subject.Part, b.Subject.Part))
	}
	if !slices.IsSortedFunc(fs, bySubject) {
		slices.SortStableFunc(fs, bySubject)
	}
	for i := range fs {
		fs[i].Check = id
	}
	return fs
}

// merge puts the answers of all checks in one order: worst first, then by check.
// There are millions in a large cluster, so each is moved once, to where it belongs.
func merge(results [][][]Finding) []Finding {
	var count [Fail + 1]int
	for _, runs := range results {
		for _, fs := range runs {
			for j := range fs {
				count[fs[j].Status]++
			}
		}
	}
	var next [Fail + 1]int // where the next finding of each status goes
	total := 0
	for s := Fail; s >= Pass; s-- {
		next[s], total = total, total+count[s]
	}
	all := make([]Finding, total)
	for _, runs := range results {
		for _, fs := range runs {
			for j := range fs {
				s := fs[j].Status
				all[next[s]] = fs[j]
				next[s]++
			}
		}
	}
	return all
}

// silence turns findings into skips where a check they come after failed for the
// same subject or for one that contains it: a downed port silences its own
// echoes and no other port's.
func silence(checks []Check, results [][][]Finding) {
	type at struct {
		check   string
		subject Subject
	}
	failed := map[at]bool{}
	for i, ck := range checks {
		for _, fs := range results[i] {
			for j := range fs {
				f := &fs[j]
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
}

// Count returns how many findings have each status.
func Count(fs []Finding) (n [5]int) {
	for _, f := range fs {
		n[f.Status]++
	}
	return n
}
