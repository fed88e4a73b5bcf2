package ib

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"weft/internal/lab/own"
)

// Break makes a fault and returns it. An empty target is a good one for the fault.
func Break(ctx context.Context, folder, fault, target string) (Broken, error) {
	unlock, err := lock(folder)
	if err != nil {
		return Broken{}, err
	}
	defer unlock()
	l, err := open(folder)
	if err != nil {
		return Broken{}, err
	}
	b, err := l.aim(fault, target)
	if err != nil {
		return b, err
	}
	if slices.Contains(l.state.Broken, b) {
		return b, fmt.Errorf("%s is broken already", b)
	}
	l.state.Broken = append(l.state.Broken, b)
	return b, l.change(ctx, b)
}

// Heal takes back a fault: at one target, or wherever it was made. An empty fault
// is every one. It returns what it healed.
func Heal(ctx context.Context, folder, fault, target string) (healed []Broken, err error) {
	unlock, err := lock(folder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	l, err := open(folder)
	if err != nil {
		return nil, err
	}
	if fault != "" && target != "" {
		b, err := l.aim(fault, target)
		if err != nil {
			return nil, err
		}
		target = b.Target
	}
	left := []Broken{}
	for _, b := range l.state.Broken {
		if (fault == "" || b.Fault == fault) && (target == "" || b.Target == target) {
			healed = append(healed, b)
		} else {
			left = append(left, b)
		}
	}
	l.state.Broken = left
	if len(healed) == 0 {
		return nil, nil
	}
	return healed, l.change(ctx, healed...)
}

func (b Broken) String() string { return strings.TrimSpace(b.Fault + " " + b.Target) }

// change brings the fabric to what the state wants now. Widths and speeds are in
// ibsim's file, so for those it starts anew; the rest is told to it as it runs.
func (l *lab) change(ctx context.Context, changed ...Broken) error {
	if l.state.Ready.IsZero() || !l.alive() {
		return ErrDead
	}
	if err := l.save(); err != nil {
		return err
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(changed, func(b Broken) bool { return slices.Contains(names, b.Fault) })
	}
	switch {
	case has("narrow-link", "slow-link"):
		users := func(p own.Proc) bool { return named("ibsim", "opensm")(p) || slices.Contains(p.Args, in("console")) } // and what makes counters grow
		if err := l.end(ctx, "ibsim and opensm", users); err != nil {
			return err
		}
		if err := l.startAll(ctx); err != nil {
			return err
		}
		changed = l.state.Broken // a new simulator knows of none
	case has("no-sm", "two-sms"):
		if err := l.restartSMs(ctx); err != nil {
			return err
		}
	}
	for _, b := range changed {
		var err error
		switch on := slices.Contains(l.state.Broken, b); b.Fault {
		case "host-gone":
			err = l.tell(map[bool]string{true: "Unlink", false: "ReLink"}[on] + " " + quoted(b.Target))
		case "errors":
			err = l.count(ctx, b, on)
		}
		if err != nil {
			return err
		}
	}
	return l.settle(ctx, changed)
}

// slow is the rate of every link that is not healthy, by the end that was named.
func (l *lab) slow() map[end]string {
	rates := map[end]string{}
	for _, b := range l.state.Broken {
		rate := map[string]string{"narrow-link": "1xHDR", "slow-link": "4xEDR"}[b.Fault]
		if rate != "" {
			rates[endOf(b.Target)] = rate
		}
	}
	return rates
}

func (l *lab) broken(fault string) bool {
	return slices.ContainsFunc(l.state.Broken, func(b Broken) bool { return b.Fault == fault })
}

// tellLimit is how long ibsim may leave a full console unread. It reads at once.
const tellLimit = 5 * time.Second

// tell writes a line to ibsim's console.
func (l *lab) tell(line string) error {
	f, err := os.OpenFile(l.path("console"), os.O_WRONLY|syscall.O_NONBLOCK, 0) // without a reader it is an error, not a wait
	if err != nil {
		return fmt.Errorf("ibsim does not listen: %w", err)
	}
	defer f.Close()
	f.SetWriteDeadline(time.Now().Add(tellLimit))
	if _, err = f.WriteString(line + "\n"); err != nil {
		return fmt.Errorf("ibsim does not listen: %w", err)
	}
	return nil
}

// count starts or ends a process that makes the counters of a port grow, and
// clears them at the end.
func (l *lab) count(ctx context.Context, b Broken, on bool) error {
	// The first step is large, so that the next look sees it however long ago the
	// last one was. The counters are 16 bits wide and stay full.
	const script = `n=480; while :; do n=$((n+20)); [ $n -le 65535 ] || n=65535; for c in $2; do echo "PerformanceSet $0 PortCounters.$c=$n"; done >>"$1"; sleep 0.5; done`
	at := quoted(b.Target)
	if on {
		_, err := l.run("count.log", "sh", "-c", script, at, in("console"), strings.Join(errorCounters, " "))
		return err
	}
	if err := l.end(ctx, "the growing counters", func(p own.Proc) bool { return slices.Contains(p.Args, at) }); err != nil {
		return err
	}
	for _, c := range errorCounters {
		if err := l.tell("PerformanceSet " + at + " PortCounters." + c + "=0"); err != nil {
			return err
		}
	}
	return nil
}

// errorCounters are what a bad cable makes grow, as ibsim calls them.
var errorCounters = []string{"SymbolErrorCounter", "PortRcvErrors"}

// quoted writes a target as ibsim's console wants it: "leaf001"[21].
func quoted(target string) string {
	e := endOf(target)
	return fmt.Sprintf("%q[%d]", e.name, e.port)
}

// endOf reads a target that aim made: a host has one port.
func endOf(target string) end {
	e, _ := parseEnd(target)
	e.port = max(e.port, 1)
	return e
}
