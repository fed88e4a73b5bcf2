package check

import (
	"strings"
	"testing"

	"weft/internal/format"
)

// shellOf returns the words of the shell line that a reader runs under a name.
func shellOf(t *testing.T, run string) string {
	t.Helper()
	for _, r := range format.Readers {
		for _, c := range r.Cmds {
			if c.Run == run {
				return " " + c.Sh + " "
			}
		}
	}
	t.Fatalf("no reader runs %q", run)
	return ""
}

// What a check looks for, a reader asks for: else it is missing everywhere.
func TestPackagesAreAskedFor(t *testing.T) {
	asked := shellOf(t, "packages")
	for _, p := range packagesNeeded {
		for _, name := range []string{p.deb, p.rpm, p.or} {
			if name != "" && !strings.Contains(asked, " "+name+" ") {
				t.Errorf("nobody asks for the package %s", name)
			}
		}
	}
}

// A service that is enabled and has not run yet is in no list of loaded units.
func TestMemlockServicesAreAskedFor(t *testing.T) {
	if !strings.Contains(shellOf(t, "systemctl show units"), "systemctl list-unit-files --no-legend 'ray*.service' 'vllm*.service' ") {
		t.Error("services that are only enabled are not asked for")
	}
	asked := shellOf(t, "systemctl show units")
	for _, unit := range []string{"docker.service", "containerd.service", "podman.service", "slurmd.service", "'ray*.service'", "'vllm*.service'"} {
		if !strings.Contains(asked, " "+unit+" ") {
			t.Errorf("nobody asks for %s", unit)
		}
		if name := strings.NewReplacer("'", "", "*", "-head").Replace(unit); !memlockStarts(name) {
			t.Errorf("node.memlock does not judge %s", name)
		}
	}
}
