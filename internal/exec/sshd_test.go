package exec

import (
	"flag"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The tests talk to real sshd processes on loopback, with keys, configuration
// and control sockets of their own.
const (
	liveNodes  = 200 // aliases n001 to n200, one address each
	perServer  = 16  // sshd listens on at most 16 sockets: MAX_LISTEN_SOCKS in sshd.c
	nodeFormat = "n%03d"
)

// lab is everything the tests need around the package.
type lab struct {
	dir    string
	config string // for ssh -F
	port   int
	user   string
	stop   []func()
}

var (
	oneLab   *lab
	labGap   string
	labError error
	labOnce  sync.Once
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8") // the tests mostly wait
	code := m.Run()
	if oneLab != nil {
		oneLab.close()
	}
	os.Exit(code)
}

// sharedLab starts the lab at first use: one sshd, unless all the nodes are
// needed, and the odd addresses.
func sharedLab(t testing.TB) *lab {
	t.Helper()
	labOnce.Do(func() {
		for _, tool := range []string{"ssh", "sshd", "ssh-keygen"} {
			if _, err := osexec.LookPath(program(tool)); err != nil {
				labGap = tool + " is not installed"
				return
			}
		}
		oneLab, labError = newLab()
	})
	if labGap != "" {
		t.Skip(labGap)
	}
	if labError != nil {
		t.Fatal(labError)
	}
	return oneLab
}

func program(name string) string {
	if name == "sshd" { // sshd insists on its full path, and sbin is on few people's PATH
		return "/usr/sbin/sshd"
	}
	return name
}

func newLab() (*lab, error) {
	dir, err := os.MkdirTemp("", "weft-exec-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir, config: filepath.Join(dir, "ssh_config")}
	l.stop = append(l.stop, func() { os.RemoveAll(dir) })
	if err := l.build(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() {
	for _, f := range l.stop {
		f()
	}
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

func (l *lab) build() error {
	for _, key := range []string{"host", "otherhost", "id", "otherid"} {
		out, err := osexec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", l.path(key)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	host, err := os.ReadFile(l.path("host.pub"))
	if err != nil {
		return err
	}
	other, err := os.ReadFile(l.path("otherhost.pub"))
	if err != nil {
		return err
	}
	id, err := os.ReadFile(l.path("id.pub"))
	if err != nil {
		return err
	}
	if l.port, err = freePort("127.0.0.1"); err != nil {
		return err
	}
	refused, stop, err := refusingPort()
	if err != nil {
		return err
	}
	l.stop = append(l.stop, stop)
	silent, stop, err := silentPort()
	if err != nil {
		return err
	}
	l.stop = append(l.stop, stop)
	deaf, stop, err := deafPort()
	if err != nil {
		return err
	}
	l.stop = append(l.stop, stop)

	me, err := user.Current()
	if err != nil {
		return err
	}
	l.user = me.Username
	var c strings.Builder
	node := func(name string, lines ...string) {
		fmt.Fprintf(&c, "Host %s\n  %s\n", name, strings.Join(lines, "\n  "))
	}
	for i := 1; i <= liveNodes; i++ {
		node(fmt.Sprintf(nodeFormat, i), "HostName "+nodeAddr(i))
	}
	node("badkey", "IdentityFile "+l.path("otherid"), "HostName 127.0.0.1")
	node("changed", "UserKnownHostsFile "+l.path("known_changed"))
	node("unknown", "UserKnownHostsFile "+l.path("known_none"))
	node("refused refused?", fmt.Sprintf("Port %d", refused))
	node("silent", fmt.Sprintf("Port %d", silent))
	node("deaf deaf?", "HostName 127.0.0.9", fmt.Sprintf("Port %d", deaf))
	node("jumped", "ProxyJump ok", "HostName 127.0.0.1")
	node("jumpbad", "ProxyJump badkey", "HostName 127.0.0.3")
	node("jumpunknown", "ProxyJump unknown", "HostName 127.0.0.3")
	node("jumprefused", "ProxyJump refused", "HostName 127.0.0.3")
	node("forced", "RemoteCommand echo no", "LocalForward 127.0.0.1:1 127.0.0.1:1", "RequestTTY yes", "LogLevel QUIET")
	node("noname", "HostName weft-test.invalid")
	node("!badkey *", "IdentityFile "+l.path("id"))
	node("*", "User "+l.user, fmt.Sprintf("Port %d", l.port), "IdentitiesOnly yes", "IdentityAgent none",
		"UserKnownHostsFile "+l.path("known"), "GlobalKnownHostsFile /dev/null", "HostName 127.0.0.1")

	files := map[string]string{
		"ssh_config":    c.String(),
		"authorized":    string(id),
		"known":         "[127.0.*]:* " + string(host),
		"known_changed": "[127.0.*]:* " + string(other),
		"known_none":    "",
	}
	for name, text := range files {
		if err := os.WriteFile(l.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return l.serve("127.0.0.1")
}

// nodes starts servers for all the node addresses, once.
func (l *lab) nodes(b *testing.B) {
	b.Helper()
	if c, err := net.Dial("tcp", net.JoinHostPort(nodeAddr(liveNodes), strconv.Itoa(l.port))); err == nil {
		c.Close()
		return
	}
	for i := 1; i <= liveNodes; i += perServer {
		var addrs []string
		for j := i; j < i+perServer && j <= liveNodes; j++ {
			addrs = append(addrs, nodeAddr(j))
		}
		if err := l.serve(addrs...); err != nil {
			b.Fatal(err)
		}
	}
}

func nodeAddr(i int) string { return fmt.Sprintf("127.0.1.%d", i) }

// serve starts one sshd on the addresses and waits until it answers.
func (l *lab) serve(addrs ...string) error {
	if os.Getuid() == 0 { // sshd as root will not start without it
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return err
		}
	}
	name := "sshd_" + addrs[0]
	var c strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&c, "ListenAddress %s:%d\n", a, l.port)
	}
	fmt.Fprintf(&c, "HostKey %s\nAuthorizedKeysFile %s\nPidFile none\n", l.path("host"), l.path("authorized"))
	c.WriteString("UsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n" +
		"KbdInteractiveAuthentication no\nPrintMotd no\nUseDNS no\nMaxStartups 1000\nMaxSessions 100\n" +
		"Banner " + l.path("banner") + "\n" +
		"SetEnv HOME=" + l.dir + "\n") // not the start-up files of whoever runs the tests
	if err := os.WriteFile(l.path("banner"), []byte("nobody@nowhere: Permission denied (publickey).\n"), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(l.path(name), []byte(c.String()), 0o600); err != nil {
		return err
	}
	cmd := osexec.Command(program("sshd"), "-D", "-E", l.path(name+".log"), "-f", l.path(name))
	said := &Capped{Max: 4096}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return err
	}
	// Stopped before the folder goes.
	l.stop = append([]func(){func() { cmd.Process.Kill(); cmd.Wait() }}, l.stop...)
	for range 200 {
		conn, err := net.Dial("tcp", net.JoinHostPort(addrs[len(addrs)-1], strconv.Itoa(l.port)))
		if err == nil {
			return conn.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	log, _ := os.ReadFile(l.path(name + ".log"))
	return fmt.Errorf("sshd on %v does not answer: %s %s", addrs, said, log)
}

// runner makes a Runner with control sockets of its own.
func (l *lab) runner(t testing.TB, width int) *Runner {
	t.Helper()
	r := New(Options{Config: l.config, Width: width})
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	r.sockets = private(dir)
	if r.sockets == "" {
		t.Fatalf("%s cannot hold control sockets", dir)
	}
	t.Cleanup(func() {
		r.Close()
		os.RemoveAll(dir)
	})
	return r
}

func freePort(host string) (int, error) {
	ln, err := net.Listen("tcp", host+":0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// rawSocket binds a TCP socket and does not listen on it.
func rawSocket(addr [4]byte) (fd, port int, err error) {
	fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: addr}); err == nil {
		var at syscall.Sockaddr
		if at, err = syscall.Getsockname(fd); err == nil {
			return fd, at.(*syscall.SockaddrInet4).Port, nil
		}
	}
	syscall.Close(fd)
	return 0, 0, err
}

// refusingPort is taken, so that nobody else can listen on it, and refuses.
func refusingPort() (int, func(), error) {
	fd, port, err := rawSocket([4]byte{127, 0, 0, 1})
	return port, func() { syscall.Close(fd) }, err
}

// silentPort accepts and never says a word.
func silentPort() (int, func(), error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	return ln.Addr().(*net.TCPAddr).Port, func() { ln.Close() }, nil
}

// deafPort does not answer at all: the kernel drops every SYN once the queue of
// connections that nobody accepts is full.
func deafPort() (int, func(), error) {
	fd, port, err := rawSocket([4]byte{127, 0, 0, 9})
	if err != nil {
		return 0, nil, err
	}
	var held []net.Conn
	stop := func() {
		for _, c := range held {
			c.Close()
		}
		syscall.Close(fd)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		stop()
		return 0, nil, err
	}
	for range 8 {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.9:%d", port), 200*time.Millisecond)
		if err != nil {
			return port, stop, nil
		}
		held = append(held, c)
	}
	stop()
	return 0, nil, fmt.Errorf("port %d still answers with a full queue", port)
}
