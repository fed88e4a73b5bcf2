package cli

import (
	"os"
	"strings"
	"testing"
)

// TestInitWithWishesOverSSH asks real hosts over real ssh for what should be.
func TestInitWithWishesOverSSH(t *testing.T) {
	conf := sshd(t)
	t.Chdir(t.TempDir())
	code, _, errOut := weft(t, "init", "--ssh-config", conf, "n1", "--layer", "roce", "--mtu", "9000", "--purpose", "inference", "--switch", "plain")
	if code != exitYes || !strings.HasSuffix(errOut, "next:\n          weft plan\n") {
		t.Fatalf("exit %d\n%s", code, errOut)
	}
	text, err := os.ReadFile("weft.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\npurpose: inference\n", "\n  layer: roce ", "\n  mtu: 9000 ", "\n  switch: plain ", "- name: n1\n", "ssh_config: "} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	if code, out, errOut := weft(t, "check", "node.read", "--all"); code == exitTrouble {
		t.Errorf("check does not read what init wrote: exit %d\n%s%s", code, out, errOut)
	}
}

// TestInitRefusesOverSSH: a port that no host has is refused after a look at them, and
// nothing is written.
func TestInitRefusesOverSSH(t *testing.T) {
	conf := sshd(t)
	t.Chdir(t.TempDir())
	code, _, errOut := weft(t, "init", "--ssh-config", conf, "n[1-2]", "--port", "no_such_device/1", "--subnet", "192.168.200.0/24")
	if code != exitTrouble || !strings.Contains(errOut, "no node has it") || !strings.Contains(errOut, "next:\n          weft ") {
		t.Errorf("exit %d\n%s", code, errOut)
	}
	if _, err := os.Stat("weft.yaml"); err == nil {
		t.Error("weft.yaml was written")
	}
}
