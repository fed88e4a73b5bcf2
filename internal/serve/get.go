package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"weft/internal/exec"
)

// Query is one question to an engine. It travels on standard input, so that a key is in no
// argument list.
type Query struct {
	URL    string  `json:"url"`
	Body   string  `json:"body,omitempty"` // "" is GET, else POST of JSON
	Key    string  `json:"key,omitempty"`
	Within float64 `json:"within"` // seconds
}

// Answer is what it said.
type Answer struct {
	Status int    `json:"status"`
	Body   string `json:"body,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (a Answer) say() string {
	if a.Error != "" {
		return a.Error
	}
	return fmt.Sprintf("it answers %d", a.Status)
}

// maxBody bounds what is read of an answer.
const maxBody = 256 << 10

// Ask does a query from this machine: weft on the node calls it.
func Ask(ctx context.Context, q Query) Answer {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(q.Within, 1)*float64(time.Second)))
	defer cancel()
	method, body := http.MethodGet, io.Reader(nil)
	if q.Body != "" {
		method, body = http.MethodPost, strings.NewReader(q.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, q.URL, body)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	if q.Key != "" {
		req.Header.Set("Authorization", "Bearer "+q.Key)
	}
	// The engine is this node's own: no proxy of the environment stands between.
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return Answer{Error: plain(err)}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	a := Answer{Status: res.StatusCode, Body: string(b)}
	if err != nil {
		a.Error = plain(err)
	}
	return a
}

// plain is the cause without the URL, which is known.
func plain(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// From makes a Get that asks from the nodes, with the weft that find puts there.
func From(run *exec.Runner, targets map[string]exec.Target, find func(ctx context.Context, node string) (string, error)) func(context.Context, string, Query) (Answer, error) {
	return func(ctx context.Context, node string, q Query) (a Answer, err error) {
		bin, err := find(ctx, node)
		if err != nil {
			return a, err
		}
		in, err := json.Marshal(q)
		if err != nil {
			return a, err
		}
		out := exec.Capped{Max: 2 * maxBody}
		err = run.Run(ctx, targets[node], exec.Job{Script: "exec " + bin + " serve get", Stdin: bytes.NewReader(in), Stdout: &out, Deadline: time.Duration(q.Within*float64(time.Second)) + short})
		if err != nil {
			return a, err
		}
		if err := json.Unmarshal(out.Bytes(), &a); err != nil {
			return a, fmt.Errorf("%s: not an answer of weft: %.80q", node, out.String())
		}
		a.Error = exec.Sanitise(a.Error)
		return a, nil
	}
}
