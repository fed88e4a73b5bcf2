package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// engine is the first rank: it joins the others and serves.
func engine(f map[string]string) error {
	info("vLLM API server version stand-in")
	peers, err := others(f)
	if err != nil {
		return err
	}
	if _, headless := f["headless"]; headless {
		info("rank %s waits for the first", f["node-rank"])
		return peerServer(os.Getenv("VLLM_HOST_IP"))
	}
	if err := failing(); err != nil {
		return err
	}
	info("Starting to load model %s...", f["model"])
	for i := range 5 {
		say("Loading safetensors checkpoint shards:  %d%% Completed | %d/4 [00:01<00:01,  5.99it/s]", i*25, i)
		time.Sleep(300 * time.Millisecond)
	}
	var ranks []*rank
	for _, ip := range peers {
		r, err := join(ip)
		if err != nil {
			return err
		}
		ranks = append(ranks, r)
	}
	info("GPU KV cache size: 4,096 tokens")
	served := f["model"]
	for _, name := range []string{"served-model-name", "alias"} {
		if f[name] != "" {
			served = f[name]
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(f["host"], f["port"]))
	if err != nil {
		return err // "address already in use"
	}
	say("INFO:     Application startup complete.")
	return http.Serve(l, handler(served, ranks))
}

// others finds the other ranks: from Ray, from llama.cpp's list, or where vLLM's own executor
// lets ranks meet.
func others(f map[string]string) (peers []string, err error) {
	if list := f["rpc"]; list != "" {
		for _, p := range strings.Split(list, ",") {
			c, err := net.DialTimeout("tcp", p, 5*time.Second)
			if err != nil {
				return nil, words("E Failed to connect to %s", p)
			}
			c.Close()
			host, _, _ := net.SplitHostPort(p)
			peers = append(peers, host)
		}
		return peers, nil
	}
	if f["distributed-executor-backend"] != "ray" {
		return meet(f)
	}
	tp, _ := strconv.ParseFloat(f["tensor-parallel-size"], 64)
	pp, _ := strconv.ParseFloat(f["pipeline-parallel-size"], 64)
	for n := 10; ; n += 10 {
		here, err := members(os.Getenv("RAY_ADDRESS"))
		if err != nil {
			return nil, words("ConnectionError: Could not find any running Ray instance at %s", os.Getenv("RAY_ADDRESS"))
		}
		var gpus float64
		peers = nil
		for _, m := range here {
			gpus += m.GPUs
			if m.IP != os.Getenv("VLLM_HOST_IP") && m.GPUs > 0 {
				peers = append(peers, m.IP)
			}
		}
		if gpus >= tp*pp {
			info("Connected to Ray cluster.")
			return peers, nil
		}
		info("Waiting for creating a placement group of specs for %d seconds. specs=[{'GPU': 1.0}]. Check `ray status`", n)
		time.Sleep(10 * time.Second)
	}
}

// handler is OpenAI's API, as much of it as weft asks.
func handler(served string, ranks []*rank) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": []any{map[string]any{"id": served, "object": "model"}}})
	})
	complete := func(chat bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { answerTokens(w, r, served, chat, ranks) }
	}
	mux.HandleFunc("/v1/completions", complete(false))
	mux.HandleFunc("/v1/chat/completions", complete(true))
	key := os.Getenv("VLLM_API_KEY")
	if key == "" {
		key = os.Getenv("LLAMA_API_KEY")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key != "" && strings.HasPrefix(r.URL.Path, "/v1/") && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+key)) != 1 {
			http.Error(w, `{"error":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answerTokens(w http.ResponseWriter, r *http.Request, served string, chat bool, ranks []*rank) {
	var q struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
		Stream    bool   `json:"stream"`
		Usage     struct {
			Include bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if q.Model != served {
		http.Error(w, fmt.Sprintf("The model `%s` does not exist.", q.Model), http.StatusNotFound)
		return
	}
	n := min(max(q.MaxTokens, 1), 512)
	token := func(ctx context.Context) error {
		for _, p := range ranks {
			if err := p.trips(ctx, 4); err != nil { // a token is a few rounds
				return err
			}
		}
		return nil
	}
	usage := map[string]int{"prompt_tokens": 8, "completion_tokens": n, "total_tokens": n + 8}
	choice := func(text string, finish any) map[string]any {
		if chat {
			return map[string]any{"index": 0, "delta": map[string]string{"content": text}, "message": map[string]string{"role": "assistant", "content": text}, "finish_reason": finish}
		}
		return map[string]any{"index": 0, "text": text, "finish_reason": finish}
	}
	if !q.Stream {
		// All tokens of one answer in one run of round trips: quick, and the same bytes.
		for _, p := range ranks {
			if err := p.trips(r.Context(), 4*n); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "stand-in", "model": served, "choices": []any{choice(strings.Repeat("la ", n), "length")}, "usage": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush, _ := w.(http.Flusher)
	event := func(v any) {
		b, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", b)
		if flush != nil {
			flush.Flush()
		}
	}
	for i := range n {
		if err := token(r.Context()); err != nil {
			say("request: %v", err)
			return
		}
		finish := any(nil)
		if i == n-1 {
			finish = "length"
		}
		event(map[string]any{"id": "stand-in", "model": served, "choices": []any{choice("la ", finish)}})
	}
	if q.Usage.Include {
		event(map[string]any{"id": "stand-in", "model": served, "choices": []any{}, "usage": usage})
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// meet is where ranks tell the first one their addresses.
func meet(f map[string]string) (peers []string, err error) {
	all, _ := strconv.Atoi(f["nnodes"])
	at := net.JoinHostPort(f["master-addr"], f["master-port"])
	if f["node-rank"] != "0" && all > 1 {
		for range 60 {
			c, err := net.DialTimeout("tcp", at, 5*time.Second)
			if err == nil {
				fmt.Fprintln(c, os.Getenv("VLLM_HOST_IP"))
				return nil, c.Close()
			}
			time.Sleep(time.Second)
		}
		return nil, words("torch.distributed.DistNetworkError: The client socket has timed out while trying to connect to (%s)", at)
	}
	if all < 2 {
		return nil, nil
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for len(peers) < all-1 {
		c, err := l.Accept()
		if err != nil {
			return nil, err
		}
		var ip string
		fmt.Fscanln(c, &ip)
		c.Close()
		peers = append(peers, ip)
	}
	time.Sleep(time.Second) // until they listen
	return peers, nil
}
