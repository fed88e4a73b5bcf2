package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/format"
	"weft/internal/load"
	"weft/internal/rehearsal"
	"weft/internal/report"
	"weft/internal/spec"
	"weft/internal/store"
	"weft/internal/term"
	"weft/internal/trial"
)

// reportFlags are what weft report is told.
type reportFlags struct {
	whyFlags
	out, format, since string
	shown              string // the proof; the other one is what a forecast takes its collectives from
	now                bool
	before             string // when the look before was taken; "" there is none, or it does not say
	redact             bool
	key                []byte // what stand-ins are made with; nil unless redact
}

// reportFormats are what a report can be, and the endings of files that ask for it.
var reportFormats = []struct {
	name  string
	ends  []string
	write func(report.Document, io.Writer) error
}{
	{"html", []string{".html", ".htm"}, report.Document.HTML},
	{"md", []string{".md", ".markdown"}, report.Document.Markdown},
	{"junit", []string{".xml"}, report.Document.JUnit},
	{"json", []string{".json"}, func(d report.Document, w io.Writer) error { return report.JSON(w, "report", d) }},
}

func (a *app) report() *cobra.Command {
	f := reportFlags{}
	cmd := &cobra.Command{
		Use:   "report -o FILE",
		Short: "Write one file about the cluster: drawing, findings, proof, forecast, changes",
		Long: `Writes all that is known about the cluster into one file that can be sent: the nodes,
rails and switches drawn, with what limits each link; findings with their fixes; the
numbers of the last proof as heat maps; forecast and token waterfall; what changed. An
HTML file needs nothing else: it fetches nothing, prints, and works without script.

It is made of what lies in .weft: the last look that weft check kept, the last proof,
the last rehearsal; --now looks again, -F takes a dump. With --model it has a forecast,
with --measured too it says where a token's time went. What is missing is named, with
the command that would make it.

The ending of FILE says what it becomes: .html, .md, .xml (JUnit) or .json; --format
says so where there is no such ending. -o - is standard output.

Exit codes: 0 written, whatever it says of the cluster, 2 trouble, 3 written, but a
node did not answer or something in .weft could not be read.`,
		Example: `  weft report -o cluster.html
  weft report -o cluster.html --model gpt-oss-120b --measured 43.7
  weft report -F lab.dump --since last-week.dump -o lab.md
  weft report --format junit -o -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.writeReport(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "file to write; - is standard output")
	fl.StringVar(&f.format, "format", "", "html, md, junit or json (default: as the file ends)")
	fl.BoolVar(&f.now, "now", false, "look at the nodes now instead of taking the last look that was kept")
	fl.StringVar(&f.since, "since", "", "say what changed since this dump (default: the look before, if one was kept)")
	fl.StringVar(&f.shown, "proof", "", "this proof: an ID, a file, last or none (default: last, if there is one and no -F)")
	fl.StringVar(&f.rehearsal, "rehearsal", "", "this rehearsal: a file, last or none (default: last, if there is one and no -F)")
	fl.StringVarP(&f.model, "model", "m", "", "forecast this model: a name, or its config.json")
	fl.StringVar(&f.measured, "measured", "", "tokens/s of one sequence, as measured, like 22.9, or the time of a token, like 43.7ms: says where it went")
	fl.StringVarP(&f.quant, "quant", "q", "", "how the model's weights are stored (default: as it is published)")
	fl.StringVar(&f.hardware, "hardware", "", `forecast for hardware by name, like "2x gb10", instead of the nodes`)
	fl.StringVar(&f.link, "link", "", "forecast for this link between nodes, like 100g-rdma (default: as the nodes have it)")
	fl.StringVarP(&f.engine, "engine", "e", "vllm", "what serves the model")
	fl.IntVar(&f.tp, "tp", 0, "tensor parallel over so many ranks")
	fl.IntVar(&f.pp, "pp", 0, "pipeline parallel over so many stages")
	fl.IntVarP(&f.batch, "batch", "b", 1, "sequences decoded together")
	fl.IntVar(&f.context, "context", 4096, "tokens in the KV cache of each sequence")
	fl.BoolVar(&f.redact, "redact", false, "replace addresses, GUIDs, MACs and serial numbers, as weft collect --redact does; names of nodes stay")
	fl.StringArrayVar(&f.logs, "log", nil, "log of NCCL or RCCL, for where a token's time went")
	f.kv, f.prompt = "bf16", 1024
	return cmd
}

// writeReport makes the document and writes it.
func (a *app) writeReport(ctx context.Context, f *reportFlags) error {
	write, err := a.reportFormat(f)
	if err != nil {
		return err
	}
	d, err := a.document(ctx, f)
	if err != nil {
		return err
	}
	p := term.Start(a.err, "writing the report", 1)
	var b bytes.Buffer
	err = write(d, &b)
	p.Done()
	if err != nil {
		return err
	}
	if f.out == "-" {
		_, err := a.out.Write(b.Bytes())
		return err
	}
	if err := writeWhole(f.out, b.Bytes()); err != nil {
		return fail("weft report -o -", "%s: %v", f.out, plain(err))
	}
	fmt.Fprintf(a.err, "weft: wrote %s, %d KiB\n", f.out, (b.Len()+1023)/1024)
	return nil
}

// reportFormat finds out what is to be written, and where.
func (a *app) reportFormat(f *reportFlags) (func(report.Document, io.Writer) error, error) {
	if a.json || a.jsonl {
		if f.format != "" && f.format != "json" {
			return nil, fail("weft report --help", "--json and --format %s contradict each other", f.format)
		}
		f.format = "json"
		if f.out == "" {
			f.out = "-"
		}
	}
	if f.out == "" && f.format == "" {
		return nil, fail("weft report -o report.html", "no file: -o says which")
	}
	if f.out == "" {
		f.out = "-"
	}
	var names []string
	for _, x := range reportFormats {
		names = append(names, x.name)
		if f.format == x.name || f.format == "" && slices.Contains(x.ends, strings.ToLower(filepath.Ext(f.out))) {
			return x.write, nil
		}
	}
	if f.format != "" {
		return nil, fail("weft report --help", "--format %s: want one of %s", f.format, strings.Join(names, ", "))
	}
	return nil, fail("weft report -o report.html", "-o %s: its ending is none of .html, .md, .xml and .json, and there is no --format", f.out)
}

// writeWhole writes a file whole or not at all; what is not a file, like /dev/null or a
// pipe, is written to. As a dump, it is for the owner's eyes until they share it: a file
// that was there keeps its mode.
func writeWhole(path string, b []byte) error {
	mode := os.FileMode(0o600)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, b, mode)
	}
	if err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".weft-report-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // once it has its name this finds nothing
	_, werr := tmp.Write(b)
	if cerr := tmp.Close(); werr == nil {
		werr = cerr
	}
	if werr == nil {
		werr = os.Chmod(tmp.Name(), mode)
	}
	if werr == nil {
		werr = os.Rename(tmp.Name(), path)
	}
	return werr
}

// document gathers what there is.
func (a *app) document(ctx context.Context, f *reportFlags) (report.Document, error) {
	l, taken, err := a.reportLook(ctx, f)
	if err != nil {
		return report.Document{}, err
	}
	if f.redact {
		if err := a.redactLook(f, l); err != nil {
			return report.Document{}, err
		}
	}
	r := judge(l, check.All)
	d := report.DocumentOf(l.kase, r)
	d.Made, d.Weft, d.Taken = time.Now().UTC().Format(time.RFC3339), Version(), taken
	for _, n := range l.kase.Nodes {
		if n.Down != "" {
			a.sayDown(n.Down)
		}
	}
	for _, n := range l.notes {
		fmt.Fprintln(a.err, "weft: "+n)
	}
	progress := term.Start(a.err, "reading what was kept", 3)
	defer progress.Done()
	for _, part := range []func() error{
		func() error { return a.reportSince(f, l, r, &d) },
		func() error { return a.reportProof(f, &d) },
		func() error { return a.reportRehearsal(f, &d) },
	} {
		if err := part(); err != nil {
			return d, err
		}
		progress.Step()
	}
	a.reportBench(f, &d)
	return d, a.reportModel(ctx, f, l, &d)
}

// reportLook takes -F, or the last look that was kept, or looks.
func (a *app) reportLook(ctx context.Context, f *reportFlags) (l *look, taken string, err error) {
	if a.from == "" && !f.now {
		if l, err = a.keptLook(f); err != nil {
			return nil, "", err
		}
	}
	if l == nil {
		a.keep = true
		if l, err = a.look(ctx); err != nil {
			return nil, "", err
		}
		if l.kase.Before != nil {
			f.before = time.Now().Add(-l.kase.Since).UTC().Format(time.RFC3339)
		}
	}
	return l, takenOf(l.dump), nil
}

// keptLook is the last look that lies in .weft, judged by the weft.yaml of now and with
// the look before it, as weft check had it; nil when there is none.
func (a *app) keptLook(f *reportFlags) (*look, error) {
	want, _, folder, err := a.spec(nil)
	if err != nil {
		return nil, err
	}
	a.folder = folder
	kept := store.At(folder).Dumps()
	if len(kept) == 0 {
		return nil, nil
	}
	l := &look{source: "weft.yaml"}
	var was struct { // the look before, read at the same time
		dump  *dump.Dump
		facts fact.Cluster
		err   error
	}
	var wg sync.WaitGroup
	if n := len(kept); n > 1 {
		wg.Go(func() {
			if was.dump, _, was.err = a.readFrom(kept[n-2]); was.err == nil {
				was.err = a.only(was.dump)
			}
			if was.err == nil {
				was.facts = format.Facts(was.dump)
			}
		})
	}
	l.dump, l.notes, err = a.readFrom(kept[len(kept)-1])
	if err == nil {
		err = a.only(l.dump)
	}
	if err == nil {
		l.kase = &check.Case{Cluster: format.Facts(l.dump), Want: want}
	}
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if was.dump != nil && was.err == nil { // else reportSince says why not
		l.kase.Before, f.before = &was.facts, takenOf(was.dump)
		then, _ := time.Parse(time.RFC3339, f.before) // zero when it does not say
		if is, err := time.Parse(time.RFC3339, takenOf(l.dump)); err == nil && !then.IsZero() {
			l.kase.Since = is.Sub(then)
		}
	}
	return l, nil
}

// redactLook puts stand-ins for addresses and numbers into a look, the one before it and
// the weft.yaml that judges them, so that they still agree.
func (a *app) redactLook(f *reportFlags, l *look) error {
	f.key = make([]byte, 32)
	rand.Read(f.key) // never fails since Go 1.24
	var replay *dump.Dump
	if a.from != "" {
		replay = l.dump
	}
	_, text, _, err := a.spec(replay)
	if err != nil {
		return err
	}
	if text != "" {
		l.dump.Nodes[0].Text[format.SpecKey] = text
	}
	l.dump = f.hide(l.dump)
	kase := &check.Case{Cluster: format.Facts(l.dump), Since: l.kase.Since}
	if text, ok := format.Spec(l.dump); ok {
		if kase.Want, err = spec.Parse([]byte(text)); err != nil {
			return fail("weft report -o -", "--redact: the weft.yaml with stand-ins: %v", err)
		}
	}
	kept := store.At(a.folder).Dumps()
	if n := len(kept); l.kase.Before != nil && a.from == "" && n > 1 {
		if before, _, err := a.readFrom(kept[n-2]); err == nil && a.only(before) == nil {
			facts := format.Facts(f.hide(before))
			kase.Before = &facts
		}
	}
	l.kase = kase
	return nil
}

// hide puts stand-ins into a dump, if that was asked for: the same for the same.
func (f *reportFlags) hide(d *dump.Dump) *dump.Dump {
	if f.key == nil {
		return d
	}
	return dump.Redact(d, f.key)
}

// hideProof does the same to the words of a proof.
func (f *reportFlags) hideProof(p *trial.Proof) (*trial.Proof, error) {
	if f.key == nil {
		return p, nil
	}
	var b bytes.Buffer
	if err := report.JSON(&b, "proof", p); err != nil {
		return nil, err
	}
	n := dump.NewNode("proof")
	n.Text["/proof"] = b.String()
	return trial.ParseProof([]byte(f.hide(&dump.Dump{Nodes: []*dump.Node{n}}).Nodes[0].Text["/proof"]))
}

// takenOf is when a dump was made, as its note says.
func takenOf(d *dump.Dump) string {
	for _, word := range strings.Fields(d.Note) {
		if t, err := time.Parse(time.RFC3339, word); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

// reportSince compares with --since, or with the look before the one that is told.
func (a *app) reportSince(f *reportFlags, l *look, r report.Findings, d *report.Document) error {
	path, source := f.since, f.since
	if path == "" && a.from == "" {
		kept := store.At(a.folder).Dumps()
		if n := len(kept); n > 1 {
			path, source = kept[n-2], "the look before"
		}
	}
	if path == "" {
		next := "weft check"
		if a.from != "" {
			next = "weft report -F " + shellWord(a.from) + " --since EARLIER.dump"
		}
		d.Lacks = append(d.Lacks, report.Lack{What: "what changed", Why: "there is no earlier look to compare with", Next: next})
		return nil
	}
	before, taken := &check.Case{Want: l.kase.Want}, ""
	if l.kase.Before != nil && f.since == "" { // read already
		before.Cluster, taken = *l.kase.Before, f.before
	} else {
		was, _, err := a.readFrom(path)
		if err == nil {
			err = a.only(was)
		}
		if err == nil {
			was = f.hide(was)
		}
		switch {
		case err != nil && f.since != "":
			return err
		case err != nil:
			a.code = exitIncomplete
			d.Lacks = append(d.Lacks, report.Lack{What: "what changed", Why: err.Error(), Next: "weft check"})
			return nil
		}
		before.Cluster, taken = format.Facts(was), takenOf(was)
	}
	d.Since = report.SinceOf(before, l.kase, judge(&look{source: source, kase: before}, check.All), r)
	d.Since.Source, d.Since.Taken = source, taken
	return nil
}

// reportProof takes the proof that is asked for, or the last, and the one before it.
func (a *app) reportProof(f *reportFlags, d *report.Document) error {
	lack := func(why string) {
		d.Lacks = append(d.Lacks, report.Lack{What: "proof", Why: why, Next: "weft prove"})
	}
	kept := store.At(a.folder).Proofs()
	asked := f.shown != "" && f.shown != "last"
	switch {
	case f.shown == "none":
		return nil
	case f.shown == "" && a.from != "":
		lack("a dump holds no measurements; --proof FILE adds them")
		return nil
	case !asked && len(kept) == 0:
		lack("nothing was measured yet")
		return nil
	}
	name := f.shown
	if name == "" {
		name = "last"
	}
	p, err := a.proofNamed(name)
	switch {
	case err != nil && f.shown != "":
		return fail("weft prove", "--proof %s: %v", f.shown, plain(err))
	case err != nil:
		a.code = exitIncomplete
		lack(fmt.Sprintf("the last one could not be read: %v", plain(err)))
		return nil
	}
	id := p.ID
	if p, err = f.hideProof(p); err != nil {
		return fail("weft report --proof none -o -", "--redact: %v", err)
	}
	d.Proof = &report.ProofReport{Proof: *p}
	at := slices.IndexFunc(kept, func(path string) bool { return strings.TrimSuffix(filepath.Base(path), ".json") == id })
	if at > 0 {
		old, err := a.proofNamed(kept[at-1])
		if err == nil {
			old, err = f.hideProof(old)
		}
		if err == nil {
			d.Proof.Against, d.Proof.Changes = old.ID, trial.Compare(*old, *p)
		}
	}
	return nil
}

// reportRehearsal takes the rehearsal that is asked for, or the last.
func (a *app) reportRehearsal(f *reportFlags, d *report.Document) error {
	path, asked := f.rehearsal, f.rehearsal != "" && f.rehearsal != "last"
	if path == "none" || path == "" && a.from != "" {
		return nil
	}
	if !asked {
		kept, ok := store.At(a.folder).LastRehearsal()
		if !ok {
			if len(d.Nodes) > 1 {
				d.Lacks = append(d.Lacks, report.Lack{What: "rehearsal", Why: "nothing was rehearsed yet", Next: "weft rehearse --model " + shellWord(cmp.Or(f.model, "gpt-oss-120b"))})
			}
			return nil
		}
		path = kept
	}
	b, err := readLimited(path, rehearsal.MaxFile)
	if err == nil {
		d.Rehearsal, err = rehearsal.Parse(b)
	}
	switch {
	case err != nil && f.rehearsal != "":
		return fail("weft report --help", "--rehearsal %s: %v", path, plain(err))
	case err != nil:
		a.code = exitIncomplete
		d.Lacks = append(d.Lacks, report.Lack{What: "rehearsal", Why: fmt.Sprintf("%s: %v", path, plain(err)), Next: "weft report --rehearsal none -o " + shellWord(f.out)})
		return nil
	}
	if d.Rehearsal.ID == "" {
		d.Rehearsal.ID = strings.TrimSuffix(filepath.Base(path), ".json")
	}
	return nil
}

// reportBench takes the last bench, and its model where none is named.
func (a *app) reportBench(f *reportFlags, d *report.Document) {
	kept := store.At(a.folder).Benches()
	if a.from != "" || len(kept) == 0 {
		return
	}
	text, err := readLimited(kept[0], load.MaxBench)
	if err == nil {
		d.Bench, err = load.Parse(text)
	}
	if err != nil {
		a.code = exitIncomplete
		d.Lacks = append(d.Lacks, report.Lack{What: "serving", Why: fmt.Sprintf("the last bench could not be read: %v", plain(err)), Next: "weft serve bench"})
		return
	}
	if f.key != nil {
		d.Bench.URL = "" // an address that nothing stands for
	}
	for _, name := range []string{d.Bench.As, d.Bench.Model, d.Bench.Root} {
		if m, err := forecast.ModelByName(name); err == nil && f.model == "" {
			f.model = m.Name
		}
	}
}

// reportModel forecasts the model that is asked for, and says where a token's time went
// if one was measured. Nodes that tell no hardware are no reason to write nothing.
func (a *app) reportModel(ctx context.Context, f *reportFlags, l *look, d *report.Document) error {
	if f.model == "" {
		if f.measured != "" {
			return fail("weft forecast list", "--measured %s: of which model? --model says so", f.measured)
		}
		d.Lacks = append(d.Lacks, report.Lack{What: "forecast and token waterfall", Why: "no model was named", Next: "weft report -o report.html --model gpt-oss-120b --measured TOKENS/S"})
		return nil
	}
	a.again = l
	defer func() { a.again = nil }()
	code := a.code
	if d.Proof != nil && slices.Contains(d.Proof.Trials, "nccl.allreduce") {
		f.proof = d.Proof.ID
		if f.shown != "" && f.shown != "last" {
			f.proof = f.shown
		}
	}
	r, err := a.foresee(ctx, &f.forecastFlags)
	if err != nil && f.proof != "" { // its all-reduce is none that a forecast can use
		f.proof = ""
		r, err = a.foresee(ctx, &f.forecastFlags)
	}
	var t *trouble
	switch {
	case errors.As(err, &t) && strings.HasPrefix(t.what, l.source+": "):
		a.code = exitIncomplete
		d.Lacks = append(d.Lacks, report.Lack{What: "forecast", Why: t.what, Next: "weft report -o report.html --model " + shellWord(f.model) + ` --hardware "2x gb10"`})
		return nil
	case err != nil:
		return reportTrouble(err)
	}
	d.Forecast = &r
	w, err := a.explainToken(ctx, &f.whyFlags)                                 // without --measured it takes what weft serve bench kept
	if best := r.Plans[0]; err != nil && f.tp == 0 && f.pp == 0 && best.Fits { // over all ranks it cannot have run
		f.tp, f.pp = best.Layout.TP, best.Layout.PP
		if w, err = a.explainToken(ctx, &f.whyFlags); err == nil {
			w.Says = append(w.Says, "layout taken for the best of the forecast; --tp and --pp say otherwise")
		}
	}
	switch {
	case err != nil && f.measured == "":
		a.code = code
		d.Lacks = append(d.Lacks, report.Lack{What: "where a real token's time went", Why: "no measurement was given, and none of this model was kept", Next: "weft serve bench"})
		return nil
	case err != nil:
		return reportTrouble(err)
	}
	a.code = code // what it says of the cluster is no trouble of the report
	d.Why = &w
	return nil
}

// reportTrouble makes the next command of a trouble this command's.
func reportTrouble(err error) error {
	var t *trouble
	if !errors.As(err, &t) {
		return err
	}
	out := *t
	for _, of := range []string{"forecast", "why"} {
		out.next = strings.Replace(out.next, "weft "+of+" --help", "weft report --help", 1)
	}
	return &out
}
