package compat

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func readPage(t *testing.T) string {
	b, err := os.ReadFile("../../docs/compat.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEveryCellIsCited wants an answer, and a source and a date wherever somebody has
// said something.
func TestEveryCellIsCited(t *testing.T) {
	d := Matrix()
	var all []Cell
	all = append(all, d.featureCells(d.gpuNames(), d.featuresOf(true))...)
	all = append(all, d.quantCells(d.gpuNames(), Ask{})...)
	all = append(all, d.kernelCells(d.gpuNames(), Ask{})...)
	all = append(all, d.systemCells(Ask{})...)
	all = append(all, d.cardCells(d.NICs, d.featuresOf(false))...)
	for _, nic := range d.NICs {
		if c, ok := d.FirmwareOf(nic, "1.0"); ok {
			all = append(all, c)
		}
	}
	for _, c := range all {
		_, err := time.Parse(time.DateOnly, c.Date)
		switch {
		case c.Answer == Unknown && c.Source == "" && c.How == "nobody has told weft":
		case c.Source == "" || c.Where == "" || err != nil:
			t.Errorf("%+v has no source or no date", c)
		case c.Answer == Partly && c.How == "":
			t.Errorf("%+v does not say how", c)
		}
	}
}

// with is the tables with one of them replaced.
func with(t testing.TB, file, text string) fs.FS {
	out := fstest.MapFS{}
	entries, err := files.ReadDir("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := files.ReadFile("data/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = &fstest.MapFile{Data: b}
	}
	if file != "" {
		out[file] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestReadRefuses(t *testing.T) {
	const feature = "feature,on,answer,how,source,date\n"
	const quant = "engine,quant,on,model,answer,how,instead,source,date\n"
	const kernel = "on,rocm,kernel,answer,how,source,date\n"
	const nic = "on,os,answer,how,source,date\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"no source":        {"gpu-feature.csv", feature + "mig,T4,no,,,2026-01-01\n", "gpu-feature.csv:2: a row needs a source and a date"},
		"no date":          {"gpu-feature.csv", feature + "mig,T4,no,,seed-002,\n", "gpu-feature.csv:2: a row needs a source and a date"},
		"strange source":   {"gpu-feature.csv", feature + "mig,T4,no,,hearsay,2026-01-01\n", `source "hearsay" is not in source.csv`},
		"no such day":      {"gpu-feature.csv", feature + "mig,T4,no,,seed-002,2026-02-30\n", `date "2026-02-30" is not a day`},
		"a month":          {"gpu-feature.csv", feature + "mig,T4,no,,seed-002,2026-02\n", `date "2026-02" is not a day`},
		"no such answer":   {"gpu-feature.csv", feature + "mig,T4,maybe,,seed-002,2026-01-01\n", `answer "maybe" is not one of yes, partly, unknown, no`},
		"partly, not how":  {"gpu-feature.csv", feature + "mig,T4,partly,,seed-002,2026-01-01\n", "partly does not say how"},
		"no such GPU":      {"gpu-feature.csv", feature + "mig,T5,no,,seed-002,2026-01-01\n", `on: "T5" is not known`},
		"GPU twice":        {"gpu-feature.csv", feature + "mig,T4|T4,no,,seed-002,2026-01-01\n", `on: "T4" is there twice`},
		"no GPU":           {"gpu-feature.csv", feature + "mig,,no,,seed-002,2026-01-01\n", "on is empty"},
		"no such feature":  {"gpu-feature.csv", feature + "warp,T4,no,,seed-002,2026-01-01\n", `feature "warp" is not in feature.csv`},
		"a NIC's feature":  {"gpu-feature.csv", feature + "roce,T4,no,,seed-002,2026-01-01\n", `feature "roce" is not in feature.csv for this table`},
		"said twice":       {"gpu-feature.csv", feature + "mig,T4,no,,seed-002,2026-01-01\nmig,P4|T4,yes,,seed-002,2026-01-01\n", "gpu-feature.csv:3: mig of T4 was said before"},
		"row twice":        {"gpu-feature.csv", feature + "mig,T4,no,,seed-002,2026-01-01\nmig,T4,no,,seed-002,2026-01-01\n", "gpu-feature.csv:3: the row of line 2 again"},
		"wrong columns":    {"gpu-feature.csv", "feature,on,answer,how,date,source\n", "gpu-feature.csv:1: columns are"},
		"too few fields":   {"gpu-feature.csv", feature + "mig,T4,no\n", "gpu-feature.csv:2:"},
		"empty":            {"gpu-feature.csv", "", "gpu-feature.csv: EOF"},
		"a quote":          {"gpu-feature.csv", feature + "mig,T4,\"no,,seed-002,2026-01-01\n", "gpu-feature.csv:"},
		"control":          {"gpu-feature.csv", feature + "mig,T4,no,\x1b[2J,seed-002,2026-01-01\n", "how: a control character"},
		"direction":        {"gpu-feature.csv", feature + "mig,T4,no,\u202eab,seed-002,2026-01-01\n", "how: a control character"},
		"blanks":           {"gpu-feature.csv", feature + "mig,T4,no, x,seed-002,2026-01-01\n", "how: blanks at its ends"},
		"long":             {"gpu-feature.csv", feature + "mig,T4,no," + strings.Repeat("x", 700) + ",seed-002,2026-01-01\n", "how: longer than"},
		"huge":             {"gpu-feature.csv", feature + strings.Repeat("x", maxTable), "gpu-feature.csv: larger than"},
		"binary":           {"gpu-feature.csv", feature + "\xff\xfe", "gpu-feature.csv: not UTF-8"},
		"many words":       {"gpu-feature.csv", feature + "mig," + strings.Repeat("T4|", 80) + "T4,no,,seed-002,2026-01-01\n", "on: more than"},
		"no such engine":   {"gpu-quant.csv", quant + "mlx,awq,T4,any,yes,,,seed-002,2026-01-01\n", `engine: "mlx" is not known`},
		"no such quant":    {"gpu-quant.csv", quant + "vllm,q1,T4,any,yes,,,seed-002,2026-01-01\n", `quant: "q1" is not known`},
		"no such kind":     {"gpu-quant.csv", quant + "vllm,awq,T4,sparse,yes,,,seed-002,2026-01-01\n", `model "sparse" is not one of dense, moe, any`},
		"no such instead":  {"gpu-quant.csv", quant + "vllm,awq,T4,any,no,,prayer,seed-002,2026-01-01\n", `instead "prayer" is not in quant.csv`},
		"quant said twice": {"gpu-quant.csv", quant + "vllm,awq,T4,any,no,,,seed-002,2026-01-01\nvllm|sglang,awq|gptq,T4,any,yes,,,seed-002,2026-01-01\n", "awq of vllm on T4 was said before"},
		"no range":         {"kernel-rocm.csv", kernel + "gfx1151,7.2,fixed,yes,,rdna35,2026-01-01\n", `rocm "7.2" is not a range`},
		"range backwards":  {"kernel-rocm.csv", kernel + "gfx1151,7.2-7.1,fixed,yes,,rdna35,2026-01-01\n", "ends before it begins"},
		"no such kernel":   {"kernel-rocm.csv", kernel + "gfx1151,*,new,yes,,rdna35,2026-01-01\n", `kernel "new" is not one of`},
		"no such system":   {"nic-os.csv", nic + "mlx5_ib,beos,yes,,seed-002,2026-01-01\n", `os: "beos" is not known`},
		"no such NIC":      {"nic-os.csv", nic + "NE2000,rhel9,yes,,seed-002,2026-01-01\n", `on: "NE2000" is not known`},
		"NIC said twice":   {"nic-os.csv", nic + "mlx5_ib,rhel9,yes,,seed-002,2026-01-01\nmlx5_ib|mlx4_ib,rhel9,no,,seed-002,2026-01-01\n", "mlx5_ib on rhel9 was said before"},
		"source twice":     {"source.csv", "id,title,where\na,b,c\na,d,e\n", `source "a" is there twice`},
		"half a source":    {"source.csv", "id,title,where\na,,c\n", "a source needs an id, a title and where it is"},
		"a strange GPU":    {"gpu.csv", "gpu,also\nVoodoo 2,\n", `GPU "Voodoo 2" is not in internal/platform`},
		"model kind":       {"model.csv", "match,kind,quant,source,date\nx,big,,known,2026-01-01\n", `kind "big" is not one of dense, moe`},
		"model uncited":    {"model.csv", "match,kind,quant,source,date\nx,moe,,,\n", "a row needs a source and a date"},
	} {
		_, err := Read(with(t, c.file, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
	}
	if _, err := Read(fstest.MapFS{}); err == nil || !strings.HasPrefix(err.Error(), "source.csv: ") {
		t.Errorf("an empty folder: %v", err)
	}
}

// What the seeds tell, and the corners of the rules.
func TestKnownCells(t *testing.T) {
	d := Matrix()
	for _, c := range []struct {
		cell   Cell
		answer string
		how    string
	}{
		{d.QuantOf("gfx1151", "awq", "vllm", "moe"), No, "hangs silently"},
		{d.QuantOf("gfx1151", "awq", "vllm", "dense"), Partly, ""},
		{d.QuantOf("gfx1151", "w4a16", "vllm", "moe"), Yes, ""},
		{d.QuantOf("gfx1151", "gguf", "llama.cpp", "moe"), Yes, ""},
		{d.QuantOf("gfx1151", "awq", "tensorrt-llm", "moe"), No, "NVIDIA's alone"},
		{d.QuantOf("gfx1151", "awq", "ollama", "dense"), No, "GGUF alone"},
		{d.QuantOf("T4", "bf16", "vllm", "dense"), No, "8.0"},
		{d.QuantOf("T4", "fp16", "vllm", "dense"), Yes, ""},
		{d.QuantOf("P4", "awq", "vllm", "dense"), No, "7.5"},
		{d.QuantOf("P4", "gguf", "ollama", "dense"), Yes, "570"},
		{d.QuantOf("K20*", "gguf", "ollama", "dense"), No, "5.0"},
		{d.QuantOf("H100", "fp8", "vllm", "moe"), Yes, ""},
		{d.QuantOf("H100", "nvfp4", "tensorrt-llm", "moe"), No, ""},
		{d.QuantOf("B200", "nvfp4", "tensorrt-llm", "moe"), Yes, ""},
		{d.QuantOf("B200", "int8", "vllm", "dense"), No, ""},
		{d.QuantOf("H100", "w8a16", "vllm", "dense"), Unknown, "nobody"},
		{d.FeatureOf("T4", "mig"), No, ""},
		{d.FeatureOf("T4", "gpudirect"), Partly, "ConnectX-4"},
		{d.FeatureOf("P100-SXM2", "nvlink"), Yes, ""},
		{d.FeatureOf("P100", "nvlink"), No, ""},
		{d.FeatureOf("GB10", "gpudirect"), No, ""},
		{d.FeatureOf("H100", "confidential"), Yes, ""},
		{d.FeatureOf("A100", "nvenc"), Unknown, ""},
		{d.SystemOf("ConnectX-3", "rhel10"), No, "dropped mlx4"},
		{d.SystemOf("ConnectX-3 Pro", "rhel9"), Yes, ""},
		{d.SystemOf("ConnectX-7", "rhel10"), Yes, ""},
		{d.SystemOf("BlueField-3", "rhel10"), Partly, "unmaintained"},
		{d.SystemOf("BCM57414", "debian12"), No, "bnxt_re"},
		{d.SystemOf("E810-C", "fedora"), Yes, ""},
		{d.SystemOf("Omni-Path 100", "rhel10"), Unknown, ""},
		{d.CardOf("ConnectX-3", "gpudirect"), No, ""},
		{d.CardOf("X722", "roce"), No, "iWARP"},
		{d.CardOf("E810-C", "roce"), Yes, ""},
	} {
		if c.cell.Answer != c.answer || !strings.Contains(c.cell.How, c.how) {
			t.Errorf("%+v: want %s, %q", c.cell, c.answer, c.how)
		}
	}
}
