package ib_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/lab/ib"
)

// Every fault, in a fabric of real tools: weft finds nothing, then exactly the fault,
// then nothing again. In the short part some are at one kind of target only.
func TestRealFaults(t *testing.T) {
	folder := place(t)
	size := "--hosts 2"
	if full() {
		size = "--hosts 3 --sms 2"
	}
	weft(t, 0, strings.Fields("lab ib up "+size)...)
	if wrong := look(t, 0); len(wrong) > 0 {
		t.Fatalf("a healthy fabric has %q", wrong)
	}
	tested := map[string]bool{}
	fmt.Printf("%-12s %-9s %-25s %-26s %6s %6s %6s %6s\n", "fault", "target", "expected", "seen", "break", "look", "heal", "look s")
	for _, tt := range []struct {
		fault, target, want string
		full                bool
	}{
		{fault: "no-sm", want: "fail ib.sm"},
		{fault: "two-sms", want: "fail ib.sm"},
		{fault: "host-gone", target: "node0002", want: "fail port.up node0002"},
		{fault: "narrow-link", target: "node0002", want: "fail port.rate node0002"},
		{fault: "narrow-link", target: "leaf001", want: "fail fabric.switch leaf", full: true},
		{fault: "slow-link", target: "node0002", want: "fail port.rate node0002", full: true},
		{fault: "slow-link", target: "leaf002", want: "fail fabric.switch leaf"},
		{fault: "errors", target: "node0002", want: "fail port.errors node0002"},
		{fault: "errors", target: "leaf001", want: "fail fabric.switch leaf"},
	} {
		if tt.full && !full() {
			continue
		}
		tested[tt.fault] = true
		t.Run(tt.fault+" "+tt.target, func(t *testing.T) { tryFault(t, tt.fault, tt.target, tt.want) })
	}
	for _, f := range ib.Faults {
		if !tested[f.Name] {
			t.Errorf("%s is not tested", f.Name)
		}
	}
	weft(t, 0, "lab", "ib", "down")
	gone(t, folder)
}

// tryFault breaks, looks, heals and looks again. want is how the one finding begins.
func tryFault(t *testing.T, fault, target, want string) {
	clock := time.Now()
	lap := func() float64 { d := time.Since(clock); clock = time.Now(); return d.Seconds() }
	at := strings.Fields(fault + " " + target)
	_, said := weft(t, 0, append([]string{"lab", "ib", "break"}, at...)...)
	broke := lap()
	wrong := look(t, 1)
	looked := lap()
	weft(t, 0, append([]string{"lab", "ib", "heal"}, at...)...)
	healed := lap()
	after := look(t, 0)
	fmt.Printf("%-12s %-9s %-25s %-26s %6.1f %6.1f %6.1f %6.1f\n", fault, target, want, strings.Join(wrong, ", "), broke, looked, healed, lap())
	if len(wrong) != 1 || !strings.HasPrefix(wrong[0], want) {
		t.Errorf("broken: weft says %q, want %q alone", wrong, want)
	}
	if check := strings.Fields(want)[1] + " should fail"; !strings.Contains(said, check) {
		t.Errorf("break says %q, want %q", said, check)
	}
	if len(after) > 0 {
		t.Errorf("healed: weft says %q, want nothing", after)
	}
}
