package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// chunk is one event of a stream: of chat, or of plain completions.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   filled `json:"content"`
			Reasoning filled `json:"reasoning"`         // newer vLLM, OpenRouter
			Thought   filled `json:"reasoning_content"` // DeepSeek, vLLM, SGLang, llama.cpp
			Tools     filled `json:"tool_calls"`
		} `json:"delta"`
		Text   filled  `json:"text"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage   *counts         `json:"usage"`
	Timings *timings        `json:"timings"`
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
}

// filled is whether something is there: neither null nor empty.
type filled bool

func (f *filled) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null", `""`, "[]", "{}", "false":
		*f = false
	default:
		*f = true
	}
	return nil
}

// counts is a usage as it is written. Engines write null where there is none.
type counts struct {
	Prompt     *int64   `json:"prompt_tokens"`
	Completion *int64   `json:"completion_tokens"`
	Details    *details `json:"prompt_tokens_details"`
}

type details struct {
	Cached *int64 `json:"cached_tokens"`
}

// timings are what llama.cpp counts of its own accord in the last chunk.
type timings struct {
	Prompt     *int64 `json:"prompt_n"` // read, beside those of the cache
	Cached     *int64 `json:"cache_n"`
	Completion *int64 `json:"predicted_n"`
}

// counts is the same as a usage.
func (t *timings) counts() *counts {
	c := &counts{Completion: t.Completion}
	if t.Prompt != nil && t.Cached != nil && *t.Prompt <= most && *t.Cached <= most {
		sum := *t.Prompt + *t.Cached
		c.Prompt = &sum
		c.Details = &details{t.Cached}
	}
	return c
}

// most is more tokens than any request has.
const most = 1 << 32

func (c *counts) read() (*Usage, error) {
	if c.Prompt == nil && c.Completion == nil {
		return nil, nil
	}
	var u Usage
	for _, x := range []struct {
		from *int64
		to   *int
	}{{c.Prompt, &u.Prompt}, {c.Completion, &u.Completion}} {
		if x.from == nil {
			continue
		}
		if *x.from < 0 || *x.from > most {
			return nil, fmt.Errorf("a usage of %d tokens", *x.from)
		}
		*x.to = int(*x.from)
	}
	if c.Details != nil && c.Details.Cached != nil && *c.Details.Cached >= 0 && *c.Details.Cached <= int64(u.Prompt) {
		u.Cached = int(*c.Details.Cached)
	}
	return &u, nil
}

func parseChunk(data []byte) (c chunk, err error) {
	if len(data) == 0 || data[0] != '{' {
		return c, fmt.Errorf("not a JSON object: %s", Short(string(data), 60))
	}
	if err = json.Unmarshal(data, &c); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			err = fmt.Errorf("byte %d: %w", syntax.Offset, err)
		}
		return c, err
	}
	return c, nil
}

func (c *chunk) text() bool {
	for i := range c.Choices {
		d := &c.Choices[i].Delta
		if d.Content || d.Reasoning || d.Thought || d.Tools || c.Choices[i].Text {
			return true
		}
	}
	return false
}

func (c *chunk) finish() string {
	for i := range c.Choices {
		if f := c.Choices[i].Finish; f != nil && *f != "" {
			return Short(*f, 40)
		}
	}
	return ""
}

// learns reports whether a chunk holds one text and nothing else that counts.
func (c *chunk) learns() bool {
	return len(c.Choices) == 1 && c.finish() == "" && c.Usage == nil && c.Timings == nil
}

// said is the error that a chunk is; "" when it is none.
func (c *chunk) said(data []byte, event bool) string {
	if !event && c.Object != "error" && (len(c.Error) == 0 || string(c.Error) == "null") {
		return ""
	}
	return Message(data)
}

// Message is what an answer that is an error says, shortened: OpenAI's error.message,
// FastAPI's detail, or the text itself.
func Message(b []byte) string {
	var doc map[string]json.RawMessage
	text := ""
	if json.Unmarshal(b, &doc) == nil {
		for _, key := range []string{"error", "message", "detail"} {
			if text = message(doc[key]); text != "" {
				break
			}
		}
	}
	if text == "" {
		text = string(b)
	}
	return Short(text, 200)
}

func message(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Message string `json:"message"`
		Msg     string `json:"msg"`
	}
	if json.Unmarshal(raw, &o) == nil && o.Message+o.Msg != "" {
		return o.Message + o.Msg
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 && len(list) < 100 {
		return message(list[0])
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// Short is a text in one line of at most n letters.
func Short(s string, n int) string {
	if len(s) > 8*n { // a letter has at most four bytes: no need to look at all of a page
		s = s[:8*n]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}
