// Package load is a load that is put on a server, and what was measured: prompts made
// from a seed, samples, and their statistics held against the forecast. Pure: samples
// in, levels out.
package load

import (
	"encoding/json"
	"fmt"
	"time"

	"weft/internal/fact"
	"weft/internal/forecast"
)

// Bench is what one weft serve bench measured, to be kept and to be explained.
type Bench struct {
	ID      string  `json:"id"`      // "20261115-130501"
	Made    string  `json:"made"`    // RFC 3339
	Weft    string  `json:"weft"`    // version
	Source  string  `json:"source"`  // "weft", "vllm bench serve", …
	URL     string  `json:"url"`     // "" of a file
	Model   string  `json:"model"`   // as the server calls it
	Root    string  `json:"root"`    // where the server has it from; "" unknown
	As      string  `json:"as"`      // what it was forecast as; "" it was not
	Server  string  `json:"server"`  // "vllm", as it says of itself; "" unknown
	API     string  `json:"api"`     // "chat", "completions"
	Prompt  int     `json:"prompt"`  // tokens that were asked for
	Output  int     `json:"output"`  //
	Seed    uint64  `json:"seed"`    // of the prompts
	Same    bool    `json:"same"`    // one prompt for all
	Seconds float64 `json:"seconds"` // all of it, warm-up too
	Cut     bool    `json:"interrupted"`

	Levels []Level  `json:"levels"`
	Says   []string `json:"says"` // what the numbers rest on, and what is odd about them
}

// Level is what was measured with so many requests at once.
type Level struct {
	Concurrency int `json:"concurrency"` // 0: not known
	OK          int `json:"ok"`          // requests that ended well; only these count below
	Failed      int `json:"failed"`
	Unfinished  int `json:"unfinished"` // when it was interrupted
	Warm        int `json:"warm_up"`    // requests before, which do not count

	Seconds   float64           `json:"seconds"`
	Requests  fact.Val[float64] `json:"requests_s"`
	Tokens    fact.Val[float64] `json:"tokens_s"`      // of all together
	Each      fact.Val[float64] `json:"each_tokens_s"` // of one sequence while it is written: 1 / per_token
	First     Times             `json:"ttft"`
	PerToken  Times             `json:"per_token"` // of each request: from its first to its last, by its tokens less one
	Between   Times             `json:"between"`   // chunks with text
	Whole     Times             `json:"whole"`     // a request, to its end
	Prompts   int               `json:"prompt_tokens"`
	Outputs   int               `json:"output_tokens"`
	Cached    int               `json:"cached_tokens"` // of prompt_tokens
	Chunks    int               `json:"chunks"`
	Counted   string            `json:"counted"`    // who counted output_tokens: "usage", "chunks", "both"
	Early     int               `json:"early"`      // requests that ended with fewer tokens than asked
	Gathered  int               `json:"gathered"`   // requests of which all tokens came at once
	NoDone    int               `json:"no_done"`    // streams without [DONE]
	ClientCPU float64           `json:"client_cpu"` // cores that weft itself took
	Failures  []Failure         `json:"failures"`
	Forecast  *Expected         `json:"forecast"` // nil: nothing to hold it against
}

// Failure is one way in which requests failed.
type Failure struct {
	Class Class  `json:"class"`
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// Class is a kind of failure.
type Class string

// The classes.
const (
	Refused     Class = "refused"       // nothing listens there
	Unreachable Class = "unreachable"   // no way there, no such name, TLS that does not agree
	TimedOut    Class = "timeout"       // a wait was longer than --timeout
	Status      Class = "http"          // the server answered with a status; it is in Why
	Broken      Class = "broken stream" // it began to answer, and did not end well
	Interrupted Class = "interrupted"   // by the person: no failure of the server
)

// Times is a distribution. A percentile that so few numbers do not tell is unknown.
type Times struct {
	Count int                   `json:"count"`
	Mean  fact.Val[forecast.Ms] `json:"mean_ms"`
	P50   fact.Val[forecast.Ms] `json:"p50_ms"`
	P90   fact.Val[forecast.Ms] `json:"p90_ms"`
	P99   fact.Val[forecast.Ms] `json:"p99_ms"`
	P999  fact.Val[forecast.Ms] `json:"p999_ms"`
	Max   fact.Val[forecast.Ms] `json:"max_ms"`
}

// Sample is one request.
type Sample struct {
	Start, First, Last, End time.Duration // since the level began: sent, first text, last text, over

	Chunks int
	Tokens int // as the server counted them; -1 it did not
	Prompt int // -1: not known
	Cached int
	NoDone bool
	Gaps   []time.Duration // between chunks

	Class Class // "": it ended well
	Why   string
}

// MaxBench bounds a file that a bench is kept in.
const MaxBench = 8 << 20

// Parse reads a bench as weft serve bench keeps it.
func Parse(b []byte) (*Bench, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not a bench: %w", err)
	}
	if head.Kind != "bench" {
		return nil, fmt.Errorf("not a bench: its kind is %q", head.Kind)
	}
	var out Bench
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("not a bench: %w", err)
	}
	return &out, nil
}

// Alone is the level of one request at a time, where it was measured.
func (b *Bench) Alone() (l Level, ok bool) {
	for _, l := range b.Levels {
		if l.Concurrency == 1 && l.Each.Or(0) > 0 {
			return l, true
		}
	}
	return l, false
}

// Context is how many tokens a sequence of a level had in the KV cache, in the middle of
// its answer.
func (l Level) Context() (tokens int, ok bool) {
	if l.OK == 0 || l.Prompts == 0 {
		return 0, false
	}
	return max(1, (l.Prompts+l.Outputs/2)/l.OK), true
}
