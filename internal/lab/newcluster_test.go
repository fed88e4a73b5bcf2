package lab_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// bare takes everything from the rails that somebody would have to set up.
const bare = `set -e
rm -f /etc/systemd/network/20-rail0.network; networkctl reload; sleep 1
ip addr flush dev rail0 scope global; ip link set rail0 mtu 1500
sed -i 's/unlimited/64/' /etc/security/limits.d/rdma.conf; pkill -u lab sshd || true`

// TestRealNewCluster sets machines up whose data ports have nothing: init, plan, apply.
func TestRealNewCluster(t *testing.T) {
	l := place(t, true)
	s := up(t)
	const has = "ls -R /etc/systemd/network; ip -4 -o addr show dev rail0"
	before := map[string]string{}
	for _, n := range s.Nodes {
		inside(t, l, n.Name, bare)
		before[n.Name] = inside(t, l, n.Name, has)
	}
	config := ""
	b, err := os.ReadFile("weft.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "ssh_config:"); ok {
			config = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	if err := os.Remove("weft.yaml"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	must(t, 0, "init", s.Nodes[0].Name, s.Nodes[1].Name, "--ssh-config", config, "--subnet", "10.20.0.0/24", "--mtu", "9000", "--switch", "plain")
	must(t, 0, "plan")
	applied := must(t, 0, "apply", "--yes")
	fmt.Printf("a new cluster of %d machines, from bare ports: %.0f s\n", len(s.Nodes), time.Since(start).Seconds())
	if left := look(t); len(left) > 0 {
		t.Errorf("after the apply: %v\n%s", left, applied)
	}
	// It is still so after the power was gone.
	for _, n := range s.Nodes {
		weft(t, "lab", "break", "off", n.Name)
		weft(t, "lab", "heal", "off", n.Name)
	}
	healthy(t, "after a boot")
	must(t, 0, "undo", "--yes")
	for _, n := range s.Nodes {
		if left := inside(t, l, n.Name, has); left != before[n.Name] {
			t.Errorf("after the undo %s has:\n%s\nbefore:\n%s", n.Name, left, before[n.Name])
		}
	}
}
