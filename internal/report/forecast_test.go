package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"weft/internal/forecast"
)

func foreseen(t *testing.T, model string) Forecast {
	t.Helper()
	m, err := forecast.ModelByName("Qwen3-30B-A3B")
	if err != nil {
		t.Fatal(err)
	}
	m.Name = model
	e, _ := forecast.EngineByName("vllm", "")
	f, _ := forecast.FormatOf("fp8", m, e)
	nodes, _ := forecast.ParseHardware("2x gb10")
	link, _ := forecast.ParseLink("200g-rdma")
	ask := forecast.Ask{Model: m, Format: f, Engine: e, Nodes: nodes, Fabric: link, Batch: 1, Context: 4096, Prompt: 1024}
	a, err := ask.Answer()
	if err != nil {
		t.Fatal(err)
	}
	return Forecast{Model: m, Format: f, Engine: e, Fabric: link, Nodes: nodes, Answer: a, Batch: 1}
}

// TestForecastSVG: well-formed, self-contained, and a name cannot break out of it.
func TestForecastSVG(t *testing.T) {
	r := foreseen(t, `"><script>alert(1)</script>`)
	var b strings.Builder
	if err := r.SVG(&b); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(strings.NewReader(b.String()))
	names := map[string]int{}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
		if s, ok := tok.(xml.StartElement); ok {
			names[s.Name.Local]++
			for _, a := range s.Attr {
				if a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%s has %s", s.Name.Local, a.Name.Local)
				}
			}
		}
	}
	if names["script"] > 0 || names["polyline"] != 2 || names["polygon"] != 2 || names["circle"] != 8 {
		t.Errorf("elements: %v", names)
	}
	if strings.Contains(b.String(), "http") && strings.Count(b.String(), "http") != 1 {
		t.Error("something is fetched")
	}
}

// TestForecastText: the same twice, no control characters of a name, no line that ends
// in blanks.
func TestForecastText(t *testing.T) {
	r := foreseen(t, "evil\x1b[31m")
	var a, b strings.Builder
	if r.Text(&a, Options{}) != nil || r.Text(&b, Options{}) != nil || a.String() != b.String() {
		t.Error("two renderings differ")
	}
	if strings.ContainsRune(a.String(), '\x1b') {
		t.Error("an escape of a name reached the terminal")
	}
	for _, line := range strings.Split(a.String(), "\n") {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("%q ends in blanks", line)
		}
	}
}

func TestBarOf(t *testing.T) {
	for part, want := range map[float64]string{0: "    ", 1: "████", 0.5: "██  ", 2: "████", -1: "    ", 0.03125: "▏   "} {
		if got := barOf(part, 4); got != want {
			t.Errorf("barOf(%g) = %q, want %q", part, got, want)
		}
	}
}
