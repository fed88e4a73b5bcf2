package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"weft/internal/check"
	"weft/internal/nodeset"
	"weft/internal/plan"
)

// PlanReport is the answer of weft plan.
type PlanReport struct {
	plan.Plan
	Short bool   // one line for each step: for who has read it before
	Next  string // the command that helps most now
}

// maxAlike is how many steps that are alike are shown whole.
const maxAlike = 3

// Text writes the plan for a person: one block for each step, however many nodes take
// it, then what is to be done by hand, then what all of it means.
func (r PlanReport) Text(w io.Writer, o Options) error {
	var b strings.Builder
	if r.Short {
		r.lines(&b)
	} else {
		r.blocks(&b, o)
	}
	r.summary(&b)
	if r.Next != "" {
		b.WriteString("next:\n    " + r.Next + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// blocks writes every step whole, and what is to be done by hand.
func (r PlanReport) blocks(b *strings.Builder, o Options) {
	for _, alike := range foldSteps(r.Steps) {
		whole := alike
		if !o.Full && len(alike) > maxAlike {
			whole = alike[:1]
		}
		for _, f := range whole {
			writeStep(b, f, o)
		}
		writeAlike(b, alike[len(whole):])
	}
	if len(r.Hand) == 0 {
		return
	}
	b.WriteString("by hand:\n")
	for _, h := range foldHands(r.Hand) {
		fmt.Fprintf(b, "  %s  %s\n", h.Check, wrap(clean(h.subjects+"  "+h.What), o.Width, 4+len(h.Check)))
		if h.Why != "" {
			fmt.Fprintf(b, "      not by weft: %s\n", wrap(clean(h.Why), o.Width, 19))
		}
		fixes(b, h.Do, 6)
	}
	b.WriteString("\n")
}

// lines writes one line for each step.
func (r PlanReport) lines(b *strings.Builder) {
	rows := [][]string{}
	for _, alike := range foldSteps(r.Steps) {
		first, nodes := alike[0], []string{}
		values := oneLine(shortValue(first.From) + " → " + shortValue(first.To))
		for _, f := range alike {
			nodes = append(nodes, f.nodes...)
			if f.From != first.From || f.To != first.To {
				values = "each its own value"
			}
		}
		rows = append(rows, []string{nodeset.Fold(nodes), oneLine(first.What), values, conditions(&first.Step)})
	}
	_ = Table(b, rows) // a Builder takes everything
	if len(rows) > 0 {
		b.WriteString("\n")
	}
}

// writeStep writes everything that a step is.
func writeStep(b *strings.Builder, f *foldedStep, o Options) {
	head := fmt.Sprintf("%s  %s  %s → %s", f.on(), oneLine(f.What), oneLine(dash(f.From)), oneLine(dash(f.To)))
	if c := conditions(&f.Step); c != "" {
		head += "  " + tint(o.Colour && f.Risk != plan.RiskNone, "33", c)
	}
	b.WriteString(head + "\n")
	labelled(b, "now:", f.Do)
	label := "boot:"
	if f.When == plan.Login {
		label = "file:"
	}
	for _, change := range f.files {
		for _, line := range strings.Split(strings.TrimSuffix(change, "\n"), "\n") {
			fmt.Fprintf(b, "    %-6s%s\n", label, paintDiff(o.Colour, keepTabs(line)))
			label = ""
		}
	}
	labelled(b, "undo:", slices.Concat(undoFiles(&f.Step), f.Undo))
	if len(f.Then) > 0 {
		labelled(b, "then:", []string{thenWords(f.Then)})
	}
	if f.Note != "" {
		fmt.Fprintf(b, "    note: %s\n", wrap(clean(f.Note), o.Width, 10))
	}
	b.WriteString("\n")
}

// writeAlike writes steps that are like the one above in a line for each value.
func writeAlike(b *strings.Builder, rest []*foldedStep) {
	if len(rest) == 0 {
		return
	}
	type change struct{ from, to string }
	on, order := map[change][]string{}, []change{}
	for _, f := range rest {
		k := change{f.From, f.To}
		if on[k] == nil {
			order = append(order, k)
		}
		on[k] = append(on[k], f.nodes...)
	}
	const shown = 8
	rows, more := [][]string{}, []string{}
	for i, k := range order {
		if i >= shown {
			more = append(more, on[k]...)
			continue
		}
		rows = append(rows, []string{"    likewise", nodeset.Fold(on[k]), oneLine(shortValue(k.from) + " → " + shortValue(k.to))})
	}
	if len(more) > 0 {
		rows = append(rows, []string{"    likewise", nodeset.Fold(more), "each its own value"})
	}
	_ = Table(b, rows) // a Builder takes everything
	b.WriteString("    the commands and files of each: weft plan --full\n\n")
}

// labelled writes lines after a word.
func labelled(b *strings.Builder, label string, all []string) {
	for _, text := range all {
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(b, "    %-6s%s\n", label, keepTabs(line))
		}
		label = ""
	}
}

// undoFiles says what becomes of files when a step is undone.
func undoFiles(s *plan.Step) (out []string) {
	for _, f := range s.Files {
		if f.Old == nil {
			out = append(out, f.Path+" goes again")
		} else {
			out = append(out, f.Path+" as it was")
		}
	}
	for _, file := range s.Keeps {
		out = append(out, file+" as it was")
	}
	for i := range out {
		out[i] = oneLine(out[i])
	}
	return out
}

func thenWords(checks []string) string {
	if len(checks) == 1 {
		return checks[0] + " passes"
	}
	return strings.Join(checks[:len(checks)-1], ", ") + " and " + checks[len(checks)-1] + " pass"
}

// conditions says what one should know of a step besides what it changes.
func conditions(s *plan.Step) string {
	var out []string
	if s.Risk != plan.RiskNone {
		out = append(out, "risk "+string(s.Risk))
	}
	switch s.When {
	case plan.Login:
		out = append(out, "from the next login on")
	case plan.Boot:
		out = append(out, "from the next boot on")
	}
	return strings.Join(out, ", ")
}

// summary says how much there is to do, at which risk, and what is left.
func (r PlanReport) summary(b *strings.Builder) {
	var on []string
	for _, s := range r.Steps {
		on = append(on, s.Node)
	}
	slices.Sort(on)
	switch nodes := len(slices.Compact(on)); {
	case nodes > 0:
		fmt.Fprintf(b, "%s: %s on %s; %s\n", cmp.Or(r.Source, "plan"), plural(len(r.Steps), "step"), plural(nodes, "node"), r.left())
	case len(r.Hand) > 0:
		fmt.Fprintf(b, "%s: nothing that weft can change; %s\n", cmp.Or(r.Source, "plan"), r.left())
	case r.After[check.Pass.String()] == 0: // judging nothing is not passing
		fmt.Fprintf(b, "%s: nothing to change: nothing was judged\n", cmp.Or(r.Source, "plan"))
	default:
		fmt.Fprintf(b, "%s: nothing to change: every check passes\n", cmp.Or(r.Source, "plan"))
	}
	for _, risk := range plan.Risks {
		n := 0
		for _, s := range r.Steps {
			if s.Risk == risk.Risk {
				n++
			}
		}
		if n > 0 {
			fmt.Fprintf(b, "risk %s (%s): %s; accept it with --accept-risk=%s\n", risk.Risk, plural(n, "step"), risk.What, risk.Risk)
		}
	}
}

// left says which findings will be there when the steps are done.
func (r PlanReport) left() string {
	loud, n := map[string]int{}, 0
	for s := check.Warn; s <= check.Fail; s++ {
		loud[s.String()] = r.After[s.String()]
		n += r.After[s.String()]
	}
	unseen := ""
	if r.Unseen > 0 {
		unseen = fmt.Sprintf(", and %s can be judged only then", plural(r.Unseen, "more finding"))
	}
	if n == 0 {
		return "afterwards every check passes" + unseen
	}
	return "left afterwards: " + counts(loud) + unseen
}

// shortValue cuts a value that is too long for a line of many.
func shortValue(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return dash(s)
}

// keepTabs is clean for a line of a file, where a tab is a tab.
func keepTabs(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
}

// paintDiff repeats the first character of a line of a diff in colour.
func paintDiff(colour bool, line string) string {
	switch {
	case line == "":
	case line[0] == '+':
		return tint(colour, "32", line)
	case line[0] == '-':
		return tint(colour, "31", line)
	}
	return line
}

func tint(colour bool, code, s string) string {
	if !colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
