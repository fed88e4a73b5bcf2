package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"weft/internal/check"
	"weft/internal/exec"
	"weft/internal/format/nccllog"
	"weft/internal/job"
	"weft/internal/meter"
	"weft/internal/prove"
	"weft/internal/transport"
	"weft/internal/trial"
)

// Proof is what shows whether RDMA carries the model.
type Proof struct {
	Expected bool               `json:"expected"`       // RDMA was to be used
	RDMA     bool               `json:"rdma"`           // it is: log and counters agree, or the one that there is
	Log      *transport.Verdict `json:"nccl,omitempty"` // nil: NCCL said nothing
	Counters *job.Carried       `json:"counters,omitempty"`
	Tokens   int                `json:"tokens"`
	Seconds  float64            `json:"seconds"`
	Says     []string           `json:"says,omitempty"`
}

// proofTokens is how many tokens the engine is asked for: enough to stand out of what Ray and
// NCCL say when idle, and done in seconds on the slowest of layouts.
const proofTokens = 64

// Prove asks the engine for a few tokens and looks what carried them.
func (r *Run) Prove(ctx context.Context, c *check.Case, way *prove.Way) Proof {
	l := r.Launch
	p := Proof{Expected: l.Engine != "llamacpp-rpc"}
	for _, n := range l.Nodes {
		if len(c.Usable(c.Node(n.Node))) == 0 {
			p.Expected = false
			p.Says = append(p.Says, n.Node+" has no RDMA port that could be used")
		}
	}
	if l.Engine == "llamacpp-rpc" {
		p.Says = append(p.Says, "llama.cpp's RPC goes over TCP unless it was built for RDMA")
	}
	sessions := r.meters(ctx, way, &p)
	defer func() {
		var wg sync.WaitGroup
		for _, s := range sessions {
			wg.Go(s.Close)
		}
		wg.Wait()
	}()
	before := counters(ctx, sessions)
	start := time.Now()
	tokens, err := r.generate(ctx)
	p.Seconds, p.Tokens = time.Since(start).Seconds(), tokens
	if err != nil {
		p.Says = append(p.Says, "it was asked for a few tokens: "+err.Error())
	}
	after := counters(ctx, sessions)
	r.look(ctx) // what NCCL said meanwhile
	carried := l.Carry(c, before, after, tokens)
	if tokens == 0 {
		carried.RDMA, carried.Why = false, "no token came, so nothing can be told from counters"
	}
	p.Counters = &carried
	if v, ok := r.verdict(c, p.Expected); ok {
		p.Log = &v
	} else if p.Expected {
		p.Says = append(p.Says, "NCCL said nothing of its transport: it needs NCCL_DEBUG=INFO, which weft sets")
	}
	p.RDMA = carried.RDMA
	if p.Log != nil {
		rdma, known := p.Log.RDMA.Get()
		p.RDMA = p.RDMA && (rdma || !known)
	}
	return p
}

func (r *Run) meters(ctx context.Context, way *prove.Way, p *Proof) map[string]*prove.Session {
	sessions := map[string]*prove.Session{}
	r.each(func(n *job.NodeLaunch) {
		s, err := way.Open(ctx, n.Node)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			p.Says = append(p.Says, n.Node+": no meter could be put there: "+err.Error())
			return
		}
		sessions[n.Node] = s
	})
	slices.Sort(p.Says)
	return sessions
}

func counters(ctx context.Context, sessions map[string]*prove.Session) map[string]trial.Counters {
	all := map[string]trial.Counters{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, s := range sessions {
		wg.Go(func() {
			if a, err := s.Ask(ctx, meter.Ask{Do: "counters"}); err == nil {
				mu.Lock()
				defer mu.Unlock()
				all[name] = a.Counters
				if a.Counters == nil { // it was read, and has none
					all[name] = trial.Counters{}
				}
			}
		})
	}
	wg.Wait()
	return all
}

// generate asks for tokens and returns how many came.
func (r *Run) generate(ctx context.Context) (int, error) {
	body, err := json.Marshal(map[string]any{"model": r.Launch.Served, "prompt": "Count from one to one hundred in words: one, two, three,", "max_tokens": proofTokens, "min_tokens": proofTokens, "temperature": 0, "ignore_eos": true})
	if err != nil {
		return 0, err
	}
	a, err := r.Get(ctx, r.Launch.Head().Node, Query{URL: "http://" + r.Launch.Asks() + "/v1/completions", Body: string(body), Key: r.Secrets["key"], Within: 300})
	switch {
	case err != nil:
		return 0, err
	case a.Error != "":
		return 0, errors.New(a.Error)
	case a.Status != 200:
		return 0, fmt.Errorf("it answers %d: %.200s", a.Status, exec.Sanitise(a.Body))
	}
	var got struct {
		Usage struct {
			Completion int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || got.Usage.Completion < 1 {
		return 0, errors.New("its answer does not say how many tokens it made")
	}
	return min(got.Usage.Completion, 10*proofTokens), nil
}

// verdict judges what NCCL said on all nodes.
func (r *Run) verdict(c *check.Case, expected bool) (v transport.Verdict, ok bool) {
	var p nccllog.Parser
	logs := r.NCCL()
	for _, node := range slices.Sorted(maps.Keys(logs)) {
		if len(logs[node]) == 0 {
			continue
		}
		if err := p.Add(node, bytes.NewReader(logs[node])); err != nil {
			return v, false
		}
	}
	log, err := p.Log()
	if err != nil {
		return v, false
	}
	e := transport.Expect{Facts: &c.Cluster}
	if expected {
		e.Want, e.Why = "rdma", "every node has a usable RDMA port"
	}
	for _, n := range r.Launch.Nodes {
		for _, p := range c.Usable(c.Node(n.Node)) {
			if p.Netdev != "" {
				e.Netdevs = append(e.Netdevs, p.Netdev)
			}
		}
	}
	return transport.Judge(log, e), true
}
