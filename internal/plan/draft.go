package plan

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

// Remedy makes the steps that turn findings of one check into passes. A finding that
// it can do nothing for is left to a person, with the check's own advice.
type Remedy struct {
	Check string
	Mend  func(d *draft, n *fact.Node, f check.Finding) error // n is nil for a finding about the cluster
}

// draft is a plan in the making.
type draft struct {
	*check.Case
	steps []*Step            // in the order in which they were thought of
	of    map[string][]*Step // by node
	hand  []Hand
	files map[string]map[string]*string // files as the steps so far leave them: node → path → text

	finding check.Finding // the one that is being mended
}

// notHere is the error of a remedy that does not apply: a person has to do it.
type notHere struct{ why string }

func (e notHere) Error() string { return e.why }

// byHand makes a remedy give up, with the reason for the person.
func byHand(format string, args ...any) error { return notHere{fmt.Sprintf(format, args...)} }

// errUnread is why a file cannot be edited.
var errUnread = errors.New("not read")

// read returns a file of a node as the steps so far leave it. It is not there when
// there is false. What was not read cannot be edited.
func (d *draft) read(n *fact.Node, file string) (text string, there bool, err error) {
	if now, ok := d.files[n.Name][file]; ok {
		if now == nil {
			return "", false, nil
		}
		return *now, true, nil
	}
	if !n.Settings.FilesRead {
		return "", false, fmt.Errorf("%s: %w", file, errUnread)
	}
	for _, g := range n.Gaps {
		if ok, _ := path.Match(g.Path, file); ok {
			return "", false, fmt.Errorf("%s: %s", file, g.Why)
		}
	}
	if why := n.Settings.FilesBarred[file]; why != "" {
		return "", false, fmt.Errorf("%s: %s", file, why)
	}
	text, there = n.Settings.Files[file]
	return text, there, nil
}

// write is the change that makes a file hold text.
func (d *draft) write(n *fact.Node, file, text string) (File, error) {
	old, there, err := d.read(n, file)
	if err != nil {
		return File{}, err
	}
	f := File{Path: file, New: &text}
	if there {
		f.Old = &old
	}
	return f, nil
}

// link is a symbolic link that must not be there yet.
func link(file, target string) File { return File{Path: file, New: &target, Link: true} }

// add takes a step into the plan. A step for the same fact of the same node is there
// once, and then also passes this finding's check.
func (d *draft) add(n *fact.Node, s Step) {
	s.Node = n.Name
	if len(s.Then) == 0 {
		s.Then = []string{d.finding.Check}
	}
	for _, old := range d.of[s.Node] {
		if old.What == s.What {
			for _, id := range s.Then {
				if !slices.Contains(old.Then, id) {
					old.Then = append(old.Then, id)
				}
			}
			return
		}
	}
	d.leaves(n.Name, s.Files)
	d.steps, d.of[s.Node] = append(d.steps, &s), append(d.of[s.Node], &s)
}

// leaves notes how a step leaves files.
func (d *draft) leaves(node string, files []File) {
	for _, f := range files {
		if d.files[node] == nil {
			d.files[node] = map[string]*string{}
		}
		d.files[node][f.Path] = f.New
	}
}

// drop takes back the steps from one on.
func (d *draft) drop(from int) {
	for _, s := range d.steps[from:] {
		d.of[s.Node] = d.of[s.Node][:len(d.of[s.Node])-1]
	}
	for _, s := range d.steps[from:] {
		delete(d.files, s.Node)
		for _, left := range d.of[s.Node] {
			d.leaves(s.Node, left.Files)
		}
	}
	d.steps = d.steps[:from]
}

// has reports whether the plan changes a fact of a node already.
func (d *draft) has(n *fact.Node, what string) bool {
	return slices.ContainsFunc(d.of[n.Name], func(s *Step) bool { return s.What == what })
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quote makes one shell word, whatever it holds: names come from nodes.
func quote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// sh writes a shell line. Every string among the arguments becomes one word.
func sh(format string, args ...any) string {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = quote(s)
		}
	}
	return fmt.Sprintf(format, args...)
}
