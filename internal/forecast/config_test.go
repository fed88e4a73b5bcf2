package forecast

import (
	"math"
	"strings"
	"testing"
)

// Configurations as families write them, cut to what matters here. total and active
// are what the publisher states, in billions.
var configs = []struct {
	name, text    string
	total, active float64
	kinds         string
}{
	{"GPT-2 spelling", `{"model_type":"gpt2","n_layer":12,"n_embd":768,"n_head":12,"vocab_size":50257}`, 0.124, 0.124, "12 full"},
	{"Falcon: one key head", `{"model_type":"falcon","num_hidden_layers":32,"hidden_size":4544,"num_attention_heads":71,"multi_query":true,"vocab_size":65024,"tie_word_embeddings":true}`, 6.9, 6.9, "32 full"},
	{"nested in text_config", `{"model_type":"mistral3","text_config":{"model_type":"mistral","num_hidden_layers":40,"hidden_size":5120,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"intermediate_size":32768,"vocab_size":131072},"vision_config":{"num_hidden_layers":24,"hidden_size":1024}}`, 23.57, 23.57, "40 full"},
	{"nested twice", `{"thinker_config":{"text_config":{"model_type":"qwen3_moe","num_hidden_layers":48,"hidden_size":2048,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,"vocab_size":151936}}}`, 30.5, 3.3, "48 full"},
	{"MLA without a query latent", `{"model_type":"deepseek_v2","num_hidden_layers":27,"hidden_size":2048,"num_attention_heads":16,"kv_lora_rank":512,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":64,"num_experts_per_tok":6,"n_shared_experts":2,"moe_intermediate_size":1408,"intermediate_size":10944,"first_k_dense_replace":1,"vocab_size":102400}`, 15.7, 2.7, "27 latent"},
	{"Kimi Linear", `{"model_type":"kimi_linear","num_hidden_layers":27,"hidden_size":2304,"num_attention_heads":32,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"num_experts":256,"num_experts_per_token":8,"num_shared_experts":1,"moe_intermediate_size":1024,"intermediate_size":9216,"first_k_dense_replace":1,"vocab_size":163840,"linear_attn_config":{"full_attn_layers":[4,8,12,16,20,24,27],"kda_layers":[1,2,3,5,6,7,9,10,11,13,14,15,17,18,19,21,22,23,25,26],"num_heads":32,"head_dim":128}}`, 48, 3.2, "20 linear, 7 latent"},
	{"MiniMax-01", `{"model_type":"minimax_text_01","num_hidden_layers":80,"hidden_size":6144,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"intermediate_size":9216,"num_local_experts":32,"num_experts_per_tok":2,"vocab_size":200064,"attn_type_list":[0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1]}`, 456, 45.9, "70 linear, 10 full"},
	{"Llama 4: every second is a mixture", `{"model_type":"llama4_text","num_hidden_layers":48,"hidden_size":5120,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"intermediate_size":8192,"intermediate_size_mlp":16384,"vocab_size":202048,"num_local_experts":128,"num_experts_per_tok":1,"interleave_moe_layer_step":2}`, 400, 17, "48 full"},
	{"Gemma 3: five windows, one that sees all", `{"model_type":"gemma3_text","num_hidden_layers":62,"hidden_size":5376,"num_attention_heads":32,"num_key_value_heads":16,"head_dim":128,"intermediate_size":21504,"vocab_size":262208,"sliding_window":1024,"sliding_window_pattern":6}`, 27, 27, "52 window, 10 full"},
	{"Nemotron-H: blocks of one kind each", `{"model_type":"nemotron_h","num_hidden_layers":6,"hidden_size":1024,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":128,"intermediate_size":4096,"vocab_size":1000,"hybrid_override_pattern":"M-M*M-","mamba_num_heads":16,"mamba_head_dim":64,"ssm_state_size":128,"n_groups":8}`, 0.037, 0.037, "3 ssm, 2 none, 1 full"},
	{"GPT-Neo leaves its width out", `{"model_type":"gpt_neo","num_layers":32,"hidden_size":2560,"num_heads":20,"intermediate_size":null,"vocab_size":50257,"tie_word_embeddings":true}`, 2.65, 2.65, "32 full"},
	{"Falcon 40B", `{"model_type":"falcon","num_hidden_layers":60,"hidden_size":8192,"num_attention_heads":128,"num_kv_heads":8,"new_decoder_architecture":true,"vocab_size":65024}`, 41.3, 41.3, "60 full"},
	{"BLOOM", `{"model_type":"bloom","n_layer":70,"n_embed":14336,"num_attention_heads":112,"vocab_size":250880}`, 176, 176, "70 full"},
	{"MPT", `{"model_type":"mpt","n_layers":32,"d_model":4096,"n_heads":32,"expansion_ratio":4,"vocab_size":50432}`, 6.65, 6.65, "32 full"},
	{"DBRX: parts of their own", `{"model_type":"dbrx","n_layers":40,"d_model":6144,"n_heads":48,"vocab_size":100352,"attn_config":{"kv_n_heads":8},"ffn_config":{"ffn_hidden_size":10752,"moe_num_experts":16,"moe_top_k":4}}`, 132, 36, "40 full"},
	{"Mamba-2 alone", `{"model_type":"mamba2","num_hidden_layers":64,"hidden_size":4096,"num_heads":128,"head_dim":64,"state_size":128,"expand":2,"n_groups":8,"vocab_size":32768}`, 7.28, 7.28, "64 ssm"},
	{"Falcon Mamba", `{"model_type":"falcon_mamba","num_hidden_layers":64,"hidden_size":4096,"intermediate_size":8192,"state_size":16,"expand":2,"vocab_size":65024,"tie_word_embeddings":false}`, 7.27, 7.27, "64 ssm"},
	{"Qwen2 does not slide unless asked", `{"model_type":"qwen2","num_hidden_layers":28,"hidden_size":3584,"num_attention_heads":28,"num_key_value_heads":4,"intermediate_size":18944,"vocab_size":152064,"sliding_window":131072,"use_sliding_window":false,"max_window_layers":28}`, 7.62, 7.62, "28 full"},
}

func TestParseConfig(t *testing.T) {
	for _, c := range configs {
		m, err := ParseConfig("", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := m.Total() / 1e9; math.Abs(got/c.total-1) > 0.06 {
			t.Errorf("%s: %.3f B in all, want %.3f", c.name, got, c.total)
		}
		if got := m.Active() / 1e9; math.Abs(got/c.active-1) > 0.16 {
			t.Errorf("%s: %.3f B for a token, want %.3f", c.name, got, c.active)
		}
		if m.Kinds() != c.kinds {
			t.Errorf("%s: attention %s, want %s", c.name, m.Kinds(), c.kinds)
		}
	}
}

// TestNative reads what the configuration says of its weights.
func TestNative(t *testing.T) {
	for text, want := range map[string]string{
		`"quantization_config":{"quant_method":"fp8"}`:                                                                              "fp8",
		`"quantization_config":{"quant_method":"mxfp4"}`:                                                                            "mxfp4",
		`"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}`:                                                    "nvfp4",
		`"quantization_config":{"quant_method":"awq","bits":4}`:                                                                     "w4a16",
		`"quantization_config":{"quant_method":"gptq","bits":8}`:                                                                    "int8",
		`"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"g":{"weights":{"num_bits":4,"type":"int"}}}}`: "w4a16",
		`"quantization":{"group_size":64,"bits":4}`:                                                                                 "mlx-4",
		`"other":1`: "",
	} {
		m, err := ParseConfig("", []byte(`{"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":2,"intermediate_size":9,"vocab_size":10,`+text+`}`))
		if err != nil || m.Native != want {
			t.Errorf("%s: native %q, %v; want %q", text, m.Native, err, want)
		}
		if _, err := FormatOf("", m, engines[0]); err != nil && want != "int8" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestBadConfig wants an error that names the line and what is wrong.
func TestBadConfig(t *testing.T) {
	const head = "{\n \"hidden_size\": 64, \"vocab_size\": 10, \"num_attention_heads\": 2,\n "
	for text, want := range map[string]string{
		``:                                    "EOF",
		`[]`:                                  "line 1 column",
		"{\n\"a\": 1,\n!}":                    "line 3 column 1: invalid character",
		`null`:                                "want an object",
		`{"hidden_size":1}`:                   "no num_hidden_layers",
		head + `"num_hidden_layers": -3}`:     "line 3: num_hidden_layers: -3: want 0 to 2000",
		head + `"num_hidden_layers": 1e30}`:   "line 3: num_hidden_layers: 1e30: want 0 to 2000",
		head + `"num_hidden_layers": 2.5}`:    "line 3: num_hidden_layers: 2.5 is not a whole number",
		head + `"num_hidden_layers": "many"}`: "line 3: num_hidden_layers: many is not a number",
		head + `"num_hidden_layers": 0}`:      "line 3: num_hidden_layers: 0: want at least 1",
		head + "\"num_hidden_layers\": 2,\n\"layer_types\": [\"full_attention\", \"telepathy\"]}": `line 4: layer_types: layer 1 is "telepathy"`,
		head + "\"num_hidden_layers\": 2,\n\"num_experts\": 4, \"num_experts_per_tok\": 9}":       "num_experts_per_tok: 9 of 4 experts",
		head + `"num_hidden_layers": 2}`:                                                            "no intermediate_size",
		head + `"num_hidden_layers": 2, "num_experts": 4, "num_experts_per_tok": 2}`:                "no intermediate_size",
		head + "\"num_hidden_layers\": 2, \"is_encoder_decoder\": true,\n\"model_type\": \"bart\"}": "line 4: model_type: bart has an encoder",
		head + `"num_hidden_layers": 2, "architectures": ["BertForMaskedLM"]}`:                      "BertForMaskedLM does not write text",
		head + `"num_hidden_layers": 2, "block_configs": [{}]}`:                                     "line 3: block_configs",
		head + `"num_hidden_layers": 2, "kv_lora_rank": 99999999}`:                                  "kv_lora_rank",
	} {
		_, err := ParseConfig("", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseConfig("", make([]byte, MaxConfig+1)); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a huge file: %v", err)
	}
}

// FuzzConfig: whatever the bytes, no panic, and a model that came out of them has
// finite counts that are not negative.
func FuzzConfig(f *testing.F) {
	for _, c := range configs {
		f.Add([]byte(c.text))
	}
	for _, k := range models() {
		f.Add([]byte(k.Config))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseConfig("x", b)
		if err != nil {
			return
		}
		for _, n := range []float64{m.Total(), m.Active(), m.Read(7).Sum()} {
			if !(n >= 0) || math.IsInf(n, 0) {
				t.Fatalf("%g parameters of %s", n, b)
			}
		}
		if m.Read(1).Experts > m.Stored().Experts*1.0001 {
			t.Fatalf("more experts read than there are: %s", b)
		}
		rank := Rank{Node: "a", HW: hardware()[0]}
		w, err := Token(Case{Model: m, Format: Average(4.5, m, engines[0]), Engine: engines[0], Ranks: []Rank{rank}, Layout: Layout{TP: 1, PP: 1, Replicas: 1}, Context: 100})
		if err == nil && (!(w.Total() >= 0) || math.IsInf(float64(w.Total()), 0)) {
			t.Fatalf("%g ms of %s", w.Total(), b)
		}
	})
}
