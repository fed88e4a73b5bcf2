package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fault runs the job and returns its *Error.
func fault(t *testing.T, r *Runner, ctx context.Context, to Target, j Job) *Error {
	t.Helper()
	err := r.Run(ctx, to, j)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Run on %q gave %v, want an *Error", to.SSH, err)
	}
	return e
}

// TestClasses meets every way in which a real ssh and sshd can fail.
func TestClasses(t *testing.T) {
	l := sharedLab(t)
	tests := []struct {
		name    string
		ssh     string
		script  string
		limit   time.Duration
		class   Class
		exit    int
		started bool
		message string // without the node's name; $DIR is the lab's folder
		next    string
	}{
		{name: "exit status", ssh: "ok", script: "echo one >&2; echo two >&2; exit 3",
			class: CommandFailed, exit: 3, started: true, message: "exit status 3: two"},
		{name: "exit status local", ssh: "", script: "echo no >&2; exit 3",
			class: CommandFailed, exit: 3, started: true, message: "exit status 3: no"},
		{name: "exit 255 is not ssh's", ssh: "ok", script: "echo 'a@b: Permission denied (publickey).' >&2; exit 255",
			class: CommandFailed, exit: 254, started: true, message: "exit status 254: a@b: Permission denied (publickey)."},
		{name: "killed by a signal", ssh: "", script: "kill -9 $$",
			class: CommandFailed, exit: 137, started: true, message: "exit status 137"},
		{name: "half a script", ssh: "ok", script: "touch $DIR/half; if true; then",
			class: CommandFailed, exit: 2, started: false},
		{name: "auth failed", ssh: "badkey", class: AuthFailed,
			message: "login refused: $USER@127.0.0.1: Permission denied (publickey).",
			next:    "ssh-copy-id -F $DIR/ssh_config badkey"},
		{name: "auth failed at the jump host", ssh: "jumpbad", class: AuthFailed,
			message: "login refused: $USER@127.0.0.1: Permission denied (publickey).",
			next:    "ssh-copy-id -F $DIR/ssh_config badkey"},
		{name: "host key changed", ssh: "changed", class: HostKeyChanged,
			message: "host key changed",
			next:    "ssh-keygen -f $DIR/known_changed -R '[127.0.0.1]:$PORT'"},
		{name: "host key unknown", ssh: "unknown", class: HostKeyUnknown,
			message: "host key not accepted yet",
			next:    "ssh -F $DIR/ssh_config unknown true"},
		{name: "host key unknown at the jump host", ssh: "jumpunknown", class: HostKeyUnknown},
		{name: "refused", ssh: "refused", class: Refused, next: "systemctl status ssh sshd"},
		{name: "refused at the jump host", ssh: "jumprefused", class: Refused},
		{name: "unreachable", ssh: "deaf", class: Unreachable, next: "ping -c 3 127.0.0.9"},
		{name: "unresolved", ssh: "noname", class: Unresolved,
			message: "name weft-test.invalid does not resolve",
			next:    "getent hosts weft-test.invalid"},
		{name: "not a destination", ssh: "-oProxyCommand=true", class: SSHFailed,
			message: "ssh gave up: hostname contains invalid characters"},
		{name: "deadline", ssh: "ok", script: "echo busy >&2; sleep 20", limit: time.Second,
			class: TimedOut, started: true, message: "no end in 1s: busy",
			next: "ssh -F $DIR/ssh_config ok uptime"},
		{name: "deadline local", ssh: "", script: "sleep 20", limit: 300 * time.Millisecond,
			class: TimedOut, started: true, message: "no end in 300ms", next: "uptime"},
		{name: "deadline before the server spoke", ssh: "silent", limit: time.Second,
			class: TimedOut, message: "no end in 1s"},
		{name: "the server never speaks", ssh: "silent", class: TimedOut,
			message: "timed out: Connection timed out during banner exchange"},
		{name: "server gone", ssh: "ok", script: "echo on >&2; sleep 0.5; kill -9 $PPID",
			class: Lost, started: true, next: "ssh -F $DIR/ssh_config ok uptime"},
		{name: "shell killed", ssh: "ok", script: "echo on >&2; kill -9 $$",
			class: Lost, started: true, message: "connection cut off: on"},
	}
	fill := strings.NewReplacer("$DIR", l.dir, "$PORT", strconv.Itoa(l.port), "$USER", l.user)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			script := tt.script
			if script == "" {
				script = "true"
			}
			job := Job{Script: strings.ReplaceAll(script, "$DIR", l.dir), Deadline: tt.limit}
			r, to := l.runner(t, 0), Target{Name: "node", SSH: tt.ssh}
			if tt.ssh == "ok" && tt.limit > 0 { // the handshake is not what is timed
				if err := r.Run(t.Context(), to, Job{Script: "true"}); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			e := fault(t, r, t.Context(), to, job)
			if e.Class != tt.class || e.Exit != tt.exit || e.Started != tt.started {
				t.Errorf("got %s, exit %d, started %v, want %s, %d, %v\n%s",
					e.Class, e.Exit, e.Started, tt.class, tt.exit, tt.started, e.Detail)
			}
			if want := "node: " + fill.Replace(tt.message); tt.message != "" && e.Error() != want {
				t.Errorf("message %q\nwant    %q", e.Error(), want)
			}
			if strings.ContainsAny(e.Error(), "\n\r\x1b") {
				t.Errorf("message %q is not one plain line", e.Error())
			}
			if want := fill.Replace(tt.next); tt.next != "" && e.Next() != want {
				t.Errorf("next %q\nwant %q", e.Next(), want)
			}
			if (e.Hint() == "") != (e.Next() == "") {
				t.Errorf("hint %q with next %q", e.Hint(), e.Next())
			}
			if strings.Contains(e.Hint()+e.Next(), "StrictHostKeyChecking") {
				t.Errorf("%q %q weakens the host key check", e.Hint(), e.Next())
			}
			// A dead node costs the probe, not ssh's own timeout of 5 s.
			if took := time.Since(start); tt.class == Unreachable && took > probeTimeout+2*time.Second {
				t.Errorf("took %v, want about %v", took, probeTimeout)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(l.path("half")); err == nil {
			t.Error("half a script was run")
		}
	})
}

// TestHostKeyHint checks that the person is told which fingerprint to look for.
func TestHostKeyHint(t *testing.T) {
	t.Parallel()
	l := sharedLab(t)
	out, err := osexec.Command("ssh-keygen", "-lf", l.path("host.pub")).Output()
	if err != nil {
		t.Fatal(err)
	}
	print := strings.Fields(string(out))[1] // 256 SHA256:… comment (ED25519)
	e := fault(t, l.runner(t, 0), t.Context(), Target{Name: "node", SSH: "changed"}, Job{Script: "true"})
	want := "run ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub, and only if that shows " + print + " forget the old key:"
	if !strings.HasSuffix(e.Hint(), want) {
		t.Errorf("hint %q\nwant its end %q", e.Hint(), want)
	}
}

// TestNextForgets runs the advice for a changed key: the old key is gone then,
// and the new one is still not trusted.
func TestNextForgets(t *testing.T) {
	t.Parallel()
	l := sharedLab(t)
	known := filepath.Join(t.TempDir(), "known")
	other, err := os.ReadFile(l.path("otherhost.pub"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known, fmt.Appendf(nil, "[127.0.0.1]:%d %s", l.port, other), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("UserKnownHostsFile %s\nInclude %s\n", known, l.config)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := l.runner(t, 0)
	r.config = config
	to := Target{Name: "node", SSH: "ok"}
	e := fault(t, r, t.Context(), to, Job{Script: "true"})
	if e.Class != HostKeyChanged {
		t.Fatalf("got %v, want %s", e, HostKeyChanged)
	}
	if out, err := osexec.Command("sh", "-c", e.Next()).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", e.Next(), err, out)
	}
	if e = fault(t, r, t.Context(), to, Job{Script: "true"}); e.Class != HostKeyUnknown {
		t.Errorf("after %q got %v, want %s", e.Next(), e, HostKeyUnknown)
	}
}

func TestRun(t *testing.T) {
	l := sharedLab(t)
	big := strings.Repeat("# a line that only takes room\n", 20000) // 580 kB, more than any pipe or argv holds
	tests := []struct {
		name, ssh, script, stdout, stderr string
	}{
		{"two streams", "ok", "echo out; echo err >&2", "out\n", "err\n"},
		{"two streams local", "", "echo out; echo err >&2", "out\n", "err\n"},
		{"quotes", "ok", `printf '%s\n' "a'b" 'c"d' "$((1+1))" \$x`, "a'b\nc\"d\n2\n$x\n", ""},
		{"no input to steal", "ok", "cat; read x; echo \"<$x>\"", "<>\n", ""},
		{"longer than argv", "ok", big + "echo end", "end\n", ""},
		{"longer than argv local", "", big + "echo end", "end\n", ""},
		{"exit before the end", "", "exit 0\n" + big, "", ""},
		{"here document", "ok", "cat <<'END'\n$x\nEND", "$x\n", ""},
		{"comment at the end", "ok", "echo a # b", "a\n", ""},
		{"nothing", "ok", "", "", ""},
		{"the C locale", "ok", "echo $LC_ALL", "C\n", ""},
		{"line numbers", "", "echo a\nnosuchcommand || true", "a\n", "sh: 2: nosuchcommand: not found\n"},
		{"no newline", "ok", "printf x; printf y >&2", "x", "y"},
		{"background output", "", "(sleep 0.6; echo late) & echo early", "early\nlate\n", ""},
		{"through a jump host", "jumped", "echo there", "there\n", ""},
		{"an alias made for people", "forced", "echo there", "there\n", ""},
		{"as a URL", fmt.Sprintf("ssh://%s@127.0.0.1:%d", l.user, l.port), "echo there", "there\n", ""},
	}
	r := l.runner(t, 0)
	t.Run("all", func(t *testing.T) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				var stdout, stderr bytes.Buffer
				err := r.Run(t.Context(), Target{Name: "node", SSH: tt.ssh}, Job{Script: tt.script, Stdout: &stdout, Stderr: &stderr})
				if err != nil || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
					t.Errorf("got %q, %q, %v, want %q, %q", stdout.String(), stderr.String(), err, tt.stdout, tt.stderr)
				}
			})
		}
	})
}

// TestNoisyNode reads a node that talks too much, in bounded memory.
func TestNoisyNode(t *testing.T) {
	l := sharedLab(t)
	r := l.runner(t, 0)
	const lines = 1000000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, errs := &Capped{Max: 64}, &Capped{Max: 64}
	job := Job{Script: fmt.Sprintf("yes 0123456789abcde | head -n %d; yes | head -n %d >&2; exit 1", lines, lines), Stdout: out, Stderr: errs}
	e := fault(t, r, t.Context(), Target{Name: "node", SSH: "ok"}, job)
	runtime.ReadMemStats(&after)
	if want := int64(lines*16 - 64); out.Dropped != want || len(out.Bytes()) != 64 {
		t.Errorf("stdout kept %d and dropped %d, want 64 and %d", len(out.Bytes()), out.Dropped, want)
	}
	if want := int64(lines*2 - 64); errs.Dropped != want || len(errs.Bytes()) != 64 {
		t.Errorf("stderr kept %d and dropped %d, want 64 and %d", len(errs.Bytes()), errs.Dropped, want)
	}
	if e.Exit != 1 || len(e.Detail) > tailMax {
		t.Errorf("exit %d with %d bytes of detail, want 1 and at most %d", e.Exit, len(e.Detail), tailMax)
	}
	// 18 MB went by; the two copy buffers are 64 KiB.
	if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
		t.Errorf("allocated %d bytes, want no more than 2 MiB", got)
	}
}

func TestEscapesFromANode(t *testing.T) {
	t.Parallel()
	l := sharedLab(t)
	job := Job{Script: `printf '\033]0;owned\007\033[2Jgone\r\nnext\200\n' >&2; exit 1`}
	e := fault(t, l.runner(t, 0), t.Context(), Target{Name: "node", SSH: "ok"}, job)
	if want := `\x1b]0;owned\x07\x1b[2Jgone` + "\nnext\uFFFD"; e.Detail != want {
		t.Errorf("detail %q\nwant   %q", e.Detail, want)
	}
	if want := "node: exit status 1: next\uFFFD"; e.Error() != want {
		t.Errorf("message %q, want %q", e.Error(), want)
	}
}

// TestSharing checks that the second job uses the first one's connection and
// that Close ends it.
func TestSharing(t *testing.T) {
	t.Parallel()
	l := sharedLab(t)
	r := l.runner(t, 0)
	to := Target{Name: "node", SSH: "ok"}
	server := func() string { // who serves the connection, by its TCP ports
		t.Helper()
		var out bytes.Buffer
		if err := r.Run(t.Context(), to, Job{Script: "echo $SSH_CONNECTION", Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	check := func() error {
		return osexec.Command("ssh", append(r.ssh()[1:], "-O", "check", "--", to.SSH)...).Run()
	}
	first := server()
	if err := check(); err != nil {
		t.Errorf("no shared connection after the first job: %v", err)
	}
	if second := server(); second != first {
		t.Errorf("second job came by %q, the first by %q", second, first)
	}
	r.Close()
	if err := check(); err == nil {
		t.Error("shared connection alive after Close")
	}
	if third := server(); third == first {
		t.Errorf("job after Close came by %q as before", third)
	}
	r.Close()
	r.sockets = ""
	if a, b := server(), server(); a == b {
		t.Errorf("two jobs that do not share came by the same %q", a)
	}
}

// TestDeadlineKeepsConnection checks that a job that is cut off does not take the shared
// connection with it.
func TestDeadlineKeepsConnection(t *testing.T) {
	t.Parallel()
	l := sharedLab(t)
	r := l.runner(t, 0)
	to := Target{Name: "node", SSH: "ok"}
	if err := r.Run(t.Context(), to, Job{Script: "true"}); err != nil {
		t.Fatal(err)
	}
	e := fault(t, r, t.Context(), to, Job{Script: "sleep 20", Deadline: 500 * time.Millisecond})
	if e.Class != TimedOut {
		t.Fatalf("got %v, want %s", e, TimedOut)
	}
	if err := osexec.Command("ssh", append(r.ssh()[1:], "-O", "check", "--", to.SSH)...).Run(); err != nil {
		t.Errorf("shared connection gone: %v", err)
	}
}

// TestInterrupt cancels jobs that run, wait and have not begun.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	l := sharedLab(t)
	r := l.runner(t, 4)
	targets := make([]Target, 12)
	for i := range targets {
		targets[i] = Target{Name: fmt.Sprint(i), SSH: []string{"ok", "", "jumped"}[i%3]}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan struct{}, len(targets))
	var at time.Time
	go func() {
		for range 4 {
			<-started
		}
		at = time.Now()
		cancel()
	}()
	errs := Each(ctx, targets, func(ctx context.Context, to Target) error {
		return r.Run(ctx, to, Job{Script: "echo; sleep 20", Stdout: writer(func([]byte) error {
			started <- struct{}{}
			return nil
		})})
	})
	if took := time.Since(at); took > 2*time.Second {
		t.Errorf("took %v to end, want under 2s", took)
	}
	running := 0
	for i, err := range errs {
		var e *Error
		if !errors.As(err, &e) || e.Class != Interrupted || e.Target != targets[i] {
			t.Errorf("result %d is %v, want %s from %v", i, err, Interrupted, targets[i])
		} else if e.Started {
			running++
		}
	}
	if running != 4 {
		t.Errorf("%d had started, want 4", running)
	}
}

// TestInterruptEndsGroup checks that the script's own children end too, even
// those that ignore being asked.
func TestInterruptEndsGroup(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	tests := []struct{ name, script string }{
		{"child", "sleep 20 & echo $!; wait"},
		{"stubborn", "trap '' TERM; sleep 20 & echo $!; wait"},
		{"stubborn and quiet", "trap '' TERM; sleep 20 >/dev/null 2>&1 & echo $!; exec >&- 2>&-; wait"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			pid := 0
			job := Job{Script: tt.script, Stdout: writer(func(p []byte) (err error) {
				pid, err = strconv.Atoi(strings.TrimSpace(string(p)))
				time.AfterFunc(100*time.Millisecond, cancel)
				return err
			})}
			if e := fault(t, r, ctx, Target{Name: "here"}, job); e.Class != Interrupted {
				t.Fatalf("got %v, want %s", e, Interrupted)
			}
			for range 100 { // its new parent may take a moment to notice
				if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || bytes.Contains(stat, []byte(") Z ")) {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("process %d still runs", pid)
			syscall.Kill(pid, syscall.SIGKILL)
		})
	}
}

func TestWriterError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	bad := writer(func([]byte) error { return full })
	r := New(Options{})
	for name, job := range map[string]Job{
		"stdout": {Script: "yes", Stdout: bad},
		"stderr": {Script: "yes >&2", Stderr: bad},
	} {
		err := r.Run(t.Context(), Target{Name: "here"}, job)
		if !errors.Is(err, full) || err.Error() != "here: output: disk full" {
			t.Errorf("%s: got %v, want here: output: disk full", name, err)
		}
	}
}

func TestSSHMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	e := fault(t, New(Options{}), t.Context(), Target{Name: "node", SSH: "ok"}, Job{})
	if e.Class != SSHMissing || e.Error() != "node: ssh client not found" {
		t.Errorf("got %s, %v", e.Class, e)
	}
}

// TestEach checks the order of results, that a slow node delays no other, and
// that no more than Width scripts run at once.
func TestEach(t *testing.T) {
	t.Parallel()
	const width = 4
	r := New(Options{Width: width})
	var targets []Target
	for i := range 3 * width {
		targets = append(targets, Target{Name: fmt.Sprint(i)})
	}
	var (
		mu        sync.Mutex
		now, most int
		ended     int
	)
	count := writer(func(p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		now += bytes.Count(p, []byte("<")) - bytes.Count(p, []byte(">"))
		most = max(most, now)
		return nil
	})
	last := filepath.Join(t.TempDir(), "last") // node 0 is slow: it waits until all the others have ended
	names := Each(t.Context(), targets, func(ctx context.Context, to Target) string {
		nap := "sleep 0.4"
		if to.Name == "0" {
			nap = "until [ -e " + last + " ]; do sleep 0.05; done"
		}
		job := Job{Script: "printf '<'; " + nap + "; printf '>'", Stdout: count, Deadline: time.Minute}
		if err := r.Run(ctx, to, job); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if ended++; ended == len(targets)-1 {
			os.WriteFile(last, nil, 0o600)
		}
		return to.Name
	})
	for i, name := range names {
		if name != fmt.Sprint(i) {
			t.Errorf("result %d is of %s", i, name)
		}
	}
	if most != width {
		t.Errorf("%d scripts at once, want %d", most, width)
	}
}

type writer func([]byte) error

func (w writer) Write(p []byte) (int, error) { return len(p), w(p) }

var _ io.Writer = writer(nil)
