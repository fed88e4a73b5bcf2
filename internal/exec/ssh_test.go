package exec

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSSHOptions(t *testing.T) {
	shared := Runner{sockets: "/run/user/1000/weft"}
	tests := []struct {
		name string
		argv []string
		want string
	}{
		{"shared", shared.ssh(),
			"ssh -T -a -x -o ControlMaster=auto -o ControlPersist=60 -o ControlPath=/run/user/1000/weft/%C"},
		{"not shared", (&Runner{}).ssh(),
			"ssh -T -a -x -o ControlMaster=no -o ControlPersist=no -o ControlPath=none"},
		{"other configuration", (&Runner{sockets: "/r%d", config: "lab.conf"}).ssh(),
			"ssh -T -a -x -F lab.conf -o ControlMaster=auto -o ControlPersist=60 -o ControlPath=/r%%d/c8763c8a-%C"},
	}
	const rest = " -o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=5 -o ServerAliveCountMax=3" +
		" -o LogLevel=ERROR -o ClearAllForwardings=yes -o RemoteCommand=none"
	for _, tt := range tests {
		got := strings.Join(tt.argv, " ")
		if got != tt.want+rest {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want+rest)
		}
		for _, weak := range []string{"StrictHostKeyChecking", "KnownHosts", "HostKeyAlgorithms", "CheckHostIP"} {
			if strings.Contains(got, weak) {
				t.Errorf("%s: %s is the person's to set", tt.name, weak)
			}
		}
	}
}

func TestRouteRead(t *testing.T) {
	tests := []struct {
		name, config string
		want         route
	}{
		{"plain", "host gpu1\nuser ann\nhostname 10.0.0.1\nport 22\naddressfamily any\nproxyusefdpass no\ncontrolpath /run/weft/ab\n",
			route{user: "ann", host: "10.0.0.1", port: "22", family: "tcp", socket: "/run/weft/ab"}},
		{"jump", "hostname gpu1\nport 2200\nproxyjump bob@door:2200\n",
			route{host: "gpu1", port: "2200", family: "tcp", jump: "bob@door:2200", proxied: true}},
		{"command", "hostname gpu1\nproxycommand nc -X 5 %h %p\n", route{host: "gpu1", family: "tcp", proxied: true}},
		{"none", "hostname gpu1\nproxycommand none\nproxyjump none\ncontrolpath none\n", route{host: "gpu1", family: "tcp"}},
		{"family", "hostname gpu1\naddressfamily inet6\n", route{host: "gpu1", family: "tcp6"}},
		{"bound", "hostname gpu1\nbindaddress 10.0.0.9\n", route{host: "gpu1", family: "tcp", proxied: true}},
		{"socket with a blank", "controlpath /home/a b/weft/x\n", route{family: "tcp", socket: "/home/a b/weft/x"}},
		{"odd", "\nhostname\nport \n \x00", route{family: "tcp"}},
	}
	for _, tt := range tests {
		var got route
		got.read([]byte(tt.config))
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestPrivate(t *testing.T) {
	base, err := os.MkdirTemp("", "w") // short, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(open, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		dir  string
		good bool
	}{
		{base + "/new/weft", true},
		{open, true},
		{base + "/link", false},
		{base + "/file", false},
		{base + "/" + strings.Repeat("x", 60), false},
		{"relative", false},
	}
	for _, tt := range tests {
		got := private(tt.dir)
		if !tt.good {
			if got != "" {
				t.Errorf("private(%q) = %q, want none", tt.dir, got)
			}
			continue
		}
		info, err := os.Stat(tt.dir)
		if got != tt.dir || err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("private(%q) = %q, %v, %v, want mode 0700", tt.dir, got, info.Mode(), err)
		}
	}

	// The longest folder allowed still holds a socket under ssh's working name.
	const name = 1 + 8 + 1 + 40
	long := base + "/" + strings.Repeat("x", socketMax-name-len(base)-1)
	if private(long) != long || private(long+"x") != "" {
		t.Errorf("%d bytes are not the longest folder", len(long))
	}
	ln, err := net.Listen("unix", long+"/"+strings.Repeat("y", name-1)+".0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

// TestProbe has the ends of a probe that need no ssh.
func TestProbe(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	refusing, stop, err := refusingPort()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	deaf, stop, err := deafPort()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	silent, stop, err := silentPort()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	tests := []struct {
		name string
		ctx  context.Context
		host string
		port int
		want Class
	}{
		{"answers", t.Context(), "127.0.0.1", silent, ""},
		{"refuses", t.Context(), "127.0.0.1", refusing, Refused},
		{"does not answer", t.Context(), "127.0.0.9", deaf, Unreachable},
		{"no route", t.Context(), "255.255.255.255", 22, Unreachable},
		{"no such name is for ssh to say", t.Context(), "weft-test.invalid", 22, ""},
		{"interrupted", gone, "127.0.0.9", deaf, Interrupted},
	}
	for _, tt := range tests {
		start := time.Now()
		err := probe(tt.ctx, Target{Name: "node"}, route{family: "tcp", host: tt.host, port: strconv.Itoa(tt.port)})
		var e *Error
		switch errors.As(err, &e) {
		case true:
			if e.Class != tt.want {
				t.Errorf("%s: %s (%v), want %q", tt.name, e.Class, e, tt.want)
			}
		case false:
			if tt.want != "" || err != nil {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
		}
		if took := time.Since(start); took > probeTimeout+time.Second {
			t.Errorf("%s: took %v", tt.name, took)
		}
	}
}
