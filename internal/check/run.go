package check

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"weft/internal/fact"
)

// Run judges a case with every given check. The answers are sorted: worst first,
// then in the order of the checks, then by subject. Same case, same findings.
func Run(checks []Check, c *Case) []Finding {
	c.prepare()
	results := judgeAll(checks, c)
	silence(checks, c, results)
	return merge(results)
}

// block is how many nodes are judged together by all checks that look at one node
// at a time: their facts, about 30 KiB a node, then stay in the processor's cache.
const block = 64

// judgeAll returns the findings of each check, in runs that are sorted by subject.
// Checks are pure and independent, so they work side by side.
func judgeAll(checks []Check, c *Case) [][]run {
	nodes := slices.SortedFunc(slices.Values(c.Up()), func(a, b *fact.Node) int { return strings.Compare(a.Name, b.Name) })
	blocks := (len(nodes) + block - 1) / block
	results := make([][]run, len(checks))
	var whole []int // checks that look at the cluster as a whole
	for i, ck := range checks {
		if ck.Judge != nil {
			whole = append(whole, i)
		} else {
			results[i] = make([]run, blocks)
		}
	}
	each(len(whole)+blocks, func(k int) {
		if k < len(whole) {
			ck := checks[whole[k]]
			results[whole[k]] = []run{stamp(ck.ID, ck.Judge(c), 0)}
			return
		}
		b := k - len(whole)
		here := nodes[b*block : min((b+1)*block, len(nodes))]
		for k, n := range here {
			for i, ck := range checks {
				if ck.Each == nil {
					continue
				}
				r := &results[i][b]
				old := len(r.findings)
				r.findings = ck.Each(c, n, r.findings)
				if k == 0 { // nodes are mostly alike, so the others want as much room
					r.findings = slices.Grow(r.findings, len(r.findings)*(len(here)-1))
				}
				r.add(stamp(ck.ID, r.findings, old))
			}
		}
	})
	for i, ck := range checks {
		if ck.Each != nil && !slices.ContainsFunc(results[i], func(r run) bool { return len(r.findings) > 0 }) {
			results[i] = []run{stamp(ck.ID, skip(ck.None), 0)}
		}
	}
	return results
}

// run is some findings of one check, sorted by subject, and how many there are of
// each status: counted while they are still in the cache.
type run struct {
	findings []Finding
	count    [Fail + 1]int
}

// add takes over findings that were appended to the run's own.
func (r *run) add(more run) {
	for s, n := range more.count {
		r.count[s] += n
	}
}

// stamp writes the check's ID into the findings from index from on, sorts and
// counts them.
func stamp(id string, fs []Finding, from int) run {
	r := run{findings: fs}
	fs = fs[from:]
	sorted := true
	for i := range fs {
		fs[i].Check = id
		r.count[fs[i].Status]++
		sorted = sorted && (i == 0 || compare(&fs[i-1].Subject, &fs[i].Subject) <= 0)
	}
	if !sorted {
		slices.SortStableFunc(fs, func(a, b Finding) int { return compare(&a.Subject, &b.Subject) })
	}
	return r
}

func compare(a, b *Subject) int {
	return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Part, b.Part))
}

// merge puts the answers of all checks in one order: worst first, then by check.
// There are millions in a large cluster, so each is moved once, to where it belongs.
func merge(results [][]run) []Finding {
	runs := slices.Concat(results...)
	next := make([][Fail + 1]int, len(runs)) // where the next finding of each status goes
	total := 0
	for s := Fail; s >= Pass; s-- {
		for i := range runs {
			next[i][s], total = total, total+runs[i].count[s]
		}
	}
	all := make([]Finding, total)
	each(len(runs), func(i int) {
		for fs := runs[i].findings; len(fs) > 0; {
			s, n := fs[0].Status, 1
			for n < len(fs) && fs[n].Status == s { // most pass, so most move at once
				n++
			}
			next[i][s] += copy(all[next[i][s]:], fs[:n])
			fs = fs[n:]
		}
	})
	return all
}

// each calls f for 0 to n-1 on every processor.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// silence turns findings into skips where a check they come after failed for the
// same subject or for one that contains it: a downed port silences its own
// echoes and no other port's. What is unknown of a node whose answers broke off is an
// echo of that, too: node.read says it once.
func silence(checks []Check, c *Case, results [][]run) {
	broke := map[string]bool{}
	for _, n := range c.Nodes {
		if brokeOff(n) {
			broke[n.Name] = true
		}
	}
	type at struct {
		check   string
		subject Subject
	}
	failed := map[at]bool{}
	for i, ck := range checks {
		for k := range results[i] {
			r := &results[i][k]
			if r.count[Pass]+r.count[Skip] == len(r.findings) {
				continue // nothing here is loud
			}
			for j := range r.findings {
				f := &r.findings[j]
				if f.Status == Pass || f.Status == Skip {
					continue
				}
				if f.Status == Unknown && broke[f.Subject.Node] && ck.ID != nodeRead.ID {
					r.count[Unknown]--
					r.count[Skip]++
					*f = Finding{Check: f.Check, Subject: f.Subject, Status: Skip, Why: "the node's answers broke off: see node.read"}
					continue
				}
				for _, id := range ck.After {
					if failed[at{id, f.Subject}] || failed[at{id, Subject{Node: f.Subject.Node}}] || failed[at{id, Subject{}}] {
						r.count[f.Status]--
						r.count[Skip]++
						*f = Finding{Check: f.Check, Subject: f.Subject, Status: Skip, Why: id + firstWords}
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

// Silenced reports whether a finding was skipped because another check failed first.
func Silenced(f Finding) bool { return strings.HasSuffix(f.Why, firstWords) }

const firstWords = " failed here first"

// Count returns how many findings have each status.
func Count(fs []Finding) (n [5]int) {
	for _, f := range fs {
		n[f.Status]++
	}
	return n
}
