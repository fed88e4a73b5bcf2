package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"weft/internal/check"
	"weft/internal/forecast"
	"weft/internal/why"
)

// nasty is what a node or a file may put into a text.
const nasty = "a\x1b[31m<b>&\u202e\"'"

func whySample(left forecast.Ms) Why {
	return Why{
		Model: forecast.Model{Name: nasty}, Format: forecast.Format{Name: "bf16"}, Engine: forecast.Engine{Name: "vllm"},
		Nodes: []forecast.Node{{Name: "n1", GPUs: 1, HW: forecast.Hardware{Name: nasty}}}, Batch: 1,
		Answer: why.Answer{
			Measured: 20, Step: 50, Tokens: 1, Forecast: 22, Layout: forecast.Layout{TP: 2, PP: 1}, Digits: 2,
			Parts: []why.Part{
				{Name: "memory", Kind: why.Token, Ms: 30, Why: "read", Basis: why.Derived},
				{Name: "sync", Kind: why.Token, Ms: 15 - left, Basis: why.Fitted},
				{Name: nasty, Kind: why.Wrong, Ms: 5, Why: nasty, Basis: why.Published},
				{Name: why.Unexplained, Kind: why.Unexplained, Ms: left},
			},
			Causes:   []why.Cause{{Check: nasty, Status: check.Fail, Got: nasty, How: nasty, On: nasty, Fix: []string{nasty}}},
			Suspects: []why.Suspect{{What: nasty, Ms: 3, Look: nasty}},
			Changes:  []why.Change{{What: nasty, Rate: 25, Times: 1.25, Effect: why.Quicker, How: nasty}},
			Refused:  []why.Refused{{What: nasty, Why: nasty}},
			Verdict:  []string{nasty},
		},
		Says: []string{nasty}, Next: "weft " + nasty,
	}
}

// Nothing that comes from a node or a file plays tricks on a terminal.
func TestWhyTextIsClean(t *testing.T) {
	var b strings.Builder
	if err := whySample(2).Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("control characters reach the terminal:\n%q", b.String())
	}
}

// The drawing is well-formed and holds every part.
func TestWhySVG(t *testing.T) {
	for _, left := range []forecast.Ms{2, 0, -12} {
		var b strings.Builder
		if err := whySample(left).SVG(&b); err != nil {
			t.Fatal(err)
		}
		dec, rects := xml.NewDecoder(strings.NewReader(b.String())), 0
		for {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, b.String())
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "rect" {
				rects++
			}
		}
		if rects != 5 { // the ground and four parts
			t.Errorf("%d rectangles, want 5", rects)
		}
	}
}

// Bars stay within their columns and follow each other.
func TestWhyBars(t *testing.T) {
	for _, left := range []forecast.Ms{2, 0, -12, -200} {
		r := whySample(left)
		at := 0.0
		for i, s := range r.spans() {
			if s.from < 0 || s.to > 1+1e-9 || s.from > s.to {
				t.Errorf("part %d reaches from %g to %g", i, s.from, s.to)
			}
			if r.Parts[i].Ms >= 0 && s.from < at-1e-9 {
				t.Errorf("part %d begins at %g, before the end of the one above", i, s.from)
			}
			at = s.to
			if text := bar(s, 30, r.Parts[i]); utf8.RuneCountInString(text) > 30 {
				t.Errorf("part %d is %q: more than 30 cells", i, text)
			}
		}
	}
}
