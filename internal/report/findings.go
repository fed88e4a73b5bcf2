package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/nodeset"
)

// Findings is the answer of weft check.
type Findings struct {
	Source   string          `json:"source"` // what was judged: "this machine", "weft.yaml", a file
	Nodes    int             `json:"nodes"`
	Checks   int             `json:"checks"`
	Counts   map[string]int  `json:"counts"`
	Findings []check.Finding `json:"findings"`
	Accepted []Accepted      `json:"accepted,omitempty"`
	Next     string          `json:"next"`
}

// Accepted is a finding that the owner lives with.
type Accepted struct {
	check.Finding
	Reason string `json:"reason"`
}

// Options are how text is written.
type Options struct {
	All    bool // passes and skips too
	Full   bool // every step of a plan whole, however many are alike
	Colour bool
	Width  int // of the terminal; 0 does not wrap
}

// Fold is one problem on any number of subjects.
type Fold struct {
	check.Finding
	Subjects string // "spark[1-2] rocep1s0f0/1"
	Count    int
}

// FoldAll folds findings that say the same of several subjects, in their order.
func FoldAll(fs []check.Finding) []Fold {
	type key struct {
		check, got, want, why string
		status                check.Status
	}
	at := map[key]int{}
	var folds []Fold
	subjects := map[int][]check.Subject{}
	for _, f := range fs {
		k := key{f.Check, f.Got, f.Want, f.Why, f.Status}
		i, ok := at[k]
		if !ok {
			i = len(folds)
			at[k] = i
			folds = append(folds, Fold{Finding: f})
			folds[i].Fix = nil
		}
		folds[i].Count++
		subjects[i] = append(subjects[i], f.Subject)
		for _, fix := range f.Fix {
			if !slices.Contains(folds[i].Fix, fix) && len(folds[i].Fix) < maxFixes+1 {
				folds[i].Fix = append(folds[i].Fix, fix)
			}
		}
	}
	for i := range folds {
		folds[i].Subjects = foldSubjects(subjects[i])
	}
	return folds
}

// maxFixes is how many different fixes one folded line shows.
const maxFixes = 6

// foldSubjects writes subjects the short way: parts that occur on the same nodes
// stand together.
func foldSubjects(subjects []check.Subject) string {
	if len(subjects) == 1 {
		return subjects[0].String()
	}
	nodes := map[string][]string{} // part → nodes
	for _, s := range subjects {
		nodes[s.Part] = append(nodes[s.Part], s.Node)
	}
	parts := map[string][]string{} // folded nodes → parts
	for part, on := range nodes {
		set := nodeset.Fold(on)
		parts[set] = append(parts[set], part)
	}
	var out []string
	for set, ps := range parts {
		if len(ps) == 1 && ps[0] == "" {
			if set == "" {
				set = "cluster"
			}
			out = append(out, set)
			continue
		}
		out = append(out, strings.TrimSpace(set+" "+foldParts(ps)))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// foldParts folds mlx5_0/1 and mlx5_1/1 into mlx5_[0-1]/1.
func foldParts(parts []string) string {
	const port1 = "/1"
	var stems []string
	for _, p := range parts {
		stem, ok := strings.CutSuffix(p, port1)
		if !ok {
			slices.Sort(parts)
			return strings.Join(parts, ",")
		}
		stems = append(stems, stem)
	}
	folded := nodeset.Fold(stems)
	if strings.Contains(folded, ",") && !strings.Contains(folded, "[") {
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	return folded + port1
}

// Text writes the findings for a person.
func (r Findings) Text(w io.Writer, o Options) error {
	var b strings.Builder
	idWidth := 0
	folds := FoldAll(r.Findings)
	for _, f := range folds {
		if o.All || loud(f.Status) {
			idWidth = max(idWidth, len(f.Check))
		}
	}
	for _, f := range folds {
		if !o.All && !loud(f.Status) {
			continue
		}
		fmt.Fprintf(&b, "%s  %-*s  %s\n", paint(o.Colour, f.Status), idWidth, f.Check, wrap(clean(f.Subjects+sentence(f.Finding)), o.Width, 11+idWidth))
		if f.Status != check.Pass && f.Status != check.Skip {
			fixes(&b, f.Fix, 11+idWidth)
		}
	}
	if len(r.Accepted) > 0 {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		for _, a := range r.Accepted {
			idWidth = max(idWidth, len(a.Check))
		}
		for _, line := range foldAccepted(r.Accepted) {
			fmt.Fprintf(&b, "accepted %-*s  %s\n", idWidth, line.check, clean(line.says))
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s: %s, %s: %s\n", r.Source, plural(r.Nodes, "node"), plural(r.Checks, "check"), counts(r.Counts))
	if r.Next != "" {
		b.WriteString("next:\n    " + r.Next + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type acceptedLine struct{ check, says string }

// foldAccepted makes one line of what was accepted for the same reason.
func foldAccepted(accepted []Accepted) []acceptedLine {
	type why struct{ check, reason string }
	var order []why
	subjects := map[why][]check.Subject{}
	for _, a := range accepted {
		k := why{a.Check, a.Reason}
		if subjects[k] == nil {
			order = append(order, k)
		}
		subjects[k] = append(subjects[k], a.Subject)
	}
	var lines []acceptedLine
	for _, k := range order {
		lines = append(lines, acceptedLine{k.check, foldSubjects(subjects[k]) + ": " + k.reason})
	}
	return lines
}

func loud(s check.Status) bool { return s != check.Pass && s != check.Skip }

func fixes(b *strings.Builder, lines []string, indent int) {
	more := len(lines) > maxFixes
	if more {
		lines = lines[:maxFixes]
	}
	for i, l := range lines {
		lead := "     "
		if i == 0 {
			lead = "fix: "
		}
		fmt.Fprintf(b, "%s%s%s\n", strings.Repeat(" ", indent), lead, clean(l))
	}
	if more {
		fmt.Fprintf(b, "%s     … and more: weft check --json\n", strings.Repeat(" ", indent))
	}
}

// sentence is what a finding says after its subject.
func sentence(f check.Finding) string {
	s := ""
	if f.Got != "" {
		s += "  " + f.Got
	}
	if f.Want != "" {
		s += ", want " + f.Want
	}
	if f.Why != "" {
		if s == "" {
			return "  " + f.Why
		}
		s += ": " + f.Why
	}
	return s
}

// wrap breaks a long line between words, indenting what follows.
func wrap(s string, width, indent int) string {
	if width == 0 || width < indent+30 {
		return s
	}
	var b strings.Builder
	col := indent
	for i, word := range strings.Split(s, " ") {
		n := len([]rune(word))
		if i > 0 {
			if col+1+n > width {
				b.WriteString("\n" + strings.Repeat(" ", indent))
				col = indent
			} else {
				b.WriteByte(' ')
				col++
			}
		}
		b.WriteString(word)
		col += n
	}
	return b.String()
}

// counts writes how many findings there are of each kind, worst first.
func counts(n map[string]int) string {
	var parts []string
	for s := check.Fail; s >= check.Pass; s-- {
		if k := n[s.String()]; k > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k, s))
		}
	}
	if len(parts) == 0 {
		return "nothing was judged"
	}
	return strings.Join(parts, ", ")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// paint spells a status, and repeats it in colour where that is welcome.
func paint(colour bool, s check.Status) string {
	word := fmt.Sprintf("%-7s", s)
	code := map[check.Status]string{check.Fail: "31", check.Unknown: "35", check.Warn: "33", check.Pass: "32"}[s]
	if !colour || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}
