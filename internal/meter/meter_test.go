package meter

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/trial"
	"weft/internal/verbs"
)

// asker speaks to a meter in this process.
type asker struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Scanner
	id  int
	end chan error
}

func begin(t *testing.T) *asker {
	in, w := io.Pipe()
	r, out := io.Pipe()
	a := &asker{t: t, in: w, out: bufio.NewScanner(r), end: make(chan error, 1)}
	a.out.Buffer(nil, maxOut*2)
	go func() { a.end <- Serve(t.Context(), in, out) }()
	t.Cleanup(func() { w.Close() })
	return a
}

func (a *asker) ask(q Ask) Answer {
	a.t.Helper()
	a.id++
	q.ID = a.id
	b, err := json.Marshal(q)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.in.Write(append(b, '\n')); err != nil {
		a.t.Fatal(err)
	}
	if !a.out.Scan() {
		a.t.Fatalf("no answer to %s: %v", b, a.out.Err())
	}
	var ans Answer
	if err := json.Unmarshal(a.out.Bytes(), &ans); err != nil || ans.ID != a.id {
		a.t.Fatalf("answer %s: %v", a.out.Bytes(), err)
	}
	return ans
}

func (a *asker) well(q Ask) Answer {
	a.t.Helper()
	ans := a.ask(q)
	if ans.Error != "" {
		a.t.Fatalf("%s: %s (%s)", q.Do, ans.Error, ans.Class)
	}
	return ans
}

// TestTCP measures this machine with itself: bytes are counted, and quick ones are quick.
func TestTCP(t *testing.T) {
	a := begin(t)
	port := a.well(Ask{Do: "tcp listen", Conn: "l", Pair: &Addrs{From: "127.0.0.1"}}).Port
	to := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	bw := a.well(Ask{Do: "tcp bw", Pair: &Addrs{From: "127.0.0.1", To: to}, Effort: "quick", Seconds: 0.5})
	if got, _, _ := trial.Median(bw.Samples); len(bw.Samples) < 4 || got < 50e6 {
		t.Errorf("%d samples, %d bit/s", len(bw.Samples), got)
	}
	lat := a.well(Ask{Do: "tcp lat", Pair: &Addrs{From: "127.0.0.1", To: to, Size: 2}, Effort: "quick", Seconds: 0.5})
	ts := lat.Times
	if ts == nil || ts.Min <= 0 || ts.Min > ts.Typical || ts.Typical > ts.P99 || ts.P99 > ts.P999 || ts.P999 > ts.Max || ts.Typical > 50e6 {
		t.Errorf("times %+v", ts)
	}
	a.well(Ask{Do: "close", Conn: "l"})
	if ans := a.ask(Ask{Do: "tcp lat", Pair: &Addrs{From: "127.0.0.1", To: to}, Seconds: 0.1}); ans.Class != "peer" {
		t.Errorf("a closed listener answers: %+v", ans)
	}
}

// TestMTU: what an interface takes crosses; what it does not take is found.
func TestMTU(t *testing.T) {
	a := begin(t)
	port := a.well(Ask{Do: "mtu listen", Conn: "m", Pair: &Addrs{From: "127.0.0.1"}}).Port
	to := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if got := a.well(Ask{Do: "mtu", Pair: &Addrs{From: "127.0.0.1", To: to, Size: 9000}}).MTU; got != 9000 {
		t.Errorf("loopback carries %d of 9000 bytes", got)
	}
	if ans := a.ask(Ask{Do: "mtu", Pair: &Addrs{From: "127.0.0.1", To: to, Size: 100}}); ans.Error == "" {
		t.Error("an MTU of 100 was taken")
	}
	a.well(Ask{Do: "close", Conn: "m"})
	if ans := a.ask(Ask{Do: "mtu", Pair: &Addrs{From: "127.0.0.1", To: to, Size: 1500}}); ans.Class != "peer" || !strings.Contains(ans.Error, "firewall") {
		t.Errorf("nobody listens: %+v", ans)
	}
}

// TestChildren: a child's words and file come back, it is waited for only so long, and it
// ends with the meter.
func TestChildren(t *testing.T) {
	a := begin(t)
	a.well(Ask{Do: "start", Conn: "c", Argv: []string{"sh", "-c", `cat; echo "$WORD"; echo written >"$0"; exit 3`, "{file}"}, Env: []string{"WORD=heard"}, Text: "read\n"})
	ans := a.well(Ask{Do: "wait", Conn: "c"})
	if ans.Out != "read\nheard\n" || ans.Exit != 3 || ans.File != "written\n" {
		t.Errorf("%+v", ans)
	}
	a.well(Ask{Do: "close", Conn: "c"})
	if ans := a.ask(Ask{Do: "start", Conn: "d", Argv: []string{"/no/such/program"}}); ans.Class != "start" {
		t.Errorf("a program that is not there: %+v", ans)
	}
	a.well(Ask{Do: "start", Conn: "s", Argv: []string{"sleep", "600"}})
	if ans := a.ask(Ask{Do: "wait", Conn: "s", Within: 0.1}); ans.Class != "time" {
		t.Errorf("a child that does not end: %+v", ans)
	}
	file := filepath.Join(t.TempDir(), "pid")
	a.well(Ask{Do: "start", Conn: "p", Argv: []string{"sh", "-c", "echo $$ >" + file + "; sleep 600"}})
	var pid int
	for range 100 {
		b, _ := os.ReadFile(file)
		if pid, _ = strconv.Atoi(strings.TrimSpace(string(b))); pid > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	a.in.Close()
	select {
	case err := <-a.end:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the meter does not end with its input")
	}
	if err := syscall.Kill(pid, 0); pid == 0 || err == nil {
		t.Errorf("the child %d outlives the meter", pid)
	}
}

// TestServersAreAwaited: a server is ready when it listens, and a port that something
// listens on already is told apart.
func TestServersAreAwaited(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	a := begin(t)
	if ans := a.ask(Ask{Do: "start", Conn: "a", Argv: []string{"sleep", "1"}, Port: port}); ans.Class != "port" {
		t.Errorf("a taken port: %+v", ans)
	}
	if ans := a.ask(Ask{Do: "start", Conn: "b", Argv: []string{"sh", "-c", "echo why; exit 7"}, Port: 1}); ans.Class != "start" || ans.Exit != 7 || ans.Out != "why\n" {
		t.Errorf("a server that ends at once: %+v", ans)
	}
	if ans := a.ask(Ask{Do: "start", Conn: "c", Argv: []string{"sleep", "60"}, Port: 1, Within: 0.2}); ans.Class != "time" {
		t.Errorf("a server that never listens: %+v", ans)
	}
}

func TestNonsense(t *testing.T) {
	a := begin(t)
	for _, q := range []Ask{{Do: "sing"}, {Do: "wait", Conn: "none"}, {Do: "push", Conn: "none"}, {Do: "open"}, {Do: "start"}, {Do: "mtu"}, {Do: "tcp bw"}, {Do: "connect"}} {
		if ans := a.ask(q); ans.Error == "" {
			t.Errorf("%+v was done", q)
		}
	}
	a.in.Write([]byte("{\n"))
	if err := <-a.end; err == nil {
		t.Error("half a question was understood")
	}
}

// TestCounters reads a tree as the kernel has it.
func TestCounters(t *testing.T) {
	root := t.TempDir()
	for name, value := range map[string]string{
		"sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data":           "1000\n",
		"sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err": "2\n",
		"sys/class/infiniband/mlx5_0/ports/1/counters/odd":                      "N/A\n",
		"sys/class/net/eth0/statistics/tx_bytes":                                "77\n",
		"sys/class/net/lo/statistics/tx_bytes":                                  "5\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{root: root}
	ans, _ := s.counters(t.Context(), Ask{})
	c := ans.Counters
	if len(c) != 2 || c["mlx5_0/1"]["port_xmit_data"] != 1000 || c["mlx5_0/1"]["local_ack_timeout_err"] != 2 || c["eth0"]["tx_bytes"] != 77 {
		t.Errorf("%v", c)
	}
}

// TestRates: the first sample fills the queues, and what is less than several batches is
// put together.
func TestRates(t *testing.T) {
	ms := time.Millisecond
	all := []verbs.Sample{{At: 25 * ms, Bytes: 1000}, {At: 50 * ms, Bytes: 1400}, {At: 75 * ms, Bytes: 1800}, {At: 100 * ms, Bytes: 2200}, {At: 125 * ms, Bytes: 2300}}
	if got := rates(all, 100); len(got) != 3 || got[0] != 128000 || got[2] != 128000 {
		t.Errorf("%v", got)
	}
	if got := rates(all, 200); len(got) != 1 || got[0] != 128000 {
		t.Errorf("larger batches: %v", got)
	}
	if got := rates(nil, 1); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestTimesAreEnough: steady latencies end early, however they come; wild ones do not.
func TestTimesAreEnough(t *testing.T) {
	for _, group := range []int{1, pingsAtOnce} {
		steady, wild := newTimes(Ask{Effort: "quick", Seconds: 100}), newTimes(Ask{Effort: "quick", Seconds: 100})
		for i := range 3000 / group {
			for k := range group {
				steady.add(time.Microsecond + time.Duration(k%3))
				wild.add(time.Duration(1+i*group/perSample) * time.Microsecond)
			}
			if steady.done() {
				break
			}
		}
		if n := len(steady.all); n < fewTimes || n > fewTimes+100 || wild.done() {
			t.Errorf("groups of %d: steady ended after %d, wild %v", group, n, wild.done())
		}
	}
}
