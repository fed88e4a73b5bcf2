package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rxe-pair dumps are recordings of two virtual machines that were up for this:
// Debian 12, kernel 6.1, Soft-RoCE on a virtio NIC with MTU 9000, nothing to set
// the clock by. rxe-pair.yaml is what weft init wrote for them. In the second, vm2's
// data port had been given MTU 1500.
const rxePair = "testdata/recorded/rxe-pair"

// unhappy lists every finding that is neither pass nor skip: "status check subject".
func unhappy(t *testing.T, dump string) (code int, list []string) {
	t.Helper()
	code, out, errOut := weft(t, "check", "-F", dump, "-c", rxePair+".yaml", "--json")
	var doc struct {
		Findings []struct {
			Status, Check string
			Subject       struct{ Node, Part string }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || errOut != "" {
		t.Fatalf("%v\n%s%s", err, out, errOut)
	}
	for _, f := range doc.Findings {
		if f.Status != "pass" && f.Status != "skip" {
			list = append(list, strings.TrimSpace(strings.Join([]string{f.Status, f.Check, f.Subject.Node, f.Subject.Part}, " ")))
		}
	}
	slices.Sort(list)
	return code, list
}

func TestRecordedRxePair(t *testing.T) {
	for _, x := range []struct {
		dump string
		code int
		want []string
	}{
		{rxePair + ".dump", exitYes, []string{"warn node.clock vm1", "warn node.clock vm2"}},
		{rxePair + "-mtu1500.dump", exitNo, []string{"fail roce.mtu vm2 rxe0/1", "warn node.clock vm1", "warn node.clock vm2"}},
	} {
		code, got := unhappy(t, x.dump)
		if d := cmp.Diff(x.want, got); d != "" || code != x.code {
			t.Errorf("%s: exit %d, want %d; -want +got:\n%s", x.dump, code, x.code, d)
		}
	}
}

func TestRecordedRxePairShown(t *testing.T) {
	for _, x := range []struct{ view, want string }{
		{"ports", "vm2   rxe0/1  rxe     Ethernet  ACTIVE LinkUp  100 Gb/s  enp0s4  9000  10.10.0.2/24  index 1"},
		{"links", "10.10.0.0/24  vm1   rxe0/1  100 Gb/s  enp0s4"},
		{"topo", "└─ 0000:00:04.0  rxe0/1 enp0s4"},
	} {
		if code, out, _ := weft(t, "show", x.view, "-F", rxePair+".dump"); code != exitYes || !strings.Contains(out, x.want) {
			t.Errorf("show %s: exit %d, no %q in\n%s", x.view, code, x.want, out)
		}
	}
	if code, out, _ := weft(t, "diff", rxePair+".dump", rxePair+"-mtu1500.dump"); code != exitNo || !strings.Contains(out, "netdevs/enp0s4/mtu") || !strings.Contains(out, "9000 → 1500") {
		t.Errorf("diff: exit %d\n%s", code, out)
	}
}
