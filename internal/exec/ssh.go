package exec

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// probeTimeout is what a dead node costs. Linux sends a lost SYN again after
	// one second (TCP_TIMEOUT_INIT in include/net/tcp.h); the rest is for the
	// answer to the second, so that one lost packet does not make a node dead.
	probeTimeout = 1300 * time.Millisecond

	// believed is how long a node that works is not asked again where and
	// whether it is. For ssh -G that saves a process a job, 5 ms (BenchmarkLookup).
	// For the probe it keeps weft welcome: OpenSSH 9.8 and later count a second
	// against an address for a connection that closes before it authenticates,
	// and refuse the address from 15 seconds on (PerSourcePenalties, noauth and
	// min, in sshd_config(5)).
	believed = time.Minute

	// connectTimeout bounds the connection up to the key exchange. It covers a
	// node behind a jump host, which cannot be probed, and an sshd that accepts
	// and says nothing.
	connectTimeout = "ConnectTimeout=5"

	// sshExit is the status of ssh's own failures: EXIT STATUS in ssh(1).
	sshExit = 255

	// A control socket's address must fit in sun_path: 104 bytes with the final
	// zero where it is shortest (unix(4) on BSD; 108 on Linux). ssh adds a dot
	// and 16 letters while it makes one (muxserver_listen in mux.c).
	socketMax = 104 - 1 - 17
)

// route is what the person's ssh configuration makes of a target.
type route struct {
	user, host, port string
	family           string // "tcp", "tcp4" or "tcp6"
	socket           string // control socket; "" when connections are not shared
	jump             string // ProxyJump, as the person wrote it
	proxied          bool   // the way is not a plain TCP connection from here
	config           string // ssh -F
}

// ssh is the command line up to the destination. Host keys are checked as the
// person's configuration says, always.
func (r *Runner) ssh() []string {
	if path := r.controlPath(); path != "" {
		return r.sshWith("ControlMaster=auto", "ControlPersist=60", "ControlPath="+path)
	}
	return r.sshAlone()
}

// sshAlone is the same for a connection that is not shared.
func (r *Runner) sshAlone() []string {
	return r.sshWith("ControlMaster=no", "ControlPersist=no", "ControlPath=none")
}

func (r *Runner) sshWith(options ...string) []string {
	argv := []string{"ssh", "-T", "-a", "-x"}
	if r.config != "" {
		argv = append(argv, "-F", r.config)
	}
	options = append(options,
		"BatchMode=yes", connectTimeout,
		"ServerAliveInterval=5", "ServerAliveCountMax=3", // a node that went away: 15 to 20 s
		"LogLevel=ERROR",                                // no banners among the errors
		"ClearAllForwardings=yes", "RemoteCommand=none", // an alias made for people still works
	)
	for _, o := range options {
		argv = append(argv, "-o", o)
	}
	return argv
}

// controlPath names a connection by what it leads to: %C covers host, port,
// user and jump host. Another configuration file may use other keys.
func (r *Runner) controlPath() string {
	if r.sockets == "" {
		return ""
	}
	name := "%C"
	if r.config != "" {
		name = fmt.Sprintf("%.4x-%%C", sha256.Sum256([]byte(r.config)))
	}
	return strings.ReplaceAll(r.sockets, "%", "%%") + "/" + name
}

// node is what a Runner has found out about a target.
type node struct {
	to       route
	asked    time.Time // when ssh -G said so
	answered time.Time // when the TCP port answered
}

func (r *Runner) known(t Target) node {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[t.SSH]
}

func (r *Runner) learn(t Target, n node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[t.SSH] = n
}

// reach finds the way to a target and whether its TCP port answers.
func (r *Runner) reach(ctx context.Context, t Target) (route, error) {
	n := r.known(t)
	if time.Since(n.asked) > believed {
		to, err := r.lookup(ctx, t)
		if err != nil {
			return to, err
		}
		n = node{to: to, asked: time.Now()}
		r.learn(t, n)
	}
	if n.to.proxied || time.Since(n.answered) < believed || alive(n.to.socket) {
		return n.to, nil
	}
	if err := probe(ctx, t, n.to); err != nil {
		return n.to, err
	}
	n.answered = time.Now()
	r.learn(t, n)
	return n.to, nil
}

// alive reports whether something serves the control socket.
func alive(socket string) bool {
	if socket == "" {
		return false
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// lookup asks ssh itself what the target means: ssh -G prints the configuration
// after every Host and Match block has had its say.
func (r *Runner) lookup(ctx context.Context, t Target) (route, error) {
	to := route{config: r.config}
	if err := take(ctx, r.lookups); err != nil {
		return to, stopped(t, to, err)
	}
	defer give(r.lookups)
	out, end := Capped{Max: 256 << 10}, tail{max: tailMax}
	exit, err := spawn(ctx, append(r.ssh(), "-G", "--", t.SSH), strings.NewReader(""), &out, &end)
	switch {
	case err != nil && ctx.Err() != nil:
		return to, stopped(t, to, context.Cause(ctx))
	case err != nil:
		return to, &Error{Target: t, Class: Unstarted, Detail: Sanitise(err.Error()), at: to}
	case exit != 0:
		return to, &Error{Target: t, Class: SSHFailed, Detail: detail(end.String()), at: to}
	}
	to.read(out.Bytes())
	return to, nil
}

// read takes what matters from the output of ssh -G.
func (to *route) read(config []byte) {
	to.family = "tcp"
	for line := range bytes.Lines(config) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		switch key {
		case "user":
			to.user = value
		case "hostname":
			to.host = value
		case "port":
			to.port = value
		case "controlpath":
			if value != "none" {
				to.socket = value
			}
		case "addressfamily":
			to.family = map[string]string{"inet": "tcp4", "inet6": "tcp6"}[value]
			if to.family == "" {
				to.family = "tcp"
			}
		case "proxyjump", "proxycommand", "bindaddress", "bindinterface":
			if value == "none" {
				continue
			}
			to.proxied = true
			if key == "proxyjump" {
				to.jump = value
			}
		}
	}
}

// probe opens and closes a TCP connection, because ssh would take its whole
// ConnectTimeout to find out that a node is dead. A name that does not resolve
// here is left to ssh: the C library may know names (mDNS, LDAP) that Go's
// resolver does not.
func probe(ctx context.Context, t Target, to route) error {
	dialer := net.Dialer{Timeout: probeTimeout}
	c, err := dialer.DialContext(ctx, to.family, net.JoinHostPort(to.host, to.port))
	var unresolved *net.DNSError
	switch {
	case err == nil:
		return c.Close()
	case ctx.Err() != nil:
		return stopped(t, to, context.Cause(ctx))
	case errors.As(err, &unresolved):
		return nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Error{Target: t, Class: Refused, at: to}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Target: t, Class: Unreachable, Detail: "no answer in " + probeTimeout.String(), at: to}
	}
	var why syscall.Errno
	if errors.As(err, &why) {
		err = why
	}
	return &Error{Target: t, Class: Unreachable, Detail: Sanitise(err.Error()), at: to}
}

// explain finds out why a way through a jump host did not work. ssh drops what
// the jump host's ssh says when the connection is to be shared (ssh_proxy_connect
// in sshconnect.c), so it is asked again for one that is not.
func (r *Runner) explain(ctx context.Context, t Target, e *Error) {
	end := tail{max: tailMax}
	exit, err := spawn(ctx, append(r.sshAlone(), "--", t.SSH, "true"), strings.NewReader(""), nil, &end)
	if err == nil && exit == sshExit {
		e.Detail = detail(end.String())
		e.Class = classify(e.Detail)
	}
}

// Close ends the background connections this Runner used. Left alone they end by
// themselves after a minute, and until then make the next command quicker.
func (r *Runner) Close() {
	r.mu.Lock()
	nodes := r.nodes
	r.nodes = map[string]node{}
	r.mu.Unlock()
	var wg sync.WaitGroup
	for target, n := range nodes {
		if !alive(n.to.socket) {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if take(ctx, r.lookups) == nil {
				defer give(r.lookups)
				spawn(ctx, append(r.ssh(), "-O", "exit", "--", target), strings.NewReader(""), nil, nil)
			}
		})
	}
	wg.Wait()
	if r.fresh {
		os.RemoveAll(r.sockets)
	}
}

// freshDir makes a directory of control sockets that nobody has used.
func freshDir(base string) string {
	dir, err := os.MkdirTemp(base, "f")
	if err != nil {
		return ""
	}
	if private(dir) == "" {
		os.Remove(dir)
		return ""
	}
	return dir
}

// socketDir makes the directory of control sockets: whoever can write there can
// use the person's connections, so it is theirs alone or not used.
func socketDir() string {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return ""
		}
	}
	return private(filepath.Join(base, "weft"))
}

// private makes dir and returns it if it can hold control sockets, else "".
func private(dir string) string {
	const name = len("/") + 8 + len("-") + 40 // hash of the configuration, %C: SHA-1 in hex
	if !filepath.IsAbs(dir) || len(dir)+name > socketMax {
		return ""
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return ""
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Getuid() {
		return ""
	}
	if info.Mode().Perm() != 0o700 && os.Chmod(dir, 0o700) != nil {
		return ""
	}
	return dir
}
