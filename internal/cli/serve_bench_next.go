package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"weft/internal/bench"
	"weft/internal/exec"
	"weft/internal/forecast"
	"weft/internal/job"
	"weft/internal/load"
	"weft/internal/report"
	"weft/internal/spec"
)

// loopback reports whether a server is on this machine.
func loopback(u *url.URL) bool {
	if u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// benchTrouble is why nothing could be measured.
func benchTrouble(ctx context.Context, err error, launch *job.Launch, want spec.Spec, u *url.URL) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at := u.String()
	again := "weft serve bench"
	if at != usualServer {
		again += " " + shellWord(at)
	}
	t := &trouble{what: fmt.Sprintf("%s: %v", at, err), next: "weft serve status", code: exitIncomplete}
	var several *bench.Several
	var none *bench.None
	var long *bench.TooLong
	switch {
	case errors.As(err, &several):
		t.code, t.what = exitTrouble, fmt.Sprintf("%s: %v: %s", at, err, someNames(several.Names))
		t.next = again + " --model " + shellWord(several.Names[0])
	case errors.As(err, &none):
		t.code, t.what = exitTrouble, fmt.Sprintf("%s: %v; it has %s", at, err, someNames(none.Has))
		t.next = again + " --model " + shellWord(none.Has[0])
	case errors.As(err, &long):
		t.code = exitTrouble
		t.next = fmt.Sprintf("%s --prompt-tokens %d --output-tokens %d", again, max(1, long.Longest*3/4), max(1, long.Longest/8))
	}
	if failed, ok := bench.FailedBy(err); ok {
		switch {
		case failed.Code == 401 || failed.Code == 403:
			t.what += "\nthe key goes into " + keyVariable + ", or into a file: --api-key-file"
			t.next = again + " --api-key-file FILE"
		case failed.Class == load.TimedOut:
			t.what += "\n--timeout waits longer"
		case failed.Class == load.Refused && launch != nil && launch.Asks() == u.Host && loopback(u):
			head := exec.Target{}
			for _, n := range want.Nodes {
				if n.Name == launch.Head().Node {
					head = targetOf(n)
				}
			}
			if head.SSH == "" {
				break // it is this machine: weft serve status
			}
			t.what += fmt.Sprintf("\nweft serve up started %s, which listens on %s itself: bring its port here, or look whether it runs (weft serve status)", launch.Name, head.Name)
			t.next = fmt.Sprintf("ssh -N -L %s:%s %s", u.Port(), u.Host, shellWord(head.SSH))
		case failed.Class == load.Refused && u.String() == usualServer:
			t.what += "\nanother server is named by its address"
			t.next = "weft serve bench http://HOST:PORT"
		case failed.Code/100 == 4:
			t.next = "curl -s " + shellWord(at+"/v1/models")
		}
	}
	t.next = exec.Sanitise(t.next) // names are the server's
	return t
}

func someNames(names []string) string {
	const few = 8
	if len(names) > few {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return strings.Join(names, ", ")
}

// nextBench is what helps most.
func (a *app) nextBench(f *benchFlags, r report.Bench, ask *forecast.Ask) string {
	if _, ok := r.Alone(); ok && ask != nil && a.code != exitIncomplete {
		next := "weft why --model " + shellWord(ask.Model.Name)
		for _, p := range []struct{ flag, value string }{{"--quant", f.quant}, {"--hardware", f.hardware}, {"-F", a.from}, {"--link", f.link}} {
			if p.value != "" {
				next += " " + p.flag + " " + shellWord(p.value)
			}
		}
		if ask.Engine.Name != "vllm" {
			next += " --engine " + ask.Engine.Name
		}
		for _, p := range []struct {
			flag  string
			value int
		}{{"--tp", f.tp}, {"--pp", f.pp}} {
			if p.value > 0 {
				next += fmt.Sprintf(" %s %d", p.flag, p.value)
			}
		}
		return next
	}
	switch {
	case f.read != "" && ask == nil:
		return "weft serve bench --read " + shellWord(f.read) + ` --model gpt-oss-120b --hardware "2x gb10"`
	case f.read != "":
		return "weft serve bench --concurrency 1"
	case a.code != exitYes:
		return "weft serve logs"
	case !slices.ContainsFunc(r.Levels, func(l load.Level) bool { return l.Concurrency == 1 }):
		return "weft serve bench " + shellWord(r.URL) + " --concurrency 1"
	}
	return "weft forecast list"
}
