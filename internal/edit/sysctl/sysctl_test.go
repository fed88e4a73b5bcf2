package sysctl

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSet(t *testing.T) {
	for _, tt := range []struct{ in, name, value, want string }{
		{"", "vm.swappiness", "1", head + "vm.swappiness = 1\n"},
		{"# mine\nvm.swappiness=60\nvm.x = 2", "vm.swappiness", "1", "# mine\nvm.swappiness = 1\nvm.x = 2"},
		{"vm/swappiness = 3\n-vm.swappiness = 4\n", "vm.swappiness", "1", "vm.swappiness = 1\n"},
		{"vm.x = 2", "net.ipv4.tcp_rmem", "4096 131072 6291456", "vm.x = 2\nnet.ipv4.tcp_rmem = 4096 131072 6291456\n"},
		{"net.ipv4.tcp_rmem=4096\t131072  6291456 \n", "net.ipv4.tcp_rmem", "4096 131072 6291456", "net.ipv4.tcp_rmem=4096\t131072  6291456 \n"},
		{"net/ipv4/conf/eth0.5/rp_filter = 1\n", "net.ipv4.conf.eth0/5.rp_filter", "2", "net.ipv4.conf.eth0/5.rp_filter = 2\n"},
	} {
		got, err := Set(tt.in, tt.name, tt.value)
		if err != nil || got != tt.want {
			t.Errorf("Set(%q, %s) = %q, %v, want %q", tt.in, tt.name, got, err, tt.want)
		}
		if again, err := Set(got, tt.name, tt.value); err != nil || again != got {
			t.Errorf("a second time: %q, %v", again, err)
		}
	}
	for _, bad := range [][2]string{{"../x", "1"}, {"vm", "1"}, {"vm.x", ""}, {"vm.x", "1\n2"}, {"vm.x", "a  b"}, {"a.b=c", "1"}, {"vm.x", "\x1b"}} {
		if got, err := Set("", bad[0], bad[1]); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// TestRealSysctl: the real sysctl reads the file and sets what it says, in a network
// namespace of its own.
func TestRealSysctl(t *testing.T) {
	if _, err := exec.LookPath("sysctl"); err != nil {
		t.Skip("sysctl is not here: package procps has it")
	}
	if os.Getuid() != 0 || exec.Command("unshare", "-n", "true").Run() != nil {
		t.Skip("a network namespace needs root")
	}
	text := ""
	for name, value := range map[string]string{"net.ipv4.ip_local_port_range": "20000 30000", "net.ipv4.conf.lo.rp_filter": "2", "net/ipv4/conf/a.5/rp_filter": "1"} {
		var err error
		if text, err = Set(text, name, value); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "weft.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("unshare", "-n", "sh", "-ec", `ip link add a.5 type veth peer name b
sysctl -q -p "$0"; cat /proc/sys/net/ipv4/ip_local_port_range /proc/sys/net/ipv4/conf/lo/rp_filter /proc/sys/net/ipv4/conf/a.5/rp_filter`, file).CombinedOutput()
	if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != "20000 30000 2 1" {
		t.Errorf("sysctl -p of %q: %v: %s", text, err, got)
	}
}

func FuzzSet(f *testing.F) {
	f.Add("# a\nvm.swappiness = 60\n")
	f.Add("-vm/swappiness=1\n;x\nvm.swappiness")
	f.Fuzz(func(t *testing.T, text string) {
		now, err := Set(text, "vm.swappiness", "1")
		if err != nil {
			t.Fatal(err)
		}
		if v, there := Get(now, "vm.swappiness"); !there || v != "1" {
			t.Fatalf("%q became %q", text, now)
		}
		if again, _ := Set(now, "vm.swappiness", "1"); again != now {
			t.Fatalf("%q, and a second time %q", now, again)
		}
		for line := range strings.Lines(text) { // what is about something else stays
			if k, _ := setting(line); k != "" && path(k) != "vm/swappiness" {
				was, _ := Get(text, k)
				if is, there := Get(now, k); !there || is != was {
					t.Fatalf("%q became %q, where %s is %q", text, now, k, is)
				}
			}
		}
	})
}
