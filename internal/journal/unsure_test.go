package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnreadableState: what cannot be read is not taken for over.
func TestUnreadableState(t *testing.T) {
	m := newMachine(t)
	r, err := m.Begin(t.Context(), m.request("1"))
	m.must(err)
	m.supervise("1", "act 2", nil)
	m.must(os.WriteFile(filepath.Join(r.dir, "state"), []byte("{"), 0o600))
	if _, err := m.Begin(t.Context(), m.request("2")); err == nil || !strings.Contains(err.Error(), "whether a run is open here cannot be told: run 1: state") {
		t.Errorf("begun beside a run whose state is damaged: %v", err)
	}
	if err := m.Boot(false); err == nil || !strings.Contains(err.Error(), "run 1: state") {
		t.Errorf("boot says %v", err)
	}
	if !exists(m.path(earlyUnit)) {
		t.Error("the unit at boot is gone, although the run is not over")
	}
}

// TestStuckKeepsItsUnit: what could not be put back is tried again at boot.
func TestStuckKeepsItsUnit(t *testing.T) {
	m := newMachine(t)
	r, err := m.Begin(t.Context(), m.request("1"))
	m.must(err)
	m.supervise("1", "probed", nil)
	m.write("/etc/hosts", "all of it is somebody else's\n", 0o644)
	for range 2 { // the supervisor that is started again finds it stuck
		m.must(m.Supervise(t.Context(), "1"))
		if s, _ := r.State(); s.State != Stuck || !exists(m.path(earlyUnit)) {
			t.Fatalf("state %+v, unit there: %v", s, exists(m.path(earlyUnit)))
		}
	}
	m.write("/etc/hosts", "127.0.0.1 localhost\n10.0.0.1 n1\n", 0o644) // the person mends it
	if s, err := m.Revert(t.Context(), "1", "again"); err != nil || s.State != Reverted {
		t.Errorf("one more try: %+v, %v", s, err)
	}
	m.clean("after one more try")
}

// TestUndoHereSaysWhatIsLeft: nobody confirms it, so the run itself must tell.
func TestUndoHereSaysWhatIsLeft(t *testing.T) {
	was := settle
	settle = time.Second
	defer func() { settle = was }()
	m := newMachine(t)
	q := m.request("1")
	q.Steps = q.Steps[:1]
	q.Steps[0].Undo = []string{"true"} // an undo that does nothing
	_, err := m.Begin(t.Context(), q)
	m.must(err)
	m.supervise("1", "", nil)
	r, err := m.Undo(t.Context(), Request{ID: "2", Who: "test"}, "1")
	m.must(err)
	m.must(m.Supervise(t.Context(), "2"))
	if s, _ := r.State(); s.State != Kept || len(s.Left) != 1 || !strings.HasPrefix(s.Left[0], `net/rail0/mtu is "9000", was "1500"`) {
		t.Errorf("state %+v, want to hear that the MTU is not as it was", s)
	}
}
