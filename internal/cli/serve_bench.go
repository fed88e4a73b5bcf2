package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/bench"
	"weft/internal/forecast"
	"weft/internal/load"
	"weft/internal/report"
	"weft/internal/spec"
	"weft/internal/store"
	"weft/internal/term"
)

// benchFlags are what weft serve bench is told.
type benchFlags struct {
	forecastFlags
	served, concurrency, api string
	promptTokens, output     int
	requests, warm           int
	span, timeout            time.Duration
	seed                     uint64
	same, noForecast         bool
	keyFile, keyEnv, read    string
}

// usualServer is where vLLM and SGLang's examples listen.
const usualServer = "http://127.0.0.1:8000"

// maxHeld is how many tokens of prompts, or of answers, a client may hold at once: a word
// of a prompt takes 6 bytes, and the time of a token 8.
const maxHeld = 64 << 20

// keyVariable is the environment variable that a key is in, unless another is named.
const keyVariable = "WEFT_API_KEY"

func (a *app) serveBench() *cobra.Command {
	f := benchFlags{forecastFlags: forecastFlags{kv: "bf16", batch: 1, context: 4096, prompt: 1024}}
	cmd := &cobra.Command{
		Use:   "bench [URL]",
		Short: "Measure how fast a server streams, with one request at a time and with many at once",
		Long: `Sends streaming requests to a server that speaks OpenAI's API (vLLM, SGLang,
llama.cpp and others), with one request at a time and then with more at once, and
measures the time to the first token, the time of each token, tokens/s and requests/s.

Each level is warmed up first, with requests that do not count. Prompts are random words
of a seed, so that no prefix cache knows them. Tokens are those that the server counts;
where it does not, weft says so. A key is read from ` + keyVariable + ` or from --api-key-file.

The answer is held against the forecast where the model is known and the hardware is
that of weft.yaml, -F, --hardware or this machine, and it is kept in .weft/benches, where
weft why finds it. --read takes what vllm bench serve or SGLang's bench_serving measured.

Exit codes: 0 every request ended well, 1 some failed, 2 trouble (a bad flag),
3 nothing could be measured, 130 interrupted: what was measured until then is told.`,
		Example: `  weft serve bench
  weft serve bench http://spark1:8000 --concurrency 1,8,32 --output-tokens 256
  weft serve bench --for 60s --concurrency 16 --hardware "2x gb10" --tp 2
  weft serve bench --read vllm-bench.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := ""
			if len(args) > 0 {
				at = args[0]
			}
			if f.read == "" && a.from != "" { // what somebody measured may be given like facts
				if all, err := readResults(a.from); err == nil && len(all) > 0 {
					f.read, a.from = a.from, ""
				}
			}
			if f.read != "" {
				if len(args) > 0 {
					return fail("weft serve bench --help", "--read %s: it was measured already, %s is not asked", f.read, args[0])
				}
				return a.readBench(cmd.Context(), &f)
			}
			return a.benchServer(cmd.Context(), &f, at)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.served, "model", "m", "", "model to ask for (default: the one that the server has)")
	fl.StringVar(&f.concurrency, "concurrency", "1,2,4,8,16", "requests at once, level by level")
	fl.IntVar(&f.promptTokens, "prompt-tokens", 512, "tokens of a prompt")
	fl.IntVar(&f.output, "output-tokens", 128, "tokens of an answer")
	fl.IntVar(&f.requests, "requests", 0, "requests of each level (default: four for each at once, and at least 8)")
	fl.DurationVar(&f.span, "for", 0, "how long each level takes, like 60s, instead of a number of requests")
	fl.IntVar(&f.warm, "warm-up", -1, "requests before each level that do not count (default: as many as at once)")
	fl.StringVar(&f.api, "api", "", "chat or completions (default: chat; completions where the server refuses it)")
	fl.DurationVar(&f.timeout, "timeout", 2*time.Minute, "longest wait for an answer to begin, and for each next token")
	fl.Uint64Var(&f.seed, "seed", 0, "of the prompts, to repeat an earlier run; its prompts may be in the server's cache then (default: drawn)")
	fl.BoolVar(&f.same, "same-prompt", false, "one prompt for all requests: shows what a prefix cache does")
	fl.StringVar(&f.keyFile, "api-key-file", "", "file with the key of the server")
	fl.StringVar(&f.keyEnv, "api-key-env", "", "environment variable with the key of the server (default: "+keyVariable+")")
	fl.StringVar(&f.read, "read", "", "take what vllm bench serve or SGLang's bench_serving printed or saved in this file")
	fl.BoolVar(&f.noForecast, "no-forecast", false, "do not look at nodes and do not forecast")
	fl.StringVar(&f.model, "forecast-model", "", "what to forecast: a name (weft forecast list) or a config.json (default: the model by its name)")
	fl.StringVarP(&f.quant, "quant", "q", "", "for the forecast: how its weights are stored (default: as it is published)")
	fl.StringVarP(&f.engine, "engine", "e", "", "for the forecast: what serves it (default: what the server says, else vllm)")
	fl.StringVar(&f.hardware, "hardware", "", `for the forecast: hardware by name, like "2x gb10", instead of looking`)
	fl.StringVar(&f.link, "link", "", "for the forecast: what joins the nodes, like 100g-rdma (default: as the nodes have it)")
	fl.IntVar(&f.tp, "tp", 0, "for the forecast: tensor parallel over so many ranks (default: over all)")
	fl.IntVar(&f.pp, "pp", 0, "for the forecast: pipeline parallel over so many stages")
	fl.Lookup("warm-up").DefValue = "0" // its usage says what it is
	cmd.MarkFlagsMutuallyExclusive("requests", "for")
	cmd.MarkFlagsMutuallyExclusive("api-key-file", "api-key-env")
	return cmd
}

// order makes an order of the flags.
func (f *benchFlags) order() (o bench.Order, err error) {
	o = bench.Order{Model: f.served, API: f.api, Prompt: f.promptTokens, Output: f.output, Requests: f.requests, For: f.span, Warm: f.warm, Seed: f.seed, Same: f.same}
	const help = "weft serve bench --help"
	for _, s := range strings.Split(f.concurrency, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 || n > 4096 {
			return o, fail(help, "--concurrency %s: want numbers of 1 to 4096, like 1,2,4", f.concurrency)
		}
		o.Concurrency = append(o.Concurrency, n)
	}
	switch {
	case len(o.Concurrency) > 32:
		return o, fail(help, "--concurrency: %d levels; want at most 32", len(o.Concurrency))
	case f.api != "" && f.api != "chat" && f.api != "completions":
		return o, fail(help, "--api %s: want chat or completions", f.api)
	case f.promptTokens < 1 || f.promptTokens > 1<<20:
		return o, fail(help, "--prompt-tokens %d: want 1 to %d", f.promptTokens, 1<<20)
	case f.output < 1 || f.output > 1<<20:
		return o, fail(help, "--output-tokens %d: want 1 to %d", f.output, 1<<20)
	case f.requests < 0 || f.requests > load.MaxSamples:
		return o, fail(help, "--requests %d: want 1 to %d", f.requests, load.MaxSamples)
	case f.span < 0 || f.span > 24*time.Hour:
		return o, fail(help, "--for %v: want at most 24h", f.span)
	case f.timeout < time.Millisecond || f.timeout > 24*time.Hour:
		return o, fail(help, "--timeout %v: want 1ms to 24h", f.timeout)
	case f.warm < -1 || f.warm > 1<<16:
		return o, fail(help, "--warm-up %d: want 0 to %d", f.warm, 1<<16)
	}
	if most := slices.Max(o.Concurrency); max(f.promptTokens, f.output) > maxHeld/most {
		return o, fail(help, "--concurrency %d with --prompt-tokens %d and --output-tokens %d: too much for the memory of a client; want at most %d tokens in all", most, f.promptTokens, f.output, maxHeld)
	}
	for o.Seed == 0 {
		o.Seed = rand.Uint64N(1 << 32)
	}
	return o, nil
}

// serverURL is the root of a server: "spark1:8000" and "http://spark1:8000/v1/" are, too.
func serverURL(s string) (*url.URL, error) {
	const next = "weft serve bench " + usualServer
	text := s
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fail(next, "%q is not the address of a server", s)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return nil, fail(next, "%q: want an address like %s", s, usualServer)
	case u.User != nil:
		return nil, fail(next, "an address with a password in it is seen by everybody on this machine: put the key into %s", keyVariable)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fail(next, "%q: want the root of a server, like %s", s, usualServer)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	u.RawPath = ""
	return u, nil
}

// key reads the server's key. It is never an argument and never printed.
func (f *benchFlags) key() (string, error) {
	key, from := os.Getenv(cmp.Or(f.keyEnv, keyVariable)), "$"+cmp.Or(f.keyEnv, keyVariable)
	if f.keyEnv != "" && key == "" {
		return "", fail("weft serve bench --help", "--api-key-env %s: it is not set", f.keyEnv)
	}
	if f.keyFile != "" {
		b, err := readLimited(f.keyFile, 8<<10)
		if err != nil {
			return "", fail("weft serve bench --help", "--api-key-file %s: %v", f.keyFile, plain(err))
		}
		key, from = string(b), f.keyFile
	}
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fail("weft serve bench --help", "the key in %s has spaces or letters that no header may have", from)
	}
	return key, nil
}

// benchServer measures a server.
func (a *app) benchServer(ctx context.Context, f *benchFlags, at string) error {
	o, err := f.order()
	if err != nil {
		return err
	}
	var want spec.Spec
	if want, _, a.folder, err = a.spec(nil); err != nil {
		return err
	}
	launch := a.benchLaunch()
	if at == "" {
		at = usualServer
		if launch != nil {
			at = launch.Asks()
		}
	}
	u, err := serverURL(at)
	if err != nil {
		return err
	}
	key, err := f.key()
	if err != nil {
		return err
	}
	begun := time.Now()
	s := &bench.Server{URL: u.String(), Token: key, Timeout: f.timeout}
	s.Open(slices.Max(o.Concurrency))
	defer s.Close()
	asking := term.Start(a.err, "asking "+s.URL, 0)
	ready, err := s.Prepare(ctx, &o)
	asking.Done()
	if err != nil {
		return benchTrouble(ctx, err, launch, want, u)
	}
	r := report.Bench{Bench: load.Bench{
		ID: store.PlanID(begun), Made: begun.UTC().Format(time.RFC3339), Weft: Version(), Source: "weft", URL: s.URL,
		Model: ready.Model.ID, Root: ready.Model.Root, Server: ready.Model.Owner, API: "chat",
		Prompt: o.Prompt, Output: o.Output, Seed: o.Seed, Same: o.Same, Says: append([]string{}, ready.Says...),
	}}
	if ready.Plain {
		r.API = "completions"
	}
	if launch != nil && launch.Served == ready.Model.ID && launch.Asks() == u.Host {
		f.launched(launch, &r.Bench)
	}
	if key != "" && u.Scheme == "http" && !loopback(u) {
		r.Says = append(r.Says, "the key went over the network in the clear: the address is not https")
	}
	ask, err := a.benchForecast(ctx, f, &r.Bench, loopback(u))
	if err != nil {
		return err
	}
	progress := term.Start(a.err, "benchmark", 0)
	o.Say = func(p bench.Progress) {
		progress.Set(p.Done, p.All)
		progress.Note(fmt.Sprintf("%s, %d at once, %d failed", p.What, p.Concurrency, p.Failed))
	}
	o.Level = func(l load.Level) {
		expect(&l, ask)
		if a.jsonl {
			_ = report.Event(a.out, "level", l) // the last event says whether all was written
		}
	}
	r.Levels = s.Measure(ctx, &o, ready)
	progress.Done()
	r.Seconds, r.Cut = time.Since(begun).Seconds(), ctx.Err() != nil
	return a.benched(ctx, f, r, ask)
}

// benched holds a bench against the forecast, keeps it and writes it.
func (a *app) benched(ctx context.Context, f *benchFlags, r report.Bench, ask *forecast.Ask) error {
	measured, failed := false, false
	for i := range r.Levels {
		if why := expect(&r.Levels[i], ask); why != "" && !slices.Contains(r.Says, why) {
			r.Says = append(r.Says, why)
		}
		measured = measured || r.Levels[i].OK > 0
		failed = failed || r.Levels[i].Failed > 0
	}
	if r.Levels == nil {
		r.Levels = []load.Level{}
	}
	r.Says = append(r.Says, r.Notes()...)
	switch {
	case !measured:
		a.code = exitIncomplete
	case failed:
		a.code = exitNo
	}
	if measured {
		r.Kept = a.keepBench(r.Bench)
	}
	r.Next = a.nextBench(f, r, ask)
	if err := a.writeBench(r); err != nil {
		return err
	}
	if ctx.Err() != nil {
		a.undone = "what was measured until then is above"
		return context.Cause(ctx)
	}
	return nil
}

func (a *app) keepBench(b load.Bench) (path string) {
	var text bytes.Buffer
	err := report.Event(&text, "bench", b)
	if err == nil {
		path, err = store.At(a.folder).SaveBench(b.ID, text.Bytes())
	}
	if err != nil {
		fmt.Fprintf(a.err, "weft: this bench was not kept: %v\n", err)
		return ""
	}
	return path
}

func (a *app) writeBench(r report.Bench) error {
	switch {
	case a.json:
		return report.JSON(a.out, "bench", r)
	case a.jsonl:
		return report.Event(a.out, "bench", r)
	}
	return r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
}
