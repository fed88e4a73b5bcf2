package plan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/nodeset"
)

// docValidator finds the first thing that makes no sense in a plan, and its place.
type docValidator struct {
	*docReader
	plan *Plan
	err  error
}

func (v *docValidator) wrong(at, format string, args ...any) {
	if v.err == nil {
		v.err = v.docReader.wrong(at, format, args...)
	}
}

// plainID is safe as a file name, whatever is made of it.
var plainID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$`)

func (v *docValidator) judge() {
	p := v.plan
	if !plainID.MatchString(p.ID) {
		v.wrong("id", "%q is no name of a plan", p.ID)
	}
	nodes := map[string]bool{}
	for i, n := range p.Nodes {
		at := fmt.Sprintf("nodes[%d]", i)
		switch {
		case !nodeset.ValidName(n.Name):
			v.wrong(at, "%q is no name of a node", n.Name)
		case nodes[n.Name]:
			v.wrong(at, "%s is there twice", n.Name)
		case hash(n.Facts) != n.Hash:
			v.wrong(at, "the facts of %s were changed after the plan was made", n.Name)
		}
		nodes[n.Name] = true
	}
	v.steps(nodes)
	for i, h := range p.Hand {
		at := fmt.Sprintf("hand[%d]", i)
		if h.Node != "" && !nodeset.ValidName(h.Node) {
			v.wrong(at, "%q is no name of a node", h.Node)
		}
		if h.Check == "" || h.What == "" {
			v.wrong(at, "want a check and what is wrong")
		}
	}
	for word := range p.After {
		if !slices.Contains(statuses, word) {
			v.wrong("after."+word, "no finding is %q", word)
		}
	}
}

// statuses are the words of findings.
var statuses = func() (words []string) {
	for s := check.Pass; s <= check.Fail; s++ {
		words = append(words, s.String())
	}
	return words
}()

// maxSeconds is the longest that a step may take: installing packages over a slow line.
const maxSeconds = 3600

func (v *docValidator) steps(nodes map[string]bool) {
	type stepAt struct{ node, what string }
	seen := map[stepAt]bool{}
	files := map[fileAt]*string{} // as the steps so far leave them
	for i, s := range v.plan.Steps {
		at := fmt.Sprintf("steps[%d]", i)
		switch key := (stepAt{s.Node, s.What}); {
		case !nodes[s.Node]:
			v.wrong(at, "node %q is not among the nodes", s.Node)
		case s.What == "":
			v.wrong(at, "a step that does not say what it changes")
		case seen[key]:
			v.wrong(at, "%s of %s is there twice", s.What, s.Node)
		case len(s.Do)+len(s.Files) == 0:
			v.wrong(at, "a step that does nothing")
		case len(s.Do) > 0 && len(s.Undo) == 0:
			v.wrong(at, "no undo")
		case s.Risk != RiskNone && !knownRisk(s.Risk):
			v.wrong(at+".risk", "there is no risk %q", s.Risk)
		case s.When != Now && s.When != Login && s.When != Boot:
			v.wrong(at+".when", "there is no time %q", s.When)
		case s.Seconds > maxSeconds:
			v.wrong(at+".seconds", "more than %d", maxSeconds)
		case strings.Contains(strings.Join(s.Do, "")+strings.Join(s.Undo, "")+s.Shows, "\x00"):
			v.wrong(at, "a command with a NUL character") // a shell cannot be given it
		default:
			seen[key] = true
			v.files(at, s, files)
		}
	}
}

// fileAt is a file of a node.
type fileAt struct{ node, path string }

// files judges the files of a step. What a step finds is what the step before it left.
func (v *docValidator) files(at string, s Step, files map[fileAt]*string) {
	here := map[string]bool{}
	for i, f := range s.Files {
		at := fmt.Sprintf("%s.files[%d]", at, i)
		left, touched := files[fileAt{s.Node, f.Path}]
		switch {
		case !plainPath(f.Path):
			v.wrong(at, "%q is not a plain absolute path", f.Path)
		case here[f.Path]:
			v.wrong(at, "%s is there twice", f.Path)
		case sameText(f.Old, f.New):
			v.wrong(at, "%s does not change", f.Path)
		case f.Mode > 0o7777:
			v.wrong(at, "%o is not a mode", f.Mode)
		case f.Link && (badTarget(f.Old) || badTarget(f.New)):
			v.wrong(at, "%s: no target of a symbolic link", f.Path)
		case touched && !sameText(f.Old, left):
			v.wrong(at, "%s is not as the step before leaves it", f.Path)
		}
		here[f.Path] = true
		files[fileAt{s.Node, f.Path}] = f.New
	}
	for i, file := range s.Keeps {
		if !plainPath(file) {
			v.wrong(fmt.Sprintf("%s.keeps[%d]", at, i), "%q is not a plain absolute path", file)
		}
		delete(files, fileAt{s.Node, file}) // a command rewrites it
	}
}

func knownRisk(risk Risk) bool {
	for _, r := range Risks {
		if r.Risk == risk {
			return true
		}
	}
	return false
}

// plainPath reports whether a path is absolute and says the same to everybody.
func plainPath(file string) bool {
	return strings.HasPrefix(file, "/") && file != "/" && path.Clean(file) == file && !strings.ContainsAny(file, "\x00\n\r")
}

func badTarget(target *string) bool {
	return target != nil && (*target == "" || strings.ContainsAny(*target, "\x00\n"))
}

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
