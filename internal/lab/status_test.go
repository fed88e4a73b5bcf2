package lab

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestUsed(t *testing.T) {
	dir := t.TempDir()
	// Noise, for file systems that pack what they store.
	noise := make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	full, half, sparse := filepath.Join(dir, "full"), filepath.Join(dir, "sub", "half"), filepath.Join(dir, "sparse")
	put(t, full, string(noise))
	put(t, half, string(noise[:len(noise)/2]))
	put(t, sparse, "")
	if err := os.Truncate(sparse, 1<<30); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{full, half} { // some file systems count what is written out
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for path, want := range map[string]int{full: 3, half: 1, sparse: 0, dir: 4, filepath.Join(dir, "none"): 0} {
		if got := used(path); got != want {
			t.Errorf("%s: %d MiB, want %d", path, got, want)
		}
	}
}

func TestResident(t *testing.T) {
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	if got := resident(os.Getpid()); got < 64 || got > 1024 {
		t.Errorf("%d MiB, want 64 and what else a test needs", got)
	}
	if held[4096] != 1 {
		t.Error("nothing is held")
	}
	if got := resident(0); got != 0 {
		t.Errorf("no process: %d MiB, want 0", got)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	l := Lab{Dir: shortDir(t)}
	if _, err := l.Status(t.Context()); err != errDown {
		t.Errorf("no lab: %v, want %v", err, errDown)
	}
	put(t, l.run("weft.yaml"), "")
	s := State{Profile: "pair", Nodes: []Node{{Name: "node1", ID: 1, Port: 40001}, {Name: "node2", ID: 2, Port: 40002}}, Faults: []Broken{{"off", "node2"}}}
	if err := l.save(s); err != nil {
		t.Fatal(err)
	}
	fakeQEMU(t, l, "node1")
	fakeSocket(t, l.run("node1.qmp"), func(_ int, conn net.Conn) {
		io.WriteString(conn, `{"QMP": {}}`+"\n")
		for in := bufio.NewReader(conn); ; {
			if _, ok := nextRequest(in); !ok {
				return
			}
			io.WriteString(conn, `{"return": {"status": "paused"}}`+"\n")
		}
	})
	got, err := l.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Seen) == 2 {
		got.Seen[0].Memory = 0 // of a shell, 1 or 2 MiB
	}
	want := Status{State: s, Dir: l.Dir, Seen: []Seen{{Node: s.Nodes[0], State: "frozen"}, {Node: s.Nodes[1], State: "off"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, _, err := l.Down(false); err != nil {
		t.Error(err)
	}
}
