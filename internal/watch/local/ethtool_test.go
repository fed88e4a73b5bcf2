package local

import (
	"bytes"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// anyStats opens all counters of the first interface that has some.
func anyStats(t *testing.T) *stats {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := &stats{fd: fd, netdev: i.Name}
		if s.listWhere(func(string) bool { return true }) && len(s.names) > 0 {
			t.Cleanup(s.close)
			return s
		}
		s.close()
	}
	t.Skip("no interface of this machine has counters of ethtool -S")
	return nil
}

// TestStatsAreEthtools: the same names in the same order as ethtool -S prints, and values
// that do not fall.
func TestStatsAreEthtools(t *testing.T) {
	s := anyStats(t)
	was, is := make([]uint64, len(s.names)), make([]uint64, len(s.names))
	if !s.read(func(i int, v uint64) { was[i] = v }) || !s.read(func(i int, v uint64) { is[i] = v }) {
		t.Fatal("it was listed and cannot be read")
	}
	for i := range was {
		if is[i] < was[i] {
			t.Errorf("%s %s fell from %d to %d", s.netdev, s.names[i], was[i], is[i])
		}
	}
	ethtool, err := exec.LookPath("ethtool")
	if err != nil {
		t.Skip("ethtool is not installed")
	}
	out, err := exec.Command(ethtool, "-S", s.netdev).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^ +(\S.*): [0-9]+$`).FindAllSubmatch(out, -1) {
		want = append(want, string(bytes.TrimSpace(m[1])))
	}
	if got := strings.Join(s.names, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", s.netdev, got, strings.Join(want, "\n"))
	}
	t.Logf("%s: %d counters", s.netdev, len(want))
}

func TestStatsOfNothing(t *testing.T) {
	for _, name := range []string{"", "no-such-netdev", "a-name-that-is-too-long-for-any", "lo"} {
		if s := openStats(name); s != nil {
			t.Errorf("%q has counters: %v", name, s.names)
		}
	}
	var s *stats
	s.close()
}
