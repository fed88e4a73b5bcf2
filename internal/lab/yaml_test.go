package lab

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"weft/internal/spec"
)

// madeLab is a lab as up leaves it, without machines: two nodes, two rails, a
// weft.yaml elsewhere, and something cached.
func madeLab(t *testing.T) (Lab, State) {
	t.Helper()
	l := Lab{Dir: t.TempDir()}
	s := State{Profile: "spark2", Net: "netplan", Rails: 2, MTU: 4200, Accel: "tcg", WeftYAML: filepath.Join(t.TempDir(), "weft.yaml"),
		Nodes: []Node{{Name: "spark1", ID: 1, Port: 40001}, {Name: "spark2", ID: 2, Port: 40002}}}
	put(t, l.image("netplan", "disk"), "cached")
	put(t, l.run("spark1.disk"), "a disk")
	if err := errors.Join(l.save(s), l.writeYAML(s)); err != nil {
		t.Fatal(err)
	}
	return l, s
}

// put writes a file and the folders above it.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestWriteYAML(t *testing.T) {
	l, s := madeLab(t)
	b, err := os.ReadFile(s.WeftYAML)
	if err != nil {
		t.Fatal(err)
	}
	got, err := spec.Parse(b)
	if err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	want := spec.Spec{
		Name:      "lab",
		SSHConfig: l.run("ssh_config"),
		Data:      spec.Data{Layer: "roce", MTU: 4200, Switch: "plain"},
		Nodes: []spec.Node{
			{Name: "spark1", Data: []spec.DataPort{{Port: "rdma0/1", Netdev: "rail0", Address: "10.20.0.1/24"}, {Port: "rdma1/1", Netdev: "rail1", Address: "10.20.1.1/24"}}},
			{Name: "spark2", Data: []spec.DataPort{{Port: "rdma0/1", Netdev: "rail0", Address: "10.20.0.2/24"}, {Port: "rdma1/1", Netdev: "rail1", Address: "10.20.1.2/24"}}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWriteYAMLKeepsWhatIsThere(t *testing.T) {
	l, s := madeLab(t)
	put(t, s.WeftYAML, "mine")
	if err := l.writeYAML(s); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v, want that it exists", err)
	}
	if b, err := os.ReadFile(s.WeftYAML); string(b) != "mine" {
		t.Errorf("%q, %v, want mine", b, err)
	}
}

func TestYAMLChanged(t *testing.T) {
	for name, c := range map[string]struct {
		do      func(l Lab, s State)
		changed bool
	}{
		"as it was written": {func(Lab, State) {}, false},
		"edited":            {func(_ Lab, s State) { put(t, s.WeftYAML, "name: mine\n") }, true},
		"emptied":           {func(_ Lab, s State) { put(t, s.WeftYAML, "") }, true},
		"removed":           {func(_ Lab, s State) { os.Remove(s.WeftYAML) }, false},
		"not ours":          {func(l Lab, _ State) { os.Remove(l.run("weft.yaml")) }, true},
		"no lab":            {func(l Lab, s State) { put(t, s.WeftYAML, "mine"); os.RemoveAll(l.run()) }, false},
	} {
		l, s := madeLab(t)
		c.do(l, s)
		want := ""
		if c.changed {
			want = s.WeftYAML
		}
		if got := l.yamlChanged(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
