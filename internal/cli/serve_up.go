package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/bring"
	"weft/internal/check"
	"weft/internal/exec"
	"weft/internal/forecast"
	"weft/internal/job"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/serve"
	"weft/internal/store"
	"weft/internal/term"
	"weft/internal/trial"
)

// serveFlags are what weft serve up is told.
type serveFlags struct {
	job.Order
	config, listen, keyFile, tokenFile string
	accept                             []string
	print, yes, keep                   bool
	deadline, join, silence            time.Duration
}

func (a *app) serveUp() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "up MODEL [-- ENGINE ARGUMENTS]",
		Short: "Start a model over the nodes and prove that RDMA carries it",
		Long: `Starts MODEL, a Hugging Face name or a path on the nodes, with an engine over all
nodes of weft.yaml (-n names fewer). The forecast decides how it is laid over the GPUs, how
long a context and how many sequences fit, and whether with graphs; --tp, --pp, --context,
--seqs and --eager say otherwise. --print shows every file, command and wait, and starts
nothing; it works with -F, too.

Before anything starts: failed checks and what is missing of the last proof stand in the
way until they are accepted by name (--accept roce.mtu,proof.stale); the image must be the
same on all nodes, and the ports free. Tokens and keys come from files, and go into files
of mode 0600 on the nodes: never into a unit, a log or an argument list.

While it starts, weft follows Ray and the engine's logs, knows the usual failures and says
what to do. Ctrl-C and a failure take everything away again (--keep leaves it). Afterwards
the NCCL log and the counters of the ports must show RDMA.

Without a container: --bare DIR runs the programs of a folder, such as a venv's bin.

Exit codes: 0 it serves, and RDMA carries it; 1 it does not start, or not over RDMA;
2 trouble; 3 something could not be looked at; 130 interrupted: nothing is left.`,
		Example: `  weft serve up Qwen/Qwen3-30B-A3B --print
  weft serve up openai/gpt-oss-120b --image vllm/vllm-openai:v0.11.0
  weft serve up meta-llama/Llama-3.3-70B-Instruct --token-file ~/hf.token --api-key-file key
  weft serve up /models/qwen.gguf --engine llamacpp-rpc --bare /opt/llama.cpp/bin
  weft serve up Qwen/Qwen3-8B --executor own -- --enable-prefix-caching`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) > 1 && at != 1 {
				return fail("weft serve up --help", "one model at a time; arguments of the engine follow --: %s", strings.Join(args[1:], " "))
			}
			f.Model, f.More = args[0], args[1:]
			return a.serveModel(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.Engine, "engine", "e", "vllm", "what serves it: "+strings.Join(job.Engines, ", "))
	fl.StringVar(&f.Executor, "executor", "ray", "vLLM over several nodes: ray, or own (its own multi-node executor)")
	fl.StringVar(&f.Name, "name", "", "name of what is started (default: made from the model)")
	fl.StringVar(&f.Image, "image", "", "container image (default: one that all nodes have, else what the engine's makers publish)")
	fl.StringVar(&f.Bare, "bare", "", "no container: the engine's programs are in this folder of every node")
	fl.StringVar(&f.Runtime, "runtime", "", "podman or docker (default: what all nodes have)")
	fl.StringVar(&f.Units, "units", "systemd", "how it is started: "+strings.Join(job.UnitKinds, ", "))
	fl.StringVar(&f.Via, "via", "auto", "network that Ray and ranks meet over: management, data, or auto (management where that can be)")
	fl.IntVar(&f.TP, "tp", 0, "tensor parallel over so many GPUs (default: forecast)")
	fl.IntVar(&f.PP, "pp", 0, "pipeline parallel over so many stages (default: forecast)")
	fl.IntVar(&f.Context, "context", 0, "tokens of a sequence at most (default: forecast)")
	fl.IntVar(&f.Seqs, "seqs", 0, "sequences at once at most (default: forecast)")
	fl.StringVar(&f.Eager, "eager", "auto", "without graphs: auto, yes or no")
	fl.StringVarP(&f.Quant, "quant", "q", "", "how its weights are stored (default: as its name says, or as published)")
	fl.StringVar(&f.KV, "kv", "auto", "how the KV cache is stored: auto or fp8")
	fl.StringVar(&f.config, "model-config", "", "config.json of the model, where weft does not know it")
	fl.StringVar(&f.Models, "models", "", "folder of models on every node, mounted read-only")
	fl.StringVar(&f.Cache, "cache", "", "folder of every node that models are downloaded to (default: /var/lib/weft/huggingface)")
	fl.StringVar(&f.Served, "served-name", "", "the name that clients use (default: MODEL)")
	fl.StringVar(&f.listen, "listen", "", "where clients ask, on the first node: ADDRESS[:PORT] or :PORT (default: 127.0.0.1:8000, its management address with a key)")
	fl.StringVar(&f.keyFile, "api-key-file", "", "file with the key that clients must show")
	fl.StringVar(&f.tokenFile, "token-file", "", "file with a Hugging Face token")
	fl.StringSliceVar(&f.accept, "accept", nil, "start although these stand in the way: names of checks, proof.none, …")
	fl.BoolVar(&f.print, "print", false, "write everything out and start nothing")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&f.keep, "keep", false, "leave what was started when it fails, to look at it")
	fl.DurationVar(&f.deadline, "deadline", 40*time.Minute, "how long loading may take at most")
	fl.DurationVar(&f.join, "join", 3*time.Minute, "how long Ray's workers may take to join at most")
	fl.DurationVar(&f.silence, "silence", 5*time.Minute, "how long nothing at all may move before it counts as hanging")
	return cmd
}

// serveModel writes the launch out, and starts it unless it is only shown.
func (a *app) serveModel(ctx context.Context, f serveFlags) error {
	if err := f.read(); err != nil {
		return err
	}
	if a.from != "" && !f.print {
		return fail("weft serve up "+shellWord(f.Model)+" --print -F "+shellWord(a.from), "it starts things on nodes, not in %s", a.from)
	}
	secrets, err := f.secrets()
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	for _, n := range l.kase.Nodes {
		if n.Down != "" {
			a.sayDown(n.Down)
		}
	}
	if a.code == exitIncomplete && !f.print {
		return &trouble{what: "a node did not answer, and a model over the others is another launch", next: "weft serve up " + shellWord(f.Model) + " -n NODES", code: exitIncomplete}
	}
	f.ID = store.PlanID(time.Now())
	if a.from != "" {
		f.ID = "(its time)"
	}
	launch, err := job.Serve(l.kase, f.Order)
	if err != nil {
		return &trouble{what: err.Error(), next: f.help(), code: exitNo}
	}
	launch.Deadline(f.deadline, f.join)
	bars := a.knownBars(l, launch)
	if f.print {
		bars = append(bars, launch.ImageBars(launch.FactImages(l.kase))...)
		return a.printServe(f, launch, bars)
	}
	return a.startServe(ctx, f, l, launch, bars, secrets)
}

func (f *serveFlags) help() string {
	if f.Known != nil {
		return "weft forecast --model " + shellWord(f.Model)
	}
	return "weft serve up --help"
}

// read takes the flags that are more than words.
func (f *serveFlags) read() error {
	help := "weft serve up --help"
	for name, n := range map[string]int{"--tp": f.TP, "--pp": f.PP, "--context": f.Context, "--seqs": f.Seqs} {
		if n < 0 || n > 1<<24 {
			return fail(help, "%s %d: want a number from 1 on", name, n)
		}
	}
	switch f.Eager {
	case "auto", "yes", "no":
	default:
		return fail(help, "--eager %s: want auto, yes or no", f.Eager)
	}
	if f.KV != "auto" && f.KV != "fp8" {
		return fail(help, "--kv %s: want auto or fp8", f.KV)
	}
	if f.deadline < 10*time.Second || f.deadline > 24*time.Hour {
		return fail(help, "--deadline %v: want 10s to 24h", f.deadline)
	}
	if f.join < 5*time.Second || f.join > 24*time.Hour {
		return fail(help, "--join %v: want 5s to 24h", f.join)
	}
	if f.silence < 5*time.Second || f.silence > 24*time.Hour {
		return fail(help, "--silence %v: want 5s to 24h", f.silence)
	}
	if err := f.readListen(); err != nil {
		return err
	}
	if f.config != "" {
		b, err := readLimited(f.config, forecast.MaxConfig)
		if err != nil {
			return fail(help, "--model-config %s: %v", f.config, plain(err))
		}
		m, err := forecast.ParseConfig(f.Model, b)
		if err != nil {
			return fail(help, "--model-config %s: %v", f.config, err)
		}
		f.Known = &m
	} else if m, err := forecast.ModelByName(baseName(f.Model)); err == nil {
		f.Known = &m
	}
	return nil
}

// readListen reads ADDRESS, ADDRESS:PORT or :PORT.
func (f *serveFlags) readListen() error {
	if port, ok := strings.CutPrefix(f.listen, ":"); ok && !strings.Contains(port, ":") {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return fail("weft serve up --help", "--listen %s: port %q is none", f.listen, port)
		}
		f.Port = int(n)
		return nil
	}
	if at, err := netip.ParseAddrPort(f.listen); err == nil && at.Port() > 0 {
		f.Listen, f.Port = at.Addr(), int(at.Port())
		return nil
	}
	var err error
	if f.Listen, err = netip.ParseAddr(strings.Trim(f.listen, "[]")); err != nil && f.listen != "" {
		return fail("weft serve up --help", "--listen %s: want ADDRESS, ADDRESS:PORT or :PORT", f.listen)
	}
	return nil
}

// baseName is a model without its owner or folder.
func baseName(model string) string {
	model = strings.TrimRight(model, "/")
	return strings.TrimSuffix(model[strings.LastIndexByte(model, '/')+1:], ".gguf")
}

// secrets reads the files of the token and the key.
func (f *serveFlags) secrets() (map[string]string, error) {
	values := map[string]string{}
	one := func(flag, path string) (string, error) {
		b, err := readLimited(path, 4096)
		if err != nil {
			return "", fail("weft serve up --help", "%s %s: %v", flag, path, plain(err))
		}
		s := strings.TrimSpace(string(b))
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return "", fail("weft serve up --help", "%s %s: want one line of letters, digits and signs", flag, path)
		}
		return s, nil
	}
	if f.tokenFile != "" {
		s, err := one("--token-file", f.tokenFile)
		if err != nil {
			return nil, err
		}
		values["HF_TOKEN"], f.Token = s, true
	}
	if f.keyFile != "" {
		s, err := one("--api-key-file", f.keyFile)
		if err != nil {
			return nil, err
		}
		values["VLLM_API_KEY"], values["LLAMA_API_KEY"], values["key"], f.Key = s, s, s, true
	}
	return values, nil
}

// knownBars are those that need no question to the nodes: checks and the last proof.
func (a *app) knownBars(l *look, launch *job.Launch) []job.Bar {
	findings, _ := check.Accept(check.Run(check.All, l.kase), l.kase.Want.Accept, time.Now())
	bars := launch.CheckBars(findings)
	if a.from != "" {
		return bars // a dump has no proof beside it
	}
	var p *trial.Proof
	if _, ok := store.At(a.folder).LastProof(); ok {
		var err error
		if p, err = a.proofNamed("last"); err != nil {
			fmt.Fprintf(a.err, "weft: the last proof could not be read: %v\n", err)
			p = nil
		}
	}
	now := map[string]string{}
	for _, n := range nodesAt(l, prove.Result{}) {
		now[n.Name] = n.Facts
	}
	return append(bars, launch.ProofBars(p, now)...)
}

// serveAgain is the command line that was given, without --print, and with more names accepted.
func (a *app) serveAgain(f serveFlags, more []string) string {
	cmd := "weft serve up " + shellWord(f.Model)
	add := func(flag, value, usual string) {
		if value != "" && value != usual {
			cmd += " " + flag + " " + shellWord(value)
		}
	}
	num := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	add("--engine", f.Engine, "vllm")
	add("--executor", f.Executor, "ray")
	add("--name", f.Name, "")
	add("--image", f.Image, "")
	add("--bare", f.Bare, "")
	add("--runtime", f.Runtime, "")
	add("--units", f.Units, "systemd")
	add("--via", f.Via, "auto")
	add("--tp", num(f.TP), "")
	add("--pp", num(f.PP), "")
	add("--context", num(f.Context), "")
	add("--seqs", num(f.Seqs), "")
	add("--eager", f.Eager, "auto")
	add("--quant", f.Quant, "")
	add("--kv", f.KV, "auto")
	add("--model-config", f.config, "")
	add("--models", f.Models, "")
	add("--cache", f.Cache, "")
	add("--served-name", f.Served, "")
	add("--listen", f.listen, "")
	add("--api-key-file", f.keyFile, "")
	add("--token-file", f.tokenFile, "")
	if accept := append(append([]string{}, f.accept...), more...); len(accept) > 0 {
		cmd += " --accept " + strings.Join(accept, ",")
	}
	add("-n", a.nodes, "")
	if len(f.More) > 0 {
		cmd += " --"
		for _, m := range f.More {
			cmd += " " + shellWord(m)
		}
	}
	return cmd
}

func (a *app) printServe(f serveFlags, launch *job.Launch, bars []job.Bar) error {
	open, accepted, wrong := job.Accept(bars, f.accept)
	if len(wrong) > 0 {
		return wrongNames(wrong)
	}
	a.code = exitYes
	if len(open) > 0 {
		a.code = exitNo
	}
	p := report.ServePlan{Launch: launch, Bars: open, Accepted: accepted, Next: a.serveAgain(f, nil)}
	if len(open) > 0 && open[0].Next != "" {
		p.Next = open[0].Next
	}
	if a.json || a.jsonl {
		return report.JSON(a.out, "serve plan", p)
	}
	return p.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
}

func wrongNames(wrong []string) error {
	return fail("weft serve up --help", "--accept %s: no check and no reason is called so; reasons are %s", strings.Join(wrong, ","), strings.Join(job.BarNames, ", "))
}

// startServe looks at what only the nodes know, asks the person, and starts.
func (a *app) startServe(ctx context.Context, f serveFlags, l *look, launch *job.Launch, bars []job.Bar, secrets map[string]string) error {
	lock, err := store.At(a.folder).Lock()
	if err != nil {
		return fail("weft status", "%v", err)
	}
	defer lock.Close()
	note, done := a.notes("serve " + launch.Name)
	defer func() { done() }()
	r := a.serveRun(launch, targets(l), note)
	defer r.Run.Close()
	r.Secrets, r.Silence = secrets, f.silence
	bars = append(bars, launch.ImageBars(r.Images(ctx))...)
	bars = append(bars, launch.PortBars(r.Ports(ctx))...)
	bars = append(bars, r.Programs(ctx)...)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	open, accepted, wrong := job.Accept(bars, f.accept)
	switch {
	case len(wrong) > 0:
		return wrongNames(wrong)
	case len(open) > 0:
		return a.barred(f, launch, open, accepted)
	}
	// The engine is asked from its own node, by weft: where that cannot be put there, nobody
	// would see that it is ready.
	if _, err := r.Get(ctx, launch.Head().Node, serve.Query{URL: "http://127.0.0.1:1/", Within: 5}); err != nil && ctx.Err() == nil {
		return &trouble{what: fmt.Sprintf("weft cannot be put on %s, to ask the engine there: %v", launch.Head().Node, err), next: "weft check node.read", code: exitIncomplete}
	}
	if err := a.askServe(f, launch); err != nil {
		return err
	}
	b, err := json.Marshal(launch)
	if err == nil {
		err = store.At(a.folder).SaveServe(launch.Name, b)
	}
	if err != nil {
		return fail("weft serve up --help", "what is started could not be written down, so nothing was: %v", err)
	}
	start := time.Now()
	err = r.Up(ctx)
	out := report.Served{Launch: launch, Accepted: accepted}
	if err == nil && len(launch.Nodes) > 1 {
		note(len(launch.Order)-1, len(launch.Order), "asking for a few tokens, to see what carries them")
		p := r.Prove(ctx, l.kase, a.meterWay(l, r))
		out.Proof = served(p)
		err = context.Cause(ctx)
	}
	out.Seconds = time.Since(start).Seconds()
	for _, e := range r.Events() {
		out.Noticed = append(out.Noticed, report.Noticed{Node: e.Node, Part: e.Part, Event: e.Event})
	}
	done()
	done = func() {}
	if err != nil {
		return a.failedServe(ctx, f, r, out, err)
	}
	a.code = exitYes
	if out.Proof != nil && out.Proof.Expected && !out.Proof.RDMA {
		a.code = exitNo
	}
	out.OK, out.Next = true, "weft serve bench http://"+launch.Asks()
	if ap, err := netip.ParseAddrPort(launch.Asks()); err == nil && ap.Addr().IsLoopback() && r.Targets[launch.Head().Node].SSH != "" {
		out.Next = fmt.Sprintf("ssh -N -L %d:%s %s   # then: weft serve bench", ap.Port(), launch.Asks(), r.Targets[launch.Head().Node].SSH)
	}
	if a.code == exitNo {
		out.Next = "weft serve logs " + launch.Name + " | weft nccl"
	}
	return a.writeServed(out)
}

// meterWay is how meters are put on nodes.
func (a *app) meterWay(l *look, r *serve.Run) *prove.Way {
	way := &prove.Way{Run: r.Run, Binary: bring.Self, Targets: r.Targets, Archs: map[string]string{}}
	for _, n := range l.kase.Nodes {
		way.Archs[n.Name] = n.Host.Arch
	}
	return way
}

// served is a proof for a report.
func served(p serve.Proof) *report.ServeProof {
	return &report.ServeProof{Expected: p.Expected, RDMA: p.RDMA, Log: p.Log, Counters: p.Counters, Tokens: p.Tokens, Seconds: p.Seconds, Says: p.Says}
}

// barred says what stands in the way, and how to accept what may be.
func (a *app) barred(f serveFlags, launch *job.Launch, open, accepted []job.Bar) error {
	a.code = exitNo
	next := a.serveAgain(f, job.Acceptable(open))
	for _, b := range slices.Backward(open) { // what mends the first, but before it what nobody can accept
		if b.Next != "" {
			next = b.Next
		}
	}
	for _, b := range open {
		if len(job.Acceptable([]job.Bar{b})) == 0 && b.Next != "" {
			next = b.Next
			break
		}
	}
	p := report.ServeBarred{Launch: launch, Bars: open, Accepted: accepted, Accept: a.serveAgain(f, job.Acceptable(open)), Next: next}
	if a.json || a.jsonl {
		return report.JSON(a.out, "serve barred", p)
	}
	return p.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
}

// askServe shows what will be started and wants a yes.
func (a *app) askServe(f serveFlags, launch *job.Launch) error {
	if f.yes {
		return nil
	}
	if file, ok := a.in.(*os.File); ok && term.Is(file) {
		var b strings.Builder
		report.ServeHead(&b, launch)
		fmt.Fprint(a.err, b.String())
	}
	return a.askYes("serve up", f.yes, fmt.Sprintf("Start it on %d nodes?", len(launch.Nodes)))
}

// cleanupTime is how long what was started may take to be taken away again.
const cleanupTime = 5 * time.Minute

// failedServe takes away what was started, unless it is to be kept, and says what happened.
func (a *app) failedServe(ctx context.Context, f serveFlags, r *serve.Run, out report.Served, why error) error {
	s := store.At(a.folder)
	var failure *serve.Failure
	interrupted := ctx.Err() != nil
	if errors.As(why, &failure) {
		out.Failure = &report.ServeFailure{ID: failure.ID, Node: failure.Node, Part: failure.Part, What: failure.What, Why: failure.Why, Do: failure.Do, Line: failure.Line, Last: failure.Last, Also: failure.Also}
	} else if !interrupted {
		out.Failure = &report.ServeFailure{ID: "trouble", What: why.Error()}
	}
	if path, err := s.SaveServeLog(r.Launch.Name, r.Log()); err == nil && len(r.Log()) > 0 {
		out.LogFile = path
	}
	if f.keep && !interrupted {
		out.Kept = true
		out.Next = "weft serve logs " + r.Launch.Name
		a.code = exitNo
		return a.writeServed(out)
	}
	note, done := a.notes("taking it away")
	r.Say = note
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	out.Down = downs(r.Down(clean))
	done()
	left := leftOf(out.Down)
	if len(left) == 0 {
		if err := s.DropServe(r.Launch.Name); err != nil {
			fmt.Fprintf(a.err, "weft: .weft/serves/%s.json: %v\n", r.Launch.Name, plain(err))
		}
	}
	if interrupted {
		a.undone = "what was started is stopped and removed on every node"
		if len(left) > 0 {
			a.undone = "not everything could be taken away: " + strings.Join(left, "; ") + "; weft serve down " + r.Launch.Name + " tries again"
		}
		return context.Cause(ctx)
	}
	a.code = exitNo
	out.Next = "weft serve up --help"
	if out.Failure != nil && strings.HasPrefix(out.Failure.Do, "weft ") {
		out.Next, _, _ = strings.Cut(out.Failure.Do, ";")
	}
	if strings.HasPrefix(out.Next, "weft serve logs") && out.LogFile != "" { // its units are gone, and their names with them
		out.Next = "less " + out.LogFile
		out.Failure.Do = strings.Replace(out.Failure.Do, "weft serve logs "+r.Launch.Name, out.Next, 1)
		out.Failure.Do = strings.Replace(out.Failure.Do, "weft serve logs", out.Next, 1)
	}
	if len(left) > 0 {
		out.Next = "weft serve down " + r.Launch.Name
	}
	return a.writeServed(out)
}

func (a *app) writeServed(s report.Served) error {
	if a.json || a.jsonl {
		return report.JSON(a.out, "serve", s)
	}
	return s.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
}

// downs are results for a report.
func downs(all []serve.Down) (out []report.ServeDown) {
	for _, d := range all {
		out = append(out, report.ServeDown{Node: d.Node, Stopped: d.Stopped, Removed: d.Removed, Left: d.Left, Failed: exec.Sanitise(d.Failed)})
	}
	return out
}

// leftOf is what is left on nodes, in words.
func leftOf(all []report.ServeDown) (left []string) {
	for _, d := range all {
		if d.Failed != "" {
			left = append(left, d.Failed)
		}
		for _, x := range d.Left {
			left = append(left, d.Node+": "+x)
		}
	}
	return left
}
