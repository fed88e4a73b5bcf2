package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weft/internal/check"
	"weft/internal/format"
	"weft/internal/format/nccltests"
	"weft/internal/format/perftest"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/sample"
	"weft/internal/trial"
)

func readDoc(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestProveDocsFlags wants every flag of weft prove in docs/prove.md, and every flag that
// the page or a trial's page names to be one of weft or of a program that the page runs.
func TestProveDocsFlags(t *testing.T) {
	page := readDoc(t, "prove.md")
	root := Root()
	known := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		add := func(f *pflag.Flag) { known[f.Name] = true }
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	cmd, _, err := root.Find([]string{"prove"})
	if err != nil || cmd.Name() != "prove" {
		t.Fatalf("weft prove: %v", err)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !strings.Contains(page, "--"+f.Name) {
			t.Errorf("docs/prove.md does not name --%s", f.Name)
		}
	})
	for _, other := range []string{"report_gbits", "use_cuda", "use_cuda_dmabuf", "use_rocm", "use_rocm_dmabuf"} { // perftest
		known[other] = true
	}
	known["map-by"] = true // mpirun
	flag := regexp.MustCompile(`--([a-z][a-z_-]+)`)
	pages, _ := filepath.Glob("../../docs/trials/*.md")
	for _, path := range append(pages, "../../docs/prove.md") {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range flag.FindAllStringSubmatch(string(b), -1) {
			if !known[m[1]] {
				t.Errorf("%s names --%s, which nothing has", path, m[1])
			}
		}
	}
}

// TestProveDocsFields wants every field of a proof's JSON in docs/prove.md.
func TestProveDocsFields(t *testing.T) {
	page := readDoc(t, "prove.md")
	seen := map[reflect.Type]bool{}
	var look func(typ reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), "weft/internal/trial") && !strings.HasPrefix(typ.PkgPath(), "weft/internal/report") {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/prove.md does not name %s.%s, %q", typ.Name(), f.Name, name)
			}
			look(f.Type)
		}
	}
	look(reflect.TypeFor[report.ProofReport]())
	if len(seen) < 8 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

// TestTrialPagesCommands holds the perftest command lines of the pages against those that
// weft itself runs: the program and its options are taken from prove, the rest is the
// pages' example.
func TestTrialPagesCommands(t *testing.T) {
	c := &check.Case{Cluster: format.Facts(sample.RoCE("gpu", 2).Dump())}
	rails, left := trial.Rails(c)
	rounds, _ := trial.Rounds(rails, trial.Which{Word: "all"}, func(n int) []int {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		return order
	})
	if len(rounds) == 0 || len(rounds[0].Pairs) == 0 {
		t.Fatalf("the sample has no pair; left out: %q", left)
	}
	effort, _ := trial.EffortByWord("usual")
	gid, ran := 3, 0
	for _, tr := range trial.All {
		lines := prove.Commands(prove.Order{Case: c, Trials: []trial.Trial{tr}, Effort: effort, Engine: "perftest"}, rounds)
		if !strings.HasPrefix(tr.ID, "rdma.") {
			if len(lines) > 0 {
				t.Errorf("%s runs perftest: %q", tr.ID, lines)
			}
			continue
		}
		if len(lines) != 2 {
			t.Fatalf("%s: %d commands, want a server and a client", tr.ID, len(lines))
		}
		words := strings.Fields(lines[0]) // "gpu1: ib_write_bw -d …"
		o := perftest.Options{Test: words[1], Bidirectional: slices.Contains(words, "-b"), Device: "mlx5_0", Port: 1, GIDIndex: &gid}
		page := readDoc(t, "trials/"+tr.ID+".md")
		for _, host := range []string{"", map[bool]string{true: "192.168.200.1", false: "192.168.200.2"}[tr.Over == trial.Ports]} {
			o.Host = host
			if line := "    " + strings.Join(perftest.Command(o), " ") + "\n"; !strings.Contains(page, line) {
				t.Errorf("docs/trials/%s.md has no line %q", tr.ID, line)
			}
			ran++
		}
	}
	if ran != 16 {
		t.Errorf("%d commands were looked at, want 16", ran)
	}
	for _, host := range []string{"", "192.168.200.2"} {
		o := perftest.Options{Test: "ib_write_bw", Device: "mlx5_0", Port: 1, GIDIndex: &gid, Host: host, GPU: &perftest.GPU{Kind: "cuda"}}
		if line := "    " + strings.Join(perftest.Command(o), " ") + "\n"; !strings.Contains(readDoc(t, "trials/gpu.direct.md"), line) {
			t.Errorf("docs/trials/gpu.direct.md has no line %q", line)
		}
	}
}

// TestTrialPagesBusBandwidth holds the formulas of the pages against ours.
func TestTrialPagesBusBandwidth(t *testing.T) {
	formulas := map[string]func(n float64) float64{
		"bytes / time × 2(n−1)/n for n ranks": func(n float64) float64 { return 2 * (n - 1) / n },
		"bytes / time × (n−1)/n for n ranks":  func(n float64) float64 { return (n - 1) / n },
		"bytes / time, where":                 func(float64) float64 { return 1 },
	}
	program := regexp.MustCompile(`--map-by slot ([a-z_]+)_perf -b 16K`)
	for _, tr := range trial.All {
		if tr.Over != trial.Cluster {
			continue
		}
		page := readDoc(t, "trials/"+tr.ID+".md")
		op := program.FindStringSubmatch(page)
		if op == nil {
			t.Errorf("docs/trials/%s.md has no command of nccl-tests", tr.ID)
			continue
		}
		if strings.ReplaceAll(op[1], "_", "") != strings.TrimPrefix(tr.ID, "nccl.") {
			t.Errorf("docs/trials/%s.md runs %s", tr.ID, op[1])
		}
		alg, bus, err := nccltests.BusBW(op[1], 1<<30, 0.1, 16)
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for words, factor := range formulas {
			if strings.Contains(strings.Join(strings.Fields(page), " "), words) {
				said = true
				if got, want := fmt.Sprintf("%.4f", factor(16)), fmt.Sprintf("%.4f", float64(bus)/float64(alg)); got != want {
					t.Errorf("docs/trials/%s.md says %q, which is %s of 16 ranks; ours is %s", tr.ID, words, got, want)
				}
			}
		}
		if !said {
			t.Errorf("docs/trials/%s.md has no formula", tr.ID)
		}
	}
}
