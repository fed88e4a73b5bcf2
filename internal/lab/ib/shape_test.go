package ib

import (
	"strings"
	"testing"
)

func TestShapeOf(t *testing.T) {
	for hosts, want := range map[int]shape{
		2:    {hosts: 2, perLeaf: 1, leaves: 2, uplinks: 1, radix: 40},
		8:    {hosts: 8, perLeaf: 4, leaves: 2, uplinks: 4, radix: 40},
		40:   {hosts: 40, perLeaf: 20, leaves: 2, uplinks: 20, radix: 40},
		100:  {hosts: 100, perLeaf: 20, leaves: 5, spines: 4, uplinks: 5, radix: 40},
		200:  {hosts: 200, perLeaf: 20, leaves: 10, spines: 5, uplinks: 4, radix: 40},
		1000: {hosts: 1000, perLeaf: 32, leaves: 32, spines: 16, uplinks: 2, radix: 64},
		2000: {hosts: 2000, perLeaf: 32, leaves: 63, spines: 32, uplinks: 1, radix: 64},
	} {
		if got, err := shapeOf(hosts); err != nil || got != want {
			t.Errorf("%d hosts: %+v, %v, want %+v", hosts, got, err, want)
		}
	}
	for _, hosts := range []int{-1, 0, 1, 2001} {
		if _, err := shapeOf(hosts); err == nil {
			t.Errorf("%d hosts were taken", hosts)
		}
	}
}

// Every fabric is one that could be cabled: a port holds one cable, a switch has as
// many ports as it has, no leaf has fewer links up than hosts, every switch is joined.
func TestEveryFabricCanBeBuilt(t *testing.T) {
	for hosts := MinHosts; hosts <= MaxHosts; hosts += 1 + hosts/100 {
		s, err := shapeOf(hosts)
		if err != nil {
			t.Fatal(err)
		}
		cables := s.cables()
		if len(cables) != s.links() {
			t.Fatalf("%d hosts: %d cables, want %d", hosts, len(cables), s.links())
		}
		used := map[end]bool{}
		down, up := map[string]int{}, map[string]int{}
		for i, c := range cables {
			for _, e := range []end{c.a, c.b} {
				if used[e] || e.port < 1 || e.port > s.radix {
					t.Fatalf("%d hosts: port %v is used twice or is none", hosts, e)
				}
				used[e] = true
			}
			if i < hosts {
				down[c.b.name]++
				continue
			}
			up[c.a.name]++
			up[c.b.name]++
		}
		if len(up) != s.switches() {
			t.Fatalf("%d hosts: %d of %d switches are joined", hosts, len(up), s.switches())
		}
		for leaf, n := range down {
			if up[leaf] < n {
				t.Fatalf("%d hosts: %s has %d hosts and %d uplinks", hosts, leaf, n, up[leaf])
			}
		}
	}
}

func TestNetText(t *testing.T) {
	s, err := shapeOf(2)
	if err != nil {
		t.Fatal(err)
	}
	got := netText(s, map[end]string{{"node0002", 1}: "1xHDR", {"leaf001", 2}: "4xEDR"})
	want := `Switch	40 "leaf001"		# "leaf001"
[1]	"node0001"[1]		# "node0001" lid 0 4xHDR
[2]	"leaf002"[2]		# "leaf002" lid 0 4xEDR

Switch	40 "leaf002"		# "leaf002"
[1]	"node0002"[1]		# "node0002" lid 0 1xHDR
[2]	"leaf001"[2]		# "leaf001" lid 0 4xEDR

Hca	1 "node0001"		# "node0001"
[1]	"leaf001"[1]		# "leaf001" lid 0 4xHDR

Hca	1 "node0002"		# "node0002"
[1]	"leaf002"[1]		# "leaf002" lid 0 1xHDR

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAim(t *testing.T) {
	s, err := shapeOf(200)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{shape: s}
	for _, tt := range []struct {
		fault, target string
		want          Broken
		err           string
	}{
		{"no-sm", "", Broken{"no-sm", "", "ib.sm"}, ""},
		{"no-sm", "node0001", Broken{}, "takes no target"},
		{"nonsense", "", Broken{}, "no such fault"},
		{"narrow-link", "", Broken{"narrow-link", "node0002", "port.rate"}, ""},
		{"narrow-link", "node0001", Broken{"narrow-link", "node0001", "port.rate"}, ""},
		{"narrow-link", "node0200", Broken{"narrow-link", "node0200", "fabric.switch"}, ""},
		{"narrow-link", "leaf003", Broken{"narrow-link", "leaf003/21", "fabric.switch"}, ""},
		{"narrow-link", "leaf003/40", Broken{"narrow-link", "leaf003/40", "fabric.switch"}, ""},
		{"narrow-link", "spine005", Broken{"narrow-link", "spine005/1", "fabric.switch"}, ""},
		{"narrow-link", "leaf001/2", Broken{"narrow-link", "node0002", "port.rate"}, ""},
		{"narrow-link", "leaf001/41", Broken{}, "no host, switch or cabled port"},
		{"narrow-link", "node0201", Broken{}, "no host, switch or cabled port"},
		{"narrow-link", "node0001/2", Broken{}, "no host, switch or cabled port"},
		{"narrow-link", "leaf001/x", Broken{}, "is no port"},
		{"host-gone", "leaf001", Broken{}, "leaf001 is a switch"},
		{"host-gone", "node0150", Broken{"host-gone", "node0150", ""}, ""},
		{"errors", "node0002", Broken{"errors", "node0002", "port.errors"}, ""},
	} {
		got, err := l.aim(tt.fault, tt.target)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s %s: %+v, %v, want %+v, %q", tt.fault, tt.target, got, err, tt.want, tt.err)
		}
	}
}

// Targets are words of a person that go to ibsim's console: none may end a line or a
// quoted name there.
func FuzzAim(f *testing.F) {
	s, err := shapeOf(8)
	if err != nil {
		f.Fatal(err)
	}
	l := &lab{shape: s}
	for _, target := range []string{"", "node0001", "leaf001", "leaf001/5", "leaf001/-1", "node0001\"[1]\nQuit", "/"} {
		f.Add("narrow-link", target)
	}
	f.Fuzz(func(t *testing.T, fault, target string) {
		b, err := l.aim(fault, target)
		if err != nil || b.Target == "" {
			return
		}
		if again, err := l.aim(fault, b.Target); err != nil || again != b {
			t.Errorf("%q gives %+v, and that gives %+v, %v", target, b, again, err)
		}
		if q := quoted(b.Target); strings.Count(q, `"`) != 2 || strings.ContainsAny(q, "\n\\ ") {
			t.Errorf("%q is told as %s", target, q)
		}
	})
}

// A state is a file that anybody may have touched.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"hosts": 8, "sms": 1, "broken": [{"fault": "narrow-link", "target": "leaf001/5"}]}`))
	f.Add([]byte(`{"hosts": 1000000000}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := &lab{folder: "/tmp/x"}
		if l.read(b) != nil {
			return
		}
		netText(l.shape, l.slow())
		l.managers()
		l.specText()
	})
}
