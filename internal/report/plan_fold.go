package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/diff"
	"weft/internal/nodeset"
	"weft/internal/plan"
)

// foldedStep is one step on any number of nodes: everything but the node is equal, and
// files change in the same way.
type foldedStep struct {
	plan.Step
	nodes []string
	files []string // what happens to each file: a unified diff, or a link
}

func (f *foldedStep) on() string { return nodeset.Fold(f.nodes) }

// foldSteps folds equal steps, and puts side by side those that are alike: they change
// the same thing on each node, with values of its own, as addresses are.
func foldSteps(steps []plan.Step) (groups [][]*foldedStep) {
	byText, byKind := map[string]*foldedStep{}, map[string]int{}
	for _, s := range steps {
		f := &foldedStep{Step: s}
		for _, file := range s.Files {
			f.files = append(f.files, fileChange(file))
		}
		text, kind := f.keys()
		if old, ok := byText[text]; ok {
			old.nodes = append(old.nodes, s.Node)
			continue
		}
		f.nodes = []string{s.Node}
		byText[text] = f
		i, ok := byKind[kind]
		if !ok {
			i = len(groups)
			byKind[kind] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// keys are equal for equal steps, and for steps that are alike.
func (f *foldedStep) keys() (text, kind string) {
	s := f.Step
	s.Node, s.Files = "", nil
	text = key(s, f.files)
	var paths []string
	for _, file := range f.Files {
		paths = append(paths, file.Path)
	}
	return text, key(s.What, s.Risk, s.When, s.Then, paths, len(s.Do), len(s.Undo))
}

func key(parts ...any) string {
	b, err := json.Marshal(parts)
	if err != nil {
		panic("a step cannot be written as JSON: " + err.Error()) // it is plain data
	}
	return string(b)
}

// fileChange is what a step does to a file.
func fileChange(f plan.File) string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if f.Link {
		return fmt.Sprintf("link %s: %s → %s\n", f.Path, dash(text(f.Old)), dash(text(f.New)))
	}
	d := diff.Unified(f.Path, text(f.Old), text(f.New), f.Old != nil, f.New != nil)
	if f.Old == nil && f.Mode != 0 {
		d += fmt.Sprintf("mode %04o\n", f.Mode)
	}
	return d
}

// foldedHand is the same thing to do by hand in any number of places.
type foldedHand struct {
	plan.Hand
	subjects string
}

func foldHands(hands []plan.Hand) (out []foldedHand) {
	at := map[string]int{}
	subjects := [][]check.Subject{}
	for _, h := range hands {
		k := key(h.Check, h.What, h.Why)
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			first := h
			first.Do = nil
			out, subjects = append(out, foldedHand{Hand: first}), append(subjects, nil)
		}
		subjects[i] = append(subjects[i], check.Subject{Node: h.Node, Part: h.Part})
		for _, do := range h.Do {
			if !slices.Contains(out[i].Do, do) && len(out[i].Do) < maxFixes+1 {
				out[i].Do = append(out[i].Do, do)
			}
		}
	}
	for i := range out {
		out[i].subjects = foldSubjects(subjects[i])
	}
	return out
}

// oneLine makes one line of a value.
func oneLine(s string) string { return clean(strings.ReplaceAll(s, "\n", "⏎")) }
