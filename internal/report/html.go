package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/load"
	"weft/internal/nodeset"
	"weft/internal/rehearsal"
	"weft/internal/trial"
)

// Document is what weft report writes: all that is known about a cluster, in one piece.
type Document struct {
	Name      string               `json:"name"`
	Source    string               `json:"source"`          // where the facts are from: "weft.yaml", "lab.dump"
	Taken     string               `json:"taken,omitempty"` // when the facts were read, RFC 3339; "" not known
	Made      string               `json:"made"`            // when this was written, RFC 3339
	Weft      string               `json:"weft"`            // version
	Status    Status               `json:"status"`
	Nodes     []NodeLine           `json:"nodes"`
	Links     []trial.Link         `json:"links"`
	Fabric    *fact.Fabric         `json:"fabric,omitempty"`
	Direct    bool                 `json:"direct"` // weft.yaml says that there is no switch
	Check     Findings             `json:"check"`
	Proof     *ProofReport         `json:"proof"`     // nil: see Lacks
	Forecast  *Forecast            `json:"forecast"`  // the same
	Why       *Why                 `json:"why"`       // the same
	Rehearsal *rehearsal.Rehearsal `json:"rehearsal"` // the same
	Bench     *load.Bench          `json:"bench"`     // the same
	Since     *Since               `json:"since"`     // the same
	Lacks     []Lack               `json:"lacks"`     // what is not here, and the command that would make it
}

// NodeLine is one machine.
type NodeLine struct {
	Name    string `json:"name"`
	Down    string `json:"down,omitempty"` // why nothing is known of it
	Machine string `json:"machine,omitempty"`
	OS      string `json:"os,omitempty"`
	Kernel  string `json:"kernel,omitempty"`
	Memory  string `json:"memory,omitempty"`
	GPUs    string `json:"gpus,omitempty"`
	Ports   int    `json:"ports"`    // data ports
	PortsUp int    `json:"ports_up"` //
}

// Since is what changed since an earlier look.
type Since struct {
	Source  string           `json:"source"`          // which look that was
	Taken   string           `json:"taken,omitempty"` // when
	Changes []history.Change `json:"changes"`
	New     []check.Finding  `json:"new"`  // not right now, and was not said then
	Gone    []check.Finding  `json:"gone"` // said then, and no more
}

// Lack is a part that a report has nothing to fill with.
type Lack struct {
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Next string `json:"next"` // the command that makes it
}

// DocumentOf sums up a judged case. The caller adds what was measured and what changed.
func DocumentOf(c *check.Case, r Findings) Document {
	d := Document{Source: r.Source, Status: StatusOf(c, r), Links: trial.Links(c), Fabric: c.Fabric, Direct: c.Want.Data.Switch == "none", Check: r, Lacks: []Lack{}}
	d.Name = d.Status.Name
	for _, n := range c.Nodes {
		l := NodeLine{Name: n.Name, Machine: machine(n), OS: n.Host.OS, Kernel: n.Host.Kernel, GPUs: gpuList(n)}
		l.Down, _, _ = strings.Cut(strings.TrimPrefix(n.Down, n.Name+": "), "\n")
		if m, ok := n.Host.Memory.Get(); ok {
			l.Memory = m.String()
		}
		for _, p := range c.Data(n) {
			l.Ports++
			if p.Up() {
				l.PortsUp++
			}
		}
		d.Nodes = append(d.Nodes, l)
	}
	return d
}

// SinceOf compares two judged looks.
func SinceOf(was, now *check.Case, before, after Findings) *Since {
	s := &Since{Changes: history.Diff(&was.Cluster, &now.Cluster), New: []check.Finding{}, Gone: []check.Finding{}}
	type key struct {
		check string
		at    check.Subject
	}
	loudIn := func(r Findings) map[key]check.Status {
		m := map[key]check.Status{}
		for _, f := range r.Findings {
			if loud(f.Status) {
				m[key{f.Check, f.Subject}] = f.Status
			}
		}
		return m
	}
	had, has := loudIn(before), loudIn(after)
	for _, f := range after.Findings {
		if _, ok := had[key{f.Check, f.Subject}]; loud(f.Status) && !ok {
			s.New = append(s.New, f)
		}
	}
	for _, f := range before.Findings {
		if _, ok := has[key{f.Check, f.Subject}]; loud(f.Status) && !ok {
			s.Gone = append(s.Gone, f)
		}
	}
	return s
}

//go:embed page
var pageFiles embed.FS

// Style and script of the pages: the only ones that their policy lets run.
var (
	pageCSS = pageFile("page.css")
	pageJS  = pageFile("page.js")
	liveJS  = pageFile("live.js")
)

func pageFile(name string) string {
	b, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic(err) // embedded with the program
	}
	return strings.TrimSpace(string(b))
}

// policy is a Content-Security-Policy that allows this program's own style and scripts,
// by their hash, and nothing else. A page that is opened from a file has it in a meta
// element.
func policy(more string) string {
	p := "default-src 'none'; style-src " + sourceHash(pageCSS) + "; script-src " + sourceHash(pageJS) + " " + sourceHash(liveJS) + "; base-uri 'none'; form-action 'none'"
	if more != "" {
		p += "; " + more
	}
	return p
}

// sourceHash names a text the way a policy does (CSP level 3, section 2.3.1).
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pages are all templates. html/template escapes every value for the place where it
// stands, in HTML and in the SVG inside of it.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"css":    func() template.CSS { return template.CSS(pageCSS) },
	"js":     func() template.JS { return template.JS(pageJS) },
	"livejs": func() template.JS { return template.JS(liveJS) },
	"dash":   dash,
	"fold":   nodeset.Fold,
	"list":   func(s ...any) []any { return s },
}).ParseFS(pageFiles, "page/*.html"))

// render executes a template. What a node may have put into a text to play tricks on the
// eye is neutralised on the way out, in whatever place it stands.
func render(w io.Writer, name string, data any) error {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	_, err := io.WriteString(w, cleanMarkup(b.String()))
	return err
}

// cleanMarkup is clean for a whole text: tabs and line ends of templates stay.
func cleanMarkup(s string) string {
	return strings.ReplaceAll(clean(strings.ReplaceAll(s, "\t", " ")), "\r", string('\uFFFD'))
}

// HTML writes the document as one page that needs nothing else.
func (d Document) HTML(w io.Writer) error { return render(w, "report", pageOf(d)) }
