package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/format"
	"weft/internal/format/raystatus"
	"weft/internal/sample"
	"weft/internal/trial"
)

func caseOf(c *sample.Cluster) *check.Case {
	return &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
}

func known(t testing.TB, name string) *forecast.Model {
	t.Helper()
	m, err := forecast.ModelByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

// launches are launches of every kind, by name.
func launches(t testing.TB) map[string]*Launch {
	t.Helper()
	out := map[string]*Launch{}
	big, small := known(t, "Qwen3-235B-A22B"), known(t, "Qwen3-30B-A3B")
	for name, x := range map[string]struct {
		c *check.Case
		o Order
	}{
		"sparks, ray, docker":     {caseOf(sample.Sparks("spark")), Order{Model: "Qwen/Qwen3-235B-A22B", Quant: "w4a16", Known: big, Engine: "vllm", Key: true, Token: true}},
		"sparks, own, docker":     {caseOf(sample.Sparks("spark")), Order{Model: "Qwen/Qwen3-235B-A22B", Quant: "w4a16", Known: big, Engine: "vllm", Executor: "own", Token: true}},
		"sparks, run":             {caseOf(sample.Sparks("spark")), Order{Model: "Qwen/Qwen3-235B-A22B", Quant: "w4a16", Known: big, Engine: "vllm", Units: "run", Key: true}},
		"strix, quadlet":          {caseOf(sample.Strix("halo", 4)), Order{Model: "Qwen/Qwen3-235B-A22B", Quant: "w4a16", Known: big, Engine: "vllm", Units: "quadlet", Token: true, Image: "kyuz0/vllm-therock-gfx1151:latest"}},
		"strix, podman":           {caseOf(sample.Strix("halo", 4)), Order{Model: "/models/q w$n%h", TP: 4, Context: 4096, Engine: "vllm", More: []string{"--x", `a "b" $c %d \e`}, Models: "/models"}},
		"strix, sglang":           {caseOf(sample.Strix("halo", 2)), Order{Model: "Qwen/Qwen3-30B-A3B", Known: small, TP: 2, PP: 1, Engine: "sglang", Image: "x/sglang:1"}},
		"strix, llama":            {caseOf(sample.Strix("halo", 4)), Order{Model: "/models/m.gguf", Known: big, Engine: "llamacpp-rpc", Bare: "/opt/llama/bin", Key: true}},
		"infiniband, podman, one": {caseOf(sample.InfiniBand("r", 1)), Order{Model: "Qwen/Qwen3-4B", Known: known(t, "Qwen3-4B"), Engine: "vllm"}},
		"roce, bare":              {caseOf(sample.RoCE("n", 4)), Order{Model: "Qwen/Qwen3-235B-A22B", Known: big, TP: 16, PP: 1, Engine: "vllm", Bare: "/opt/vllm/bin", Key: true, Token: true}},
	} {
		x.o.ID = "20261115-170102"
		l, err := Serve(x.c, x.o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = l
	}
	return out
}

// TestLaunchesAreWhole wants what must hold of every launch.
func TestLaunchesAreWhole(t *testing.T) {
	for name, l := range launches(t) {
		wrote, started, waited := map[string]bool{}, map[string]bool{}, false
		for i, s := range l.Order {
			switch s.Do {
			case "write":
				wrote[s.Node] = true
			case "start":
				if !wrote[s.Node] || started[s.Node+s.Part] || l.Part(s.Node, s.Part) == nil {
					t.Errorf("%s: step %d starts %s %s before it is written, twice, or not at all", name, i, s.Node, s.Part)
				}
				started[s.Node+s.Part] = true
			case "wait":
				if s.Wait == nil || s.Wait.Within <= 0 || s.Wait.Within > 24*time.Hour {
					t.Errorf("%s: step %d waits without an end: %+v", name, i, s)
				}
				if s.Part != "" && !started[s.Node+s.Part] {
					t.Errorf("%s: step %d waits for %s, which nobody started", name, i, s.Part)
				}
				waited = waited || s.Wait.For == "health"
			}
		}
		ranks := 0
		for _, n := range l.Nodes {
			ranks += n.GPUs
			for _, p := range n.Parts {
				if !started[n.Node+p.Name] || p.Start == "" || p.Stop == "" || p.State == "" || p.Remove == "" {
					t.Errorf("%s: %s %s is not whole: %+v", name, n.Node, p.Name, p)
				}
				if !strings.HasPrefix(p.Name, "weft-serve-"+l.Name) {
					t.Errorf("%s: part %s does not carry the name", name, p.Name)
				}
			}
		}
		if l.Engine != "llamacpp-rpc" && ranks != l.Fit.TP*l.Fit.PP || !waited {
			t.Errorf("%s: %d ranks of tp %d × pp %d, waited for health: %v", name, ranks, l.Fit.TP, l.Fit.PP, waited)
		}
		if l.Fit.Forecast && (l.Fit.Seqs < 1 || l.Fit.Context < leastContext || l.Fit.Part > mostPart) {
			t.Errorf("%s: fit %+v", name, l.Fit)
		}
	}
}

// TestNoSecretIsWritten: values are nowhere but in secret files.
func TestNoSecretIsWritten(t *testing.T) {
	for name, l := range launches(t) {
		if len(l.Secrets) == 0 {
			continue
		}
		for _, n := range l.Nodes {
			found := false
			for _, f := range n.Files {
				if f.Secret {
					found = found || strings.HasSuffix(f.Path, "secret.env")
					if f.Text != "" || f.Mode != 0o600 {
						t.Errorf("%s: %s has a text, or mode %o", name, f.Path, f.Mode)
					}
				}
				if strings.Contains(f.Text, "HF_TOKEN") || strings.Contains(f.Text, "API_KEY") {
					t.Errorf("%s: %s names a secret", name, f.Path)
				}
			}
			if !found {
				t.Errorf("%s: %s has no secret file", name, n.Node)
			}
		}
		text := l.SecretFile(map[string]string{"HF_TOKEN": `a"b$c`})
		if l.Bare != "" && !strings.Contains(text, `HF_TOKEN="a\"b\$c"`) || l.Bare == "" && !strings.Contains(text, "HF_TOKEN=a\"b$c\n") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestDevices: each kind of GPU and card comes into the container in its way.
func TestDevices(t *testing.T) {
	all := launches(t)
	for name, want := range map[string][]string{
		"sparks, ray, docker":     {"--device /dev/infiniband", "--gpus all", "--ulimit=memlock=-1:-1", "--ipc=host", "--network=host"},
		"strix, podman":           {"--device /dev/infiniband", "--device /dev/kfd", "--device /dev/dri", "--group-add render", "--security-opt label=disable", `"/models/q w$$n%%h"`, `"a \"b\" $$c %%d \\e"`, "-v /models:/models:ro"},
		"strix, quadlet":          {"AddDevice=/dev/kfd", "SecurityLabelDisable=true", "PodmanArgs=--ulimit=memlock=-1:-1", "LogDriver=passthrough"},
		"infiniband, podman, one": {"--device nvidia.com/gpu=all", "--dtype half"},
		"roce, bare":              {"LimitMEMLOCK=infinity", "EnvironmentFile=/var/lib/weft/serve/qwen3-235b-a22b/secret.env", "ExecStart=/opt/vllm/bin/ray start"},
	} {
		text := ""
		for _, n := range all[name].Nodes {
			for _, f := range n.Files {
				text += f.Text
			}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%s", name, w, text)
			}
		}
	}
}

// TestSystemdWords reads words back the way systemd does.
func TestSystemdWords(t *testing.T) {
	for _, s := range []string{"", "plain", "a b", `q"u'o`, "$HOME", "100%", `back\slash`, "semi;colon", "#hash", "tab\there", `$$ %% \\ ""`} {
		if got := unquoteSystemd(systemdWord(s)); got != s {
			t.Errorf("%q is written %s and read %q", s, systemdWord(s), got)
		}
	}
}

func FuzzSystemdWord(f *testing.F) {
	f.Add(`a "b" $c %d \e`)
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\n\x00") {
			return // refused before
		}
		if got := unquoteSystemd(systemdWord(s)); got != s {
			t.Errorf("%q is written %s and read %q", s, systemdWord(s), got)
		}
	})
}

// unquoteSystemd is systemd.service(5) on one word: quotes, backslashes, then $$ and %%.
func unquoteSystemd(s string) string {
	if len(s) > 1 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return strings.NewReplacer("$$", "$", "%%", "%").Replace(b.String())
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{"Qwen/Qwen3-30B-A3B": "qwen3-30b-a3b", "/models/a b_c.gguf": "a-b-c", "///": "model", "<script>": "script", "é": "model", strings.Repeat("x", 99): strings.Repeat("x", 40)} {
		if got := slug(in); got != want || slug(got) != got {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestProofBars(t *testing.T) {
	l := launches(t)["sparks, ray, docker"]
	names := func(bars []Bar) (out []string) {
		for _, b := range bars {
			out = append(out, b.Name+" "+b.Node)
		}
		return out
	}
	if got := names(l.ProofBars(nil, nil)); !slices.Equal(got, []string{"proof.none "}) {
		t.Error(got)
	}
	end := func(n string) trial.End { return trial.End{Node: n, Port: "p/1"} }
	p := &trial.Proof{ID: "x", Nodes: []trial.NodeAt{{Name: "spark1", Facts: "a"}, {Name: "spark2", Facts: "b"}}}
	if got := names(l.ProofBars(p, nil)); !slices.Equal(got, []string{"proof.part spark1", "proof.part spark2"}) {
		t.Error(got)
	}
	cell := trial.Cell{Trial: "rdma.write.bw", Pair: trial.Pair{A: end("spark1"), B: end("spark2")}}
	cell.Got = fact.Some(trial.Amount(1))
	p.Cells = []trial.Cell{cell}
	if got := names(l.ProofBars(p, map[string]string{"spark1": "a", "spark2": "b"})); len(got) != 0 {
		t.Error(got)
	}
	if got := names(l.ProofBars(p, map[string]string{"spark1": "a", "spark2": "other"})); !slices.Equal(got, []string{"proof.stale spark2"}) {
		t.Error(got)
	}
	p.Problems = []trial.Problem{{Trial: "rdma.write.bw", Status: "fail", At: []trial.End{end("spark1")}}, {Trial: "tcp.bw", Status: "fail", At: []trial.End{end("elsewhere")}}, {Trial: "tcp.bw", Status: "warn", At: []trial.End{end("spark1")}}}
	bars := l.ProofBars(p, nil)
	if got := names(bars); !slices.Equal(got, []string{"proof.short spark1"}) {
		t.Error(got)
	}
	open, accepted, wrong := Accept(append(bars, Bar{Name: BarPort}), []string{"proof.short", "port.taken", "roce.mtu", "nonsense"})
	if len(open) != 1 || open[0].Name != BarPort || len(accepted) != 1 || !slices.Equal(wrong, []string{"nonsense"}) {
		t.Errorf("open %v, accepted %v, wrong %v", open, accepted, wrong)
	}
	if one := launches(t)["infiniband, podman, one"]; len(one.ProofBars(nil, nil)) != 0 {
		t.Error("one node needs no proof of a network")
	}
}

func TestImageBars(t *testing.T) {
	l := launches(t)["sparks, ray, docker"]
	at := func(a, b ImageAt) (out []string) {
		for _, x := range l.ImageBars(map[string]ImageAt{"spark1": a, "spark2": b}) {
			out = append(out, x.Name+" "+x.Node)
		}
		return out
	}
	is := func(out string) ImageAt {
		i, ok := ParseImage(out)
		if !ok {
			t.Fatalf("%q", out)
		}
		return i
	}
	one := is("sha256:aa|arm64|vllm/vllm-openai@sha256:11 vllm/vllm-openai@sha256:22 \n")
	for _, x := range []struct {
		b    ImageAt
		want []string
	}{
		{one, nil},
		{is("aa|arm64|\n"), nil},           // copied by hand: one ID
		{is("bb|amd64|x@sha256:22 "), nil}, // another processor's of the same list
		{is("bb|arm64|x@sha256:33 "), []string{"image.differs spark2"}},       //
		{is("bb|amd64|x@sha256:33 "), []string{"image.unknown spark2"}},       // cannot be told
		{ImageAt{Missing: true}, []string{"image.missing spark2"}},            //
		{ImageAt{Why: "permission denied"}, []string{"image.unknown spark2"}}, //
		{is("bb|arm64|"), []string{"image.differs spark2"}},                   // built on each node
	} {
		if got := at(one, x.b); !slices.Equal(got, x.want) {
			t.Errorf("%+v: %v, want %v", x.b, got, x.want)
		}
	}
	for _, bad := range []string{"", "x", "||", "a|b", strings.Repeat("x|", 1<<17)} {
		if i, ok := ParseImage(bad); ok {
			t.Errorf("%.20q is %+v", bad, i)
		}
	}
	for _, x := range [][2]string{{"docker.io/vllm/vllm-openai:latest", "vllm/vllm-openai"}, {"localhost/vllm:1", "vllm:1"}} {
		if !sameName(x[0], x[1]) {
			t.Errorf("%s is not %s", x[0], x[1])
		}
	}
}

const tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:18EB 0100007F:8000 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
`

func TestPortBars(t *testing.T) {
	if got := Listening(tcpTable); !slices.Equal(got, []int{22, 8000}) {
		t.Errorf("%v", got)
	}
	l := launches(t)["sparks, ray, docker"]
	var got []string
	for _, b := range l.PortBars(map[string][]int{"spark1": {22, 8000}}) {
		got = append(got, b.Name+" "+b.Node)
	}
	if !slices.Equal(got, []string{"port.unknown spark2", "port.taken spark1"}) {
		t.Error(got)
	}
}

func FuzzListening(f *testing.F) {
	f.Add(tcpTable)
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range Listening(s) {
			if p < 1 || p > 65535 {
				t.Errorf("port %d", p)
			}
		}
	})
}

// TestHangs judges time series: seconds, lines, CPU seconds, GPU per cent (-1: not known).
func TestHangs(t *testing.T) {
	type row struct {
		at, lines int
		cpu       float64
		gpu       int
	}
	series := func(rows ...row) (out []Sample) {
		start := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
		for _, r := range rows {
			s := Sample{At: start.Add(time.Duration(r.at) * time.Second), Lines: r.lines, CPU: uint64(r.cpu * 1e9), CPUOK: r.cpu >= 0}
			if r.gpu >= 0 {
				s.GPU = []int{r.gpu}
			}
			out = append(out, s)
		}
		return out
	}
	for _, x := range []struct {
		name string
		s    []Sample
		want bool
	}{
		{"silent, GPUs and processors idle", series(row{0, 5, 1, 0}, row{60, 5, 1, 0}, row{130, 5, 2, 0}), true},
		{"it speaks", series(row{0, 5, 1, 0}, row{60, 6, 1, 0}, row{130, 7, 2, 0}), false},
		{"it spoke a moment ago", series(row{0, 5, 1, 0}, row{60, 5, 1, 0}, row{110, 6, 2, 0}, row{130, 6, 2, 0}), false},
		{"GPUs work", series(row{0, 5, 1, 0}, row{60, 5, 1, 90}, row{130, 5, 2, 0}), false},
		{"processors work: compiling", series(row{0, 5, 1, 0}, row{60, 5, 60, 0}, row{130, 5, 130, 0}), false},
		{"processors spin for long, GPUs idle", series(row{0, 5, 1, 0}, row{200, 5, 200, 0}, row{400, 5, 400, 0}), true},
		{"GPUs not known, processors idle", series(row{0, 5, 1, -1}, row{60, 5, 1, -1}, row{130, 5, 1, -1}), true},
		{"GPUs not known, processors work", series(row{0, 5, 1, -1}, row{200, 5, 200, -1}, row{900, 5, 900, -1}), false},
		{"two looks only", series(row{0, 5, 1, 0}, row{130, 5, 1, 0}), false},
		{"a restart sets the count back", series(row{0, 5, 90, 0}, row{60, 5, 1, 0}, row{130, 5, 2, 0}), false},
		{"nothing", nil, false},
	} {
		if why, got := Hangs(x.s, 2*time.Minute); got != x.want {
			t.Errorf("%s: %v %s", x.name, got, why)
		}
	}
	if _, yes := Hangs(series(row{0, 5, 1, 0}, row{60, 5, 1, 0}, row{130, 5, 2, 0}), 0); yes {
		t.Error("no limit, and it hangs")
	}
}

func TestRaySays(t *testing.T) {
	l := launches(t)["sparks, ray, docker"]
	w := &Wait{Nodes: 2, GPUs: 2}
	if ok, what := l.RaySays(raystatus.Status{Active: []string{"a", "b"}, Uses: map[string]raystatus.Use{"GPU": {Total: 2}}}, w); !ok {
		t.Error(what)
	}
	ok, what := l.RaySays(raystatus.Status{Active: []string{"a", "b"}, Uses: map[string]raystatus.Use{"GPU": {Total: 1}, "TPU": {Total: 1}}, Failures: []string{"10.0.0.3: lost"}}, w)
	if ok || what != "Ray has 2 of 2 nodes and 1 of 2 GPUs; it counts 1 as TPU; lately failed: 10.0.0.3: lost" {
		t.Error(ok, what)
	}
}

func TestCarry(t *testing.T) {
	c := caseOf(sample.Sparks("spark"))
	l, err := Serve(c, Order{Model: "Qwen/Qwen3-235B-A22B", Quant: "w4a16", Known: known(t, "Qwen3-235B-A22B"), Engine: "vllm"})
	if err != nil {
		t.Fatal(err)
	}
	counters := func(port string, sent uint64) map[string]trial.Counters {
		all := map[string]trial.Counters{}
		for _, n := range []string{"spark1", "spark2"} {
			all[n] = trial.Counters{port: {"port_xmit_data": sent, "port_rcv_data": sent}, "enP7s7": {"tx_bytes": sent, "rx_bytes": 7}}
		}
		return all
	}
	none := map[string]trial.Counters{}
	for _, x := range []struct {
		before, after map[string]trial.Counters
		want          bool
	}{
		{counters("rocep1s0f0/1", 0), counters("rocep1s0f0/1", 1<<20), true},
		{counters("rocep1s0f0/1", 0), counters("rocep1s0f0/1", 100), false},   // heartbeats
		{counters("rocep1s0f1/1", 0), counters("rocep1s0f1/1", 1<<20), false}, // a port that is no data port
		{none, counters("rocep1s0f0/1", 1<<20), false},                        // not known is not yes
	} {
		if got := l.Carry(c, x.before, x.after, 64); got.RDMA != x.want || got.Why == "" || len(got.Nodes) != 2 {
			t.Errorf("%+v", got)
		}
	}
	packets := func(n uint64) map[string]trial.Counters {
		return map[string]trial.Counters{"spark1": {"rocep1s0f0/1": {"sent_pkts": n, "rcvd_pkts": n}}, "spark2": {"rocep1s0f0/1": {"sent_pkts": n, "rcvd_pkts": n}}}
	}
	if got := l.Carry(c, packets(0), packets(1000), 64); !got.RDMA || got.Nodes[0].Packets != 2000 {
		t.Errorf("%+v", got)
	}
}

// TestVia: nodes whose management addresses are the same meet over the data network, and so
// do those that are told to.
func TestVia(t *testing.T) {
	c := caseOf(sample.Sparks("spark"))
	o := Order{Model: "m", TP: 2, Context: 4096, Engine: "vllm"}
	env := func(l *Launch, name string) string {
		for _, v := range l.Nodes[1].Env {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}
	l, err := Serve(c, o)
	if err != nil || l.Nodes[1].Addr != "10.0.0.2" || env(l, "NCCL_SOCKET_IFNAME") != "=enP7s7" {
		t.Fatalf("%v %+v", err, l)
	}
	o.Via = "data"
	l, err = Serve(c, o)
	if err != nil || l.Nodes[1].Addr != "192.168.200.2" || env(l, "NCCL_SOCKET_IFNAME") != "=enp1s0f0np0" || env(l, "GLOO_SOCKET_IFNAME") != "enp1s0f0np0" || !strings.Contains(fmt.Sprint(l.Nodes[0].Files), "-e RAY_ADDRESS=192.168.200.1:6379") {
		t.Errorf("%v %+v", err, l.Nodes[1])
	}
	for _, n := range c.Nodes {
		n.Host.SSHTo = "10.0.0.7"
		n.Netdev("enP7s7").Addrs = []string{"10.0.0.7/24"}
		n.Index()
	}
	o.Via = ""
	if l, err = Serve(c, o); err != nil || l.Nodes[1].Addr != "192.168.200.2" || !strings.Contains(strings.Join(l.Says, " "), "have the same address") {
		t.Errorf("%v %+v", err, l)
	}
	o.Via = "management"
	if _, err = Serve(c, o); err == nil {
		t.Error("two nodes with one address, and nobody says so")
	}
}

// TestListen: clients are let in by name or with a key alone.
func TestListen(t *testing.T) {
	all := launches(t)
	for name, want := range map[string]string{"sparks, ray, docker": "10.0.0.1:8000", "sparks, own, docker": "127.0.0.1:8000"} {
		if got := all[name].Addr; got != want {
			t.Errorf("%s listens on %s, want %s", name, got, want)
		}
	}
	for _, n := range all["sparks, ray, docker"].Nodes {
		if n.Addr == "" || fmt.Sprint(n.Env) == "" {
			t.Errorf("%+v", n)
		}
	}
}
