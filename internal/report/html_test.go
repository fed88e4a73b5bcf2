package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/trial"
)

// evils are names that a node may give itself to become markup, or to deceive the eye.
var evils = []string{
	`<script>alert(1)</script>`, `"onload="alert(1)" x="`, `' onmouseover='alert(1)`, `]]><x/>`, `--><x/>`, "a\x1b[31mb\x00\x07c\r", "\u202egpj.exe\u2066\u200d", "`|](javascript:alert(1))![x](y)",
	"</title></svg></style></script>", "&lt;script&gt;&#x3c;x&#x3e;", "{{.}}", "javascript:alert(1)", "|a|b|\n|c|", "# h\n- l\n1. n\n```\n~~~", "\xff\xfe\x80", "\ufffe\uffff",
}

// fillWith sets every text of a value, at any depth: lists have two of everything.
func fillWith(v reflect.Value, text string, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(4) // a status: fail
	case reflect.Float64:
		v.SetFloat(4)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillWith(v.Elem(), text, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fillWith(v.Index(i), text, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillWith(key, text, depth+1)
		fillWith(value, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fillWith(v.Field(i), text, depth+1)
		}
	}
}

// filledDocument has one text in every place that holds any.
func filledDocument(text string) Document {
	var d Document
	fillWith(reflect.ValueOf(&d).Elem(), text, 0)
	d.Check.Counts = map[string]int{"fail": 1, "pass": 2}
	d.Check.Findings[1].Status, d.Check.Findings[1].Check = check.Pass, "port.up"
	d.Proof.Trials = []string{"rdma.write.bw", "gpu.membw", "nccl.allreduce"}
	end := func(i string) trial.End { return trial.End{Node: text + i, Port: text} }
	cell := func(id string, p trial.Pair, s check.Status) trial.Cell {
		return trial.Cell{Trial: id, Pair: p, Got: fact.Some(trial.Amount(5e9)), Missing: text, Note: text, Verdict: trial.Verdict{Want: fact.Some(trial.Amount(9e9)), Limiter: text, Why: text, Status: s}}
	}
	d.Proof.Cells = []trial.Cell{cell("rdma.write.bw", trial.Pair{A: end("1"), B: end("2")}, check.Fail), cell("rdma.write.bw", trial.Pair{A: end("2"), B: end("1")}, check.Warn), cell("gpu.membw", trial.Pair{A: end("1"), B: end("1")}, check.Fail), cell("nccl.allreduce", trial.Pair{}, check.Unknown)}
	d.Proof.Cells[3].Collective = &trial.Collective{Says: []string{text}}
	d.Proof.Cells = append(d.Proof.Cells, trial.Cell{Trial: "rdma.write.bw", Pair: trial.Pair{A: end("1"), B: end("3")}, Missing: text})
	d.Forecast.Plans[0].Fits = true
	d.Links[0].State, d.Links[0].Limit, d.Links[0].Want, d.Links[0].Rate = "ACTIVE", "PCIe", 4e9, 9e9
	d.Fabric.Links[0].A.Name, d.Fabric.Links[0].B.Name = text, text+" spine"
	return d
}

// filledMany is the same with more nodes than a drawing holds.
func filledMany(text string) Document {
	d := filledDocument(text)
	d.Nodes, d.Links, d.Proof.Cells = nil, nil, nil
	for i := range 40 {
		n := NodeLine{}
		fillWith(reflect.ValueOf(&n).Elem(), text, 0)
		n.Name, n.Down = text+string(rune('A'+i)), ""
		l := trial.Link{End: trial.End{Node: n.Name, Port: text}, Rail: text, Switch: text, Why: text, State: []string{"ACTIVE", "DOWN", "", text}[i%4]}
		d.Nodes, d.Links = append(d.Nodes, n), append(d.Links, l)
		for j := range 40 {
			if i != j {
				c := trial.Cell{Trial: "rdma.write.bw", Pair: trial.Pair{A: trial.End{Node: n.Name, Port: text}, B: trial.End{Node: text + string(rune('A'+j)), Port: text}}, Missing: text, Verdict: trial.Verdict{Why: text, Status: check.Fail}}
				d.Proof.Cells = append(d.Proof.Cells, c)
			}
		}
	}
	return d
}

func filledLive(text string, nodes int) (history.Live, LiveOptions) {
	var l history.Live
	fillWith(reflect.ValueOf(&l).Elem(), text, 0)
	var o LiveOptions
	fillWith(reflect.ValueOf(&o).Elem(), text, 0)
	o.Open = text + " " + text
	one := l.Nodes[0]
	l.Nodes = nil
	for i := range nodes {
		n := one
		n.Name = text
		if i > 0 {
			n.Name += string(rune('A' + i))
		}
		l.Nodes = append(l.Nodes, n)
	}
	levels := []history.Level{history.Pass, history.Warn, history.Fail, history.Unknown, history.Skip}
	l.Pings = nil
	for i, a := range l.Nodes {
		for j, b := range l.Nodes {
			if i != j {
				l.Pings = append(l.Pings, history.LivePing{Kind: []string{"rdma", "tcp"}[(i+j)%2], From: a.Name, To: b.Name, FromPort: text, ToPort: text, Why: text, Level: levels[(i*3+j)%5], Latency: fact.Some(2e-6)})
			}
		}
	}
	return l, o
}

var (
	tagPattern  = regexp.MustCompile(`<(/?)([A-Za-z!][A-Za-z0-9:-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>`)
	attrPattern = regexp.MustCompile(`([^\s"'=<>/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?`)
)

// skeleton is what a browser would make of a page: elements and the names of their
// attributes.
func skeleton(page string) []string {
	var out []string
	for _, m := range tagPattern.FindAllStringSubmatch(page, -1) {
		tag := m[1] + m[2]
		for _, a := range attrPattern.FindAllStringSubmatch(m[3], -1) {
			tag += " " + a[1]
		}
		out = append(out, tag)
	}
	slices.Sort(out) // what is sorted by name stands elsewhere
	return out
}

func htmlOf(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostileNames: with any text in every place that holds one, a page has the same
// elements and attributes as with a plain word.
func TestHostileNames(t *testing.T) {
	pages := map[string]func(text string) string{
		"report": func(text string) string { return htmlOf(t, filledDocument(text).HTML) },
		"board":  func(text string) string { return htmlOf(t, filledMany(text).HTML) },
		"live": func(text string) string {
			l, o := filledLive(text, 2)
			return htmlOf(t, func(w io.Writer) error { return LivePage(w, l, o) })
		},
		"live board": func(text string) string {
			l, o := filledLive(text, 20)
			return htmlOf(t, func(w io.Writer) error { return LivePage(w, l, o) })
		},
	}
	for name, page := range pages {
		plain := page("plain")
		want := skeleton(plain)
		if n := strings.Count(plain, "plain"); n < 100 {
			t.Errorf("%s: the word stands in %d places only", name, n)
		}
		for _, e := range evils {
			out := page(e)
			judgeText(t, name, e, out)
			if got := skeleton(out); !slices.Equal(got, want) {
				i := 0
				for i < len(got) && i < len(want) && got[i] == want[i] {
					i++
				}
				t.Errorf("%s with %q: %d elements, want %d; element %d is %q", name, e, len(got), len(want), i, at(got, i))
			}
			if strings.Contains(strings.ToLower(out), `href="javascript:`) {
				t.Errorf("%s with %q: a link runs script", name, e)
			}
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// judgeText wants no character that deceives the eye, and valid UTF-8.
func judgeText(t *testing.T, name, evil, out string) {
	t.Helper()
	for i, r := range out {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			t.Errorf("%s with %q: %U at %d", name, evil, r, i)
			return
		}
	}
}

// TestHostileJUnit: the same elements, whatever the names.
func TestHostileJUnit(t *testing.T) {
	elements := func(text string) (names []string) {
		out := htmlOf(t, filledDocument(text).JUnit)
		judgeText(t, "junit", text, out)
		dec := xml.NewDecoder(strings.NewReader(out))
		for {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				return names
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if s, ok := tok.(xml.StartElement); ok {
				for _, a := range s.Attr {
					s.Name.Local += " " + a.Name.Local
				}
				names = append(names, s.Name.Local)
			}
		}
	}
	want := elements("plain")
	for _, e := range evils {
		if got := elements(e); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", e, got, want)
		}
	}
}

// TestHostileMarkdown: the same lines, each beginning the same way, with as many cells,
// and nothing in them that is not escaped or code.
func TestHostileMarkdown(t *testing.T) {
	render := func(text string) []string {
		out := htmlOf(t, filledDocument(text).Markdown)
		judgeText(t, "markdown", text, out)
		return strings.Split(out, "\n")
	}
	want := render("plain")
	for _, e := range evils {
		got := render(e)
		if len(got) != len(want) {
			t.Errorf("%q: %d lines, want %d", e, len(got), len(want))
			continue
		}
		for i := range got {
			g, w := bare(got[i]), bare(want[i])
			if strings.Count(g, "|") != strings.Count(w, "|") || strings.ContainsAny(g, "<>[]`") || begins(g) != begins(w) {
				t.Errorf("%q: line %d is %q, want like %q", e, i+1, got[i], want[i])
				break
			}
		}
	}
}

// bare takes code spans and escaped marks out of a line of Markdown.
func bare(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			b.WriteByte('x') // whatever it is, it is text
		case line[i] == '`':
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			end := i + n
			for end < len(line) {
				k := strings.Index(line[end:], strings.Repeat("`", n))
				if k < 0 {
					return b.String() + "`" // not closed
				}
				end += k
				run := len(line[end:]) - len(strings.TrimLeft(line[end:], "`"))
				end += run
				if run == n {
					break
				}
			}
			i = end - 1
		default:
			b.WriteByte(line[i])
		}
	}
	return b.String()
}

// begins is the mark at the beginning of a line that makes something of it.
func begins(line string) string {
	if line != "" && strings.Contains("#-+*>|=~", line[:1]) {
		return line[:1]
	}
	return ""
}

// TestPolicy: the policy names what is in the page, to the byte, and nothing else runs.
func TestPolicy(t *testing.T) {
	l, o := filledLive("plain", 2)
	for name, page := range map[string]string{
		"report": htmlOf(t, filledDocument("plain").HTML),
		"live":   htmlOf(t, func(w io.Writer) error { return LivePage(w, l, o) }),
	} {
		for _, element := range []string{"style", "script"} {
			for _, m := range regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1) {
				if hash := sourceHash(m[1]); !strings.Contains(policy(""), hash) {
					t.Errorf("%s: a %s whose hash %s is not in the policy", name, element, hash)
				}
			}
		}
		if strings.Contains(page, " style=") || regexp.MustCompile(` on[a-z]+=`).MatchString(page) {
			t.Errorf("%s: a style or handler attribute, which the policy forbids", name)
		}
		for _, m := range regexp.MustCompile(`(?:src|href|srcset|xlink:href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if strings.Contains(m[1], ":") && m[1] != "data:," {
				t.Errorf("%s fetches %s", name, m[1])
			}
		}
	}
	if !strings.Contains(LiveCSP(), "connect-src 'self'") || !strings.HasPrefix(LiveCSP(), "default-src 'none'") {
		t.Errorf("policy: %s", LiveCSP())
	}
}

// TestEmptyDocument: nothing known is a page, too, and says so.
func TestEmptyDocument(t *testing.T) {
	page := htmlOf(t, Document{}.HTML)
	for _, want := range []string{"Nothing was judged", "No data port is known"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	htmlOf(t, Document{}.Markdown)
	htmlOf(t, Document{}.JUnit)
	live := htmlOf(t, func(w io.Writer) error { return LivePage(w, history.Live{}, LiveOptions{}) })
	for _, want := range []string{"No node is watched yet", "Not judged yet", "no good state"} {
		if !strings.Contains(live, want) {
			t.Errorf("the live page does not say %q", want)
		}
	}
}

// TestLargeDocument: a thousand nodes of which each has something else to say are bounded.
func TestLargeDocument(t *testing.T) {
	d := Document{Check: Findings{Counts: map[string]int{"fail": 1}}, Proof: &ProofReport{}}
	d.Since = &Since{}
	for i := range 1024 {
		name := fmt.Sprintf("gpu%04d", i)
		d.Nodes = append(d.Nodes, NodeLine{Name: name, Machine: "a machine of some kind", OS: "Ubuntu 24.04 LTS", Kernel: "6.8.0-generic", GPUs: "8 × NVIDIA H100 80GB HBM3", Ports: 8, PortsUp: 8})
		d.Proof.Left = append(d.Proof.Left, name+": it is busy")
		d.Proof.Problems = append(d.Proof.Problems, trial.Problem{Trial: "rdma.write.bw", At: []trial.End{{Node: name}}, Got: fmt.Sprint(i)})
		for p := range 8 {
			d.Links = append(d.Links, trial.Link{End: trial.End{Node: name, Port: fmt.Sprintf("mlx5_%d/1", p)}, State: "ACTIVE", Rail: fmt.Sprintf("10.%d.0.0/16", p), Rate: 400e9, Want: 390e9, Limit: "port", Why: "port rate 400 Gb/s"})
			d.Check.Findings = append(d.Check.Findings, check.Finding{Check: "port.errors", Status: check.Fail, Subject: check.Subject{Node: name, Part: fmt.Sprintf("mlx5_%d/1", p)}, Got: fmt.Sprintf("%d errors", 8*i+p), Why: "bits are lost on the wire", Fix: []string{"look at the cable of " + name}})
			d.Since.Changes = append(d.Since.Changes, history.Change{Node: name, Path: fmt.Sprintf("ports/mlx5_%d/1/firmware", p), From: fmt.Sprint(i), To: fmt.Sprint(i + 1)})
		}
	}
	for name, write := range map[string]func(io.Writer) error{"html": d.HTML, "markdown": d.Markdown} {
		if n := len(htmlOf(t, write)); n > 3<<20 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// TestCurveColours: every colour of the curve has its counterpart for dark pages.
func TestCurveColours(t *testing.T) {
	var b strings.Builder
	if err := foreseen(t, "m").SVG(&b); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(fill|stroke)="#[0-9a-f]{6}"`).FindAllString(b.String(), -1) {
		if !strings.Contains(pageCSS, ".curve ["+m+"]") {
			t.Errorf("%s has no rule", m)
		}
	}
}

// TestSinceOf: a finding that came and one that went.
func TestSinceOf(t *testing.T) {
	finding := func(id, node string, s check.Status) check.Finding {
		return check.Finding{Check: id, Subject: check.Subject{Node: node}, Status: s}
	}
	was := Findings{Findings: []check.Finding{finding("port.up", "n1", check.Fail), finding("roce.mtu", "n1", check.Fail), finding("roce.mtu", "n2", check.Pass)}}
	now := Findings{Findings: []check.Finding{finding("port.up", "n1", check.Pass), finding("roce.mtu", "n1", check.Warn), finding("roce.mtu", "n2", check.Fail)}}
	s := SinceOf(&check.Case{}, &check.Case{}, was, now)
	if len(s.New) != 1 || s.New[0].Subject.Node != "n2" || len(s.Gone) != 1 || s.Gone[0].Check != "port.up" {
		t.Errorf("new %v, gone %v", s.New, s.Gone)
	}
}

// TestLiveParts: each part is an element of the page, and an event is one line of data.
func TestLiveParts(t *testing.T) {
	l, o := filledLive("a\nb", 3)
	page := htmlOf(t, func(w io.Writer) error { return LivePage(w, l, o) })
	parts, err := LiveParts(l, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if !strings.Contains(page, `<div id="`+p.ID+`">`+string(p.HTML)+`</div>`) {
			t.Errorf("%s is not in the page as it is sent", p.ID)
		}
	}
	l.Summary = "other"
	next, err := LiveParts(l, o)
	if err != nil {
		t.Fatal(err)
	}
	if changed := LiveChanged(parts, next); len(changed) != 1 || changed[0].ID != "part-sum" {
		t.Errorf("changed: %v", changed)
	}
	for _, send := range [][]LivePart{parts, nil} {
		event := htmlOf(t, func(w io.Writer) error { return LiveEvent(w, send) })
		if lines := strings.Split(event, "\n"); len(lines) != 4 || lines[0] != "event: parts" || !strings.HasPrefix(lines[1], "data: [") || lines[2]+lines[3] != "" {
			t.Errorf("event: %q", event[:min(len(event), 80)])
		}
	}
}

// BenchmarkLiveParts renders what changes of a page over 64 nodes with 8 ports each: what
// every open page costs at each look.
func BenchmarkLiveParts(b *testing.B) {
	l, o := filledLive("plain", 64)
	for i := range l.Nodes {
		l.Nodes[i].Name = fmt.Sprintf("gpu%d", i)
		one := l.Nodes[i].Ports[0]
		l.Nodes[i].Ports = nil
		for p := range 8 {
			one.Name = fmt.Sprintf("mlx5_%d/1", p)
			l.Nodes[i].Ports = append(l.Nodes[i].Ports, one)
		}
	}
	for b.Loop() {
		if _, err := LiveParts(l, o); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMarkdownRendered has GitHub's own renderer show hostile names: they make no element
// that a plain word does not make.
func TestMarkdownRendered(t *testing.T) {
	tool, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("cmark-gfm is not installed: apt install cmark-gfm")
	}
	render := func(text string) []string {
		cmd := exec.Command(tool, "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tagfilter")
		cmd.Stdin = strings.NewReader(htmlOf(t, filledDocument(text).Markdown))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return skeleton(string(out))
	}
	if got := md("root@@a #12 \\`@` ##3 a#b"); got != "root`@@`a `#`12 \\\\\\``@`\\` \\#`#`3 a\\#b" {
		t.Errorf("people and issues are %s", got)
	}
	if got := render("mail@evil.example, @all, #12"); slices.ContainsFunc(got, func(x string) bool { return strings.HasPrefix(x, "a ") }) {
		t.Error("a mail address becomes a link")
	}
	want := render("plain")
	for _, e := range append(evils, "http://evil.example/x", "www.evil.example", "~~x~~", "**x**", "_x_", "![x](http://y)", "[x]: http://y", "<http://x>", "1) x", "+ x", "    code", "a  \nb", "\\", "x\\", "`", "``", "x`y``z", ":smile:", "$x$") {
		if got := render(e); !slices.Equal(got, want) {
			t.Errorf("%q: %d elements, want %d: %q", e, len(got), len(want), differ(got, want))
		}
	}
}

// differ lists what is in one sorted list and not in the other.
func differ(a, b []string) (out []string) {
	count := map[string]int{}
	for _, x := range a {
		count[x]++
	}
	for _, x := range b {
		count[x]--
	}
	for x, n := range count {
		if n != 0 {
			out = append(out, fmt.Sprintf("%+d %s", n, x))
		}
	}
	slices.Sort(out)
	return out
}
