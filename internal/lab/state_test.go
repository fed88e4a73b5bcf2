package lab

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestLockIsOne(t *testing.T) {
	l, other := Lab{Dir: filepath.Join(t.TempDir(), "new", "lab")}, Lab{Dir: t.TempDir()}
	first, err := l.lock()
	if err != nil {
		t.Fatal(err)
	}
	want := "another weft is at work on the lab in " + l.Dir
	refused := func(what string, err error) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.What != want || e.Next != "weft lab status" {
			t.Errorf("%s: %v, want %s and weft lab status", what, err, want)
		}
	}
	_, err = l.lock()
	refused("a second lock", err)
	_, _, err = l.Down(true)
	refused("down", err)
	_, err = l.Break(t.Context(), "mtu", "node1")
	refused("break", err)
	_, err = l.Heal(t.Context(), "mtu", "node1")
	refused("heal", err)

	elsewhere, err := other.lock()
	if err != nil {
		t.Errorf("another lab: %v", err)
	}
	elsewhere.Close()
	first.Close()
	again, err := l.lock()
	if err != nil {
		t.Errorf("when the first is done: %v", err)
	}
	again.Close()
	if info, err := os.Stat(l.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v, want it for its owner alone", info.Mode(), err)
	}
}

func TestStateIsWrittenDown(t *testing.T) {
	l := Lab{Dir: t.TempDir()}
	if _, err := l.State(); err != errDown {
		t.Errorf("%v, want %v", err, errDown)
	}
	if err := os.Mkdir(l.run(), 0o700); err != nil {
		t.Fatal(err)
	}
	want := State{Profile: "pair", Net: "networkd", Rails: 1, MTU: 9000, Accel: "tcg", Started: time.Date(2027, 1, 2, 3, 4, 5, 6, time.UTC), Ready: 5.25,
		WeftYAML: "/x/weft.yaml", Nodes: []Node{{"node1", 1, 40001, "far"}, {"node2", 2, 40002, ""}}, Faults: []Broken{{"numa-far", "node1"}}}
	if err := l.save(want); err != nil {
		t.Fatal(err)
	}
	if got, err := l.State(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got := tree(t, l.Dir); !reflect.DeepEqual(got, []string{"run/state.json"}) {
		t.Errorf("files: %q, want the state alone", got)
	}
}

func TestStateThatCannotBeRead(t *testing.T) {
	for text, why := range map[string]string{
		"":                    "unexpected end of JSON input",
		`{"profile": "pa`:     "unexpected end of JSON input",
		"what?":               "invalid character 'w' looking for beginning of value",
		`{"nodes": "spark1"}`: "json: cannot unmarshal string into Go struct field State.nodes of type []lab.Node",
	} {
		l := Lab{Dir: t.TempDir()}
		put(t, l.run("state.json"), text)
		_, err := l.State()
		var e *Error
		if want := l.run("state.json") + ": " + why; !errors.As(err, &e) || e.What != want || e.Next != "weft lab down" {
			t.Errorf("%q: %v, want %s and weft lab down", text, err, want)
		}
	}
}
