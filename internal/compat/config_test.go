package compat

import (
	"strings"
	"testing"
)

func TestConfigModel(t *testing.T) {
	d := Matrix()
	for _, c := range []struct{ name, in, kind, quant string }{
		{"dense bf16", `{"model_type":"qwen3","torch_dtype":"bfloat16"}`, "dense", "bf16"},
		{"dtype of today", `{"model_type":"qwen3","dtype":"float16"}`, "dense", "fp16"},
		{"no dtype", `{"architectures":["LlamaForCausalLM"]}`, "dense", ""},
		{"experts of Qwen", `{"model_type":"qwen3_moe","num_experts":128}`, "moe", ""},
		{"experts of Mixtral", `{"model_type":"mixtral","num_local_experts":8}`, "moe", ""},
		{"experts of DeepSeek", `{"model_type":"deepseek_v3","n_routed_experts":256,"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}`, "moe", "fp8"},
		{"one expert is none", `{"model_type":"x","num_experts":1}`, "dense", ""},
		{"inside text_config", `{"model_type":"gemma4","text_config":{"num_experts":64,"dtype":"bfloat16"}}`, "moe", "bf16"},
		{"awq", `{"model_type":"x","quantization_config":{"quant_method":"awq","bits":4}}`, "dense", "awq"},
		{"awq of 8 bits", `{"model_type":"x","quantization_config":{"quant_method":"awq","bits":8}}`, "dense", "w8a16"},
		{"gptq", `{"model_type":"x","quantization_config":{"quant_method":"gptq","bits":4}}`, "dense", "gptq"},
		{"mxfp4", `{"model_type":"gpt_oss","num_local_experts":128,"quantization_config":{"quant_method":"mxfp4"}}`, "moe", "mxfp4"},
		{"bitsandbytes", `{"model_type":"x","quantization_config":{"quant_method":"bitsandbytes"}}`, "dense", "bitsandbytes"},
		{"w4a16", `{"model_type":"x","quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{"weights":{"num_bits":4,"type":"int"},"input_activations":null}}}}`, "dense", "w4a16"},
		{"an AWQ that is w4a16 inside", `{"model_type":"x","num_experts":256,"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{"weights":{"num_bits":4,"type":"int"}}}}}`, "moe", "w4a16"},
		{"int8", `{"model_type":"x","quantization_config":{"quant_method":"compressed-tensors","format":"int-quantized","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"int"},"input_activations":{"num_bits":8}}}}}`, "dense", "int8"},
		{"fp8 of compressed-tensors", `{"model_type":"x","quantization_config":{"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"float"},"input_activations":{"num_bits":8}}}}}`, "dense", "fp8"},
		{"nvfp4 of compressed-tensors", `{"model_type":"x","quantization_config":{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized"}}`, "dense", "nvfp4"},
		{"nvfp4 of Model Optimizer", `{"model_type":"x","quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}}`, "dense", "nvfp4"},
		{"fp8 of Model Optimizer", `{"model_type":"x","quantization_config":{"quant_algo":"FP8"}}`, "dense", "fp8"},
		{"AutoRound in GPTQ's packing", `{"model_type":"x","quantization_config":{"quant_method":"auto-round","bits":4,"packing_format":"auto_round:auto_gptq"}}`, "dense", "gptq"},
	} {
		m, err := d.ConfigModel("config.json", []byte(c.in))
		if err != nil || m.Kind != c.kind || m.Quant != c.quant {
			t.Errorf("%s: %+v, %v; want %s %s", c.name, m, err, c.kind, c.quant)
		}
	}
}

func TestConfigModelSaysWhatAndWhere(t *testing.T) {
	d := Matrix()
	for name, c := range map[string]struct{ in, want string }{
		"not JSON":       {"{\n  \"model_type\": qwen\n}", "2:17: invalid character"},
		"cut off":        {"{\n", "1:2: unexpected end of JSON input"},
		"a list":         {"[1]", "1:1: array where an object should be"},
		"empty":          {"{}", "1:1: an empty object"},
		"nothing":        {"", "1:1: unexpected end of JSON input"},
		"something else": {`{"name":"package","version":"1.0"}`, "not a config.json of a model"},
		"deep":           {strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "1:321: nested deeper than 64"},
		"huge":           {`{"model_type":"` + strings.Repeat("x", MaxConfig) + `"}`, "larger than"},
		"binary":         {"\xff\xfe", "not UTF-8"},
		"experts":        {`{"model_type":"x","num_experts":-5}`, "num_experts is -5, which is no number of experts"},
		"many experts":   {`{"model_type":"x","num_experts":1e300}`, "no number of experts"},
		"half an expert": {`{"model_type":"x","num_experts":1.5}`, "no number of experts"},
		"wordy experts":  {`{"model_type":"x","num_experts":"many"}`, "num_experts is not a number"},
		"strange quant":  {`{"model_type":"x","quantization_config":{"quant_method":"aqlm"}}`, `quantization_config: weft does not know quant_method "aqlm"`},
		"strange bits":   {`{"model_type":"x","quantization_config":{"quant_method":"gptq","bits":3}}`, "weft does not know"},
	} {
		_, err := d.ConfigModel("config.json", []byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, seed := range []string{`{"model_type":"x","num_experts":8,"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"g":{"weights":{"num_bits":4}}}}}`,
		`{"text_config":{"n_routed_experts":64},"quantization_config":{"quant_algo":"NVFP4"}}`, "{", `{"a":[[[["\u0000"]]]]}`} {
		f.Add([]byte(seed))
	}
	d := Matrix()
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := d.ConfigModel("config.json", b)
		again, err2 := d.ConfigModel("config.json", b)
		if m != again || (err == nil) != (err2 == nil) {
			t.Fatalf("%+v, %v and then %+v, %v", m, err, again, err2)
		}
		if err == nil && (m.Kind != "dense" && m.Kind != "moe" || m.Quant != "" && !known(d.Quants, m.Quant)) {
			t.Fatalf("%+v got through", m)
		}
	})
}

// FuzzTable reads one strange table among the good ones: no panic, and every cell
// that comes out is an answer with a source.
func FuzzTable(f *testing.F) {
	f.Add("gpu-quant.csv", "engine,quant,on,model,answer,how,instead,source,date\nvllm|sglang,*,AMD|Hopper,any,partly,so,w4a16,seed-002,2026-01-01\n")
	f.Add("kernel-rocm.csv", "on,rocm,kernel,answer,how,source,date\ngfx1151,6.4-7.1,fixed,no,,rdna35,2026-01-01\n")
	f.Add("nic-os.csv", "on,os,answer,how,source,date\nmlx5_ib,rhel9,yes,,seed-002,2026-01-01\n")
	f.Add("gpu-feature.csv", "feature,on,answer,how,source,date\nmig,T4,no,,seed-002,2026-01-01\n")
	f.Fuzz(func(t *testing.T, file, text string) {
		if !strings.HasSuffix(file, ".csv") || strings.ContainsAny(file, "/\x00") {
			return
		}
		d, err := Read(with(t, file, text))
		if err != nil {
			return
		}
		for _, c := range append(d.quantCells([]string{"gfx1151"}, Ask{}), d.kernelCells([]string{"gfx1151"}, Ask{})...) {
			if c.Answer != Yes && c.Answer != Partly && c.Answer != No && c.Answer != Unknown || c.Source == "" && c.Answer != Unknown {
				t.Fatalf("%+v got through", c)
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"H100", "Qwen/Qwen3-30B-A3B-AWQ", "connectx-4", "Q4_K_M", "rhel10", "\xff", "4090 Ti"} {
		f.Add(s)
	}
	d := Matrix()
	f.Fuzz(func(t *testing.T, s string) {
		if gpus, err := d.FindGPU(s); err == nil {
			for _, g := range gpus {
				if !known(d.GPUs, g) {
					t.Fatalf("%q is GPU %q", s, g)
				}
			}
		}
		if m, err := d.FindModel(s); err == nil && m.Kind != "dense" && m.Kind != "moe" {
			t.Fatalf("%q is %+v", s, m)
		}
		if q, err := d.FindQuant(s); err == nil && !known(d.Quants, q) {
			t.Fatalf("%q is %q", s, q)
		}
		if _, err := d.FindNIC(s); err != nil && len(err.Error()) > 1000 {
			t.Fatalf("a long error: %v", err)
		}
	})
}
