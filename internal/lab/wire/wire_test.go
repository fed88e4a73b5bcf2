package wire

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRunRefuses(t *testing.T) {
	tmp := folder(t)
	long := filepath.Join(tmp, strings.Repeat("x", 116-len(tmp)-len("//wire.ctl")))
	file := folder(t)
	if err := os.WriteFile(Socket(file, "rail0", "node1", "sw"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		nets []Net
		want string
	}{
		"a slash":         {tmp, []Net{{"../x", nil}}, `net "../x": a name is letters, digits and dashes`},
		"no name":         {tmp, []Net{{"", nil}}, `net "": a name is letters, digits and dashes`},
		"a dot":           {tmp, []Net{{"a", []string{"b.c"}}}, `net "a": port "b.c": a name is letters, digits and dashes`},
		"a net twice":     {tmp, []Net{{"a", nil}, {"a", nil}}, `net "a" is there twice`},
		"a port twice":    {tmp, []Net{{"a", []string{"b", "b"}}}, `net "a": port "b" is there twice`},
		"a long folder":   {long, []Net{{"net", []string{"port"}}}, "the folder's name is too long: the socket wire.ctl in it needs 116 bytes"},
		"no folder":       {filepath.Join(tmp, "none"), []Net{rail}, "no such file or directory"},
		"a file, no sock": {file, []Net{rail}, "not a socket, and in the way of one"},
	} {
		if err := Run(t.Context(), c.dir, c.nets); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestPathAtItsLimit runs in the longest folder that there can be.
func TestPathAtItsLimit(t *testing.T) {
	tmp := folder(t)
	dir := filepath.Join(tmp, strings.Repeat("x", pathMax-len(Socket(tmp, "rail0", "node1", "sw"))-len("/")))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := len(Socket(dir, "rail0", "node1", "vm")); got != pathMax {
		t.Fatalf("the path has %d bytes, want %d", got, pathMax)
	}
	start(t, dir, rail)
	if err := Run(t.Context(), dir, []Net{{"rail0", []string{"node10"}}}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("one byte more: %v, want too long", err)
	}
}

func TestSocketsComeAndGo(t *testing.T) {
	dir := folder(t)
	// What a killed switch leaves: sockets that nobody has open.
	for _, name := range []string{"rail0.node2.sw", "wire.ctl"} {
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	a := plugIn(t, dir, "rail0", "node1") // a machine may be there before the switch
	stop := start(t, dir, rail)
	want := []string{"rail0.node1.sw", "rail0.node1.vm", "rail0.node2.sw", "rail0.node3.sw", "wire.ctl"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("sockets %v, want %v", got, want)
	}
	if err := Run(t.Context(), dir, []Net{rail}); err == nil || err.Error() != dir+": a switch runs here already" {
		t.Errorf("a second switch: %v", err)
	}
	b := plugIn(t, dir, "rail0", "node2")
	f := eth(t, all, two, 46)
	b.send(f)
	a.next(f)
	stop()
	if got, want := names(t, dir), []string{"rail0.node1.vm", "rail0.node2.vm"}; !slices.Equal(got, want) {
		t.Errorf("after the end %v, want %v", got, want)
	}
	start(t, dir, rail)
	b.send(f)
	a.next(f)
}

// TestFailedRunLeavesNothing has the last port's socket in the way.
func TestFailedRunLeavesNothing(t *testing.T) {
	dir := folder(t)
	if err := os.Mkdir(Socket(dir, "rail0", "node3", "sw"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), dir, []Net{rail}); err == nil {
		t.Error("no error")
	}
	if got, want := names(t, dir), []string{"rail0.node3.sw"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}

func TestFolderMayGoFirst(t *testing.T) {
	dir := folder(t)
	stop := start(t, dir, rail)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	stop() // which wants no error
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
