package compat

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/platform"
)

// Coverage counts the answers of every table; docs/compat.md gives the same figures.
func coverage(d *Data) (lines []string) {
	count := func(table string, cells []Cell) {
		n := map[string]int{}
		for _, c := range cells {
			n[c.Answer]++
		}
		known := len(cells) - n[Unknown]
		lines = append(lines, fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d %% |", table, len(cells), n[Yes], n[Partly], n[No], n[Unknown], 100*known/max(1, len(cells))))
	}
	count("GPU × feature", d.featureCells(d.gpuNames(), d.featuresOf(true)))
	count("GPU × quantisation × engine × kind", d.quantCells(d.gpuNames(), Ask{}))
	count("kernel × ROCm", d.kernelCells([]string{"gfx1151"}, Ask{}))
	count("NIC × system", d.systemCells(Ask{}))
	count("NIC × feature", d.cardCells(d.NICs, d.featuresOf(false)))
	return lines
}

// TestCoverage holds the figures of docs/compat.md against the tables.
func TestCoverage(t *testing.T) {
	page := readPage(t)
	for _, line := range coverage(Matrix()) {
		t.Log(line)
		if !strings.Contains(page, line) {
			t.Errorf("docs/compat.md lacks: %s", line)
		}
	}
}

// TestEveryGPUHasARow: every GPU of platform is named, and answers something.
func TestEveryGPUHasARow(t *testing.T) {
	d := Matrix()
	for _, g := range platform.GPUs {
		if !known(d.GPUs, g.Match) {
			t.Errorf("%s is not in gpu.csv", g.Match)
		}
		for name, cells := range map[string][]Cell{
			"feature":      d.featureCells([]string{g.Match}, d.featuresOf(true)),
			"quantisation": d.quantCells([]string{g.Match}, Ask{}),
		} {
			some := 0
			for _, c := range cells {
				if c.Answer != Unknown {
					some++
				}
			}
			if some < len(cells)/4 {
				t.Errorf("%s: %d of %d cells of %s are known", g.Match, some, len(cells), name)
			}
		}
	}
}

// TestEveryRuleCounts: a row that no cell shows, and a name that no row uses, are
// dead weight or a slip.
func TestEveryRuleCounts(t *testing.T) {
	d := Matrix()
	used := map[string]bool{}
	for _, r := range d.features {
		used[r.source] = true
		shown := false
		for _, g := range d.gpuNames() {
			shown = shown || d.FeatureOf(g, r.feature).How == r.how
		}
		if !shown {
			t.Errorf("no GPU shows %s on %v", r.feature, r.on)
		}
	}
	for _, r := range d.quants {
		used[r.source] = true
		shown := false
		for _, c := range d.quantCells(d.gpuNames(), Ask{Engines: r.engines}) {
			shown = shown || c.How == r.how && c.Date == r.date && c.Answer == r.answer
		}
		if !shown {
			t.Errorf("no cell shows %v %v on %v", r.engines, r.quants, r.on)
		}
	}
	for _, r := range d.systems {
		used[r.source] = true
	}
	for _, r := range d.cards {
		used[r.source] = true
	}
	for _, r := range d.kernels {
		used[r.source] = true
	}
	for _, id := range []string{"models", "known"} { // of model.csv
		used[id] = true
	}
	for id := range d.sources {
		if !used[id] {
			t.Errorf("source %s is not used", id)
		}
	}
	for _, f := range d.Features {
		if f.GPU && len(d.featureCells(d.gpuNames(), []string{f.ID})) == 0 {
			t.Errorf("feature %s has no cell", f.ID)
		}
	}
}
