package intent

import (
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
	"weft/internal/spec"
)

// caseOf reads a sample cluster as weft init would: without its weft.yaml.
func caseOf(c *sample.Cluster) *check.Case {
	return &check.Case{Cluster: format.Facts(c.Dump())}
}

func drafted(t *testing.T, c *check.Case, ssh map[string]string) (string, spec.Spec) {
	t.Helper()
	text, err := Draft(c, Wish{}, ssh, "", "2026-11-15")
	if err != nil {
		t.Fatal(err)
	}
	want, err := spec.Parse([]byte(text))
	if err != nil {
		t.Fatalf("the draft is wrong: %v\n%s", err, text)
	}
	return text, want
}

func TestDraftNamesWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		cluster *sample.Cluster
		layer   string
	}{
		"RoCE":       {sample.RoCE("gpu", 3), "roce"},
		"InfiniBand": {sample.InfiniBand("lab", 3), "infiniband"},
		"Spark":      {sample.Sparks("spark"), "roce"},
	} {
		k := caseOf(c.cluster)
		_, want := drafted(t, k, map[string]string{})
		if want.Data.Layer != c.layer || len(want.Nodes) != len(k.Nodes) {
			t.Errorf("%s: layer %q, %d nodes", name, want.Data.Layer, len(want.Nodes))
		}
		for i, n := range want.Nodes {
			if len(n.Data) == 0 || len(n.Data) != len(k.Data(k.Nodes[i])) {
				t.Errorf("%s: %s has data ports %+v", name, n.Name, n.Data)
			}
			for _, p := range n.Data {
				if p.Address == "" {
					t.Errorf("%s: %s %s has no address", name, n.Name, p.Port)
				}
			}
		}
		// A healthy cluster is still healthy when judged by its own draft.
		for _, f := range check.Run(check.All, &check.Case{Cluster: k.Cluster, Want: want}) {
			if f.Status == check.Fail {
				t.Errorf("%s: its own draft fails it: %s %v %s", name, f.Check, f.Subject, f.Got)
			}
		}
	}
}

func TestDraftOfWhatDidNotAnswer(t *testing.T) {
	c := &check.Case{Cluster: fact.Cluster{Nodes: []*fact.Node{{Name: "a"}, {Name: "b", Down: "b: refused\x1b[31m\nssh b"}}}}
	text, want := drafted(t, c, map[string]string{"a": "me@a", "b": "b"})
	if want.Node("a").SSH != "me@a" || want.Node("b").SSH != "" || strings.ContainsAny(text, "\x1b") {
		t.Errorf("got\n%s", text)
	}
	for _, part := range []string{"# not reached: b: refused", "# no RDMA port in use", "name: cluster"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestDraftNamesTheSSHConfiguration(t *testing.T) {
	c := &check.Case{Cluster: fact.Cluster{Nodes: []*fact.Node{{Name: "a"}}}}
	for _, path := range []string{"ssh.conf", "../my lab/ssh: \"x\".conf", "/etc/a#b\\c", "true", "5"} {
		text, err := Draft(c, Wish{}, nil, path, "2026-11-15")
		if err != nil {
			t.Fatal(err)
		}
		want, err := spec.Parse([]byte(text))
		if err != nil || want.SSHConfig != path {
			t.Errorf("%q is read as %q, %v", path, want.SSHConfig, err)
		}
	}
	if text, err := Draft(c, Wish{}, nil, "", "2026-11-15"); err != nil || strings.Contains(text, "ssh_config") {
		t.Errorf("nothing was given, yet\n%s", text)
	}
}

func TestName(t *testing.T) {
	for want, names := range map[string][]string{"spark": {"spark1", "spark2"}, "cluster": {"a", "b"}, "gpu": {"gpu-01", "gpu-02"}, "ws": {"ws"}} {
		c := &check.Case{}
		for _, n := range names {
			c.Nodes = append(c.Nodes, &fact.Node{Name: n})
		}
		if got := name(c); got != want {
			t.Errorf("%q are called %q, want %q", names, got, want)
		}
	}
}

func TestNodeNames(t *testing.T) {
	c := &check.Case{}
	ssh := map[string]string{}
	for _, n := range []string{"00", "0", "1e3", "10.0.0.1", "true", "gpu-01", "a.b", "0x1f", "-"} {
		c.Nodes = append(c.Nodes, &fact.Node{Name: n})
		ssh[n] = "me@" + n
	}
	ssh["a.b"] = "root@[fe80::1]"
	_, want := drafted(t, c, ssh)
	for i, n := range want.Nodes {
		if n.Name != c.Nodes[i].Name || n.SSH != ssh[n.Name] {
			t.Errorf("%q by %q is read as %q by %q", c.Nodes[i].Name, ssh[c.Nodes[i].Name], n.Name, n.SSH)
		}
	}
}
