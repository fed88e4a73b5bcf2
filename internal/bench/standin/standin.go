// Package standin is a stand-in for an engine: a server on loopback that streams words as
// OpenAI's API does, at a pace that is told, and that fails in the ways that engines do.
// It has no model. Edge: tests only.
package standin

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is one stand-in. Its zero value streams one token a chunk, as fast as it can.
type Server struct {
	Addr     string        // to listen on; "": any port of loopback
	Models   []string      // it has; none: "stand-in"
	Owner    string        // it says that it is; "": "stand-in"
	Root     string        // where its models are from
	Longest  int           // tokens of prompt and answer
	First    time.Duration // to the first token
	Gap      time.Duration // between tokens
	PerChunk int           // tokens in a chunk; 0 is 1
	PerWord  float64       // tokens of a word of a prompt; 0 is 1
	Stop     int           // tokens after which the model stops, unless ignore_eos is asked; 0 never
	Token    string        // that requests must carry

	NoChat       bool // /v1/chat/completions is not there
	NoUsage      bool // it never counts
	RefuseUsage  bool // it refuses stream_options
	RefuseIgnore bool // it refuses ignore_eos
	CRLF         bool // its lines end in CR LF
	Comments     bool // it writes comments between events
	Fast         bool // one write for each token, on the bare connection

	// Trouble is what goes wrong with request n, from 0: "" nothing, "status 503", "cut 3"
	// (the connection, after three tokens), "error 3" (in the stream), "stall 3",
	// "rubbish 3", "huge 3" (a line), "nodone", "hold" (open, without [DONE]), "json" (no
	// stream), "redirect", "endless".
	Trouble func(n int) string

	listener net.Listener
	server   *http.Server

	mu     sync.Mutex
	count  int
	seen   map[string]bool // beginnings of prompts
	Asked  []Request
	Busy   int // streams that run
	MaxRun int // that ran at once
	Conns  int // connections that were made
	gone   chan struct{}
	once   sync.Once
}

// Request is what was asked.
type Request struct {
	Path   string
	Auth   string
	Prompt string
	Body   map[string]any
}

// Start listens on loopback and returns the address of its root.
func (s *Server) Start() (string, error) {
	addr := s.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	s.listener, s.seen, s.gone = l, map[string]bool{}, make(chan struct{})
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second, ConnState: func(_ net.Conn, to http.ConnState) {
		if to == http.StateNew {
			s.mu.Lock()
			s.Conns++
			s.mu.Unlock()
		}
	}}
	go s.server.Serve(l) // ends with Close
	return "http://" + l.Addr().String(), nil
}

// Close ends it, with all that run.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.gone)
		s.server.Close()
	})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
		// Some servers say what they were sent.
		refuse(w, 401, "invalid token "+r.Header.Get("Authorization"))
		return
	}
	switch {
	case r.URL.Path == "/v1/models":
		s.models(w)
	case r.URL.Path == "/v1/completions", r.URL.Path == "/v1/chat/completions" && !s.NoChat:
		s.complete(w, r)
	default:
		refuse(w, 404, "Not Found")
	}
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": why, "code": code}})
}

func (s *Server) name() string {
	if len(s.Models) > 0 {
		return s.Models[0]
	}
	return "stand-in"
}

func (s *Server) models(w http.ResponseWriter) {
	names, owner := s.Models, s.Owner
	if len(names) == 0 {
		names = []string{"stand-in"}
	}
	if owner == "" {
		owner = "stand-in"
	}
	var data []map[string]any
	for _, n := range names {
		m := map[string]any{"id": n, "object": "model", "owned_by": owner}
		if s.Longest > 0 {
			m["max_model_len"] = s.Longest
		}
		if s.Root != "" {
			m["root"] = s.Root
		}
		data = append(data, m)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

// template is what a chat template adds to a prompt, in tokens.
const template = 11

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, 400, err.Error())
		return
	}
	chat := r.URL.Path == "/v1/chat/completions"
	prompt, _ := body["prompt"].(string)
	if list, _ := body["messages"].([]any); chat && len(list) > 0 {
		m, _ := list[0].(map[string]any)
		prompt, _ = m["content"].(string)
	}
	_, wantsUsage := body["stream_options"]
	ignore, wantsIgnore := body["ignore_eos"].(bool)
	switch {
	case s.RefuseUsage && wantsUsage:
		refuse(w, 400, "unknown field stream_options")
		return
	case s.RefuseIgnore && wantsIgnore:
		refuse(w, 422, "unknown field ignore_eos")
		return
	case body["model"] != s.name():
		refuse(w, 404, fmt.Sprintf("the model %v does not exist", body["model"]))
		return
	}
	tokens := 16
	if n, ok := body["max_tokens"].(float64); ok {
		tokens = int(n)
	}
	if s.Stop > 0 && !ignore {
		tokens = min(tokens, s.Stop)
	}
	words := strings.Fields(prompt)
	count := len(words) + template
	if s.PerWord > 0 {
		count = int(float64(len(words))*s.PerWord) + template
	}
	if s.Longest > 0 && count+tokens > s.Longest {
		refuse(w, 400, fmt.Sprintf("maximum context length is %d tokens, %d were asked for", s.Longest, count+tokens))
		return
	}
	s.mu.Lock()
	n := s.count
	s.count++
	if len(s.Asked) < 10_000 {
		s.Asked = append(s.Asked, Request{r.URL.Path, r.Header.Get("Authorization"), prompt, body})
	}
	cached := s.cached(words)
	s.Busy++
	s.MaxRun = max(s.MaxRun, s.Busy)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.Busy--
		s.mu.Unlock()
	}()
	a := answer{Server: s, w: w, r: r, chat: chat, tokens: tokens, prompt: count, cached: cached, usage: wantsUsage && !s.NoUsage}
	if s.Trouble != nil {
		a.trouble, a.at, _ = strings.Cut(s.Trouble(n), " ")
	}
	a.run()
}

// cached is how many words of a prompt are known from earlier ones: a prefix cache in
// blocks of sixteen, as vLLM has it.
func (s *Server) cached(words []string) (n int) {
	known := true
	for i := 16; i <= len(words) && i <= 16*64; i += 16 {
		block := strings.Join(words[:i], " ")
		if known = known && s.seen[block]; known {
			n = i
		}
		if len(s.seen) < 100_000 {
			s.seen[block] = true
		}
	}
	return n
}

// answer is one stream.
type answer struct {
	*Server
	w              http.ResponseWriter
	r              *http.Request
	chat, usage    bool
	tokens         int
	prompt, cached int
	trouble, at    string
}

func (a *answer) run() {
	switch a.trouble {
	case "status":
		code, _ := strconv.Atoi(a.at)
		refuse(a.w, code, "the engine is not well \x1b[31m")
		return
	case "redirect":
		a.w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		a.w.WriteHeader(307)
		return
	case "json":
		a.w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(a.w, `{"choices":[{"message":{"content":"all at once"}}]}`)
		return
	}
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if a.Fast {
		a.fast()
		return
	}
	a.w.WriteHeader(200)
	a.flush()
	a.slow()
}

func (a *answer) flush() { _ = http.NewResponseController(a.w).Flush() }

// wait reports whether the stream may go on.
func (a *answer) wait(d time.Duration) bool {
	if d <= 0 {
		return a.r.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.r.Context().Done():
	case <-a.gone:
	}
	return false
}

func (a *answer) event(data string) {
	if a.Comments {
		fmt.Fprint(a.w, ": ping\n\n")
	}
	end := "\n"
	if a.CRLF {
		end = "\r\n"
	}
	fmt.Fprint(a.w, "data: "+data+end+end)
	a.flush()
}

// chunk is an event as vLLM writes it.
func (a *answer) chunk(text, finish string) string {
	if finish != "null" {
		finish = strconv.Quote(finish)
	}
	head := fmt.Sprintf(`{"id":"cmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1763200000,"model":%q,"choices":[{"index":0,`, a.name())
	if a.chat {
		return head + fmt.Sprintf(`"delta":{"content":%q},"logprobs":null,"finish_reason":%s}]}`, text, finish)
	}
	return head + fmt.Sprintf(`"text":%q,"logprobs":null,"finish_reason":%s}]}`, text, finish)
}

func (a *answer) slow() {
	if !a.wait(a.First) {
		return
	}
	if a.chat {
		a.event(`{"id":"cmpl-0","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
	}
	per := max(a.PerChunk, 1)
	stop, _ := strconv.Atoi(a.at)
	for i := 0; i < a.tokens || a.trouble == "endless"; i += per {
		if i > 0 && !a.wait(a.Gap*time.Duration(per)) {
			return
		}
		if i >= stop && a.at != "" && !a.fail() {
			return
		}
		a.event(a.chunk(strings.Repeat(" word", min(per, max(a.tokens-i, 1))), "null"))
	}
	a.event(a.chunk("", "length"))
	if a.usage {
		a.event(fmt.Sprintf(`{"id":"cmpl-0","choices":[],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`, a.prompt, a.prompt+a.tokens, a.tokens, a.cached))
	}
	switch a.trouble {
	case "nodone":
	case "hold":
		a.wait(time.Hour)
	default:
		a.event("[DONE]")
	}
}

// fail goes wrong, and reports whether the stream goes on.
func (a *answer) fail() bool {
	switch a.trouble {
	case "cut":
		panic(http.ErrAbortHandler)
	case "error":
		a.event(`{"error":{"message":"EngineCore encountered an issue","type":"InternalServerError","code":500}}`)
	case "stall":
		a.wait(time.Hour)
	case "rubbish":
		a.event(`{"choices":[{"delta":`)
	case "huge":
		line := strings.Repeat("x", 1<<16)
		fmt.Fprint(a.w, "data: ")
		for range 64 {
			if _, err := fmt.Fprint(a.w, line); err != nil {
				break
			}
		}
	default:
		return true
	}
	return false
}

// fast writes every token by itself, as engines do, with as little as possible around it.
func (a *answer) fast() {
	conn, _, err := http.NewResponseController(a.w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	framed := func(data string) []byte {
		e := "data: " + data + "\n\n"
		return fmt.Appendf(nil, "%x\r\n%s\r\n", len(e), e)
	}
	token := framed(a.chunk(" word", "null"))
	write := func(b []byte) bool { _, err := conn.Write(b); return err == nil }
	if !write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")) {
		return
	}
	for range a.tokens {
		if !write(token) {
			return
		}
	}
	last := framed(a.chunk("", "length"))
	if a.usage {
		last = append(last, framed(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, a.prompt, a.tokens))...)
	}
	write(append(append(last, framed("[DONE]")...), "0\r\n\r\n"...))
}
