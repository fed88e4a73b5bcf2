package ib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// smOptions: the log must be written as it happens, and a standby should notice its
// master's end sooner than after 40 s.
const smOptions = "force_log_flush TRUE\nsminfo_polling_timeout 500\nignore_other_sm %s\n"

// startSMs starts the managers that the state wants, and once more when the first
// does not live through the second's arrival: it asks the newcomer, which may not
// listen yet, and waits for ever for the answer, because umad2sim never says that a
// packet timed out. One time in five it is so.
func (l *lab) startSMs(ctx context.Context) error {
	for try := range 10 {
		if err := l.startEachSM(ctx); err != nil {
			return err
		}
		if len(l.managers()) < 2 || l.broken("two-sms") {
			return nil
		}
		joined := func() bool { return bytes.Count(l.tail("sm1.log"), []byte(subnetUp)) >= 2 }
		limit := time.Duration(try+1) * (300*time.Millisecond + time.Duration(l.shape.hosts)*3*time.Millisecond) // a sweep of 1000 hosts takes 1 s
		if err := l.await(ctx, limit, "", job{}, joined); err == nil || ctx.Err() != nil {
			return err
		}
		if err := l.end(ctx, "opensm", named("opensm")); err != nil {
			return err
		}
	}
	return errors.New("opensm: a second one does not join the first, in ten tries")
}

// subnetUp is what opensm logs when it has swept the fabric.
const subnetUp = "SUBNET UP"

// startEachSM starts them one after the other: the first on the first host, the other
// on the last.
func (l *lab) startEachSM(ctx context.Context) error {
	for i, host := range l.managers() {
		name := "sm" + strconv.Itoa(i+1)
		if err := os.MkdirAll(l.path(name), 0o700); err != nil {
			return err
		}
		alone := "FALSE"
		if l.broken("two-sms") {
			alone = "TRUE"
		}
		if err := os.WriteFile(l.path(name+".conf"), fmt.Appendf(nil, smOptions, alone), 0o600); err != nil {
			return err
		}
		log := name + ".log"
		os.Remove(l.path(log))
		argv := append(l.as(host), "OSM_CACHE_DIR="+in(name), "OSM_TMP_DIR="+in(name), find("opensm"), "-F", in(name+".conf"), "-f", in(log))
		sm, err := l.run(name+".out", argv...)
		if err != nil {
			return err
		}
		err = l.await(ctx, smLimit, "opensm on "+host, sm, func() bool {
			return l.said(log, subnetUp) || l.said(log, "Entering STANDBY state")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restartSMs ends the managers and starts those that the state wants.
func (l *lab) restartSMs(ctx context.Context) error {
	if err := l.end(ctx, "opensm", named("opensm")); err != nil {
		return err
	}
	return l.startSMs(ctx)
}

// managers are the hosts where opensm runs.
func (l *lab) managers() []string {
	first, last := hostName(0), hostName(l.shape.hosts-1)
	switch {
	case l.broken("no-sm"):
		return nil
	case l.state.SMs == 2 || l.broken("two-sms"):
		return []string{first, last}
	}
	return []string{first}
}
