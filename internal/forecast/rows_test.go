package forecast

import (
	"math"
	"strings"
	"testing"
)

const header = "id,group,platform,mem_gbs,nodes,gpus_per_node,tp,pp,transport,link_gbps,model,layers,hidden,total_b,active_b,bits,mode,engine,decode_tok_s,source\n"

// TestUnknownCells: rows with holes are forecast, and say what was assumed.
func TestUnknownCells(t *testing.T) {
	rows, err := ReadRows(strings.NewReader(header +
		"1,a,dgx-spark,273,1,1,1,1,none,,gpt-oss-120b,36,2880,116.8,5.1,4.25,,llama.cpp,52.87,x\n" +
		"2,,dgx-spark,,,,,,,,gpt-oss-120b,,,,,,,,,\n" + // nothing but a platform and a model
		"3,,mystery-box,500,2,1,2,1,,,Nobody-7B,32,4096,7,7,8,graph,vLLM,,x\n" +
		"4,,dgx-spark,?,n/a,1,unknown,-,none,,Nobody-9B-A1B,,,9,1,4.5,,TabbyAPI,10,x\n" +
		"5,,mystery-box,,1,1,1,1,none,,gpt-oss-120b,,,,,4.25,,vLLM,9,x\n" + // no bandwidth anywhere
		"6,,dgx-spark,273,1,1,1,1,none,,Nobody,,,,,4.25,,vLLM,9,x\n" + // no model
		"7,,dgx-spark,273,1,1,1,1,none,,gpt-oss-120b,36,2880,~116.8 (about),5.1,4.25,eager,vLLM,26,x\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := Evaluate(rows)
	if e.Missed != 2 || e.Rows[4].Why == "" || e.Rows[5].Why == "" {
		t.Errorf("%d rows missed: %q, %q", e.Missed, e.Rows[4].Why, e.Rows[5].Why)
	}
	for i, want := range map[int]string{1: "bits assumed", 2: "transport assumed: tcp", 3: "counts as stated"} {
		if got := strings.Join(e.Rows[i].Notes, "; "); e.Rows[i].Forecast == 0 || !strings.Contains(got, want) {
			t.Errorf("row %d: %.1f tokens/s, notes %q, want %q", i+1, e.Rows[i].Forecast, got, want)
		}
	}
	if e.Rows[6].Forecast >= e.Rows[0].Forecast {
		t.Error("eager is not slower")
	}
	if e.Absolute.N != 3 {
		t.Errorf("%d errors, want those of the three rows that were measured and forecast", e.Absolute.N)
	}
}

// TestRatioIsGivenTheFirst: with a network that costs nothing the ratio to the first
// row is that of the parts; a first row that is off by half does not matter.
func TestRatioIsGivenTheFirst(t *testing.T) {
	rows, err := ReadRows(strings.NewReader(header +
		"1,g,strix-halo,256,1,1,1,1,none,,Llama-3.1-70B,,,,,4.8,,llama.cpp,2.45,x\n" +
		"2,g,strix-halo,256,2,1,1,2,tcp,,Llama-3.1-70B,,,,,4.8,,llama.cpp,2.41,x\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := Evaluate(rows)
	r := e.Rows[1]
	want := 1000 / (1000/2.45 + Default.HopTCP/1000)
	if math.Abs(r.Given-want) > 1e-6 || math.Abs(*r.Ratio-(want/2.41-1)) > 1e-9 {
		t.Errorf("given %g, want %g: T(1) as measured and one hop", r.Given, want)
	}
	if *r.Plain == *r.Ratio || e.Ratio.N != 1 || e.Rows[0].Ratio != nil {
		t.Errorf("ratios: %v", e.Ratio)
	}
}

// TestGroupSharesBits: rows of a group that do not say their bits have those of its first.
func TestGroupSharesBits(t *testing.T) {
	rows, _ := ReadRows(strings.NewReader(header +
		"1,g,m3-ultra,819,1,1,1,1,none,,DeepSeek-V3.1,61,7168,671,37,,,exo,21,x\n" +
		"2,g,m3-ultra,819,4,1,4,1,rdma,80,DeepSeek-V3.1,61,7168,671,37,,,exo,32,x\n"))
	p := prepare(rows)
	if p[0].c.bits == 0 || p[0].c.bits != p[1].c.bits {
		t.Errorf("%g and %g bits", p[0].c.bits, p[1].c.bits)
	}
}

func TestBadRows(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "empty",
		"a,b\n1,2\n":                `no column "model"`,
		"model,model\nx,y\n":        "twice",
		"model,nodes\nx,many\n":     `line 2: nodes: "many" is not a number`,
		"model,nodes\nx,1\ny,-2\n":  `line 3: nodes: "-2": want 0 to`,
		"model,bits\nx,9e9\n":       "want 0 to 64",
		"model,total_b\nx,nan\n":    "",
		"model,total_b\nx,+Inf\n":   "want 0 to",
		"model,layers\nx,1000000\n": "want 0 to 2000",
		"model\n\"unclosed\n":       "",
	} {
		_, err := ReadRows(strings.NewReader(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add([]byte(header + "1,a,dgx-spark,273,2,1,2,1,rdma,200,gpt-oss-120b,36,2880,116.8,5.1,4.25,eager,vLLM,57.5,kubis\n"))
	f.Add([]byte(measuredFile[:2000]))
	f.Add([]byte("model,platform,tp,nodes\nQwen3-8B,rpi5,3,4096\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := ReadRows(strings.NewReader(string(b)))
		if err != nil || len(rows) > 200 {
			return
		}
		for _, r := range Evaluate(rows).Rows {
			if r.Forecast < 0 || math.IsNaN(r.Forecast) || math.IsInf(r.Forecast, 0) || r.Forecast == 0 && r.Why == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}

func TestOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"https://kubis.ai/blog/x page":                 "kubis.ai",
		"wkljohn/llama.cpp-strix README.md; odinlink/": "wkljohn",
		"seed 003 (video)":                             "seed 003",
		"b4rtaz/distributed-llama PR #64":              "b4rtaz",
		"https://www.example.org/x":                    "example.org",
		"":                                             "",
	} {
		if got := Origin(in); got != want {
			t.Errorf("Origin(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestDS4 holds ds4, which splits experts alone, to what data/sync-cost.csv tells of
// it: 14.3, 16.28 and 18.25 tokens/s on one, two and four Sparks.
func TestDS4(t *testing.T) {
	measured := []float64{14.3, 16.28, 18.25}
	for i, n := range []int{1, 2, 4} {
		c := oneCase(t, "DeepSeek-V4-Flash", "2.5", "ds4", "4x gb10", n, 1)
		w := token(t, c)
		if math.Abs(w.Each()/measured[i]-1) > 0.2 {
			t.Errorf("%d nodes: %.2f tokens/s, measured %.2f", n, w.Each(), measured[i])
		}
		if n > 1 && w.Syncs != 43 {
			t.Errorf("%d collectives, want one for each layer", w.Syncs)
		}
	}
}
