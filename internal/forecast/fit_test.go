package forecast

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// throughput reads ../shared/data/throughput.csv, or skips the test.
func throughput(t *testing.T) []Row {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "throughput.csv")
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("no shared data beside the repository: %v", err)
	}
	defer f.Close()
	rows, err := ReadRows(f)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestFit makes the constants again, holds the compiled ones to them, and prints
// residuals: go test -run TestFit -v. weft forecast fit prints more.
func TestFit(t *testing.T) {
	rows := throughput(t)
	k := Fit(append(rows[:len(rows):len(rows)], Measured()...))
	for _, kn := range Knobs {
		got, want := kn.Value(k), kn.Value(Default)
		t.Logf("%-22s prior %8.3g fitted %8.3g compiled %8.3g", kn.Name, kn.Prior, got, want)
		if math.Abs(got/want-1) > 0.005 {
			t.Errorf("%s: fitted %.3g, compiled %.3g: run weft forecast fit and change Default", kn.Name, got, want)
		}
	}
	each, without := LeaveOut(rows, Measured(), k)
	low, high := Spreads(each)
	t.Logf("left out: absolute %+v, ratio %+v; between %.2f and %.2f", without.Absolute, without.Ratio, low, high)
	if math.Abs(low-rangeLow) > 0.01 || math.Abs(high-rangeHigh) > 0.01 {
		t.Errorf("range %.2f to %.2f, compiled %.2f to %.2f", low, high, rangeLow, rangeHigh)
	}
	// Rows of a source that the constants never saw do nearly as well.
	if without.Absolute.Median > 0.15 || without.Ratio.Median > 0.08 {
		t.Errorf("left out: median %.1f %% absolute, %.1f %% ratio", 100*without.Absolute.Median, 100*without.Ratio.Median)
	}
}

// TestFigures holds the figures of the issue.
func TestFigures(t *testing.T) {
	e := Evaluate(throughput(t))
	for _, r := range e.Rows {
		if r.Error == nil {
			t.Errorf("row %s has no forecast: %s", r.ID, r.Why)
			continue
		}
		t.Logf("%-4s %-20s %7.2f measured %7.2f forecast %+6.1f %%", r.ID, r.Model, r.Tokens, r.Forecast, 100**r.Error)
	}
	t.Logf("absolute %+v, ratio %+v, plain %+v", e.Absolute, e.Ratio, e.Plain)
	if e.Absolute.Median > 0.15 || e.Absolute.P90 > 0.40 || e.Ratio.Median > 0.08 || e.Ratio.P90 > 0.20 {
		t.Errorf("absolute %+v, ratio %+v; want medians of 15 and 8 %%, p90 of 40 and 20", e.Absolute, e.Ratio)
	}
	if e.Plain.Median > 0.08 || e.Plain.P90 > 0.20 {
		t.Errorf("forecast over forecast %+v", e.Plain)
	}
}

// TestOwnMeasurements holds the rows that weft brings along: every one is forecast.
func TestOwnMeasurements(t *testing.T) {
	e := Evaluate(Measured())
	if e.Missed > 0 || e.Absolute.Median > 0.12 || e.Absolute.P90 > 0.40 {
		t.Errorf("%d missed, %+v", e.Missed, e.Absolute)
	}
	for _, r := range e.Rows {
		if r.Source == "" || r.Tokens == 0 {
			t.Errorf("row %s: source %q, measured %g", r.ID, r.Source, r.Tokens)
		}
	}
}

// TestSeed003 is the case of the owner who was wrong for three months: four boxes,
// tensor parallel, a small dense model. The link's bandwidth does not matter, its
// latency does; RPC does not help at all.
func TestSeed003(t *testing.T) {
	c := oneCase(t, "Qwen2.5-7B", "bf16", "vllm", "4x strix-halo", 4, 1)
	rdma := token(t, c).Each()
	c.Fabric.Gbps = 10
	slowWire := token(t, c).Each()
	c.Fabric = Fabric{Transport: "tcp", Gbps: 100}
	tcp := token(t, c).Each()
	if slowWire < 0.95*rdma {
		t.Errorf("a tenth of the bandwidth: %.1f of %.1f tokens/s", slowWire, rdma)
	}
	if tcp > 0.85*rdma {
		t.Errorf("TCP %.1f, RDMA %.1f tokens/s: measured 29 and 38.3", tcp, rdma)
	}
	if math.Abs(rdma/38.3-1) > 0.2 || math.Abs(tcp/29-1) > 0.2 {
		t.Errorf("RDMA %.1f and TCP %.1f tokens/s: measured 38.3 and 29", rdma, tcp)
	}
	one := token(t, oneCase(t, "Qwen2.5-7B", "bf16", "llama.cpp", "strix-halo", 1, 1)).Each()
	rpc := oneCase(t, "Qwen2.5-7B", "bf16", "llama.cpp", "4x strix-halo", 1, 4)
	rpc.Fabric.Transport = "tcp"
	if got := token(t, rpc).Each(); got >= one {
		t.Errorf("RPC over four: %.1f, one box: %.1f", got, one)
	}
}
