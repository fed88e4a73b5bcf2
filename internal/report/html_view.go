package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/load"
	"weft/internal/nodeset"
	"weft/internal/rehearsal"
	"weft/internal/trial"
	"weft/internal/unit"
	"weft/internal/why"
)

// How many rows a page holds of what may be without end; it says how many there are more.
const (
	mostChanges = 100
	mostLoud    = 400
	mostLines   = 200
	mostFact    = 160 // letters
)

// page is a document, ready for its template: nothing is computed while printing.
type page struct {
	Policy   string
	Title    string
	Doc      Document
	Level    string // the worst
	Verdict  string
	Chips    []chip
	Facts    [][2]string
	Drawing  *netDrawing
	Board    *board
	Links    []linkRow
	Switches [][3]string // which, those below, cables to each
	Loud     []findingView
	MoreLoud int
	Quiet    []quietRow
	Accepted []acceptedRow
	Proof    *proofView
	Forecast *forecastView
	Token    *tokenView
	Sync     *syncView
	Serving  *servingView
	Since    *sinceView
	Sections []section
}

type section struct{ ID, Name string }

type chip struct {
	Class string
	Count int
}

type linkRow struct {
	Class, Rail, Switch, Ports, Rate, Want, Why string
	Count                                       int
}

type findingView struct {
	N                   int
	Class, Check, Title string
	Subjects            string
	Count               int
	Got, Want, Why      string
	Fix                 []string
	More                bool
}

type quietRow struct {
	Class, Check, Title, Why string
	Count                    int
}

type acceptedRow struct{ Check, Says string }

// pageOf makes the view of a document.
func pageOf(d Document) *page {
	p := &page{Policy: policy(""), Doc: d, Title: cmp.Or(d.Name, lastName(d.Source))}
	p.Level, p.Verdict = verdictOf(d)
	for s := check.Fail; s >= check.Pass; s-- {
		if n := d.Check.Counts[s.String()]; n > 0 {
			p.Chips = append(p.Chips, chip{s.String(), n})
		}
	}
	p.Facts = factsOf(d)
	worst, said := worstOf(d.Check.Findings)
	net := netOf(d.Nodes, d.Links, worst, said)
	p.Drawing, p.Board = drawCluster(p.Title, net, d)
	p.Links = foldLinks(d.Links)
	p.Switches = foldSwitches(d.Fabric)
	p.findings(d.Check)
	if d.Proof != nil {
		p.Proof = proofOf(*d.Proof)
	}
	if d.Forecast != nil {
		p.Forecast = forecastOf(*d.Forecast)
	}
	p.Token = tokenOf(d)
	if d.Rehearsal != nil {
		p.Sync = syncOf(*d.Rehearsal)
	}
	if d.Bench != nil {
		p.Serving = servingOf(*d.Bench)
	}
	if d.Since != nil {
		p.Since = sinceOf(*d.Since)
	}
	for _, s := range []struct {
		there    bool
		id, name string
	}{
		{true, "cluster", "Cluster"}, {true, "findings", "Findings"}, {p.Proof != nil, "proof", "Proof"}, {p.Forecast != nil, "forecast", "Forecast"},
		{p.Token != nil, "token", "One token"}, {p.Sync != nil, "rehearsal", "Rehearsal"}, {p.Serving != nil, "serving", "Serving"}, {p.Since != nil, "changes", "What changed"}, {true, "nodes", "Nodes"}, {len(d.Lacks) > 0, "missing", "Not in this report"},
	} {
		if s.there {
			p.Sections = append(p.Sections, section{s.id, s.name})
		}
	}
	return p
}

// lastName is the last part of a path: what a person would call a dump.
func lastName(source string) string { return source[strings.LastIndexByte(source, '/')+1:] }

// syncView is a rehearsal, ready to print.
type syncView struct {
	Head string
	Rows [][]string // exchange, over, times, median, p99
	Says []string
	Left []string
}

func syncOf(r rehearsal.Rehearsal) *syncView {
	v := &syncView{Head: "Rehearsal " + r.ID + after(": ", Rehearsal{Rehearsal: r}.title()), Left: r.Left}
	for _, s := range r.Syncs {
		times := "–"
		if s.Count > 0 {
			times = fmt.Sprint(s.Count)
		}
		what := fmt.Sprintf("%s of %s among %s", cmp.Or(s.Kind, "collective"), unit.Size(s.Bytes), plural(s.Nodes, "node"))
		v.Rows = append(v.Rows, []string{what, cmp.Or(s.Transport, r.Transport) + after(", ", s.How), times, micro(s.Micros.Median), micro(s.Micros.P99)})
	}
	for _, t := range r.Tokens {
		v.Says = append(v.Says, fmt.Sprintf("over %s a token's %d exchanges take %s: at most %s tokens/s, however quick the GPUs are", t.Transport, t.Steps, took(t.Micros), perSecond(t.PerSecond))+after("; carried by ", t.Carried))
	}
	return v
}

// servingView is what weft serve bench measured, ready to print.
type servingView struct {
	Head string
	Rows [][]string // at once, requests, failed, tokens/s, of each, forecast, first token, p99, a token, p99
	Says []string
}

func servingOf(b load.Bench) *servingView {
	v := &servingView{Head: "Bench " + b.ID + after(": ", Bench{Bench: b}.title()), Says: b.Says}
	for _, l := range b.Levels {
		forecast := "–"
		if f := l.Forecast; f != nil {
			forecast = fmt.Sprintf("%s (%s to %s)", perSecond(f.Each), perSecond(f.Low), perSecond(f.High))
		}
		v.Rows = append(v.Rows, []string{atOnce(l), fmt.Sprint(l.OK + l.Failed), fmt.Sprint(l.Failed), rate(l.Tokens), rate(l.Each), forecast, middleOf(l.First), highOf(l.First, l.First.P99), middleOf(l.PerToken), highOf(l.PerToken, l.PerToken.P99)})
	}
	return v
}

// drawCluster chooses between a drawing and a board.
func drawCluster(title string, net []netNode, d Document) (*netDrawing, *board) {
	ports := 0
	for _, n := range net {
		ports += len(n.ports)
	}
	title = fmt.Sprintf("%s: %s and %s", title, plural(len(net), "node"), plural(ports, "data port"))
	if len(net) > mostDrawnNodes || ports > mostDrawnPorts {
		return nil, boardOf(title, net)
	}
	return drawNet(title, net, d.Fabric, d.Direct), nil
}

// verdictOf is the first sentence that a person reads.
func verdictOf(d Document) (level, says string) {
	c := d.Check.Counts
	level = "pass"
	switch {
	case c["fail"] > 0:
		level, says = "fail", "Something is wrong: "+counts(c)
	case c["unknown"] > 0:
		level, says = "unknown", "Something could not be looked at: "+counts(c)
	case c["warn"] > 0:
		level, says = "warn", "It works, and is not all right: "+counts(c)
	case len(c) == 0:
		level, says = "unknown", "Nothing was judged"
	default:
		says = "Nothing is wrong: " + counts(c)
	}
	switch {
	case d.Proof == nil:
		says += ". Nothing was measured."
	case len(d.Proof.Problems) > 0:
		says += ". The proof found " + plural(len(d.Proof.Problems), "problem") + "."
		if level == "pass" || level == "warn" {
			level = "fail"
		}
	default:
		says += ". The proof found no problem."
	}
	return level, says
}

func factsOf(d Document) [][2]string {
	s := d.Status
	rows := [][2]string{{"nodes", fmt.Sprintf("%d of %d answered", s.Answered, s.Nodes)}}
	ports := "none in use"
	if s.Ports > 0 {
		ports = fmt.Sprintf("%d of %d up", s.PortsUp, s.Ports) + after(": ", strings.Join(s.Layers, ", ")) + after(", ", strings.Join(s.Rates, ", "))
	}
	rows = append(rows, [2]string{"RDMA ports", ports}, [2]string{"GPUs", dash(strings.Join(s.GPUs, ", "))})
	rows = append(rows, [2]string{"facts from", d.Source + after(", read ", d.Taken)})
	return append(rows, [2]string{"written", d.Made + after(" by weft ", d.Weft)})
}

// worstOf is the worst word that a finding has for each node and each part of one, and
// which checks those of a part are.
func worstOf(fs []check.Finding) (words, said map[string]string) {
	worst := map[string]check.Status{}
	words, said = map[string]string{}, map[string]string{}
	for _, f := range fs {
		if f.Subject.Node == "" || !loud(f.Status) {
			continue
		}
		keys := []string{f.Subject.Node}
		if f.Subject.Part != "" {
			keys = append(keys, f.Subject.String())
			said[f.Subject.String()] = strings.TrimPrefix(said[f.Subject.String()]+", "+f.Check, ", ")
		}
		for _, k := range keys {
			if f.Status > worst[k] {
				worst[k], words[k] = f.Status, f.Status.String()
			}
		}
	}
	return words, said
}

// foldLinks makes one row of links that are alike.
func foldLinks(links []trial.Link) (rows []linkRow) {
	at := map[linkRow]int{}
	subjects := [][]check.Subject{}
	for _, l := range links {
		p := portOf(l)
		k := linkRow{Class: p.class, Rail: l.Rail, Switch: l.Switch, Want: p.rate, Why: p.says}
		if l.Rate > 0 {
			k.Rate = l.Rate.String()
		}
		i, ok := at[k]
		if !ok {
			i = len(rows)
			at[k] = i
			rows, subjects = append(rows, k), append(subjects, nil)
		}
		rows[i].Count++
		subjects[i] = append(subjects[i], check.Subject{Node: l.Node, Part: l.Port})
	}
	for i := range rows {
		rows[i].Ports = foldSubjects(subjects[i])
	}
	slices.SortStableFunc(rows, func(a, b linkRow) int { return cmp.Or(natural(a.Rail, b.Rail), natural(a.Switch, b.Switch)) })
	return rows
}

// foldSwitches says how switches hang together: those that are joined alike are one row.
func foldSwitches(f *fact.Fabric) (rows [][3]string) {
	if f == nil {
		return nil
	}
	type pair struct{ a, b string }
	count, speed := map[pair]int{}, map[pair]string{}
	degree := map[string]int{}
	for _, l := range f.Links {
		if !l.A.Switch || !l.B.Switch {
			continue
		}
		p := pair{cmp.Or(l.A.Name, l.A.GUID), cmp.Or(l.B.Name, l.B.GUID)}
		if p.b < p.a {
			p = pair{p.b, p.a}
		}
		count[p]++
		speed[p] = strings.TrimSpace(l.Width + " " + l.Speed)
	}
	for p := range count {
		degree[p.a]++
		degree[p.b]++
	}
	type side struct{ of, cables string }
	joined := map[side][]string{}
	for p, n := range count {
		of, to := p.a, p.b
		if degree[to] < degree[of] || degree[to] == degree[of] && natural(to, of) < 0 { // a row for each of the fewer, wider ones
			of, to = to, of
		}
		k := side{to, fmt.Sprintf("%d × %s", n, cmp.Or(speed[p], "?"))}
		joined[k] = append(joined[k], of)
	}
	type row struct{ below, cables string }
	alike := map[row][]string{}
	for k, below := range joined {
		slices.SortFunc(below, natural)
		r := row{nodeset.Fold(below), k.cables}
		alike[r] = append(alike[r], k.of)
	}
	for r, of := range alike {
		slices.SortFunc(of, natural)
		rows = append(rows, [3]string{nodeset.Fold(of), r.below, r.cables})
	}
	slices.SortFunc(rows, func(a, b [3]string) int {
		return cmp.Or(natural(a[0], b[0]), natural(a[1], b[1]), strings.Compare(a[2], b[2]))
	})
	return rows
}

func (p *page) findings(r Findings) {
	quiet := map[[2]string]int{}
	for _, f := range FoldAll(r.Findings) {
		ck, _ := check.ByID(f.Check)
		if !loud(f.Status) {
			k := [2]string{f.Status.String(), f.Check}
			i, ok := quiet[k]
			if !ok {
				i = len(p.Quiet)
				quiet[k] = i
				p.Quiet = append(p.Quiet, quietRow{Class: f.Status.String(), Check: f.Check, Title: ck.Title, Why: f.Why})
			} else if p.Quiet[i].Why != f.Why {
				p.Quiet[i].Why = ""
			}
			p.Quiet[i].Count += f.Count
			continue
		}
		if len(p.Loud) == mostLoud {
			p.MoreLoud++
			continue
		}
		v := findingView{N: len(p.Loud) + 1, Class: f.Status.String(), Check: f.Check, Title: ck.Title, Subjects: f.Subjects, Count: f.Count, Got: f.Got, Want: f.Want, Why: f.Why, Fix: f.Fix}
		if len(v.Fix) > maxFixes {
			v.Fix, v.More = v.Fix[:maxFixes], true
		}
		p.Loud = append(p.Loud, v)
	}
	for _, a := range foldAccepted(r.Accepted) {
		p.Accepted = append(p.Accepted, acceptedRow{a.check, a.says})
	}
}

// proofView is a proof, ready to print.
type proofView struct {
	Head         string
	Problems     []problemView
	MoreProblems int
	Trials       []trialView
	Against      string
	Changes      []proofChange
	MoreCh       int
	Missing      []string
	Left         []string
}

type problemView struct {
	Class, Trial, Where, Got, Want, Why string
	Also                                string
	Ruled                               string
	Look                                []string
}

type trialView struct {
	ID, Title string
	Heat      []heatmap
	List      []listRow
}

type listRow struct{ Class, Where, Got, Want, Note string }

type proofChange struct{ Class, Kind, Text string }

func proofOf(r ProofReport) *proofView {
	v := &proofView{Head: r.summary() + after(", made ", r.Made), Against: r.Against, Missing: missing(r.Cells), Left: r.Left}
	v.Missing, v.Left = atMost(v.Missing), atMost(v.Left)
	for i, p := range r.Problems {
		if i == mostLines {
			v.MoreProblems = len(r.Problems) - i
			break
		}
		v.Problems = append(v.Problems, problemOf(p))
	}
	left := mostHeat
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
		tv := trialView{ID: t.ID, Title: t.Title}
		if t.Over == trial.Pairs {
			tv.Heat = heatmaps(t, cells, &left)
		} else {
			tv.List = listOf(t, cells)
		}
		v.Trials = append(v.Trials, tv)
	}
	for i, c := range r.Changes {
		if i == mostChanges {
			v.MoreCh = len(r.Changes) - i
			break
		}
		class := map[string]string{"worse": "fail", "gone": "fail", "better": "pass", "new": "pass"}[c.Kind]
		kind, text, _ := strings.Cut(strings.Join(strings.Fields(c.String()), " "), " ")
		v.Changes = append(v.Changes, proofChange{cmp.Or(class, "skip"), kind, text})
	}
	return v
}

// atMost keeps a list readable, and says how much it leaves out.
func atMost(list []string) []string {
	if len(list) <= mostLines {
		return list
	}
	return append(slices.Clone(list[:mostLines]), fmt.Sprintf("… and %d more", len(list)-mostLines))
}

func problemOf(p trial.Problem) problemView {
	v := problemView{Class: "fail", Trial: p.Trial, Got: p.Got, Want: p.Want, Why: p.Why, Also: strings.Join(p.Also, ", "), Ruled: strings.Join(p.Ruled, "; "), Look: p.Look}
	if p.Status == "warn" {
		v.Class = "warn"
	}
	var at []string
	for _, e := range p.At {
		at = append(at, e.String())
	}
	v.Where = cmp.Or(strings.TrimSpace(strings.Join(at, " and ")+" "+p.Way), p.Kind)
	return v
}

func listOf(t trial.Trial, cells []trial.Cell) (rows []listRow) {
	for _, c := range cells {
		row := listRow{Class: c.Status.String(), Where: cmp.Or(c.A.String(), "all nodes"), Got: "none", Want: want(t, c), Note: strings.TrimPrefix(after("; ", c.Note)+after("; ", cmp.Or(c.Why, c.Missing)), "; ")}
		if got, ok := c.Got.Get(); ok {
			row.Got = t.Unit.Text(got)
		}
		rows = append(rows, row)
		if c.Collective == nil {
			continue
		}
		for _, r := range c.Collective.Rows {
			if len(r.Bus) > 0 && len(r.Seconds) > 0 {
				rows = append(rows, listRow{"", "  " + unit.Size(r.Bytes).String(), unit.Rate(r.Bus[len(r.Bus)/2]).String(), "", "bus bandwidth, in " + trial.Nanoseconds.Text(trial.Amount(r.Seconds[len(r.Seconds)/2]*1e9))})
			}
		}
		for _, s := range c.Collective.Says {
			rows = append(rows, listRow{Note: s})
		}
	}
	return rows
}

// forecastView is a forecast, ready to print.
type forecastView struct {
	Head  string
	Rows  [][]string // layout, tokens/s, range, first token, a rank holds, limit
	More  int
	Curve template.HTML // drawn by Forecast.SVG, which escapes every name (TestHostileNames)
	Says  []string
}

func forecastOf(f Forecast) *forecastView {
	v := &forecastView{Head: fmt.Sprintf("%s in %s on %s, %s", f.Model.Name, f.Format.Name, hardwareWords(f.Nodes), f.Engine.Name)}
	if len(f.Nodes) > 1 {
		v.Head += ", " + f.Fabric.String()
	}
	for i, p := range f.Plans {
		if i == maxLayouts {
			v.More = len(f.Plans) - i
			break
		}
		tokens, ran := perSecond(p.Each), perSecond(p.Low)+" to "+perSecond(p.High)
		if !p.Fits {
			tokens, ran = "does not fit", "–"
		}
		v.Rows = append(v.Rows, []string{layoutWords(p.Layout), tokens, ran, firstToken(p.First), heldBy(p.Memory), p.Limit})
	}
	if len(f.Curves) > 0 {
		var b strings.Builder
		_ = f.SVG(&b) // a Builder takes everything
		v.Curve = template.HTML(b.String())
		for _, c := range f.Curves {
			v.Says = append(v.Says, "over "+c.Link+": "+c.Says)
		}
	}
	v.Says = append(v.Says, f.Says...)
	return v
}

// tokenView is where the time of one token goes.
type tokenView struct {
	Head, Sub string
	Verdict   []string
	Parts     []tokenPart
	Total     string
	Causes    []causeView
	Changes   []changeView
	Says      []string
}

type tokenPart struct {
	Name, Ms, Class, Basis, Why string
	From, Wide                  float64 // of 100
}

type causeView struct {
	Class, Check, On, Got, Cost string
	Fix                         []string
}

type changeView struct{ Effect, What, Rate, Times, How string }

// tokenOf is the waterfall: of a measurement where there is one, else of the forecast.
func tokenOf(d Document) *tokenView {
	switch {
	case d.Why != nil:
		return tokenWhy(*d.Why)
	case d.Forecast != nil && len(d.Forecast.Plans) > 0 && d.Forecast.Plans[0].Fits:
		return tokenForecast(*d.Forecast)
	}
	return nil
}

func tokenWhy(r Why) *tokenView {
	v := &tokenView{Head: r.title(), Sub: fmt.Sprintf("%s tokens/s measured, %s a step; forecast %s", perSecond(r.Measured), r.ms(r.Step), perSecond(r.Forecast)), Verdict: r.Verdict, Total: r.ms(r.Step), Says: r.Says}
	spans := r.spans()
	for i, p := range r.Parts {
		if p.Ms == 0 && p.Kind == why.Token {
			continue
		}
		class := map[string]string{why.Token: "token", why.Wrong: "wrong", why.Unexplained: "unexplained"}[p.Kind]
		v.Parts = append(v.Parts, tokenPart{p.Name, r.ms(p.Ms), class, p.Basis, p.Why, round(100 * spans[i].from), round(100 * max(0.004, spans[i].to-spans[i].from))})
	}
	for _, c := range r.Causes {
		cost := c.How
		if c.Ms != 0 {
			cost = r.ms(c.Ms) + ": " + c.How
		}
		v.Causes = append(v.Causes, causeView{c.Status.String(), c.Check, c.On, c.Got, cost, c.Fix})
	}
	for _, c := range r.Changes {
		v.Changes = append(v.Changes, changeView{c.Effect, c.What, perSecond(c.Rate), fmt.Sprintf("%.2f×", c.Times), c.How})
	}
	return v
}

func tokenForecast(f Forecast) *tokenView {
	p := f.Plans[0]
	v := &tokenView{Head: fmt.Sprintf("%s with %s: %s tokens/s, forecast", f.Model.Name, layoutWords(p.Layout), perSecond(p.Each)), Sub: "nothing was measured: weft why --measured says where a real token's time went", Total: fmt.Sprintf("%.2f ms", p.Step.Total())}
	at, all := 0.0, float64(p.Step.Total())
	for _, part := range p.Step.Parts() {
		if part.Ms < 0.005 {
			continue
		}
		wide := 100 * float64(part.Ms) / all
		v.Parts = append(v.Parts, tokenPart{part.Name, fmt.Sprintf("%.2f ms", part.Ms), "token", "", part.Why, round(at), round(max(0.4, wide))})
		at += wide
	}
	return v
}

func round(f float64) float64 { return float64(int(f*100+0.5)) / 100 }

// sinceView is what changed, ready to print.
type sinceView struct {
	Head      string
	New, Gone []findingView
	Rows      []changeRow
	More      int
}

type changeRow struct{ Nodes, Path, From, To string }

func sinceOf(s Since) *sinceView {
	v := &sinceView{Head: s.Source + after(", read ", s.Taken), New: foldViews(s.New), Gone: foldViews(s.Gone)}
	v.Rows = foldChanges(s.Changes)
	if n := len(v.Rows); n > mostChanges {
		v.Rows, v.More = v.Rows[:mostChanges], n-mostChanges
	}
	return v
}

func foldViews(fs []check.Finding) (list []findingView) {
	for _, f := range FoldAll(fs) {
		list = append(list, findingView{Class: f.Status.String(), Check: f.Check, Subjects: f.Subjects, Got: f.Got, Want: f.Want, Why: f.Why})
	}
	return list
}

// brief is a fact in a table: a file that changed is a line of it, and how many more.
func brief(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	first := []rune(cmp.Or(lines[0], "(none)"))
	if len(first) > mostFact {
		first = append(first[:mostFact-1], '…')
	}
	if len(lines) > 1 {
		return fmt.Sprintf("%s … (%d lines)", string(first), len(lines))
	}
	return string(first)
}

// foldChanges makes one row of the same change on many nodes.
func foldChanges(changes []history.Change) (rows []changeRow) {
	type key struct{ path, from, to string }
	on := map[key][]string{}
	var order []key
	for _, c := range changes {
		k := key{c.Path, c.From, c.To}
		if on[k] == nil {
			order = append(order, k)
		}
		on[k] = append(on[k], c.Node)
	}
	for _, k := range order {
		rows = append(rows, changeRow{nodeset.Fold(on[k]), k.path, brief(k.from), brief(k.to)})
	}
	slices.SortStableFunc(rows, func(a, b changeRow) int { return cmp.Or(natural(a.Nodes, b.Nodes), strings.Compare(a.Path, b.Path)) })
	return rows
}
