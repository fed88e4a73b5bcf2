package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/nodeset"
	"weft/internal/trial"
	"weft/internal/unit"
)

// ProofReport is a proof and how it compares with an earlier one.
type ProofReport struct {
	trial.Proof
	Against string         `json:"against,omitempty"` // the baseline's ID
	Changes []trial.Change `json:"changes,omitempty"`
	Next    string         `json:"next"`
}

// Text writes a matrix for each trial, then one line for each problem, then what is
// missing and what was left out.
func (r ProofReport) Text(w io.Writer, o Options) error {
	var b strings.Builder
	for _, id := range r.Trials {
		t, ok := trial.ByID(id)
		if !ok {
			continue
		}
		var cells []trial.Cell
		for _, c := range r.Cells {
			if c.Trial == id {
				cells = append(cells, c)
			}
		}
		writeTrial(&b, o, t, cells)
	}
	for _, p := range r.Problems {
		writeProblem(&b, o, p)
	}
	writeChanges(&b, o, r.Against, r.Changes)
	for _, line := range missing(r.Cells) {
		fmt.Fprintf(&b, "%s\n", wrap(line, o.Width, 8))
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "left out: %s\n", wrap(clean(l), o.Width, 10))
	}
	fmt.Fprintf(&b, "%s\n", r.summary())
	if r.Next != "" {
		fmt.Fprintf(&b, "next:\n    %s\n", r.Next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is one line about the whole.
func (r ProofReport) summary() string {
	counts := map[check.Status]int{}
	measured := 0
	for _, c := range r.Cells {
		if c.Got.Known() {
			measured++
		}
		counts[c.Status]++
	}
	words := []string{}
	for _, s := range []check.Status{check.Fail, check.Warn, check.Unknown, check.Pass, check.Skip} {
		if counts[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	return fmt.Sprintf("proof %s: %d of %d measured in %.0f s (%s)", clean(r.ID), measured, len(r.Cells), r.Seconds, strings.Join(words, ", "))
}

func writeTrial(b *strings.Builder, o Options, t trial.Trial, cells []trial.Cell) {
	fmt.Fprintf(b, "%s  %s\n", tint(o.Colour, "1", t.ID), t.Title)
	switch {
	case len(cells) == 0:
		b.WriteString("  nothing to measure\n")
	case t.Over == trial.Pairs:
		writeMatrices(b, o, t, cells)
	default:
		writeList(b, o, t, cells)
	}
	b.WriteString("\n")
}

// writeList writes a line for each cell of a trial that is not about pairs.
func writeList(b *strings.Builder, o Options, t trial.Trial, cells []trial.Cell) {
	for _, c := range cells {
		got, ok := c.Got.Get()
		where := c.A.String()
		if where == "" {
			where = "all nodes"
		}
		if !ok {
			fmt.Fprintf(b, "  %s  %s  %s\n", clean(where), c.Status, clean(c.Missing))
			continue
		}
		fmt.Fprintf(b, "  %s  %s  %s%s\n", clean(where), paint(o.Colour, c.Status), t.Unit.Text(got), clean(after(" of ", want(t, c))+after("; ", c.Note)+after("; ", c.Why)))
		if c.Collective != nil {
			for _, row := range c.Collective.Rows {
				if len(row.Bus) > 0 && len(row.Seconds) > 0 {
					fmt.Fprintf(b, "    %9s  %10s  %s bus bandwidth\n", unit.Size(row.Bytes), trial.Nanoseconds.Text(trial.Amount(row.Seconds[len(row.Seconds)/2]*1e9)), unit.Rate(row.Bus[len(row.Bus)/2]))
				}
			}
			for _, s := range c.Collective.Says {
				fmt.Fprintf(b, "    %s\n", wrap(clean(s), o.Width, 4))
			}
		}
	}
}

func after(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

func want(t trial.Trial, c trial.Cell) string {
	if w, ok := c.Want.Get(); ok {
		return t.Unit.Text(w)
	}
	return ""
}

func writeProblem(b *strings.Builder, o Options, p trial.Problem) {
	status := check.Fail
	if p.Status == "warn" {
		status = check.Warn
	}
	var at []string
	for _, e := range p.At {
		at = append(at, clean(e.String()))
	}
	where := strings.Join(at, " and ")
	if p.Way != "" {
		where += " " + p.Way
	}
	if where == "" {
		where = p.Kind
	}
	also := ""
	if len(p.Also) > 0 {
		also = " (also " + strings.Join(p.Also, ", ") + ")"
	}
	line := fmt.Sprintf("%s%s  %s: %s, want %s: %s", clean(p.Trial), also, where, clean(p.Got), clean(p.Want), clean(p.Why))
	fmt.Fprintf(b, "%s %s\n", paint(o.Colour, status), wrap(line, o.Width, 8))
	if len(p.Ruled) > 0 {
		fmt.Fprintf(b, "        known to be right: %s\n", wrap(clean(strings.Join(p.Ruled, "; ")), o.Width, 27))
	}
	for i, l := range p.Look {
		fmt.Fprintf(b, "        %d. %s\n", i+1, wrap(clean(l), o.Width, 11))
	}
	b.WriteString("\n")
}

func writeChanges(b *strings.Builder, o Options, against string, changes []trial.Change) {
	if against == "" {
		return
	}
	if len(changes) == 0 {
		fmt.Fprintf(b, "against proof %s: nothing changed by more than 5 %%\n", clean(against))
		return
	}
	fmt.Fprintf(b, "against proof %s:\n", clean(against))
	for _, c := range changes {
		fmt.Fprintf(b, "  %s\n", wrap(clean(c.String()), o.Width, 4))
	}
}

// missing folds the cells without a number by their reason.
func missing(cells []trial.Cell) (lines []string) {
	type key struct {
		trial, why string
		skipped    bool
	}
	nodes, count := map[key][]string{}, map[key]int{}
	var order []key
	for _, c := range cells {
		if c.Got.Known() || c.Missing == "" {
			continue
		}
		k := key{c.Trial, c.Missing, c.Skipped}
		if count[k] == 0 {
			order = append(order, k)
		}
		count[k]++
		for _, n := range []string{c.A.Node, c.B.Node} {
			if n != "" && !slices.Contains(nodes[k], n) {
				nodes[k] = append(nodes[k], n)
			}
		}
	}
	for _, k := range order {
		word := "missing"
		if k.skipped {
			word = "skip"
		}
		lines = append(lines, fmt.Sprintf("%s  %s  %s  %s: %s", word, k.trial, clean(nodeset.Fold(nodes[k])), plural(count[k], "cell"), clean(k.why)))
	}
	return lines
}

// Fell reports whether something is worse than it was, or gone.
func Fell(changes []trial.Change) bool {
	return slices.ContainsFunc(changes, trial.Change.Worse)
}

// ProofDiff is what changed between two proofs.
type ProofDiff struct {
	Was     string         `json:"was"`
	Now     string         `json:"now"`
	Changes []trial.Change `json:"changes"`
}

// Text writes a line for each change.
func (r ProofDiff) Text(w io.Writer, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "proof %s ", clean(r.Now))
	writeChanges(&b, o, r.Was, r.Changes)
	_, err := io.WriteString(w, b.String())
	return err
}
