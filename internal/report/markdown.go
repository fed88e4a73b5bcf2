package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Markdown writes the document for an issue, a chat or a wiki: CommonMark with tables.
// It has no drawings; the tables say the same.
func (d Document) Markdown(w io.Writer) error {
	p := pageOf(d)
	m := &markdown{}
	m.head(1, p.Title)
	m.line("%s", bold(p.Level)+": "+md(p.Verdict))
	for _, f := range p.Facts {
		m.line("- %s: %s", md(f[0]), md(f[1]))
	}
	m.head(2, "Links and what limits them")
	rows := [][]string{{"Rail", "Switch", "Ports", "State", "Rate", "RDMA should reach", "Limited by"}}
	for _, l := range p.Links {
		rows = append(rows, []string{l.Rail, l.Switch, l.Ports, l.Class, l.Rate, l.Want, l.Why})
	}
	m.table(rows, "No data port is known.")
	if len(p.Switches) > 0 {
		m.head(2, "Between switches")
		rows := [][]string{{"Switch", "Joined to", "Cables to each"}}
		for _, r := range p.Switches {
			rows = append(rows, r[:])
		}
		m.table(rows, "")
	}
	m.head(2, "Findings")
	m.line("%s", md(counts(d.Check.Counts)))
	for _, f := range p.Loud {
		m.head(3, f.Class+" "+f.Check+" "+f.Subjects)
		m.finding(f)
	}
	if p.MoreLoud > 0 {
		m.line("\n… and %d more: `weft check`", p.MoreLoud)
	}
	if len(p.Accepted) > 0 {
		m.head(3, "Accepted by the owner")
		for _, a := range p.Accepted {
			m.line("- %s: %s", md(a.Check), md(a.Says))
		}
	}
	if p.Proof != nil {
		m.proof(p.Proof)
	}
	if p.Forecast != nil {
		m.head(2, "Forecast")
		m.line("%s", md(p.Forecast.Head))
		m.table(slices.Concat([][]string{{"Layout", "Tokens/s", "Range", "First token", "A rank holds", "Limit"}}, p.Forecast.Rows), "")
		for _, s := range p.Forecast.Says {
			m.line("- %s", md(s))
		}
	}
	if p.Token != nil {
		m.token(p.Token)
	}
	if p.Sync != nil {
		m.head(2, "Rehearsal")
		m.line("%s\n", md(p.Sync.Head))
		m.table(slices.Concat([][]string{{"Exchange", "Over", "In a token", "Median", "p99"}}, p.Sync.Rows), "")
		for _, x := range slices.Concat(p.Sync.Says, p.Sync.Left) {
			m.line("- %s", md(x))
		}
	}
	if p.Serving != nil {
		m.head(2, "Serving")
		m.line("%s\n", md(p.Serving.Head))
		m.table(slices.Concat([][]string{{"At once", "Requests", "Failed", "Tokens/s", "Of each", "Forecast of each", "First token ms", "p99", "A token ms", "p99"}}, p.Serving.Rows), "")
	}
	if p.Since != nil {
		m.since(p.Since)
	}
	m.head(2, "Nodes")
	rows = [][]string{{"Node", "Machine", "System", "Kernel", "Memory", "GPUs", "Data ports up"}}
	for _, n := range d.Nodes {
		up := fmt.Sprintf("%d of %d", n.PortsUp, n.Ports)
		if n.Down != "" {
			up = "unknown: " + n.Down
		}
		rows = append(rows, []string{n.Name, n.Machine, n.OS, n.Kernel, n.Memory, n.GPUs, up})
	}
	m.table(rows, "")
	if len(d.Lacks) > 0 {
		m.head(2, "Not in this report")
		for _, l := range d.Lacks {
			m.line("- %s: %s", md(l.What+after(": ", l.Why)), code(l.Next))
		}
	}
	m.line("")
	m.line("Written by weft %s on %s.", md(d.Weft), md(d.Made))
	_, err := io.WriteString(w, cleanMarkup(m.String()))
	return err
}

// markdown is a text under way.
type markdown struct{ strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

func (m *markdown) head(level int, text string) {
	if m.Len() > 0 {
		m.WriteString("\n")
	}
	m.line("%s %s\n", strings.Repeat("#", level), md(text))
}

// table writes rows, the first of which is the heading, or what to say when there are none.
func (m *markdown) table(rows [][]string, none string) {
	if len(rows) < 2 {
		if none != "" {
			m.line("%s", md(none))
		}
		return
	}
	for i, r := range rows {
		cells := make([]string, len(r))
		for j, c := range r {
			cells[j] = md(cmp.Or(c, "–"))
		}
		m.line("| %s |", strings.Join(cells, " | "))
		if i == 0 {
			m.line("|%s", strings.Repeat("---|", len(r)))
		}
	}
}

func (m *markdown) finding(f findingView) {
	for _, x := range [][2]string{{"should be", f.Title}, {"got", f.Got}, {"want", f.Want}, {"why", f.Why}} {
		if x[1] != "" {
			m.line("- %s: %s", x[0], md(x[1]))
		}
	}
	for _, fix := range f.Fix {
		m.line("- fix: %s", code(fix))
	}
	if f.More {
		m.line("- and more: `weft check --json`")
	}
}

func (m *markdown) proof(p *proofView) {
	m.head(2, "Proof")
	m.line("%s", md(p.Head))
	for _, x := range p.Problems {
		m.head(3, x.Class+" "+x.Trial+" "+x.Where)
		for _, y := range [][2]string{{"got", x.Got}, {"want", x.Want}, {"why", x.Why}, {"also", x.Also}, {"known to be right", x.Ruled}} {
			if y[1] != "" {
				m.line("- %s: %s", y[0], md(y[1]))
			}
		}
		for i, l := range x.Look {
			m.line("- look %d: %s", i+1, md(l))
		}
	}
	for _, t := range p.Trials {
		m.head(3, t.ID+": "+t.Title)
		for _, h := range t.Heat {
			m.line("%s\n", md(h.Title))
			if len(h.Rows) > 0 {
				rows := [][]string{append([]string{""}, h.Full...)}
				for _, r := range h.Rows {
					row := []string{r.Name}
					for _, c := range r.Cells {
						row = append(row, c.Text)
					}
					rows = append(rows, row)
				}
				m.table(rows, "")
			}
			if len(h.Worst) > 0 {
				rows := [][]string{{"Pair", "Answer", "Got", "Want", "Why"}}
				for _, x := range h.Worst {
					rows = append(rows, []string{x.Pair, x.Class, x.Got, x.Want, x.Why})
				}
				m.table(rows, "")
			}
			m.line("\n%s\n", md(h.Foot))
		}
		rows := [][]string{{"Where", "Answer", "Got", "Want", "Note"}}
		for _, x := range t.List {
			rows = append(rows, []string{x.Where, x.Class, x.Got, x.Want, x.Note})
		}
		m.table(rows, "")
	}
	for _, x := range slices.Concat(p.Missing, p.Left) {
		m.line("- left out: %s", md(x))
	}
	if p.Against != "" {
		m.head(3, "Against proof "+p.Against)
		for _, c := range p.Changes {
			m.line("- %s: %s", md(c.Kind), md(c.Text))
		}
		if len(p.Changes) == 0 {
			m.line("Nothing changed by more than 5 %%.")
		}
	}
}

func (m *markdown) token(t *tokenView) {
	m.head(2, "One token")
	m.line("%s", md(t.Head))
	m.line("%s\n", md(t.Sub))
	rows := [][]string{{"Part", "Time", "Rests on", "What it is"}}
	for _, p := range t.Parts {
		rows = append(rows, []string{p.Name, p.Ms, p.Basis, p.Why})
	}
	m.table(append(rows, []string{"in all", t.Total, "", ""}), "")
	for _, c := range t.Causes {
		m.line("- %s %s %s: %s: %s", c.Class, md(c.Check), md(c.On), md(c.Got), md(c.Cost))
		for _, f := range c.Fix {
			m.line("  - fix: %s", code(f))
		}
	}
	rows = [][]string{{"Change", "Effect", "Tokens/s", "Times", "How"}}
	for _, c := range t.Changes {
		rows = append(rows, []string{c.What, c.Effect, c.Rate, c.Times, c.How})
	}
	m.line("")
	m.table(rows, "")
}

func (m *markdown) since(s *sinceView) {
	m.head(2, "What changed")
	m.line("since %s\n", md(s.Head))
	for _, f := range s.New {
		m.line("- new: %s %s %s %s", f.Class, md(f.Check), md(f.Subjects), md(f.Got))
	}
	for _, f := range s.Gone {
		m.line("- settled: %s %s, was %s", md(f.Check), md(f.Subjects), md(f.Got))
	}
	rows := [][]string{{"Nodes", "Fact", "Was", "Is"}}
	for _, c := range s.Rows {
		rows = append(rows, []string{c.Nodes, c.Path, c.From, c.To})
	}
	m.line("")
	m.table(rows, "")
	switch {
	case s.More > 0:
		m.line("\n… and %d more: weft diff", s.More)
	case len(s.Rows)+len(s.New)+len(s.Gone) == 0:
		m.line("Nothing changed.")
	}
}

// md makes a text of it that Markdown shows as it is: every ASCII mark that could begin
// or end something has a backslash before it (CommonMark 0.31, section 2.4), and what is
// between words is one blank. What a table of GitHub's takes for a cell's end is among the
// marks. What GitHub looks for in text that is already read, people (@) and issues (#1),
// no backslash hides: it stands as code.
func md(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		rest := s[i+n:]
		switch {
		case r == '@' || r == '#' && rest != "" && digits(rest[:1]):
			n = len(s[i:]) - len(strings.TrimLeft(s[i:], string(r)))
			b.WriteString("`" + s[i:i+n] + "`")
		case strings.ContainsRune("\\`*_{}[]<>#|!~$^&", r),
			strings.ContainsRune("+-=", r) && i == 0,                                                     // a list, a heading
			(r == '.' || r == ')') && i > 0 && i < 10 && digits(s[:i]) && (rest == "" || rest[0] == ' '), // a list
			r == ':' && strings.HasPrefix(rest, "//"),                                                    // no address becomes a link
			r == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func bold(s string) string { return "**" + md(s) + "**" }

// code makes a code span of it: fenced by one backtick more than it holds in a row.
func code(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	most, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	fence := strings.Repeat("`", most+1)
	if most > 0 {
		return fence + " " + s + " " + fence
	}
	return fence + cmp.Or(s, " ") + fence
}
