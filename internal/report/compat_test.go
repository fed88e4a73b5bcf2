package report

import (
	"strings"
	"testing"

	"weft/internal/compat"
)

func compatText(t *testing.T, r Compat, o Options) string {
	var b strings.Builder
	if err := r.Text(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCompatFolds(t *testing.T) {
	cell := func(gpu, engine, model, answer, how string) compat.Cell {
		return compat.Cell{Table: compat.GPUQuant, GPU: gpu, Quant: "awq", Engine: engine, Model: model, Answer: answer, How: how, Source: "s", Where: "w", Date: "2026-01-01"}
	}
	r := Compat{Reply: compat.Reply{Verdict: compat.No, Cells: []compat.Cell{
		cell("A", "vllm", "dense", compat.Yes, ""), cell("A", "vllm", "moe", compat.No, "it hangs"),
		cell("A", "ollama", "dense", compat.No, "never"), cell("A", "ollama", "moe", compat.No, "never"),
		cell("B", "vllm", "dense", compat.Yes, ""), cell("B", "vllm", "moe", compat.No, "it hangs"),
		cell("B", "ollama", "dense", compat.No, "never"), cell("B", "ollama", "moe", compat.No, "never"),
	}}, Why: "so", Next: "weft check"}
	want := `A, B
  yes      vLLM (dense) [1]
  no       vLLM (MoE): it hangs [1]
  no       Ollama: never [1]

[1] s: w, 2026-01-01

no: so
next:
    weft check
`
	if got := compatText(t, r, Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestCompatIsClean: what a node calls its GPU plays no tricks on a terminal.
func TestCompatIsClean(t *testing.T) {
	r := Compat{Whole: true, Source: "x", Asked: "a\x1b[2Jb", Reply: compat.Reply{Verdict: compat.Unknown, Cells: []compat.Cell{
		{Table: compat.GPUFeature, GPU: "evil\x1b]0;x\a\u202e", Nodes: "n1", Answer: compat.Unknown, How: "weft does not know this GPU", Asked: true},
		{Table: compat.GPUFeature, GPU: "evil\x1b[1m", Nodes: "n2", Answer: compat.Unknown},
	}}, Why: "evil\x1b[1m"}
	if got := compatText(t, r, Options{}); strings.ContainsAny(got, "\x1b\a\u202e") {
		t.Errorf("a control character in %q", got)
	}
}

func TestCompatFits(t *testing.T) {
	m := compat.Matrix()
	for _, ask := range []compat.Ask{{GPUs: []string{"H100"}}, {Features: []string{"mig"}}, {OSes: []string{"rhel10"}}, {Quants: []string{"fp8"}}} {
		r := Compat{Reply: m.Answer(ask), Why: "so"}
		for _, line := range strings.Split(compatText(t, r, Options{Width: 80}), "\n") {
			if n := len([]rune(line)); n > 80 && strings.Contains(strings.TrimSpace(line), " ") && !strings.Contains(line, "https://") {
				t.Errorf("%d wide: %q", n, line)
			}
		}
		if plain, coloured := compatText(t, r, Options{}), compatText(t, r, Options{Colour: true}); strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b[3") {
			t.Error("colour where there should be none, or none where it is wanted")
		}
		if a, b := compatText(t, r, Options{}), compatText(t, r, Options{}); a != b {
			t.Error("two renderings differ")
		}
	}
}
