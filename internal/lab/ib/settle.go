package ib

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settleLimit bounds the wait for a host that was plugged in again. opensm sweeps
// when a switch tells it so and needs some ms. But it stops listening to a switch that
// told it ten times in five minutes, so it is asked to sweep (SIGHUP) after askAfter.
// And it waits for ever for an answer that a pulled cable swallowed (a kernel would
// say that it timed out; umad2sim does not), so after stuckAfter it is started anew.
const (
	settleLimit = 30 * time.Second
	askAfter    = 300 * time.Millisecond
	stuckAfter  = 3 * time.Second
)

// settle waits until the hosts that were plugged in again are ACTIVE.
func (l *lab) settle(ctx context.Context, changed []Broken) error {
	if l.broken("no-sm") {
		return nil
	}
	for _, b := range changed {
		if b.Fault == "host-gone" && !slices.Contains(l.state.Broken, b) {
			if err := l.comeBack(ctx, b.Target); err != nil {
				return err
			}
		}
	}
	return l.quiet(ctx)
}

// comeBack waits until a host is ACTIVE and does what helps.
func (l *lab) comeBack(ctx context.Context, host string) error {
	argv := append(append(l.enter(), l.as(host)...), "ibstat")
	began, asked, trouble := time.Now(), false, error(nil)
	err := l.await(ctx, settleLimit, host+" ACTIVE again", job{log: "sm1.log"}, func() bool {
		switch since := time.Since(began); {
		case since > stuckAfter:
			trouble = l.restartSMs(ctx)
			began, asked = time.Now(), false
		case since > askAfter && !asked:
			_, trouble = l.signal(syscall.SIGHUP, named("opensm"))
			asked = true
		}
		out, err := l.output(ctx, argv...)
		return trouble != nil || err == nil && strings.Contains(out, "State: Active")
	})
	return errors.Join(err, trouble)
}

// quietTime is how long the managers say nothing when they have nothing to do; a
// sweep of 200 hosts takes 0.1 s. quietLimit is when to go on all the same.
const (
	quietTime  = 200 * time.Millisecond
	quietLimit = 5 * time.Second
)

// quiet waits until the managers have done what they were told of, so that the next
// fault does not pull a cable in the middle of it.
func (l *lab) quiet(ctx context.Context) error {
	began, since, size := time.Now(), time.Now(), int64(-1)
	return l.await(ctx, 2*quietLimit, "quiet", job{}, func() bool {
		if now := l.logged(); now != size {
			size, since = now, time.Now()
		}
		return time.Since(since) > quietTime || time.Since(began) > quietLimit
	})
}

// logged is how much the managers have said.
func (l *lab) logged() (size int64) {
	logs, _ := filepath.Glob(l.path("sm*.log"))
	for _, log := range logs {
		if info, err := os.Stat(log); err == nil {
			size += info.Size()
		}
	}
	return size
}
