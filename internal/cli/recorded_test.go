package cli

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/check"
	"weft/internal/demo"
	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/spec"
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

// A node that is powered off, frozen or booting is one failure: no other node is
// blamed for not reaching it.
func TestDeadNodeIsOneFailure(t *testing.T) {
	text, err := os.ReadFile(rxePair + ".dump")
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := os.ReadFile(rxePair + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := spec.Parse(yaml)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dump.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d.Nodes[1] = dump.NewNode("vm2")
	d.Nodes[1].Gap[format.Reach] = "vm2: no way to 10.0.2.16 port 22\nping -c 3 10.0.2.16"
	for key := range d.Nodes[0].Text { // what vm1 says of a peer that is gone
		if strings.HasPrefix(key, "$ ping ") {
			d.Nodes[0].Text[key] = "2 packets transmitted, 0 received, 100% packet loss, time 1001ms\n"
		}
	}
	var got []string
	for _, f := range check.Run(check.All, &check.Case{Cluster: format.Facts(d), Want: want}) {
		if f.Status != check.Pass && f.Status != check.Skip {
			got = append(got, f.Status.String()+" "+f.Check+" "+f.Subject.String())
		}
	}
	if diff := cmp.Diff([]string{"fail node.read vm2", "warn node.clock vm1"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A node whose connection breaks half-way says nothing about what it had not told
// yet: whatever fails then also fails when it has told all. The answers of each
// node are cut after every step of the script that asks for them.
func TestCutOffNodeIsNotBlamed(t *testing.T) {
	text, err := os.ReadFile(rxePair + ".dump")
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := os.ReadFile(rxePair + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("rxe-pair", func(t *testing.T) { cutOff(t, text, yaml) })
	for _, c := range demo.All() {
		t.Run(c.Name, func(t *testing.T) { cutOff(t, c.Dump(), c.Spec()) })
	}
}

func cutOff(t *testing.T, text, yaml []byte) {
	want, err := spec.Parse(yaml)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := dump.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	judged := func(d *dump.Dump, with check.Status) map[string]string {
		list := map[string]string{}
		for _, f := range check.Run(check.All, &check.Case{Cluster: format.Facts(d), Want: want}) {
			if f.Status == with {
				list[f.Check+" "+f.Subject.Node] = f.Got
			}
		}
		return list
	}
	all := judged(whole, check.Fail)
	for i, told := range whole.Nodes {
		cut := dump.NewNode(told.Name)
		cut.Text[format.DateKey] = told.Text[format.DateKey]
		cut.Text["/weft/peers"] = told.Text["/weft/peers"]
		cut.Gap[format.CutKey] = "cut short: connection cut off: cat: /sys/class/net/lo/speed: Invalid argument"
		some := &dump.Dump{Nodes: slices.Clone(whole.Nodes)}
		some.Nodes[i] = cut
		for _, keys := range scriptSteps(told, format.For(want, told.Name)) {
			for _, key := range keys {
				if target, ok := told.Link[key]; ok {
					cut.Link[key] = target
				} else {
					cut.Text[key] = told.Text[key]
				}
			}
			if _, ok := judged(some, check.Unknown)["node.read "+told.Name]; !ok {
				t.Errorf("%s cut off after %q: node.read does not say so", told.Name, keys[len(keys)-1])
			}
			for id, got := range judged(some, check.Fail) {
				if _, ok := all[id]; !ok {
					t.Errorf("%s cut off after %d answers, the last %q: %s fails: %s", told.Name, len(cut.Text)+len(cut.Link), keys[len(keys)-1], id, got)
				}
			}
		}
	}
}

// scriptSteps returns what a node told in the frames of the script, which arrive
// whole or not at all: its clock, all links, all files, and each command.
func scriptSteps(told *dump.Node, readers []format.Reader) [][]string {
	keys := slices.Sorted(maps.Keys(told.Text))
	steps := [][]string{{format.DateKey}, append(slices.Sorted(maps.Keys(told.Link)), format.DateKey)}
	add := func(mine func(key string) bool) {
		if step := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !mine(key) }); len(step) > 0 {
			steps = append(steps, step)
		}
	}
	add(func(key string) bool { return strings.HasPrefix(key, "/") })
	for _, r := range readers {
		for _, c := range r.Cmds {
			before, after, _ := strings.Cut("$ "+c.Run, "{}")
			add(func(key string) bool {
				return strings.HasPrefix(key, before) && strings.HasSuffix(key, after) && (key == before || c.For != "")
			})
		}
	}
	return steps
}
