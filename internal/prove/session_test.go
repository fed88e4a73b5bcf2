package prove

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/exec"
	"weft/internal/meter"
	"weft/internal/trial"
)

// TestMain lets this test program be the weft that is put on nodes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "version" {
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "node" && os.Args[2] == "meter" {
		if err := meter.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// here reaches nodes that are all this machine.
func here(t *testing.T, nodes ...string) *Way {
	t.Setenv("HOME", t.TempDir())
	w := &Way{Run: exec.New(exec.Options{}), Binary: func(string) (string, error) { return os.Executable() }, Targets: map[string]exec.Target{}, Archs: map[string]string{}}
	t.Cleanup(func() { w.Run.Close() })
	for _, n := range nodes {
		w.Targets[n] = exec.Target{Name: n}
	}
	return w
}

func open(t *testing.T, w *Way, node string) *Session {
	t.Helper()
	s, err := w.Open(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestOpenAgain: weft is put on a node once. Where the machine type is known, a node that has
// it is asked for nothing before its meter starts.
func TestOpenAgain(t *testing.T) {
	w := here(t, "a")
	w.Archs["a"] = "x86_64"
	asked := 0
	w.Binary = func(string) (string, error) { asked++; return os.Executable() }
	for _, want := range []int{2, 1} { // to name it, and to put it there
		asked = 0
		if s := open(t, w, "a"); s.Hello.Hello == nil || asked != want {
			t.Errorf("asked for weft %d times, want %d", asked, want)
		}
	}
	w.Targets["gone"] = exec.Target{Name: "gone", SSH: "127.0.0.1:1"}
	w.Archs["gone"] = "x86_64"
	var failed *exec.Error
	if _, err := w.Open(t.Context(), "gone"); !errors.As(err, &failed) || failed.Class == exec.CommandFailed {
		t.Errorf("a node that is not there: %v", err)
	}
}

// TestOverIP measures between two meters on this machine what needs no RDMA.
func TestOverIP(t *testing.T) {
	w := here(t, "a", "b")
	a, b := open(t, w, "a"), open(t, w, "b")
	quick, _ := trial.EffortByWord("quick")
	for _, id := range []string{"tcp.bw", "tcp.lat", "path.mtu"} {
		tr, _ := trial.ByID(id)
		x := &pairing{trial: tr, a: a, b: b, pa: Path{Addr: "127.0.0.1", MTU: 9000}, pb: Path{Addr: "127.0.0.2", MTU: 9000}, effort: quick, name: id}
		there, back, err := x.run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if len(there.samples) == 0 || tr.Both != (back != nil) {
			t.Errorf("%s: %+v and back %+v", id, there, back)
		}
		if id == "path.mtu" && (there.samples[0] != 9000 || back.samples[0] != 9000) {
			t.Errorf("loopback carries %d and %d", there.samples[0], back.samples[0])
		}
	}
	rdma, _ := trial.ByID("rdma.write.bw")
	x := &pairing{trial: rdma, a: a, b: b, pa: Path{Bar: "because"}, effort: quick, name: "x"}
	var skip *Skip
	if _, _, err := x.run(t.Context()); !errors.As(err, &skip) || skip.Why != "because" {
		t.Errorf("what is barred is measured: %v", err)
	}
	x.pa = Path{Device: "none0", Num: 1}
	var failed *Failed
	if _, _, err := x.run(t.Context()); !errors.As(err, &failed) || failed.Class == "" {
		t.Errorf("a device that is not there: %v", err)
	}
}

// TestLostNodes: a meter that is killed, and one that stands still, are lost and say so;
// nothing waits for them any more.
func TestLostNodes(t *testing.T) {
	w := here(t, "a", "b")
	killed, frozen := open(t, w, "a"), open(t, w, "b")
	if _, err := killed.Ask(t.Context(), meter.Ask{Do: "start", Conn: "s", Argv: []string{"sleep", "60"}}); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(200 * time.Millisecond)
		syscall.Kill(killed.Hello.Hello.PID, syscall.SIGKILL)
	}()
	start := time.Now()
	_, err := killed.Ask(t.Context(), meter.Ask{Do: "wait", Conn: "s", Within: 60})
	var lost *Lost
	if !errors.As(err, &lost) || time.Since(start) > 10*time.Second {
		t.Errorf("a killed meter: %v after %v", err, time.Since(start))
	}
	slackWas := slack
	slack = 100 * time.Millisecond
	defer func() { slack = slackWas }()
	syscall.Kill(frozen.Hello.Hello.PID, syscall.SIGSTOP)
	_, err = frozen.Ask(t.Context(), meter.Ask{Do: "counters", Within: 0.1})
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("a frozen meter: %v", err)
	}
	if _, err = frozen.Ask(t.Context(), meter.Ask{Do: "counters"}); !errors.As(err, &lost) {
		t.Errorf("a lost meter answers: %v", err)
	}
	syscall.Kill(frozen.Hello.Hello.PID, syscall.SIGCONT)
}

// TestCloseEndsTheMeter: nothing is left running.
func TestCloseEndsTheMeter(t *testing.T) {
	w := here(t, "a")
	s := open(t, w, "a")
	pid := s.Hello.Hello.PID
	s.Close()
	for range 200 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the meter %d still runs", pid)
}

// TestForgedAnswers: what is not an answer of weft ends the session with words.
func TestForgedAnswers(t *testing.T) {
	for _, said := range []string{"Welcome to node1!\n", "{\n", "[1]\n"} {
		s := &Session{waiting: map[int]chan meter.Answer{}}
		if _, err := s.Write([]byte(said)); err == nil {
			t.Errorf("%q was taken for an answer", said)
		}
	}
	s := &Session{waiting: map[int]chan meter.Answer{}}
	if _, err := s.Write([]byte(`{"id":99}` + "\n")); err != nil {
		t.Errorf("an answer that nobody waits for: %v", err)
	}
}
