package forecast

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseConfig reads a Hugging Face config.json of a language model, in any of the
// spellings that model families use. What the file does not say is an error or a
// documented default of that family; nothing is guessed silently.
func ParseConfig(name string, b []byte) (Model, error) {
	f, err := readFields(b)
	if err != nil {
		return Model{}, err
	}
	c := config{f: f}
	m := c.model()
	if f.err != nil {
		return Model{}, f.err
	}
	m.Name = name
	if name == "" {
		m.Name = firstOf(f.string("_name_or_path"), m.Type, "model")
	}
	return m, nil
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// config makes a model of fields.
type config struct {
	f       *fields
	kind    string
	layers  int
	hidden  int
	heads   int
	kv      int
	headDim int
	ffn     int
}

func (c *config) model() Model {
	f := c.f
	c.kind = f.string("model_type")
	c.decodes()
	c.layers = f.need(mostLayers, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
	c.hidden = f.need(mostWidth, "hidden_size", "n_embd", "n_embed", "d_model", "dim")
	vocab := f.need(mostWidth, "vocab_size", "padded_vocab_size")
	if f.err != nil {
		return Model{}
	}
	c.heads = f.or(0, mostCount, "num_attention_heads", "n_head", "n_heads", "num_heads")
	c.kv = f.or(c.heads, mostCount, "num_key_value_heads", "n_head_kv", "num_kv_heads", "n_kv_heads", "kv_n_heads", "multi_query_group_num", "num_attention_groups")
	if f.bool(false, "multi_query") && !f.bool(false, "new_decoder_architecture") {
		c.kv = 1
	}
	if c.heads > 0 {
		c.headDim = f.or(c.hidden/c.heads, mostWidth, "head_dim", "kv_channels", "attention_head_dim")
	}
	c.ffn = f.or(c.usualFFN(), mostWidth, ffnKeys...)
	m := Model{Type: c.kind, Layers: c.layers, Hidden: c.hidden, Vocab: vocab, Tied: c.tied(), Native: c.native()}
	m.Attn = c.attention()
	m.FFN, m.MoE = c.feedForward()
	if n, ok := f.int(mostWidth, "hidden_size_per_layer_input"); ok { // Gemma 3n and 4 E models
		m.Beside = float64(c.layers) * float64(n) * float64(f.or(vocab, mostWidth, "vocab_size_per_layer_input"))
	}
	return m
}

// decodes refuses what does not write one token after the other, and searched architectures,
// in which no two layers are alike.
func (c *config) decodes() {
	f := c.f
	if f.bool(false, "is_encoder_decoder") || strings.HasSuffix(c.kind, "t5") {
		f.wrong("model_type", "%s has an encoder and a decoder; weft forecasts models that only decode", c.kind)
	}
	if l := f.list("architectures"); len(l) > 0 {
		name := shorten(l[0])
		for _, does := range []string{"ForMaskedLM", "Classification", "ForQuestionAnswering", "ForPreTraining"} {
			if strings.Contains(name, does) {
				f.wrong("architectures", "%s does not write text; weft forecasts models that do", name)
			}
		}
	}
	if len(f.list("block_configs")) > 0 {
		f.wrong("block_configs", "each layer has a shape of its own, which weft does not read")
	}
}

// ffnKeys are the spellings of how wide a feed-forward block is.
var ffnKeys = []string{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "inner_hidden_size", "hidden_dim"}

// usualFFN is the width in the families whose configuration leaves it out; 0 in others.
func (c *config) usualFFN() int {
	switch c.kind {
	case "gpt2", "gpt_neo", "gptj", "gpt_bigcode", "codegen", "bloom", "falcon", "RefinedWeb", "RefinedWebModel":
		return 4 * c.hidden
	case "mpt":
		return c.f.or(4, 64, "expansion_ratio") * c.hidden
	}
	return 0
}

// onlySSM: families without attention and without feed-forward blocks.
func (c *config) onlySSM() bool {
	return c.kind == "mamba" || c.kind == "mamba2" || c.kind == "falcon_mamba"
}

// tied: the families whose configuration leaves the key out when it is true.
func (c *config) tied() bool {
	def := strings.HasPrefix(c.kind, "gemma") || strings.HasPrefix(c.kind, "cohere") || slices.Contains([]string{"gpt2", "gpt_bigcode", "bloom", "falcon", "mpt", "opt", "starcoder2", "mamba"}, c.kind)
	return c.f.bool(def, "tie_word_embeddings", "tie_embeddings")
}

// native is the format that quantization_config names.
func (c *config) native() string {
	q := c.f.sub("quantization_config", "quantization")
	if q == nil {
		return ""
	}
	method := strings.ToLower(q.string("quant_method", "quant_algo", "mode"))
	switch {
	case strings.Contains(method, "mxfp4"):
		return "mxfp4"
	case strings.Contains(method, "nvfp4"), strings.Contains(strings.ToLower(fmt.Sprint(q.top)), "nvfp4"):
		return "nvfp4"
	case strings.Contains(method, "fp8"):
		return "fp8"
	case method == "awq", method == "gptq", method == "auto-round":
		switch bits := q.or(4, 16, "bits", "w_bit"); bits {
		case 4:
			return "w4a16"
		case 8:
			return "int8"
		default:
			return strconv.Itoa(max(bits, 1)) // as an average: scales are a small part
		}
	case method == "compressed-tensors":
		text := strings.ToLower(fmt.Sprint(q.top))
		switch {
		case strings.Contains(text, "num_bits:4"):
			return "w4a16"
		case strings.Contains(text, "float"):
			return "fp8"
		}
		return "int8"
	}
	if bits := q.or(0, 16, "bits"); bits > 0 { // MLX
		return fmt.Sprintf("mlx-%d", bits)
	}
	return ""
}

// attention groups the layers by their kind of attention.
func (c *config) attention() []Attn {
	counts := c.kinds()
	var out []Attn
	for _, kind := range []string{"full", "window", "latent", "linear", "ssm", "none"} {
		if counts[kind] == 0 {
			continue
		}
		a := c.one(kind)
		a.Count = counts[kind]
		out = append(out, a)
	}
	return out
}

// words of layer_types and of other lists, and what they mean here.
var kindWords = map[string]string{
	"full_attention": "full", "attention": "full", "global_attention": "full", "global": "full", "full": "full", "*": "full",
	"sliding_attention": "window", "chunked_attention": "window", "local_attention": "window", "sliding": "window", "swa": "window", "local": "window",
	"linear_attention": "linear", "linear": "linear", "kda": "linear", "gated_deltanet": "linear", "lightning_attention": "linear", "lightning": "linear",
	"mamba": "ssm", "mamba2": "ssm", "recurrent": "ssm", "ssm": "ssm", "conv": "ssm", "m": "ssm",
	"moe": "none", "mlp": "none", "-": "none", "e": "none", "dense": "none",
}

// kinds counts the layers of each kind of attention.
func (c *config) kinds() map[string]int {
	f, n := c.f, c.layers
	full := "full"
	if f.or(0, mostWidth, "kv_lora_rank", "o_lora_rank") > 0 {
		full = "latent"
	}
	if c.onlySSM() {
		return map[string]int{"ssm": n}
	}
	rest := func(kind string, some int) map[string]int {
		some = max(0, min(some, n))
		return map[string]int{full: some, kind: n - some}
	}
	if l := f.list("layer_types", "layers_block_type", "attention_layer_types", "layer_type_list"); len(l) > 0 {
		return c.count(l, full)
	}
	if p := f.string("hybrid_override_pattern"); p != "" {
		words := make([]any, 0, len(p))
		for _, r := range strings.ToLower(p[:min(len(p), mostList)]) {
			words = append(words, string(r))
		}
		return c.count(words, full)
	}
	if l := f.list("attn_type_list"); len(l) > 0 { // MiniMax-01: 0 lightning, 1 softmax
		some := 0
		for _, e := range l {
			if e == json.Number("1") {
				some++
			}
		}
		return rest("linear", some)
	}
	if lin := f.sub("linear_attn_config"); lin != nil { // Kimi Linear, GLM with KDA
		if l := lin.list("full_attn_layers"); len(l) > 0 {
			return rest("linear", len(l))
		}
		return rest("linear", n-len(lin.list("kda_layers")))
	}
	if l := f.list("attn_layer_indices"); len(l) > 0 {
		return rest("ssm", len(l))
	}
	if every, ok := f.int(mostLayers, "attn_layer_period"); ok && every > 0 { // Jamba
		return rest("ssm", (n-f.or(0, mostLayers, "attn_layer_offset")+every-1)/every)
	}
	if every, ok := f.int(mostLayers, "full_attention_interval"); ok && every > 0 { // Qwen3-Next, Qwen3.5
		return rest("linear", n/every)
	}
	window := f.or(0, mostWidth, "sliding_window", "attention_chunk_size")
	every := f.or(0, mostLayers, "sliding_window_pattern", "_sliding_window_pattern")
	switch {
	case window == 0 || window >= mostWidth:
	case every > 1: // Gemma 3: each sixth sees everything
		return rest("window", n/every)
	case strings.HasPrefix(c.kind, "gemma2"):
		return rest("window", n/2)
	case strings.HasPrefix(c.kind, "qwen2"): // sliding from max_window_layers on, and only when asked for
		if f.bool(false, "use_sliding_window") {
			return rest("window", f.or(n, mostLayers, "max_window_layers"))
		}
	case c.kind == "mistral", c.kind == "starcoder2", c.kind == "phi3":
		return map[string]int{"window": n}
	}
	return map[string]int{full: n}
}

// count counts words; one that is not known is an error, not a guess.
func (c *config) count(words []any, full string) map[string]int {
	counts := map[string]int{}
	for i, w := range words[:min(len(words), c.layers)] {
		kind, ok := kindWords[strings.ToLower(fmt.Sprint(w))]
		switch {
		case !ok && strings.Contains(fmt.Sprint(w), "sparse"), kind == "full":
			kind = full
		case !ok:
			c.f.wrong("layer_types", "layer %d is %q, which weft does not know", i, shorten(w))
			return nil
		}
		counts[kind]++
	}
	counts[full] += c.layers - min(len(words), c.layers)
	return counts
}

// one is one layer of a kind of attention.
func (c *config) one(kind string) Attn {
	f, h := c.f, float64(c.hidden)
	a := Attn{Kind: kind, Heads: c.heads, KVHeads: c.kv}
	switch kind {
	case "latent":
		if out, ok := f.int(mostWidth, "o_lora_rank"); ok && out > 0 {
			c.grouped(&a, float64(out))
			break
		}
		q := float64(f.or(0, mostWidth, "q_lora_rank"))
		kv := float64(f.or(0, mostWidth, "kv_lora_rank"))
		rope := float64(f.or(64, mostWidth, "qk_rope_head_dim"))
		nope := float64(f.or(128, mostWidth, "qk_nope_head_dim"))
		v := float64(f.or(int(nope), mostWidth, "v_head_dim"))
		n := float64(c.heads)
		a.Whole = h * (kv + rope)
		if q > 0 {
			a.Params = h*q + q*n*(nope+rope)
			a.Whole += h * q
		} else {
			a.Params = h * n * (nope + rope)
		}
		a.Params += h*(kv+rope) + kv*n*(nope+v) + n*v*h
		a.KV, a.KVHeads = kv+rope, 0
		a.Work = n * (2*kv + rope) // as engines decode: in the latent space
		a.Indexed = f.or(0, mostWidth, "index_topk")
		if ih := f.or(0, mostCount, "index_n_heads"); ih > 0 {
			d := float64(f.or(128, mostWidth, "index_head_dim"))
			a.Params += firstPositive(q, h)*float64(ih)*d + h*d + h*float64(ih)
			a.KV += d / 2 // an FP8 key for the indexer beside 16-bit numbers
		}
	case "linear":
		c.linear(&a)
	case "ssm":
		c.ssm(&a)
	case "none":
		a.Heads, a.KVHeads = 0, 0
	default:
		c.softmax(&a)
	}
	return a
}

// grouped is DeepSeek V4's attention: one key that is the value, too, a query latent,
// and an output that goes through a latent of each group of heads. Its cache is
// compressed, four tokens into one where it is least.
func (c *config) grouped(a *Attn, out float64) {
	f, h := c.f, float64(c.hidden)
	q := float64(f.or(0, mostWidth, "q_lora_rank"))
	groups := float64(f.or(1, mostCount, "o_groups"))
	n, d := float64(c.heads), float64(c.headDim)
	a.Whole = h * d
	if q > 0 {
		a.Params = h*q + q*n*d
		a.Whole += h * q
	} else {
		a.Params = h * n * d
	}
	a.Params += h*d + n*d*out + groups*out*h
	a.KV, a.KVHeads = d/4, 0
	a.Work = 2 * n * d / 4
}

func firstPositive(a, b float64) float64 {
	if a > 0 {
		return a
	}
	return b
}

// softmax is attention over keys and values: all tokens or a window.
func (c *config) softmax(a *Attn) {
	f, h := c.f, float64(c.hidden)
	heads, kv, dim := c.heads, c.kv, c.headDim
	if heads == 0 {
		f.need(mostCount, "num_attention_heads")
		return
	}
	one := false // the value is the key
	if a.Kind == "full" {
		if d, ok := f.int(mostWidth, "global_head_dim"); ok && d > 0 { // Gemma 4
			dim = d
			kv = f.or(kv, mostCount, "num_global_key_value_heads")
			one = f.bool(false, "attention_k_eq_v")
		}
	} else {
		a.Window = f.or(0, mostWidth, "sliding_window", "attention_chunk_size")
	}
	q := float64(heads * dim)
	pair := float64(2 * kv * dim)
	gate := 0.0
	if f.bool(c.kind == "qwen3_next" || strings.HasPrefix(c.kind, "qwen3_5"), "attn_output_gate") {
		gate = q
	}
	stored := pair
	if one {
		pair /= 2
	}
	a.Params = h*(q+gate) + h*pair + q*h
	a.KV, a.KVHeads = stored, kv
	a.Work = 2 * q
}

// linear is gated delta attention (Qwen3-Next, Kimi) or lightning attention.
func (c *config) linear(a *Attn) {
	f, h := c.f, float64(c.hidden)
	kHeads := f.or(c.heads, mostCount, "linear_num_key_heads")
	vHeads := f.or(c.heads, mostCount, "linear_num_value_heads")
	kDim := f.or(c.headDim, mostWidth, "linear_key_head_dim")
	vDim := f.or(c.headDim, mostWidth, "linear_value_head_dim")
	if lin := f.sub("linear_attn_config"); lin != nil {
		kHeads = lin.or(kHeads, mostCount, "num_heads")
		kDim = lin.or(kDim, mostWidth, "head_dim")
		vHeads, vDim = kHeads, kDim
		if lin.err != nil && f.err == nil {
			f.err = lin.err
		}
	}
	k, v := float64(kHeads*kDim), float64(vHeads*vDim)
	conv := float64(f.or(4, 64, "linear_conv_kernel_dim"))
	a.Params = h*(2*k+2*v+2*float64(vHeads)) + v*h + conv*(2*k+v)
	a.KV, a.KVHeads, a.Heads = 0, 0, vHeads
	a.State = float64(vHeads*kDim)*float64(vDim)*2 + (conv-1)*(2*k+v) // the state is kept in 32 bits
}

// ssm is a Mamba-2 layer.
func (c *config) ssm(a *Attn) {
	f, h := c.f, float64(c.hidden)
	heads := f.or(0, mostCount, "mamba_num_heads", "mamba_n_heads")
	dim := f.or(64, mostWidth, "mamba_head_dim", "mamba_d_head")
	inner := float64(heads * dim)
	if heads == 0 {
		inner = h * float64(f.or(2, 64, "expand", "mamba_expand"))
	}
	groups := float64(f.or(1, mostCount, "n_groups", "mamba_n_groups"))
	state := float64(f.or(128, mostWidth, "ssm_state_size", "mamba_d_state", "state_size"))
	a.Params = h*(2*inner+2*groups*state+float64(heads)) + inner*h
	a.KV, a.KVHeads, a.Heads = 0, 0, heads
	a.State = inner * state * 2
}

// matrices is how many a feed-forward block has: a gate, up and down, or up and down.
func (c *config) matrices() float64 {
	for _, two := range []string{"gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "codegen", "RefinedWeb", "RefinedWebModel", "opt", "bloom", "falcon", "mpt", "phi", "starcoder2", "nemotron", "nemotron_h"} {
		if c.kind == two {
			return 2
		}
	}
	return 3
}

func (c *config) feedForward() (FFN, MoE) {
	f, h, k := c.f, float64(c.hidden), c.matrices()
	dense := FFN{Params: k * h * float64(c.ffn)}
	if mlp, ok := f.int(mostWidth, "intermediate_size_mlp"); ok { // Llama 4
		dense.Params = k * h * float64(mlp)
	}
	experts := f.or(0, mostCount, "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts")
	top := f.or(0, mostCount, "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_top_k", "moe_topk", "top_k_experts", "moe_k")
	blocks := c.blocks()
	if experts < 2 {
		dense.Count = blocks
		c.widthOf(dense.Params, dense.Count)
		return dense, MoE{}
	}
	if top < 1 || top > experts {
		f.wrong("num_experts_per_tok", "%d of %d experts", top, experts)
		return dense, MoE{}
	}
	width := f.or(c.ffn, mostWidth, "moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size", "expert_ffn_hidden_size")
	moe := MoE{Experts: experts, TopK: top, Expert: k * h * float64(width), Router: h * float64(experts)}
	moe.Shared = k * h * c.shared(width)
	moe.Count = c.sparse(blocks)
	dense.Count = blocks - moe.Count
	if f.bool(false, "enable_moe_block") { // Gemma 4: a dense block beside the experts of every layer
		moe.Shared += dense.Params
		dense.Count = 0
		moe.Count = blocks
	}
	c.widthOf(dense.Params, dense.Count)
	c.widthOf(moe.Expert, moe.Count)
	return dense, moe
}

// widthOf: blocks that there are have a width.
func (c *config) widthOf(params float64, count int) {
	if params == 0 && count > 0 {
		c.f.need(mostWidth, ffnKeys...)
	}
}

// shared is the width of what stands beside the routed experts.
func (c *config) shared(width int) float64 {
	f := c.f
	if w, ok := f.int(mostWidth, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"); ok {
		return float64(w)
	}
	if n, ok := f.int(64, "n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"); ok {
		return float64(n) * float64(width)
	}
	if strings.HasPrefix(c.kind, "llama4") {
		return float64(width)
	}
	return 0
}

// blocks is how many layers have a feed-forward block: all, but in models that mix
// blocks of one kind each (Nemotron-H) those that say so.
func (c *config) blocks() int {
	if c.onlySSM() {
		return 0
	}
	p := strings.ToLower(c.f.string("hybrid_override_pattern"))
	if p == "" {
		return c.layers
	}
	return min(c.layers, strings.Count(p, "-")+strings.Count(p, "e"))
}

// sparse is how many of the feed-forward blocks are mixtures.
func (c *config) sparse(blocks int) int {
	f := c.f
	if p := strings.ToLower(f.string("hybrid_override_pattern")); p != "" {
		return min(blocks, strings.Count(p, "e"))
	}
	if l := f.list("mlp_layer_types"); len(l) > 0 {
		n := 0
		for _, w := range l[:min(len(l), blocks)] {
			if strings.Contains(fmt.Sprint(w), "sparse") || strings.Contains(fmt.Sprint(w), "moe") {
				n++
			}
		}
		return n
	}
	if s := f.string("moe_layers_enum"); s != "" { // Step: "3,4,5"
		return min(blocks, 1+strings.Count(s, ","))
	}
	if l := f.list("moe_layers"); len(l) > 0 {
		return min(blocks, len(l))
	}
	if l := f.list("moe_layer_freq"); len(l) > 0 { // 0 and 1 for each layer
		n := 0
		for _, e := range l[:min(len(l), blocks)] {
			if e == json.Number("1") {
				n++
			}
		}
		return n
	}
	first := f.or(0, mostLayers, "first_k_dense_replace", "moe_layer_start_index", "num_dense_layers")
	first = min(first, blocks)
	every := max(1, f.or(1, mostLayers, "moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "moe_every_n_layers", "expert_layer_period"))
	n := (blocks - first) / every
	for _, e := range f.list("mlp_only_layers") {
		if i, err := strconv.Atoi(fmt.Sprint(e)); err == nil && i >= first && i < blocks {
			n--
		}
	}
	return max(0, n)
}

// Kinds lists the kinds of attention of a model, most layers first: "34 linear, 11 latent".
func (m Model) Kinds() string {
	groups := slices.Clone(m.Attn)
	slices.SortStableFunc(groups, func(a, b Attn) int { return b.Count - a.Count })
	var words []string
	for _, a := range groups {
		words = append(words, fmt.Sprintf("%d %s", a.Count, a.Kind))
	}
	return strings.Join(words, ", ")
}
