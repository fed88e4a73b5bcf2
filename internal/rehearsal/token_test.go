package rehearsal

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/collective"
	"weft/internal/forecast"
)

func model(t *testing.T, name string) forecast.Model {
	t.Helper()
	m, err := forecast.ModelByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// said folds equal steps that follow each other.
func said(steps []Step) string {
	var out []string
	n := 0
	for i, s := range steps {
		if n++; i+1 < len(steps) && fmt.Sprint(steps[i+1].Op) == fmt.Sprint(s.Op) {
			continue
		}
		out = append(out, fmt.Sprintf("%d %s %d %v", n, s.Kind, s.Bytes, s.Ranks))
		n = 0
	}
	return strings.Join(out, "; ")
}

func TestToken(t *testing.T) {
	for _, c := range []struct {
		model string
		l     Layout
		batch int
		want  string
	}{
		// 80 layers of 8192: two all-reduces of 16 KiB in each
		{"Llama-3.1-70B", Layout{TP: 4}, 1, "160 all-reduce 16384 [0 1 2 3]"},
		{"Llama-3.1-70B", Layout{TP: 2}, 8, "160 all-reduce 131072 [0 1]"},
		{"Llama-3.1-70B", Layout{PP: 2}, 1, "1 hop 16384 [0 1]; 1 hop 8 [1 0]"},
		{"Llama-3.1-70B", Layout{TP: 2, PP: 2}, 1, "80 all-reduce 16384 [0 1]; 1 hop 16384 [0 2]; 1 hop 16384 [1 3]; 80 all-reduce 16384 [2 3]; 1 hop 8 [2 0]; 1 hop 8 [3 1]"},
		// 128 experts, 8 of them for a token, 94 layers of 4096: of 16 tokens, 4 on each of 4
		// nodes, each goes to every node
		{"Qwen3-235B-A22B", Layout{EP: 4}, 16, "188 all-to-all 32768 [0 1 2 3]"},
		// of 16 nodes each token reaches half: of one token, one
		{"Qwen3-235B-A22B", Layout{EP: 16}, 16, "188 all-to-all 8192 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]"},
	} {
		steps, err := Token(model(t, c.model), c.l, c.batch)
		if err != nil {
			t.Errorf("%s %v: %v", c.model, c.l, err)
			continue
		}
		if got := said(steps); got != c.want {
			t.Errorf("%s %v, batch %d:\n got %s\nwant %s", c.model, c.l, c.batch, got, c.want)
		}
		for _, s := range steps {
			if s.Kind == collective.AllReduce {
				s.How = collective.OneShot
			}
			if err := s.Check(c.l.Ranks()); err != nil {
				t.Errorf("%s %v: %v", c.model, c.l, err)
			}
		}
	}
}

func TestTokenRefuses(t *testing.T) {
	for _, c := range []struct {
		model string
		l     Layout
		batch int
		want  string
	}{
		{"Llama-3.1-70B", Layout{TP: 1}, 1, "one node exchanges nothing"},
		{"Llama-3.1-70B", Layout{TP: 3}, 1, "3"},
		{"Llama-3.1-70B", Layout{EP: 4}, 1, "no experts"},
		{"Llama-3.1-70B", Layout{PP: 81}, 1, "80 layers"},
		{"Llama-3.1-70B", Layout{TP: 2}, 0, "batch 0"},
		{"Llama-3.1-70B", Layout{TP: 2}, 1 << 20, "batch 1048576"},
		{"Qwen3-235B-A22B", Layout{EP: 2, TP: 2}, 1, "experts alone"},
	} {
		if _, err := Token(model(t, c.model), c.l, c.batch); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, batch %d: %v, want %q", c.l, c.batch, err, c.want)
		}
	}
}

// TestBlocks: models that have attention and feed-forward in each layer have two
// all-reduces in each; those that interleave them have one.
func TestBlocks(t *testing.T) {
	for _, name := range forecast.ModelNames() {
		m := model(t, name)
		mixers, forwards := m.Blocks()
		if m.Rough == "" && mixers+forwards != 2*m.Layers && mixers+forwards != m.Layers {
			t.Errorf("%s: %d + %d blocks in %d layers", name, mixers, forwards, m.Layers)
		}
	}
}
