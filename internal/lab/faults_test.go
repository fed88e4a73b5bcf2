package lab

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
)

func TestFaultsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults {
		if f.Name == "" || f.Name != strings.ToLower(f.Name) || strings.ContainsAny(f.Name, " \t\n_") {
			t.Errorf("%q: want a name of lower-case words and dashes", f.Name)
		}
		if seen[f.Name] {
			t.Errorf("%s is there twice", f.Name)
		}
		seen[f.Name] = true
		if f.What == "" || strings.ContainsAny(f.What, "\n\t") || strings.HasSuffix(f.What, ".") {
			t.Errorf("%s: what it does is %q, want one line without a full stop", f.Name, f.What)
		}
		if !slices.ContainsFunc(check.All, func(c check.Check) bool { return c.ID == f.Check }) {
			t.Errorf("%s: no check is called %q", f.Name, f.Check)
		}
		if f.Says != check.Fail.String() && f.Says != check.Warn.String() {
			t.Errorf("%s: says %q, want fail or warn", f.Name, f.Says)
		}
		scripts := f.Break != "" && f.Heal != ""
		none := f.Break == "" && f.Heal == ""
		if !(scripts && f.act == nil || none && f.act != nil) {
			t.Errorf("%s: want scripts that break and heal, or an act", f.Name)
		}
	}
}

// TestScriptsAreShell has sh read every script as it would run.
func TestScriptsAreShell(t *testing.T) {
	scripts := map[string]string{"settle": settle}
	for _, f := range Faults {
		if f.act == nil {
			scripts["break "+f.Name], scripts["heal "+f.Name] = f.Break, f.Heal
		}
	}
	files, err := filepath.Glob("guest/*.sh")
	if err != nil || len(files) != 3 {
		t.Fatalf("guest has %d scripts, %v, want 3", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts[file] = string(b)
	}
	// One sh for all: each script is a word, read and not run.
	var all strings.Builder
	for name, s := range scripts {
		fmt.Fprintf(&all, "sh -n -c %s || echo %s\n", quote(s), quote(name))
	}
	cmd := osexec.Command("sh")
	cmd.Stdin = strings.NewReader(all.String())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("sh does not read: %s%v", out, err)
	}
}

func TestFaultNamed(t *testing.T) {
	f, err := FaultNamed("mtu-path")
	if err != nil || f.Check != "roce.mtu.path" || f.Says != "fail" {
		t.Errorf("%+v, %v, want the fault mtu-path", f, err)
	}
	_, err = FaultNamed("mtu-")
	var e *Error
	if !errors.As(err, &e) || e.What != `no fault is called "mtu-"` || e.Next != "weft lab faults" {
		t.Errorf("%v, want what is not there and weft lab faults", err)
	}
}

// TestBreakAndHeal keeps the books: what was made is written down before it is
// made, and struck out when it is healed.
func TestBreakAndHeal(t *testing.T) {
	a := fakeAgent{status: []string{exited(`"exitcode": 0`, "", "")}}
	l := a.lab(t)
	s := State{Net: "netplan", MTU: 4200, Rails: 1, Nodes: []Node{{Name: "node1", ID: 1}, {Name: "node2", ID: 2}}, Faults: []Broken{{"off", "node2"}}}
	if err := l.save(s); err != nil {
		t.Fatal(err)
	}
	refused := func(err error, what, next string) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.What != what || e.Next != next {
			t.Errorf("%v, want %s and %s", err, what, next)
		}
	}
	broken := func(want ...Broken) {
		t.Helper()
		if s, err := l.State(); err != nil || !slices.Equal(s.Faults, want) {
			t.Errorf("broken are %v, %v, want %v", s.Faults, err, want)
		}
	}
	_, err := l.Heal(t.Context(), "mtu", "node1")
	refused(err, "mtu is not broken on node1", "weft lab status")
	_, err = l.Break(t.Context(), "mtu", "node3")
	refused(err, `no machine of the lab is called "node3": there are node1, node2`, "weft lab status")
	_, err = l.Break(t.Context(), "mut", "node1")
	refused(err, `no fault is called "mut"`, "weft lab faults")
	broken(Broken{"off", "node2"})

	if f, err := l.Break(t.Context(), "mtu", "node1"); err != nil || f.Name != "mtu" {
		t.Errorf("break: %s, %v", f.Name, err)
	}
	broken(Broken{"off", "node2"}, Broken{"mtu", "node1"})
	_, err = l.Break(t.Context(), "mtu", "node1")
	refused(err, "mtu is broken on node1 already", "weft lab heal mtu node1")

	if f, err := l.Heal(t.Context(), "mtu", "node1"); err != nil || f.Name != "mtu" {
		t.Errorf("heal: %s, %v", f.Name, err)
	}
	broken(Broken{"off", "node2"})
	var ran []string
	for _, r := range a.asked {
		ran = append(ran, r.Arguments["arg"].([]any)[1].(string))
	}
	const head = "set -eu\nid=1 other=2 mtu=4200 net=netplan\n"
	if want := []string{head + "ip link set rail0 mtu 1500", head + "ip link set rail0 mtu $mtu"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}

	a.status = []string{exited(`"exitcode": 2`, "", "no device")}
	if _, err := l.Break(t.Context(), "loss", "node1"); err == nil || err.Error() != "loss on node1: a script inside ended with status 2: no device" {
		t.Errorf("a script that does not work: %v", err)
	}
	broken(Broken{"off", "node2"}, Broken{"loss", "node1"})
}
