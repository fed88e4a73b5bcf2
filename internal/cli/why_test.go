package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// Facts beside hardware by name: a small MTU is found, and costs a token nothing.
func TestWhyJudgesFacts(t *testing.T) {
	var out, errs bytes.Buffer
	code := Main([]string{"why", "--model", "gpt-oss-120b", "--measured", "40", "--hardware", "2x gb10", "--link", "100g-rdma", "-F", rxePair + "-mtu1500.dump"}, strings.NewReader(""), &out, &errs)
	if code != exitYes && code != exitIncomplete {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), "roce.mtu on ") || !strings.Contains(out.String(), "decoding unchanged") {
		t.Errorf("want the MTU and what it costs:\n%s", out.String())
	}
}

// Facts that were asked for and do not tell the hardware: exit code 3.
func TestWhyWithoutGPUs(t *testing.T) {
	var out, errs bytes.Buffer
	code := Main([]string{"why", "--model", "Qwen2.5-7B", "--measured", "22.9", "-F", rxePair + ".dump"}, strings.NewReader(""), &out, &errs)
	if code != exitIncomplete || !strings.Contains(errs.String(), "no GPU was found on it") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// The parts of the JSON document add up to the measured time.
func TestWhyAddsUp(t *testing.T) {
	for _, args := range [][]string{
		{"--measured", "22.9", "--hardware", "2x strix-halo", "--link", "100g-tcp"},
		{"--measured", "133.7", "--hardware", "h100", "--quant", "fp8"},
		{"--measured", "3000us", "--hardware", "8*h100", "--tp", "4"},
	} {
		var out, errs bytes.Buffer
		if code := Main(append([]string{"why", "--json", "--model", "Qwen2.5-7B"}, args...), strings.NewReader(""), &out, &errs); code != exitYes {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		var doc struct {
			Step  float64 `json:"step_ms"`
			Parts []struct {
				Ms float64 `json:"ms"`
			} `json:"parts"`
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, p := range doc.Parts {
			sum += p.Ms
		}
		if math.Abs(sum-doc.Step) > 1e-9 || doc.Step <= 0 {
			t.Errorf("%v: the parts are %v ms, the step %v", args, sum, doc.Step)
		}
	}
}
