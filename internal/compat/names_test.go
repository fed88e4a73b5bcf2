package compat

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"weft/internal/fact"
	"weft/internal/platform"
)

func TestFindGPU(t *testing.T) {
	d := Matrix()
	for name, want := range map[string]string{
		"H100": "H100", "h100": "H100", "NVIDIA H100 80GB HBM3": "H100", "H100 NVL": "H100",
		"Tesla T4": "T4", "t4": "T4", "P100": "P100", "Tesla P100-SXM2-16GB": "P100-SXM2",
		"4090": "GeForce RTX 40*", "RTX 4070 Ti SUPER": "GeForce RTX 40*", "NVIDIA GeForce RTX 4090": "GeForce RTX 40*",
		"3090": "GeForce RTX 3090*", "RTX 3090 Ti": "GeForce RTX 3090*", "3070": "GeForce RTX 30*", "RTX 5090": "GeForce RTX 50*",
		"DGX Spark": "GB10", "dgx-spark": "GB10", "gb10": "GB10", "GB200": "GB200", "B200": "B200",
		"Strix Halo": "gfx1151", "strix-halo": "gfx1151", "gfx1151": "gfx1151", "GFX1151": "gfx1151", "Ryzen AI Max+ 395": "gfx1151",
		"MI300X": "gfx942", "mi355x": "gfx950", "7900 XTX": "gfx1100", "R9700": "gfx1201",
		"RTX PRO 6000": "RTX PRO 6000 Blackwell", "K20": "K20*", "L40S": "L40S",
	} {
		if got, err := d.FindGPU(name); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("FindGPU(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]int{"Hopper": 3, "ada lovelace": 3, "AMD": 7, "all": len(platform.GPUs)} {
		if got, err := d.FindGPU(name); err != nil || len(got) != want {
			t.Errorf("FindGPU(%q) = %q, %v; want %d", name, got, err, want)
		}
	}
	for name, near := range map[string]string{"H10": "H100", "gfx1150": "gfx1151", "L40": "L40S", "strixhalo2": "Strix Halo", "RTX 4": "", "": "", strings.Repeat("x", 10_000): "", "\x1b[2J": ""} {
		_, err := d.FindGPU(name)
		var unknown *UnknownName
		if !errors.As(err, &unknown) || near != "" && !slices.Contains(unknown.Near, near) || len(err.Error()) > 400 {
			t.Errorf("FindGPU(%.20q): %v, want %q near", name, err, near)
		}
	}
}

func TestFindOthers(t *testing.T) {
	d := Matrix()
	one := func(find func(string) (string, error)) func(string) string {
		return func(s string) string {
			id, err := find(s)
			if err != nil {
				return err.Error()
			}
			return id
		}
	}
	quant, engine, os, feature := one(d.FindQuant), one(d.FindEngine), one(d.FindOS), one(d.FindFeature)
	for _, c := range []struct{ got, want string }{
		{quant("AWQ"), "awq"}, {quant("Q4_K_M"), "gguf"}, {quant("int4"), "w4a16"}, {quant("W8A8"), "int8"}, {quant("bfloat16"), "bf16"},
		{quant("awk"), `quantisation "awk" is not known; did you mean awq, `}, {quant(""), `quantisation "" is not known`},
		{engine("vLLM"), "vllm"}, {engine("llama-cpp"), "llama.cpp"}, {engine("TRT-LLM"), "tensorrt-llm"}, {engine("vlm"), `engine "vlm" is not known; did you mean vllm`},
		{os("RHEL 10"), "rhel10"}, {os("noble"), "ubuntu24.04"}, {os("rhel11"), `operating system "rhel11" is not known; did you mean rhel10`},
		{feature("Tensor Cores"), "tensor-cores"}, {feature("gdr"), "gpudirect"}, {feature("warp drive"), `feature "warp drive" is not known`},
	} {
		if !strings.HasPrefix(c.got, c.want) {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for name, want := range map[string]int{"ConnectX-3": 1, "connectx-3 pro": 1, "cx7": 1, "E810": 2, "E810-C": 1, "mlx4": 2, "irdma": 5, "Thor 2": 0, "BCM57608": 1, "T62100": 4} {
		got, err := d.FindNIC(name)
		if len(got) != want || (err != nil) != (want == 0) {
			t.Errorf("FindNIC(%q) = %q, %v; want %d", name, got, err, want)
		}
	}
}

// TestEveryNameFindsItself: what the tables call a thing is found by that name.
func TestEveryNameFindsItself(t *testing.T) {
	d := Matrix()
	for _, g := range d.GPUs {
		for _, name := range append([]string{g.ID}, g.Also...) {
			if got, err := d.FindGPU(name); err != nil || got[0] != g.ID {
				t.Errorf("%s is found as %v, %v", name, got, err)
			}
		}
	}
	for _, n := range d.NICs {
		if got, err := d.FindNIC(n); err != nil || !slices.Contains(got, n) {
			t.Errorf("%s is found as %v, %v", n, got, err)
		}
	}
	for _, f := range d.Features {
		for _, name := range append([]string{f.ID}, d.featureAlso[f.ID]...) {
			if got, err := d.FindFeature(name); err != nil || got != f.ID {
				t.Errorf("%s is found as %v, %v", name, got, err)
			}
		}
	}
	for _, q := range d.Quants {
		for _, name := range append([]string{q.ID}, q.Also...) {
			if got, err := d.FindQuant(name); err != nil || got != q.ID {
				t.Errorf("%s is found as %v, %v", name, got, err)
			}
		}
	}
	for _, o := range d.OSes {
		for _, name := range append([]string{o.ID}, o.Also...) {
			if got, err := d.FindOS(name); err != nil || got != o.ID {
				t.Errorf("%s is found as %v, %v", name, got, err)
			}
		}
	}
}

func TestOSOf(t *testing.T) {
	d := Matrix()
	for _, c := range []struct {
		host fact.Host
		want string
	}{
		{fact.Host{Distro: "rhel", Version: "10.1"}, "rhel10"},
		{fact.Host{Distro: "rocky", Like: "rhel centos fedora", Version: "9.6"}, "rhel9"},
		{fact.Host{Distro: "rhel", Version: "8.10"}, ""},
		{fact.Host{Distro: "ubuntu", Like: "debian", Version: "24.04"}, "ubuntu24.04"},
		{fact.Host{Distro: "ubuntu", Like: "debian", Version: "25.10"}, ""},
		{fact.Host{Distro: "debian", Version: "13"}, "debian13"},
		{fact.Host{Distro: "fedora", Version: "43"}, "fedora"},
		{fact.Host{}, ""},
	} {
		if got := d.OSOf(c.host); got != c.want {
			t.Errorf("%+v is %q, want %q", c.host, got, c.want)
		}
	}
}

func TestFindModel(t *testing.T) {
	d := Matrix()
	for name, want := range map[string]Model{
		"Qwen/Qwen3-235B-A22B":                       {Kind: "moe"},
		"Qwen/Qwen3-32B":                             {Kind: "dense"},
		"Qwen/Qwen3-32B-AWQ":                         {Kind: "dense", Quant: "awq", Fixed: true},
		"Qwen3-235B":                                 {Kind: "moe"},
		"cyankiwi/Qwen3.6-35B-A3B-AWQ-4bit":          {Kind: "moe", Quant: "awq", Fixed: true},
		"palmfuture/Qwen3.6-35B-A3B-GPTQ-Int4":       {Kind: "moe", Quant: "gptq", Fixed: true},
		"RedHatAI/Meta-Llama-3.1-8B-quantized.w4a16": {Kind: "dense", Quant: "w4a16", Fixed: true},
		"nvidia/Llama-3.3-70B-Instruct-NVFP4":        {Kind: "dense", Quant: "nvfp4", Fixed: true},
		"unsloth/Qwen3-30B-A3B-GGUF:Q4_K_M":          {Kind: "moe", Quant: "gguf", Fixed: true},
		"Llama-3.1-8B-Q4_K_M.gguf":                   {Kind: "dense", Quant: "gguf", Fixed: true},
		"openai/gpt-oss-120b":                        {Kind: "moe", Quant: "mxfp4"},
		"deepseek-ai/DeepSeek-R1":                    {Kind: "moe", Quant: "fp8"},
		"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B":   {Kind: "dense"},
		"mistralai/Mixtral-8x7B-Instruct-v0.1":       {Kind: "moe"},
		"google/gemma-4-26B-A4B-it":                  {Kind: "moe"},
		"google/gemma-4-31B-it":                      {Kind: "dense"},
		"meta-llama/Llama-3.1-405B":                  {Kind: "dense"},
	} {
		got, err := d.FindModel(name)
		if err != nil || got.Kind != want.Kind || got.Quant != want.Quant || got.Fixed != want.Fixed {
			t.Errorf("%s is %+v, %v; want %+v", name, got, err, want)
		}
	}
	for name, near := range map[string]string{"Foo/Bar-7B": "", "deepsek-r1": "deepseek-r1", "": "", strings.Repeat("q", 5000): "", "/": ""} {
		_, err := d.FindModel(name)
		var unknown *UnknownName
		if !errors.As(err, &unknown) || near != "" && !slices.Contains(unknown.Near, near) {
			t.Errorf("FindModel(%.20q): %v", name, err)
		}
	}
}
