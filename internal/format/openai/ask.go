package openai

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Ask is one request for a streamed answer.
type Ask struct {
	Model  string
	Prompt string
	Tokens int // of the answer, at most
	Plain  bool
	Way    Way
}

// Way is what a server can be asked beside what all understand.
type Way struct {
	Usage  bool   // to count tokens at the end of the stream
	Ignore bool   // to go on to the end of Tokens, whatever the model thinks
	Limit  string // what the field of Tokens is called
}

// Ways are tried in this order until a server does not refuse one. ignore_eos is an
// extension of vLLM, SGLang and llama.cpp; OpenAI itself wants max_completion_tokens.
var Ways = []Way{
	{true, true, "max_tokens"},
	{true, false, "max_tokens"},
	{true, false, "max_completion_tokens"},
	{false, false, "max_tokens"},
}

// Path is where it is sent, below the server's root.
func (a Ask) Path() string {
	if a.Plain {
		return "/v1/completions"
	}
	return "/v1/chat/completions"
}

// Body is what is sent.
func (a Ask) Body() []byte {
	type m = map[string]any
	body := m{"model": a.Model, "stream": true, "temperature": 0, a.Way.Limit: a.Tokens}
	if a.Plain {
		body["prompt"] = a.Prompt
	} else {
		body["messages"] = []m{{"role": "user", "content": a.Prompt}}
	}
	if a.Way.Usage {
		body["stream_options"] = m{"include_usage": true}
	}
	if a.Way.Ignore {
		body["ignore_eos"] = true
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and numbers
	}
	return b
}

// Model is one that a server has.
type Model struct {
	ID      string `json:"id"`
	Root    string `json:"root"`          // vLLM: where it is from, when the ID is another name
	Parent  string `json:"parent"`        // vLLM: the model that an adapter sits on
	Owner   string `json:"owned_by"`      // "vllm", "sglang", "llamacpp"
	Longest int    `json:"max_model_len"` // vLLM: tokens of prompt and answer
}

// Models reads the answer of /v1/models.
func Models(b []byte) ([]Model, error) {
	var doc struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("not a list of models: %w", err)
	}
	if doc.Data == nil {
		return nil, errors.New("not a list of models: it has no data")
	}
	var out []Model
	for i, raw := range doc.Data {
		if i == 1000 {
			return nil, errors.New("more than 1000 models")
		}
		var m Model
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("model %d: %w", i+1, err)
		}
		if m.ID == "" || len(m.ID) > 1000 {
			return nil, fmt.Errorf("model %d: a name of %d bytes", i+1, len(m.ID))
		}
		out = append(out, m)
	}
	return out, nil
}
