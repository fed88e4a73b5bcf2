package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/check"
	"weft/internal/demo"
	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/format"
	"weft/internal/load"
	"weft/internal/report"
	"weft/internal/sample"
	"weft/internal/spec"
	"weft/internal/store"
	"weft/internal/trial"
)

// reportFolder is a folder as it is after some days of weft: two looks at four servers,
// of which the first was good, and two proofs, of which the second is bad at kai2.
func reportFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	c, err := demoCluster([]string{"kai-rack"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "weft.yaml"), c.Spec())
	d, err := dump.Parse(c.Dump())
	if err != nil {
		t.Fatal(err)
	}
	want, err := spec.Parse(c.Spec())
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 11, 14, 9, 0, 0, 0, time.UTC)
	good, err := dump.Parse(c.Dump())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range good.Nodes { // before somebody changed MTUs and a kernel
		for _, dev := range []string{"ens1f0np0", "ens2f0np0"} {
			n.Text["/sys/class/net/"+dev+"/mtu"] = "9000\n"
		}
		n.Text["/proc/sys/kernel/osrelease"] = "5.15.0-119-generic\n"
	}
	keepLook(t, dir, good, first)
	keepLook(t, dir, d, first.Add(24*time.Hour))
	k := &check.Case{Cluster: format.Facts(d), Want: want}
	keepProof(t, dir, k, first.Add(time.Hour), func(string, trial.End, trial.End) float64 { return 1 })
	keepProof(t, dir, k, first.Add(25*time.Hour), func(id string, from, to trial.End) float64 {
		switch {
		case from.Node == "kai2" && from.Port == "mlx5_0/1":
			return 0.46
		case id == "rdma.write.bw" && from.Node == "kai4" && to.Node == "kai1" && from.Port == "mlx5_1/1":
			return 0 // nothing came through
		}
		return 1
	})
	keepBench(t, dir, first.Add(26*time.Hour))
	return dir
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func keepLook(t testing.TB, dir string, d *dump.Dump, at time.Time) {
	t.Helper()
	d.Note = fmt.Sprintf("collected %s by weft test\n", at.Format(time.RFC3339))
	if _, err := store.At(dir).Save(d.Format(), at); err != nil {
		t.Fatal(err)
	}
}

// keepProof measures every pair of a cluster in thought: share is what a pair reaches of
// what it should.
func keepProof(t testing.TB, dir string, k *check.Case, at time.Time, share func(id string, from, to trial.End) float64) {
	t.Helper()
	p := trial.Proof{ID: store.PlanID(at), Made: at.Format(time.RFC3339), Weft: "test", Engine: "weft", Which: "all", Effort: "usual", Seconds: 74.2, Trials: []string{"path.mtu", "rdma.write.bw", "rdma.write.lat", "tcp.bw"}}
	rails, left := trial.Rails(k)
	p.Left = left
	for _, id := range p.Trials {
		tr, _ := trial.ByID(id)
		for _, r := range rails {
			for i, from := range r.Ends {
				for j, to := range r.Ends {
					if i == j || !tr.Both && j < i {
						continue
					}
					p.Cells = append(p.Cells, thoughtCell(k, tr, trial.Pair{A: from, B: to}, share(id, from, to), float64((i*7+j*3)%5)/500))
				}
			}
		}
	}
	p.Cells, p.Problems = trial.Judge(k, p.Cells)
	for _, n := range k.Nodes {
		p.Nodes = append(p.Nodes, trial.NodeAt{Name: n.Name, Versions: map[string]string{"kernel": n.Host.Kernel}})
	}
	var b bytes.Buffer
	if err := report.JSON(&b, "proof", p); err != nil {
		t.Fatal(err)
	}
	if _, err := store.At(dir).SaveProof(p.ID, b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// keepBench measures serving in thought.
func keepBench(t testing.TB, dir string, at time.Time) {
	t.Helper()
	bench := load.Bench{ID: store.PlanID(at), Made: at.Format(time.RFC3339), Source: "weft", URL: "http://10.10.1.1:8000", Model: "Qwen/Qwen2.5-7B-Instruct", As: "Qwen2.5-7B", API: "chat", Prompt: 1024, Output: 256, Seed: 7}
	for i, n := range []int{1, 8, 64} {
		l := load.Level{Concurrency: n, OK: 40 * n, Seconds: 60, Tokens: fact.Some(61.0 * float64(n) / float64(i+1)), Each: fact.Some(61.0 / float64(i+1)), Requests: fact.Some(0.24 * float64(n))}
		ms := func(v float64) fact.Val[forecast.Ms] { return fact.Some(forecast.Ms(v * float64(i+1))) }
		l.First, l.PerToken = load.Times{P50: ms(84), P99: ms(210)}, load.Times{P50: ms(16.4), P99: ms(19.9)}
		bench.Levels = append(bench.Levels, l)
	}
	var b bytes.Buffer
	if err := report.JSON(&b, "bench", bench); err != nil {
		t.Fatal(err)
	}
	if _, err := store.At(dir).SaveBench(bench.ID, b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

func thoughtCell(k *check.Case, tr trial.Trial, p trial.Pair, share, noise float64) trial.Cell {
	v := trial.Expect(k, tr, p)
	usual := map[string]float64{"tcp.bw": 38e9, "rdma.write.lat": 1900}[tr.ID]
	if w, ok := v.Want.Get(); ok && tr.ID != "rdma.write.lat" {
		usual = float64(w) * 0.985
		if tr.ID == "path.mtu" {
			usual, noise, share = float64(w), 0, 1
		}
	}
	c := trial.Cell{Trial: tr.ID, Pair: p, Tests: 1}
	if share == 0 {
		c.Missing, c.Broken = "nothing arrived within 3 s", true
		return c
	}
	if !tr.Unit.More() {
		share = 1 / share
	}
	for i := range 9 {
		if tr.Unit != trial.Bytes {
			noise += float64(i) / 10000
		}
		c.Samples = append(c.Samples, trial.Amount(usual*share*(1-noise)))
	}
	return c.Filled()
}

// weftReport runs weft report and returns what it wrote.
func weftReport(t testing.TB, wantCode int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(append([]string{"report"}, args...), strings.NewReader(""), &out, &errs); code != wantCode {
		t.Fatalf("weft report %s: exit code %d, want %d: %s", strings.Join(args, " "), code, wantCode, errs.String())
	}
	return out.String()
}

// TestReportOfAFolder: everything that lies in .weft is in the report, in every format.
func TestReportOfAFolder(t *testing.T) {
	dir := reportFolder(t)
	config := filepath.Join(dir, "weft.yaml")
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"r.html", []string{"kai-rack", "Content-Security-Policy", "roce.mtu", "<svg class=\"net\"", "<table class=\"heat\"", "the look before", "netdevs/ens1f0np0/mtu", "Against proof 20261114-100000", "One token", "polyline", "New findings", "Bench 20261115-110000", "read 2026-11-15T09:00:00Z"}},
		{"r.md", []string{"# kai-rack", "### fail roce.mtu kai4 mlx5\\_\\[0-1\\]/1", "| kai2 |", "## What changed", "## One token", "## Forecast"}},
		{"r.xml", []string{"<testsuites", "weft.check.roce.mtu", "weft.prove.rdma.write.bw", "<failure"}},
		{"r.json", []string{`"kind": "report"`, `"limit": "MTU"`, `"forecast": {`, `"since": {`}},
	} {
		path := filepath.Join(dir, tt.file)
		weftReport(t, exitYes, "-c", config, "-o", path, "--model", "Qwen2.5-7B", "--measured", "22.9", "--tp", "4")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range tt.want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s has no %q", tt.file, w)
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".weft-report-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestReportSaysWhatIsMissing: nothing but a dump is enough, and the rest is named with
// the command that would make it.
func TestReportSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for _, c := range demo.All() {
		path := filepath.Join(dir, c.Name+".dump")
		write(t, path, c.Dump())
		out := weftReport(t, exitYes, "-F", path, "--format", "json")
		var d report.Document
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		var lacks []string
		for _, l := range d.Lacks {
			if l.Next == "" || l.Why == "" {
				t.Errorf("%s: %+v says not what to do", c.Name, l)
			}
			lacks = append(lacks, l.What)
		}
		if got := strings.Join(lacks, ", "); got != "what changed, proof, forecast and token waterfall" {
			t.Errorf("%s: missing are %s", c.Name, got)
		}
		if d.Proof != nil || d.Since != nil || len(d.Links) == 0 || len(d.Nodes) == 0 {
			t.Errorf("%s: %d links, %d nodes", c.Name, len(d.Links), len(d.Nodes))
		}
	}
}

// TestReportTrouble: bad flags are exit code 2 and write nothing; a bad file in .weft is
// said, and the rest is written.
func TestReportTrouble(t *testing.T) {
	dir := reportFolder(t)
	config, out := filepath.Join(dir, "weft.yaml"), filepath.Join(dir, "r.html")
	for _, args := range [][]string{
		{}, {"-o", filepath.Join(dir, "r.pdf")}, {"-o", out, "--format", "pdf"}, {"-o", filepath.Join(dir, "none", "r.html")}, {"-o", out, "--measured", "20", "-F", store.At(dir).Dumps()[0]}, {"-o", out, "--model", "no such model"},
		{"-o", out, "--proof", "20200101-000000"}, {"-o", out, "--rehearsal", "nothing.json"}, {"-o", out, "--since", "nothing.dump"}, {"-o", dir}, {"-o", out, "--json", "--format", "md"}, {"-o", out, "-F", "nothing.dump"}, {"-o", out, "-n", "nobody"},
	} {
		weftReport(t, exitTrouble, append(args, "-c", config)...)
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("%v wrote a file", args)
		}
	}
	proofs := store.At(dir).Proofs()
	write(t, proofs[len(proofs)-1], []byte(`{"kind":"proof","cells":7}`))
	if err := os.MkdirAll(filepath.Join(dir, ".weft", "rehearsals"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".weft", "rehearsals", "20261114-120000.json"), []byte("{"))
	write(t, store.At(dir).Benches()[0], []byte(`{"kind":"proof"}`))
	dumps := store.At(dir).Dumps()
	write(t, dumps[0], []byte("no dump"))
	page := weftReport(t, exitIncomplete, "-c", config, "--format", "html")
	for _, want := range []string{"the last one could not be read", "rehearsal", "what changed", "the last bench could not be read"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestReportRedacted: no address of the cluster is in the report, and what is judged is
// the same.
func TestReportRedacted(t *testing.T) {
	dir := reportFolder(t)
	config := filepath.Join(dir, "weft.yaml")
	open, hidden := weftReport(t, exitYes, "-c", config, "--json"), weftReport(t, exitYes, "-c", config, "--json", "--redact")
	if !strings.Contains(open, "10.10.1.") || strings.Contains(hidden, "10.10.1.") || strings.Contains(hidden, "10.10.2.") {
		t.Error("addresses are in the report")
	}
	var a, b report.Document
	if json.Unmarshal([]byte(open), &a) != nil || json.Unmarshal([]byte(hidden), &b) != nil {
		t.Fatal("no documents")
	}
	if fmt.Sprint(a.Check.Counts) != fmt.Sprint(b.Check.Counts) || len(a.Links) != len(b.Links) || len(a.Proof.Cells) != len(b.Proof.Cells) || len(a.Since.Changes) != len(b.Since.Changes) || len(a.Proof.Changes) != len(b.Proof.Changes) {
		t.Errorf("open: %v, %d changes; redacted: %v, %d changes", a.Check.Counts, len(a.Since.Changes), b.Check.Counts, len(b.Since.Changes))
	}
	for i := range a.Links {
		if a.Links[i].Why != b.Links[i].Why || a.Links[i].Node != b.Links[i].Node {
			t.Errorf("%+v, redacted %+v", a.Links[i], b.Links[i])
		}
	}
}

// TestReportOfABench: the model that was served last is forecast, and where its token's
// time went is said, without a flag.
func TestReportOfABench(t *testing.T) {
	var d report.Document
	if err := json.Unmarshal([]byte(weftReport(t, exitYes, "-c", filepath.Join(reportFolder(t), "weft.yaml"), "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Bench == nil || d.Forecast == nil || d.Why == nil || d.Why.Measured != 61 {
		t.Errorf("bench %v, forecast %v, why %+v", d.Bench != nil, d.Forecast != nil, d.Why)
	}
}

// TestReportOfARehearsal: collectives of a rehearsal are shown.
func TestReportOfARehearsal(t *testing.T) {
	dir := reportFolder(t)
	if err := os.MkdirAll(filepath.Join(dir, ".weft", "rehearsals"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".weft", "rehearsals", "20261114-120000.json"), []byte(`{"schema":1,"kind":"rehearsal","transport":"rdma","syncs":[{"bytes":7168,"nodes":4,"micros":{"median":41,"p99":77}}]}`))
	page := weftReport(t, exitYes, "-c", filepath.Join(dir, "weft.yaml"), "--format", "html")
	if !strings.Contains(page, "41 µs") || !strings.Contains(page, "Rehearsal 20261114-120000") {
		t.Error("the rehearsal is not on the page")
	}
}

// TestReportLooks: without a kept look weft looks at this machine.
func TestReportLooks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "weft.yaml"), []byte("nodes:\n  - name: here\n    ssh: local\n"))
	var d report.Document
	code := 0
	var out, errs bytes.Buffer
	if code = Main([]string{"report", "--format", "json", "-c", filepath.Join(dir, "weft.yaml")}, strings.NewReader(""), &out, &errs); code != exitYes {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || len(d.Nodes) != 1 || d.Nodes[0].Name != "here" {
		t.Fatalf("%v: %+v", err, d.Nodes)
	}
	if len(store.At(dir).Dumps()) != 1 {
		t.Error("the look was not kept")
	}
}

// TestReportHostileNames: names that try to be markup are text, in every noun that a
// dump or a proof can name, in every format.
func TestReportHostileNames(t *testing.T) {
	evil := []string{`<script>alert(1)</script>`, `"onload="alert(1)`, `]]><x>`, "a\x1b[31mb\x00c", "\u202egpj.exe\u2066", "`|](javascript:alert(1))", "<!--", "</title></svg></style>", "&#x3c;script&#x3e;", "{{.}}", "'\"`=/onerror=x"}
	dir := reportFolder(t)
	config := filepath.Join(dir, "weft.yaml")
	b, err := os.ReadFile(store.At(dir).Proofs()[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range evil {
		quoted, _ := json.Marshal(e)
		inner := string(quoted[1 : len(quoted)-1])
		proof := filepath.Join(dir, "evil.json")
		write(t, proof, []byte(strings.ReplaceAll(string(b), "kai", "kai"+inner)))
		text, err := os.ReadFile(store.At(dir).Dumps()[1])
		if err != nil {
			t.Fatal(err)
		}
		d, err := dump.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range d.Nodes {
			for k, v := range n.Text {
				if strings.HasPrefix(k, "/sys/class/dmi/id/") || strings.HasSuffix(k, "os-release") || strings.Contains(k, "nvidia-smi") {
					n.Text[k] = strings.NewReplacer("A100", "A100"+e, "PRETTY_NAME=\"", "PRETTY_NAME=\""+strings.ReplaceAll(e, `"`, ""), "Dell", e).Replace(v) + e
				}
			}
		}
		bad := filepath.Join(dir, fmt.Sprintf("evil%d.dump", i))
		write(t, bad, d.Format())
		for _, format := range []string{"html", "md", "junit"} {
			var out, errs bytes.Buffer
			code := Main([]string{"report", "-c", config, "-F", bad, "--since", store.At(dir).Dumps()[0], "--proof", proof, "--format", format, "--model", "Qwen2.5-7B", "--measured", "20", "--tp", "4", "--rehearsal", "none"}, strings.NewReader(""), &out, &errs)
			if code != exitYes && code != exitIncomplete {
				t.Fatalf("%q as %s: exit code %d: %s", e, format, code, errs.String())
			}
			judgeHostile(t, format, e, out.String())
		}
	}
}

func judgeHostile(t *testing.T, format, evil, out string) {
	t.Helper()
	for _, r := range out {
		if r < ' ' && r != '\n' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Fatalf("%s with %q: the character %U came through", format, evil, r)
		}
	}
	switch format {
	case "html":
		if n := strings.Count(out, "<script"); n != 1 {
			t.Errorf("%q: %d script elements", evil, n)
		}
		for _, bad := range []string{"<x>", "<!--", `"onload=`, "onerror=x>"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q: %q is markup", evil, bad)
			}
		}
	case "md":
		for i, line := range strings.Split(out, "\n") {
			bare := strings.NewReplacer(`\\`, "").Replace(line)
			for _, bad := range []string{"<script", "<x>", "<!--", "](java"} {
				if at := strings.Index(bare, bad); at >= 0 && (at == 0 || bare[at-1] != '\\') && !inCode(bare, at) {
					t.Errorf("%q: line %d is markup: %s", evil, i+1, line)
				}
			}
		}
	case "junit":
		dec := xml.NewDecoder(strings.NewReader(out))
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", evil, err)
			}
			if s, ok := tok.(xml.StartElement); ok && (s.Name.Local == "script" || s.Name.Local == "x") {
				t.Errorf("%q: an element %s", evil, s.Name.Local)
			}
		}
	}
}

// inCode reports whether a place of a line of Markdown is between backticks.
func inCode(line string, at int) bool {
	return strings.Count(strings.ReplaceAll(line[:at], "\\`", ""), "`")%2 == 1
}

// BenchmarkFigureReport writes a report of 128 nodes with two rails: two looks, a proof
// of a sample of pairs as weft prove takes it for so many, and one of all pairs.
func BenchmarkFigureReport(b *testing.B) {
	for _, which := range []string{"sample", "all"} {
		b.Run(which, func(b *testing.B) {
			dir := manyFolder(b, 128, which == "all")
			out := filepath.Join(dir, "r.html")
			var wall, cpu []float64
			for b.Loop() {
				start, before := time.Now(), cpuSeconds(b)
				weftReport(b, exitYes, "-c", filepath.Join(dir, "weft.yaml"), "-o", out, "--model", "Qwen2.5-72B")
				wall, cpu = append(wall, time.Since(start).Seconds()), append(cpu, cpuSeconds(b)-before)
			}
			b.ReportMetric(slices.Min(wall), "s/report")
			b.ReportMetric(slices.Min(cpu), "cpu-s/report")
			info, err := os.Stat(out)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(info.Size())/(1<<20), "MiB")
			if info.Size() > 3<<20 {
				b.Errorf("%d bytes are more than 3 MiB", info.Size())
			}
		})
	}
}

// cpuSeconds is what this process has used of the processors.
func cpuSeconds(t testing.TB) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// manyFolder is a folder with two looks at n nodes, some of them not right, and a proof.
func manyFolder(t testing.TB, n int, all bool) string {
	t.Helper()
	dir := t.TempDir()
	c := sample.RoCE("gpu", n)
	write(t, filepath.Join(dir, "weft.yaml"), []byte(fmt.Sprintf("name: many\npurpose: training\ndata:\n  layer: roce\n  mtu: 9000\n  switch: lossless\nnodes:\n  - name: gpu[1-%d]\n", n)))
	first := time.Date(2026, 11, 14, 9, 0, 0, 0, time.UTC)
	keepLook(t, dir, c.Dump(), first)
	for i, m := range c.Machines {
		switch {
		case i%40 == 7:
			m.Netdev("ens1f0np0").MTU = 1500
		case i == 77:
			m.Netdev("ens2f0np0").Addrs = nil
		}
	}
	d := c.Dump()
	keepLook(t, dir, d, first.Add(24*time.Hour))
	k := &check.Case{Cluster: format.Facts(d), Want: c.Want}
	keepProof(t, dir, k, first.Add(25*time.Hour), func(id string, from, to trial.End) float64 {
		if from.Node == "gpu42" && from.Port == "mlx5_0/1" {
			return 0.4
		}
		return 1
	})
	if !all {
		thinProof(t, dir)
	}
	return dir
}

// thinProof leaves each end five partners, as weft prove does with many nodes.
func thinProof(t testing.TB, dir string) {
	t.Helper()
	path, _ := store.At(dir).LastProof()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := trial.ParseProof(b)
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]int{}
	var cells []trial.Cell
	for _, c := range p.Cells {
		k := c.Trial + c.A.String()
		if met[k]++; met[k] <= 5 || fact.Val[trial.Amount](c.Want).Or(0) == 0 && met[k] <= 5 {
			cells = append(cells, c)
		}
	}
	p.Cells, p.Which = cells, "sample"
	var out bytes.Buffer
	if err := report.JSON(&out, "proof", p); err != nil {
		t.Fatal(err)
	}
	write(t, path, out.Bytes())
}

func proofPath(t testing.TB, dir string) string {
	t.Helper()
	path, ok := store.At(dir).LastProof()
	if !ok {
		t.Fatal("no proof")
	}
	return path
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func lastLook(t testing.TB, dir string) string {
	t.Helper()
	path, _, ok := store.At(dir).Last()
	if !ok {
		t.Fatal("no look")
	}
	return path
}
