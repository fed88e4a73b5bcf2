package weft

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layer is one package: its side and what of weft it may import.
type layer struct {
	name string
	pure bool
	may  []string
}

// layers is the architecture, in the order data flows. Nouns are pure: data in,
// data out. Verbs and tools are edges: they touch machines and decide nothing.
// A package may import only what stands above it and is named in its row.
var layers = []layer{
	{"docs", true, nil},
	{"internal/unit", true, nil},
	{"internal/nodeset", true, nil},
	{"internal/spec", true, []string{"nodeset"}},
	{"internal/dump", true, []string{"nodeset"}},
	{"internal/fact", true, []string{"unit"}},
	{"internal/format/printed", true, nil},
	{"internal/format/*", true, []string{"unit", "format/printed"}}, // one foreign format each, each on its own
	{"internal/format", true, []string{"unit", "nodeset", "spec", "dump", "fact", "format/*"}},
	{"internal/topo", true, []string{"fact", "unit"}},
	{"internal/platform", true, []string{"fact", "unit"}},
	{"internal/check", true, []string{"fact", "topo", "platform", "spec", "nodeset", "unit"}},
	{"internal/compat", true, []string{"fact", "platform", "spec", "nodeset"}},
	{"internal/collective", true, nil},
	{"internal/transport", true, []string{"check", "fact", "platform", "nodeset", "unit", "format/nccllog"}},
	{"internal/trial", true, []string{"check", "fact", "topo", "platform", "spec", "nodeset", "unit"}},
	{"internal/forecast", true, []string{"fact", "platform", "trial", "unit"}},
	{"internal/load", true, []string{"fact", "forecast"}},
	{"internal/rehearsal", true, []string{"collective", "forecast"}},
	{"internal/why", true, []string{"forecast", "check", "compat", "transport", "fact", "topo", "nodeset", "unit"}},
	{"internal/intent", true, []string{"check", "fact", "topo", "platform", "spec"}},
	{"internal/job", true, []string{"check", "fact", "topo", "platform", "spec", "forecast", "trial", "nodeset", "unit", "format/raystatus"}},
	{"internal/diff", true, nil},
	{"internal/edit", true, nil},
	{"internal/edit/*", true, []string{"edit"}}, // one foreign format each, written
	{"internal/plan", true, []string{"check", "fact", "topo", "platform", "spec", "nodeset", "unit", "job", "diff", "edit", "edit/*"}},
	{"internal/design", true, []string{"fact", "topo", "platform", "nodeset", "unit"}},
	{"internal/history", true, []string{"fact", "unit"}},
	{"internal/report", true, []string{"history", "job", "format/englog", "check", "compat", "transport", "trial", "forecast", "rehearsal", "load", "why", "plan", "design", "diff", "fact", "topo", "nodeset", "unit"}},
	{"internal/sample", true, []string{"dump", "fact", "unit", "format", "spec"}},
	{"internal/demo", true, []string{"sample", "dump"}},
	{"internal/fixture", false, nil}, // imported by tests alone
	{"internal/exec", false, nil},
	{"internal/store", false, nil},
	{"internal/term", false, nil},
	{"internal/bench/standin", false, nil}, // imported by tests alone
	{"internal/bench", false, []string{"load", "format/openai"}},
	{"internal/verbs", false, []string{"unit"}},
	{"internal/collect", false, []string{"exec", "dump", "format"}},
	{"internal/journal", false, []string{"plan", "diff"}},
	{"internal/bring", false, []string{"exec"}},
	{"internal/apply", false, []string{"exec", "journal", "bring"}},
	{"internal/verbs", false, nil},
	{"internal/watch/local/tree", false, nil}, // imported by tests alone
	{"internal/watch/local", false, []string{"history", "fact", "unit", "format/nvsmi"}},
	{"internal/meter", false, []string{"trial", "collective", "verbs", "history", "watch/local"}},
	{"internal/prove", false, []string{"exec", "bring", "meter", "verbs", "collective", "rehearsal", "trial", "check", "fact", "topo", "unit", "nodeset", "format/perftest", "format/nccltests", "format/nccllog", "transport"}},
	{"internal/serve", false, []string{"exec", "job", "format/englog", "format/raystatus", "format/nccllog", "transport", "trial", "check", "prove", "meter"}},
	{"internal/watch", false, []string{"exec", "verbs", "meter", "prove", "trial", "history", "fact", "report", "watch/local"}},
	{"internal/lab/own", false, nil},
	{"internal/lab/ib", false, []string{"lab/own"}},
	{"internal/lab/wire", false, nil},
	{"internal/lab/clock", false, nil},
	{"internal/lab/standin", false, []string{"verbs"}}, // a program of the lab test, in no product
	{"internal/lab", false, []string{"lab/own", "lab/wire", "lab/clock"}},
	{"internal/cli", false, []string{"docs", "nodeset", "spec", "dump", "fact", "format", "check", "compat", "intent", "job", "serve", "plan", "design", "history", "report", "transport", "format/nccllog", "format/vllmbench", "bench", "load", "demo", "journal", "apply", "bring", "meter", "prove", "watch", "trial", "forecast", "collective", "rehearsal", "why", "unit", "exec", "store", "term", "collect", "lab", "lab/ib"}},
	{"cmd/weft", false, []string{"cli"}},
}

// impure are the packages that a noun may not use: they touch the machine, the
// clock or chance.
var impure = []string{"os", "os/exec", "os/signal", "net", "net/http", "syscall", "math/rand", "math/rand/v2", "crypto/rand"}

func TestArchitecture(t *testing.T) {
	for _, dir := range packages(t) {
		l, ok := layerOf(dir)
		if !ok {
			t.Errorf("%s has no row in layers", dir)
			continue
		}
		for _, file := range goFiles(t, dir) {
			judgeFile(t, dir, l, file)
		}
	}
	for _, l := range layers {
		if matches, _ := filepath.Glob(l.name + "/*.go"); len(matches) == 0 {
			t.Errorf("%s has a row in layers and no code", l.name)
		}
	}
}

func judgeFile(t *testing.T, dir string, l layer, file string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if l.pure && slices.Contains(impure, path) {
			t.Errorf("%s: a pure package imports %s", file, path)
		}
		if weft, ok := strings.CutPrefix(path, "weft/"); ok && !allowed(l, strings.TrimPrefix(weft, "internal/")) {
			t.Errorf("%s: %s may not import %s", file, dir, path)
		}
	}
	if b, err := os.ReadFile(file); err != nil {
		t.Fatal(err)
	} else if l.pure && strings.Contains(string(b), "time.Now(") {
		t.Errorf("%s: a pure package asks for the time; make it an argument", file)
	}
}

func allowed(l layer, name string) bool {
	for _, may := range l.may {
		if ok, _ := filepath.Match(may, name); ok {
			return true
		}
	}
	return false
}

func layerOf(dir string) (layer, bool) {
	for _, l := range layers {
		if ok, _ := filepath.Match(l.name, dir); ok {
			return l, true
		}
	}
	return layer{}, false
}

// packages returns every folder with Go code that is not only a test.
func packages(t *testing.T) []string {
	var dirs []string
	for _, root := range []string{"cmd", "docs", "internal"} {
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() && len(goFiles(t, path)) > 0 {
				dirs = append(dirs, filepath.ToSlash(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

func goFiles(t *testing.T, dir string) []string {
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

// TestEveryPackageSaysItsSide wants the first sentence of a package, and which side
// it is on, in its doc comment.
func TestEveryPackageSaysItsSide(t *testing.T) {
	for _, dir := range packages(t) {
		l, _ := layerOf(dir)
		said := ""
		for _, file := range goFiles(t, dir) {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			said += f.Doc.Text()
		}
		want := map[bool]string{true: "Pure", false: "Edge"}[l.pure]
		if dir == "cmd/weft" {
			want = "Command weft"
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: the package comment does not say %q", dir, want)
		}
	}
}
