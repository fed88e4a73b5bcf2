package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/compat"
)

// Compat is the answer of weft compat.
type Compat struct {
	Source string        `json:"source,omitempty"` // the cluster that was judged; "" when none was
	Asked  string        `json:"asked"`            // the question in words
	Model  *compat.Model `json:"model,omitempty"`
	compat.Reply
	Why  string `json:"why"` // the verdict in words
	Next string `json:"next"`

	Whole bool `json:"-"` // a cluster was judged against everything
}

// Text writes the matrix for a person: what the same source says of several things
// in the same words is one line. Of a whole cluster, what weft.yaml asks for comes
// first and in words; the rest is told shortly unless all is wanted.
func (r Compat) Text(w io.Writer, o Options) error {
	p := compatPage{o: o, short: r.Whole && !o.All}
	if r.Asked != "" {
		fmt.Fprintf(&p.b, "%s\n\n", clean(r.Asked))
	}
	if r.Whole {
		p.asked(r.Cells)
	}
	for _, table := range []struct {
		id   string
		name func(compat.Cell) string
	}{
		{compat.GPUFeature, func(c compat.Cell) string { return c.Feature }},
		{compat.GPUQuant, nil},
		{compat.KernelROCm, kernelName},
		{compat.NICOS, func(c compat.Cell) string { return c.OS }},
		{compat.NICFeature, func(c compat.Cell) string { return c.Feature }},
	} {
		cells := slices.DeleteFunc(slices.Clone(r.Cells), func(c compat.Cell) bool {
			return c.Table != table.id || r.Whole && c.Asked && c.Table != compat.GPUQuant
		})
		switch {
		case len(cells) == 0:
		case table.id == compat.GPUQuant:
			p.quants(cells, r.Whole)
		default:
			p.lines(cells, table.name)
		}
	}
	p.sources()
	fmt.Fprintf(&p.b, "%s: %s\n", verdictWord(o.Colour, r.Verdict, 0), clean(r.Why))
	if p.short && len(r.Cells) > 0 {
		p.b.WriteString("why and where from, for every cell: --all, or --json\n")
	}
	if r.Next != "" {
		p.b.WriteString("next:\n    " + clean(r.Next) + "\n")
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// compatPage writes sections and remembers the sources that they name.
type compatPage struct {
	o     Options
	short bool // names alone where nothing was asked
	b     strings.Builder
	cited []string
}

// cite numbers a source: " [3]".
func (p *compatPage) cite(c compat.Cell) string {
	if c.Source == "" {
		return ""
	}
	s := c.Source + ": " + c.Where
	if c.Date != "" {
		s += ", " + c.Date
	}
	i := slices.Index(p.cited, s)
	if i < 0 {
		i = len(p.cited)
		p.cited = append(p.cited, s)
	}
	return fmt.Sprintf(" [%d]", i+1)
}

func (p *compatPage) sources() {
	for i, s := range p.cited {
		fmt.Fprintf(&p.b, "[%d] %s\n", i+1, wrap(clean(s), p.o.Width, 4))
	}
	if len(p.cited) > 0 {
		p.b.WriteString("\n")
	}
}

// asked writes what counts for the verdict on a cluster.
func (p *compatPage) asked(cells []compat.Cell) {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c compat.Cell) bool { return !c.Asked })
	if len(cells) == 0 {
		return
	}
	short := p.short
	p.short = false
	worstFirst := func(cells []compat.Cell, name func(compat.Cell) string) {
		for _, answer := range slices.Backward(compat.Answers) {
			p.answers(cells, answer, "  ", name)
		}
		p.b.WriteString("\n")
	}
	quant := func(c compat.Cell) bool { return c.Table == compat.GPUQuant }
	quants := slices.DeleteFunc(slices.Clone(cells), func(c compat.Cell) bool { return !quant(c) })
	for _, k := range distinct(quants, quantHead) {
		fmt.Fprintf(&p.b, "%s\n", clean(k))
		worstFirst(slices.DeleteFunc(slices.Clone(quants), func(c compat.Cell) bool { return quantHead(c) != k }), quantName(nil))
	}
	if rest := slices.DeleteFunc(cells, quant); len(rest) > 0 {
		if len(quants) > 0 {
			p.b.WriteString("what else counts here\n")
		} else {
			p.b.WriteString("what counts here\n")
		}
		worstFirst(rest, askedName)
	}
	p.short = short
}

// quantHead is what is asked of a cluster's engines: "MoE awq on gfx1151 (n[1-2])".
func quantHead(c compat.Cell) string {
	return kindWord(c.Model) + " " + c.Quant + " on " + c.GPU + " (" + c.Nodes + ")"
}

// askedName says what a cell of a cluster is about, with its nodes.
func askedName(c compat.Cell) string {
	s := ""
	switch c.Table {
	case compat.GPUFeature:
		s = strings.TrimPrefix(c.Feature+" on "+c.GPU, " on ")
	case compat.KernelROCm:
		s = kernelName(c) + " on " + c.GPU
	case compat.NICOS:
		s = c.NIC + " on " + c.OS
	case compat.Firmware:
		s = c.NIC + " firmware " + dash(c.Version)
	case compat.NICFeature:
		s = c.Feature + " of " + c.NIC
	}
	return s + " (" + c.Nodes + ")"
}

// heading is what a group of cells is about: a GPU or a NIC with its nodes, or all.
func heading(c compat.Cell) string {
	s := c.GPU
	if c.NIC != "" {
		s = c.NIC
	}
	if c.Nodes != "" {
		s = strings.TrimSpace(s + " (" + c.Nodes + ")")
	}
	return s
}

// lines writes cells as lines of one answer each. One GPU: its features side by
// side. Many GPUs: those that share an answer side by side. Those of which the same
// is said share a heading.
func (p *compatPage) lines(cells []compat.Cell, name func(compat.Cell) string) {
	heads := map[string]bool{}
	for _, c := range cells {
		heads[heading(c)] = true
	}
	names := map[string]bool{}
	for _, c := range cells {
		names[name(c)] = true
	}
	// The smaller side becomes the heading.
	of, word := heading, name
	if len(names) < len(heads) {
		of, word = name, heading
	}
	var order []string
	group := map[string][]compat.Cell{}
	for _, c := range cells {
		k := of(c)
		if group[k] == nil {
			order = append(order, k)
		}
		group[k] = append(group[k], c)
	}
	p.groups(order, group, func([]compat.Cell) func(compat.Cell) string { return word })
}

// groups writes what is said of each group; those of which the same is said share a
// heading.
func (p *compatPage) groups(order []string, group map[string][]compat.Cell, word func([]compat.Cell) func(compat.Cell) string) {
	var bodies []string
	of := map[string][]string{} // what is said → of whom
	for _, k := range order {
		q := compatPage{o: p.o, short: p.short, cited: p.cited}
		for _, answer := range compat.Answers {
			q.answers(group[k], answer, "  ", word(group[k]))
		}
		p.cited = q.cited
		if body := q.b.String(); of[body] == nil {
			bodies = append(bodies, body)
			of[body] = []string{k}
		} else {
			of[body] = append(of[body], k)
		}
	}
	for _, body := range bodies {
		fmt.Fprintf(&p.b, "%s\n%s\n", wrap(clean(strings.Join(of[body], ", ")), p.o.Width, 0), body)
	}
}

// answers writes the cells with one answer: those with the same words and source on
// one line, those without words all on one.
func (p *compatPage) answers(cells []compat.Cell, answer, indent string, word func(compat.Cell) string) {
	type said struct{ how, instead, cite string }
	var order []said
	names := map[said][]string{}
	for _, c := range cells {
		if c.Answer != answer {
			continue
		}
		k, n := said{c.How, c.Instead, ""}, word(c)
		switch {
		case p.short && answer != compat.Partly && n != "": // names alone
			k = said{}
		case p.short:
			k.instead = ""
		case c.How == "" && (c.Instead == "" || answer == compat.Yes): // each name with its own source
			n, k.instead = n+p.cite(c), ""
		default:
			k.cite = p.cite(c)
		}
		if names[k] == nil {
			order = append(order, k)
		}
		if !slices.Contains(names[k], n) {
			names[k] = append(names[k], n)
		}
	}
	for _, k := range order {
		text := strings.Join(names[k], ", ")
		if k.how != "" {
			text = strings.TrimPrefix(text+": "+k.how, ": ")
		}
		if k.instead != "" && answer != compat.Yes {
			text += "; instead: " + k.instead
		}
		lead := len(indent) + 9
		fmt.Fprintf(&p.b, "%s%s  %s\n", indent, verdictWord(p.o.Colour, answer, 7), wrap(clean(text+k.cite), p.o.Width, lead))
	}
}

// quants writes quantisations and engines: a table where there are many, with what
// was asked in words.
func (p *compatPage) quants(cells []compat.Cell, whole bool) {
	quants := distinct(cells, func(c compat.Cell) string { return c.Quant })
	order := distinct(cells, heading)
	group := map[string][]compat.Cell{}
	for _, c := range cells {
		group[heading(c)] = append(group[heading(c)], c)
	}
	if len(quants) > 2 {
		for _, k := range order {
			p.table(k, group[k], quants)
		}
	}
	if len(quants) <= 2 || p.o.All && !whole {
		p.groups(order, group, quantName)
	}
}

// quantName calls a cell by what tells it from the others: engine, quantisation, and
// dense or MoE where they differ.
func quantName(cells []compat.Cell) func(compat.Cell) string {
	quants := distinct(cells, func(c compat.Cell) string { return c.Quant })
	type at struct{ engine, quant string }
	said := map[at]string{}
	differ := map[at]bool{}
	for _, c := range cells {
		k, words := at{c.Engine, c.Quant}, c.Answer+c.How+c.Date
		if before, ok := said[k]; ok && before != words {
			differ[k] = true
		}
		said[k] = words
	}
	return func(c compat.Cell) string {
		s := engineTitle(c.Engine)
		if len(quants) > 1 {
			s += " " + c.Quant
		}
		if differ[at{c.Engine, c.Quant}] {
			s += " (" + kindWord(c.Model) + ")"
		}
		return s
	}
}

// table writes quantisation by engine. Where dense models and mixtures of experts
// differ, both stand there.
func (p *compatPage) table(head string, cells []compat.Cell, quants []string) {
	engines := distinct(cells, func(c compat.Cell) string { return c.Engine })
	first := []string{"QUANT"}
	for _, e := range engines {
		first = append(first, engineTitle(e))
	}
	rows := [][]string{first}
	for _, q := range quants {
		row := []string{q}
		for _, e := range engines {
			row = append(row, tableWord(cells, q, e))
		}
		rows = append(rows, row)
	}
	kind := ""
	if kinds := distinct(cells, func(c compat.Cell) string { return c.Model }); len(kinds) == 1 {
		kind = ", " + kindWord(kinds[0]) + " models"
	}
	fmt.Fprintf(&p.b, "%s: quantisation and engine%s\n", clean(head), kind)
	_ = Table(&p.b, rows) // a strings.Builder takes everything
	p.b.WriteString("\n")
}

func tableWord(cells []compat.Cell, quant, engine string) string {
	by := map[string]string{}
	for _, c := range cells {
		if c.Quant == quant && c.Engine == engine {
			by[c.Model] = c.Answer
		}
	}
	dense, moe := by["dense"], by["moe"]
	switch {
	case moe == "" || dense == moe:
		return dense
	case dense == "":
		return moe
	}
	return dense + ", MoE " + moe
}

func distinct(cells []compat.Cell, of func(compat.Cell) string) (out []string) {
	seen := map[string]bool{}
	for _, c := range cells {
		if k := of(c); !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

func kernelName(c compat.Cell) string {
	s := "kernel " + dash(c.Kernel)
	if c.ROCm != "" {
		s += " and ROCm " + c.ROCm
	}
	return s
}

func engineTitle(id string) string {
	if id == "" {
		return "any engine"
	}
	for _, e := range compat.Matrix().Engines {
		if e.ID == id {
			return e.Title
		}
	}
	return id
}

func kindWord(kind string) string {
	if kind == "moe" {
		return "MoE"
	}
	return kind
}

// verdictWord spells an answer, and repeats it in colour where that is welcome.
func verdictWord(colour bool, answer string, width int) string {
	code := map[string]string{compat.No: "31", compat.Unknown: "35", compat.Partly: "33", compat.Yes: "32"}[answer]
	word := fmt.Sprintf("%-*s", width, answer)
	if !colour || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}
