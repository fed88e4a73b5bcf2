package plan

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/sample"
)

// box is this machine with everything that is written in it thrown away afterwards: an
// overlay of its root, with its own processes and network.
type box struct {
	t   *testing.T
	pid string
}

// newBox makes one, or skips where a test may not.
func newBox(t *testing.T) *box {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root: no file system of its own to try lines in")
	}
	t.Parallel()
	dir := t.TempDir()
	// Devices are made, not bound, so that a line about one cannot reach the machine's.
	script := `set -e; mount --make-rprivate /; mount -t tmpfs t "$0"; cd "$0"; mkdir u w m; mount -t overlay o -o lowerdir=/,upperdir=u,workdir=w m; cd m
mount -t tmpfs t dev; mknod -m 666 dev/null c 1 3; mknod -m 666 dev/zero c 1 5; mknod -m 666 dev/urandom c 1 9; mknod -m 666 dev/tty c 5 0
mount -t tmpfs t run; mount -t tmpfs t sys; mount -t proc p proc; exec chroot . sh -c 'echo ready; exec sleep 600'`
	cmd := exec.Command("unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", script, dir)
	var said strings.Builder
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Skipf("no box: %v", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	ready := make([]byte, 6)
	if n, _ := out.Read(ready); string(ready[:n]) != "ready\n" {
		t.Skipf("no box: this machine does not let root have one: %s", said.String())
	}
	child, err := exec.Command("pgrep", "-P", fmt.Sprint(cmd.Process.Pid)).Output()
	if err != nil {
		t.Skipf("no box: pgrep: %v", err)
	}
	return &box{t, strings.TrimSpace(string(child))}
}

// try runs a line as the journal does.
func (b *box) try(line string) (string, error) {
	cmd := exec.Command("nsenter", "-t", b.pid, "-m", "-n", "-p", "-i", "-u", "-r", "-w", "sh", "-c", line)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a line that must succeed.
func (b *box) run(line string) string {
	b.t.Helper()
	out, err := b.try(line)
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// has skips a test that needs a command which is not there.
func (b *box) has(tools ...string) {
	b.t.Helper()
	for _, tool := range tools {
		if _, err := b.try("command -v " + tool); err != nil {
			b.t.Skip(tool + " is not installed")
		}
	}
}

// write puts a file into the box.
func (b *box) write(path, text string) {
	b.t.Helper()
	b.run(sh("mkdir -p %s && printf %%s %s >%s", filepath.Dir(path), text, path))
}

// tool puts a script in the place of a program.
func (b *box) tool(name, text string) {
	b.t.Helper()
	b.write("/usr/local/sbin/"+name, "#!/bin/sh\n"+text+"\n")
	b.run("chmod 755 /usr/local/sbin/" + name)
}

// state is everything below /etc and what weft keeps, to the last byte.
func (b *box) state() string {
	b.t.Helper()
	return b.run(`find /etc -printf '%p %y %m %U %G %l\n' | sort; find /etc -type f -exec sha256sum {} + | sort; find /var/lib/weft /run/weft -type f 2>/dev/null | sort; sha256sum /var/lib/apt/extended_states 2>/dev/null; true`)
}

// put makes files what a step wants, back what they were.
func (b *box) put(s Step) {
	b.t.Helper()
	for _, f := range s.Files {
		switch {
		case f.New == nil:
			b.run(sh("rm %s", f.Path))
		case f.Link:
			b.run(sh("mkdir -p %s && ln -s %s %s", filepath.Dir(f.Path), *f.New, f.Path))
		default:
			b.write(f.Path, *f.New)
		}
	}
}

func (b *box) back(s Step, made string) {
	b.t.Helper()
	for _, f := range s.Files {
		if f.Old == nil {
			b.run(sh("rm -f %s", f.Path))
		} else {
			b.write(f.Path, *f.Old)
		}
	}
	for _, dir := range strings.Fields(made) { // folders that were made for the files
		b.run(sh("rmdir %s 2>/dev/null || true", dir))
	}
}

// keep copies what a step's commands rewrite; bring puts it back, byte for byte.
func (b *box) keep(s Step) {
	b.t.Helper()
	b.run("rm -rf /kept; mkdir /kept")
	for i, p := range s.Keeps {
		b.run(sh("[ ! -e %s ] || cp -a %s /kept/%d", p, p, i))
	}
}

func (b *box) bring(s Step) {
	b.t.Helper()
	for i, p := range s.Keeps {
		b.run(sh("if [ -e /kept/%d ]; then cp -a /kept/%d %s; else rm -f %s; fi", i, i, p, p))
	}
}

// trip does a step and undoes it: not begun, broken off after each line, whole and
// twice; in the order of a revert and in that of a later undo. done looks at the box
// when the step is done.
func (b *box) trip(s Step, done func()) {
	b.t.Helper()
	start, value := b.state(), ""
	made := ""
	for _, f := range s.Files {
		if _, err := b.try(sh("[ -d %s ]", filepath.Dir(f.Path))); err != nil {
			made += " " + filepath.Dir(f.Path)
		}
	}
	if s.Shows != "" {
		value = b.run(s.Shows)
	}
	undo := func(times int) {
		b.t.Helper()
		for range times {
			for _, line := range s.Undo {
				b.run(line)
			}
		}
	}
	same := func(when string) {
		b.t.Helper()
		if is := b.state(); is != start {
			b.t.Fatalf("%s: not as it was:\n%s", when, firstDiff(start, is))
		}
		if s.Shows != "" && b.run(s.Shows) != value {
			b.t.Fatalf("%s: shows %q, want %q", when, b.run(s.Shows), value)
		}
	}
	for lines := range len(s.Do) + 1 {
		b.keep(s)
		b.put(s)
		for _, line := range s.Do[:lines] {
			b.run(line)
		}
		b.back(s, made)
		b.bring(s)
		undo(1)
		b.bring(s)
		same(fmt.Sprintf("reverted after %d of %d lines", lines, len(s.Do)))
	}
	b.keep(s)
	b.put(s)
	for range 2 {
		for _, line := range s.Do {
			b.run(line)
		}
	}
	if s.Shows != "" && b.run(s.Shows) == value {
		b.t.Errorf("done, and still shows %q", value)
	}
	done()
	b.back(s, made)
	undo(2)
	b.bring(s)
	same("undone")
}

// steps are those that a plan has for a case.
func steps(t *testing.T, id string, broken func() *check.Case) []Step {
	t.Helper()
	c := broken()
	p := Make(c, broken(), check.All, of(c, id))
	if len(p.Steps) == 0 {
		t.Fatalf("no steps; by hand: %+v", p.Hand)
	}
	return p.Steps
}

// TestPAMGivesTheLimit has the real pam_limits read what weft writes, among files that
// would win if weft's did not come last.
func TestPAMGivesTheLimit(t *testing.T) {
	b := newBox(t)
	b.has("su", "useradd")
	if out, _ := b.try("grep -h '^[^#]*pam_limits' /etc/pam.d/su"); out == "" {
		t.Skip("su does without pam_limits here")
	}
	b.run("rm -f /etc/security/limits.d/*; useradd -m me; groupadd -f rdma; usermod -aG rdma me")
	// Where root may not raise a limit, as in some containers, a number that is between
	// what there is and what others say stands for unlimited.
	start, want := "8192", "4096"
	if _, err := b.try("ulimit -l 64; ulimit -l unlimited"); err == nil {
		start, want = "64", "unlimited"
	}
	grant := func(s Step) Step {
		text := strings.ReplaceAll(*s.Files[0].New, "unlimited", want)
		s.Files = []File{{Path: s.Files[0].Path, New: &text}}
		return s
	}
	login := func(user string) string {
		soft, hard, _ := strings.Cut(strings.TrimSpace(b.run("ulimit -l "+start+"; su "+user+" -s /bin/sh -c 'ulimit -Sl; ulimit -Hl'")), "\n")
		if soft != hard {
			return soft + " of " + hard
		}
		return soft
	}
	for _, user := range []string{"me", "root"} {
		if got := login(user); got != start {
			t.Fatalf("%s starts with %q, want %s KiB", user, got, start)
		}
	}
	// The trap: a line for everybody is not for root.
	b.write("/etc/security/limits.d/99-all.conf", "* - memlock "+want+"\n")
	if me, root := login("me"), login("root"); me != want || root != start {
		t.Errorf("with a line for * alone, me has %s and root %s", me, root)
	}
	for name, text := range map[string]string{
		"10-low.conf":  "* - memlock 32\nroot - memlock 32\n",
		"rdma.conf":    "* hard memlock 32\n* soft memlock 32\nroot - memlock 32\n", // after 99- in the C locale
		"20-me.conf":   "me - memlock 32\n",
		"20-rdma.conf": "@rdma - memlock 32\n",
		"20-ids.conf":  "1:60000 - memlock 32\n",
		"20-gids.conf": "@1:60000 - memlock 32\n",
	} {
		b.run("rm -f /etc/security/limits.d/*")
		b.write("/etc/security/limits.d/"+name, text)
		for _, user := range []string{"me", "root"} {
			s := steps(t, "node.memlock", second(sample.RoCE, func(m *sample.Machine) {
				m.User, m.Groups, m.Memlock, m.Limits = user, []string{user, "rdma"}, 65536, ""
				m.Files = map[string]string{"/etc/security/limits.d/" + name: text}
			}, nil))
			before := login(user)
			if user == "me" && before != "32" {
				t.Fatalf("%s: %s has %q", name, user, before)
			}
			b.trip(grant(s[0]), func() {
				if got := login(user); got != want {
					t.Errorf("%s and %s: %s has %s, want %s", name, s[0].Files[0].Path, user, got, want)
				}
			})
			if after := login(user); after != before {
				t.Errorf("%s: undone, %s has %s, had %s", name, user, after, before)
			}
		}
	}
}

// TestJoinGroup makes a user a member of a group, with the real usermod.
func TestJoinGroup(t *testing.T) {
	b := newBox(t)
	b.has("usermod", "gpasswd", "useradd")
	b.run("useradd -m me; groupadd -f rdma")
	s := steps(t, "node.devices", second(sample.RoCE, func(m *sample.Machine) { plainUser(m); m.VerbsMode = "crw-rw---- root rdma" }, nil))
	if len(s) != 1 {
		t.Fatalf("%d steps, want one: %+v", len(s), s)
	}
	b.trip(s[0], func() {
		if out := b.run("id -nG me"); !strings.Contains(out, "rdma") {
			t.Errorf("me is in %s", out)
		}
	})
}

// TestOpenDevices changes the modes of device files.
func TestOpenDevices(t *testing.T) {
	b := newBox(t)
	b.run("mkdir /dev/infiniband; for i in 0 1; do mknod -m 600 /dev/infiniband/uverbs$i c 231 19$i; done")
	for i, s := range steps(t, "node.devices", second(sample.RoCE, func(m *sample.Machine) { plainUser(m); m.VerbsMode = "crw------- root root" }, nil)) {
		b.trip(s, func() {
			if got := b.run(fmt.Sprintf("stat -c %%A /dev/infiniband/uverbs%d", i)); got != "crw-rw-rw-\n" {
				t.Errorf("uverbs%d is %s", i, got)
			}
		})
	}
}

// TestRaiseRunningLimit raises the limit of a service's processes without a restart.
func TestRaiseRunningLimit(t *testing.T) {
	b := newBox(t)
	b.has("prlimit", "find")
	if out, err := b.try("ulimit -l 64; ulimit -l unlimited"); err != nil {
		t.Skipf("root may not raise a limit here: %s", out)
	}
	b.run("ulimit -l 64; sleep 500 >/dev/null 2>&1 & echo $! >/main; ulimit -Hl 128 2>/dev/null; sleep 501 >/dev/null 2>&1 & echo $! >/child; sleep 0.1")
	b.run("mkdir -p /sys/fs/cgroup/system.slice/ray-head.service/sub; cp /main /sys/fs/cgroup/system.slice/ray-head.service/cgroup.procs; cp /child /sys/fs/cgroup/system.slice/ray-head.service/sub/cgroup.procs")
	b.tool("systemctl", `case "$*" in
*ControlGroup*) echo /system.slice/ray-head.service;;
*MainPID*) cat /main;;
*LimitMEMLOCK*) grep -qs LimitMEMLOCK=infinity /etc/systemd/system/ray-head.service.d/*.conf && echo infinity || echo 65536;;
esac`)
	s := steps(t, "node.memlock", second(sample.RoCE, nil,
		service("ray-head.service", fact.Service{Load: "loaded", Active: "active", Enabled: "enabled", Memlock: fact.Some(fact.Limit(65536)), Running: fact.Some(fact.Limit(65536))})))
	limits := func() string {
		return b.run("grep -h 'Max locked' /proc/$(cat /main)/limits /proc/$(cat /child)/limits")
	}
	before := limits()
	b.trip(s[0], func() {
		if got := limits(); strings.Count(got, "unlimited") != 4 {
			t.Errorf("limits are\n%s", got)
		}
	})
	if after := limits(); after != before {
		t.Errorf("undone, the limits are\n%s, want\n%s", after, before)
	}
}

// TestLoadModule has stand-ins for the kernel's list and for modprobe: what came with a
// module goes with it, what was there before stays.
func TestLoadModule(t *testing.T) {
	b := newBox(t)
	b.run("mount -t tmpfs t /proc; echo 'ib_core 4096 0 - Live 0x0' >/proc/modules")
	b.tool("modprobe", `d="ib_core ib_cm iw-cm rdma_cm rdma_ucm"
for m in $d; do if [ "$1" = -D ]; then echo "insmod /lib/modules/6.8/kernel/drivers/$m.ko.zst x=1"; else m=$(echo $m | tr - _); grep -q "^$m " /proc/modules || echo "$m 4096 0 - Live 0x0" >>/proc/modules; fi; done`)
	b.tool("rmmod", `grep -v "^$1 " /proc/modules >/m; cat /m >/proc/modules`)
	s := steps(t, "node.modules", second(sample.RoCE, func(m *sample.Machine) { m.BootModules = []string{"ib_umad"}; m.Unload("rdma_ucm") }, func(n *fact.Node) {
		n.Settings.Devices = slices.DeleteFunc(n.Settings.Devices, func(d fact.DevNode) bool { return strings.HasSuffix(d.Path, "rdma_cm") })
	}))
	before := b.run("cat /proc/modules")
	b.trip(s[0], func() {
		if got := b.run("cut -d' ' -f1 /proc/modules | sort | xargs"); got != "ib_cm ib_core iw_cm rdma_cm rdma_ucm\n" {
			t.Errorf("loaded are %s", got)
		}
	})
	if after := b.run("cat /proc/modules"); after != before {
		t.Errorf("undone, loaded are\n%s, were\n%s", after, before)
	}
}

// TestDropInVerifies has the real systemd read the drop-in.
func TestDropInVerifies(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	s := steps(t, "node.memlock", second(sample.RoCE, nil,
		service("ray-head.service", fact.Service{Load: "loaded", Active: "inactive", Enabled: "enabled", Memlock: fact.Some(fact.Limit(65536))})))
	dir := t.TempDir()
	files := map[string]string{"ray-head.service": "[Service]\nExecStart=/bin/sleep 1\nLimitMEMLOCK=64K\n", "ray-head.service.d/" + filepath.Base(s[0].Files[0].Path): *s[0].Files[0].New}
	for name, text := range files {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(analyze, "verify", filepath.Join(dir, "ray-head.service")).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestNFTablesLetsIn puts the rule into a real chain, before the one that blocks.
func TestNFTablesLetsIn(t *testing.T) {
	b := newBox(t)
	b.has("nft", "ip")
	if out, err := b.try("nft 'add table inet filter; add chain inet filter input { type filter hook input priority 0; policy accept; }; add rule inet filter input tcp dport 6379 counter drop'"); err != nil {
		t.Skipf("this kernel has no nftables: %s", out)
	}
	s := steps(t, "node.firewall", second(sample.RoCE, nil, blocks("nftables", "inet filter input")))
	b.trip(s[0], func() {
		out := b.run("nft list chain inet filter input")
		let, drop := strings.Index(out, `iifname "ens1f0np0" accept`), strings.Index(out, "drop")
		if let < 0 || let > drop || strings.Count(out, "ens1f0np0\" accept") != 1 {
			t.Errorf("the chain is\n%s", out)
		}
	})
	// What boot runs does the same, and nothing where the chain is not there.
	s = steps(t, "node.firewall", second(sample.RoCE, nil, func(n *fact.Node) {
		blocks("nftables", "inet filter input")(n)
		n.Settings.Services["nftables.service"] = fact.Service{Load: "loaded", Active: "active", Enabled: "enabled"}
	}))
	verifyUnits(t, s[0])
	b.tool("systemctl", "true")
	b.trip(s[0], func() {})
}

// verifyUnits has the real systemd read the units among a step's files.
func verifyUnits(t *testing.T, s Step) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: units are not looked at")
		return
	}
	for _, f := range s.Files {
		if f.Link || !strings.HasSuffix(f.Path, ".service") {
			continue
		}
		file := filepath.Join(t.TempDir(), filepath.Base(f.Path))
		if err := os.WriteFile(file, []byte(*f.New), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify: %v\n%s\n%s", err, out, *f.New)
		}
	}
}

func TestSoftwareDeviceUnit(t *testing.T) {
	for _, s := range steps(t, "node.modules", second(sample.RoCE, nil, rxe)) {
		verifyUnits(t, s)
	}
}

// TestUFWLetsIn has the real ufw allow a netdev.
func TestUFWLetsIn(t *testing.T) {
	b := newBox(t)
	b.has("ufw", "iptables", "ip6tables")
	b.run("ip link set lo up; sed -i 's/^IPV6=.*/IPV6=yes/' /etc/default/ufw")
	if out, err := b.try("ufw --force enable && ufw deny 6379/tcp"); err != nil || !strings.Contains(b.run("ufw status"), "Status: active") {
		t.Skipf("ufw does not run here: %v: %.300s", err, out)
	}
	b.run("ufw reload") // it writes its files a little differently the second time
	s := steps(t, "node.firewall", second(sample.RoCE, nil, blocks("ufw", "")))
	b.trip(s[0], func() {
		out := b.run("ufw status")
		let, deny := strings.Index(out, "Anywhere on ens1f0np0"), strings.Index(out, "DENY")
		if let < 0 || let > deny {
			t.Errorf("ufw says\n%s", out)
		}
	})
}

// TestFirewalldTrusts has a real firewalld move a netdev between zones.
func TestFirewalldTrusts(t *testing.T) {
	b := newBox(t)
	b.has("firewalld", "firewall-cmd", "dbus-daemon")
	b.run("ip link set lo up; mkdir -p /run/dbus; dbus-daemon --system --fork; firewalld --nofork --nopid >/dev/null 2>&1 & ")
	if out, err := b.try("for i in $(seq 30); do firewall-cmd -q --state && exit 0; sleep 0.5; done; firewall-cmd --state"); err != nil {
		t.Skipf("firewalld does not run here: %s", out)
	}
	zones := func(flag string) string {
		return b.run("for z in public trusted; do firewall-cmd " + flag + " --zone=$z --list-interfaces; done")
	}
	trusts := func(interfaces ...string) Step {
		return steps(t, "node.firewall", second(sample.RoCE, func(m *sample.Machine) {
			m.Zones = []sample.Zone{{Name: "public", Target: "default", Interfaces: interfaces}}
		}, nil))[0]
	}
	trusted := func() {
		t.Helper()
		for _, flag := range []string{"", "--permanent"} {
			if got := zones(flag); got != "\nens1f0np0\n" {
				t.Errorf("public and trusted %s have %q", flag, got)
			}
		}
	}
	none := trusts() // in no zone, neither now nor for boot
	for _, line := range none.Do {
		b.run(line)
	}
	trusted()
	for _, line := range none.Undo {
		b.run(line)
	}
	if now, boot := zones(""), zones("--permanent"); now != "\n\n" || boot != "\n\n" {
		t.Errorf("undone, the zones have %q and %q", now, boot)
	}
	b.run("rm -f /etc/firewalld/zones/*; firewall-cmd -q --zone=public --change-interface=ens1f0np0; firewall-cmd -q --permanent --zone=public --change-interface=ens1f0np0")
	b.trip(trusts("ens1f0np0"), trusted)
	if now, boot := zones(""), zones("--permanent"); now != "ens1f0np0\n\n" || boot != "ens1f0np0\n\n" {
		t.Errorf("undone, the zones have %q and %q", now, boot)
	}
}

// TestCDI has a stand-in for nvidia-ctk, which needs a GPU.
func TestCDI(t *testing.T) {
	b := newBox(t)
	b.tool("nvidia-ctk", `for a; do case $a in --output=*) echo 'kind: nvidia.com/gpu' >"${a#--output=}";; esac; done`)
	s := steps(t, "gpu.container", second(sample.InfiniBand, func(m *sample.Machine) { m.CDI = nil }, func(n *fact.Node) { n.Settings.Tools = append(n.Settings.Tools, "nvidia-ctk") }))
	for _, before := range []string{"rm -rf /etc/cdi", "mkdir /etc/cdi", "echo 'kind: other.com/x' >/etc/cdi/nvidia.yaml"} {
		b.run(before)
		b.trip(s[0], func() {
			if got := b.run("cat /etc/cdi/nvidia.yaml"); got != "kind: nvidia.com/gpu\n" {
				t.Errorf("the spec is %q", got)
			}
		})
	}
}

// TestAptInstalls installs from an archive of its own, and takes exactly that away.
func TestAptInstalls(t *testing.T) {
	b := newBox(t)
	b.has("apt-get", "dpkg-deb", "comm")
	b.run(`mkdir /archive && cd /archive && mk() { d=$(mktemp -d); chmod 755 $d; mkdir -p $d/DEBIAN $d/usr/share/$1 $d/etc; echo $2 >$d/usr/share/$1/version; echo conf $1 >$d/etc/$1.conf; echo /etc/$1.conf >$d/DEBIAN/conffiles; ` +
		`printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: x <x@example.org>\nDepends: %s\nDescription: x\n' $1 $2 "$3" | sed '/^Depends: $/d' >$d/DEBIAN/control; dpkg-deb -b $d $1_$2.deb >/dev/null; ` +
		`{ cat $d/DEBIAN/control; printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' $1_$2.deb $(stat -c %s $1_$2.deb) $(sha256sum <$1_$2.deb | cut -d' ' -f1); } >>Packages; }; ` +
		`mk weft-low 1; mk weft-low 2; mk weft-tool 1 weft-low; mk weft-other 1 'weft-low (>= 2)'; mk weft-user 1 weft-low`)
	b.run(`rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/*; echo 'deb [trusted=yes] file:/archive ./' >/etc/apt/sources.list; printf 'APT::Sandbox::User "root";\nAcquire::Languages "none";\n' >/etc/apt/apt.conf.d/99-test`)
	b.run("apt-get update >/dev/null && apt-get -y install weft-tool >/dev/null && dpkg --remove weft-tool >/dev/null && dpkg --purge weft-low >/dev/null") // weft-tool leaves its configuration
	packages := func() string {
		return b.run(`dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' | grep -v not-installed`)
	}
	before := packages()
	if !strings.Contains(before, "weft-tool 1 config-files") {
		t.Fatalf("want the configuration of weft-tool alone, have\n%s", before)
	}
	n := &fact.Node{Name: "n1"}
	n.Settings.ToolsRead, n.Settings.Tools = true, []string{"apt-get"}
	s, err := install(n, []string{"weft-tool"})
	if err != nil {
		t.Fatal(err)
	}
	b.run("rm -rf /var/lib/apt/lists/*") // then the step has to fetch the lists first
	b.trip(s, func() {
		if got := packages(); !strings.Contains(got, "weft-tool 1 installed") || !strings.Contains(got, "weft-low 2 installed") {
			t.Errorf("installed are\n%s", got)
		}
	})
	if after := packages(); after != before {
		t.Errorf("undone, the packages are not those of the start:\n%s", firstDiff(before, after))
	}
	// What somebody needs meanwhile stays.
	for _, line := range s.Do {
		b.run(line)
	}
	b.run("apt-get -y install weft-user >/dev/null")
	for _, line := range s.Undo {
		b.run(line)
	}
	if got := packages(); strings.Contains(got, "weft-tool 1 installed") || !strings.Contains(got, "weft-low 2 installed") || !strings.Contains(got, "weft-user 1 installed") {
		t.Errorf("installed are\n%s", got)
	}
	// What would be upgraded could not be undone: refused, and nothing changes.
	b.run("dpkg --purge weft-user weft-low >/dev/null; dpkg -i /archive/weft-low_1.deb >/dev/null")
	before = packages()
	if s, err = install(n, []string{"weft-other"}); err != nil {
		t.Fatal(err)
	}
	b.run(s.Do[0])
	if out, err := b.try(s.Do[1]); err == nil || !strings.Contains(out, "it would change packages that are there") {
		t.Errorf("an upgrade is not refused: %v\n%s", err, out)
	}
	for _, line := range s.Undo {
		b.run(line)
	}
	if after := packages(); after != before {
		t.Errorf("refused, the packages are not those of the start:\n%s", firstDiff(before, after))
	}
}

// TestDnfInstalls does the same with the real dnf.
func TestDnfInstalls(t *testing.T) {
	b := newBox(t)
	b.has("dnf", "rpm", "rpmbuild", "createrepo_c", "comm")
	b.run(`mkdir /archive && mk() { printf 'Name: %s\nVersion: %s\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n%s\n%%description\nx\n%%install\nmkdir -p %%{buildroot}/usr/share/%s\necho x >%%{buildroot}/usr/share/%s/x\n%%files\n/usr/share/%s\n' $1 $2 "$3" $1 $1 $1 >/x.spec; ` +
		`rpmbuild -bb --define '_rpmdir /archive' /x.spec >/dev/null 2>&1 || rpmbuild -bb --define '_rpmdir /archive' /x.spec; }; mk weft-low 1; mk weft-low 2; mk weft-tool 1 'Requires: weft-low'; mk weft-other 1 'Requires: weft-low >= 2'; mk weft-user 1 'Requires: weft-low'`)
	b.run(`createrepo_c -q /archive; rm -rf /etc/yum.repos.d /etc/dnf/repos.d; mkdir -p /etc/yum.repos.d; printf '[test]\nname=test\nbaseurl=file:///archive\ngpgcheck=0\n' >/etc/yum.repos.d/test.repo; rpm --initdb 2>/dev/null; true`)
	if out, err := b.try("dnf -y install weft-low-1"); err != nil {
		t.Skipf("dnf does not install here: %s", out)
	}
	// Distributions that are not built on rpm keep its commands from removing.
	if out, err := b.try("rpm -e weft-low"); err != nil {
		t.Skipf("rpm does not remove here: %s", out)
	}
	packages := func() string { return b.run(`rpm -qa | sort`) }
	before := packages()
	n := &fact.Node{Name: "n1"}
	n.Settings.ToolsRead, n.Settings.Tools = true, []string{"dnf"}
	s, err := install(n, []string{"weft-tool"})
	if err != nil {
		t.Fatal(err)
	}
	b.trip(s, func() {
		if got := packages(); !strings.Contains(got, "weft-tool-1") || !strings.Contains(got, "weft-low-2") {
			t.Errorf("installed are\n%s", got)
		}
	})
	if after := packages(); after != before {
		t.Errorf("undone, the packages are not those of the start:\n%s", firstDiff(before, after))
	}
	for _, line := range s.Do {
		b.run(line)
	}
	b.run("dnf -y install weft-user")
	for _, line := range s.Undo {
		b.run(line)
	}
	if got := packages(); strings.Contains(got, "weft-tool-1") || !strings.Contains(got, "weft-low-2") || !strings.Contains(got, "weft-user-1") {
		t.Errorf("what somebody needs meanwhile is gone:\n%s", got)
	}
	b.run("rpm -e weft-user weft-low; dnf -y install weft-low-1")
	if s, err = install(n, []string{"weft-other"}); err != nil {
		t.Fatal(err)
	}
	b.run(s.Do[0])
	if out, err := b.try(s.Do[1]); err == nil || !strings.Contains(out, "it would change packages that are there") {
		t.Errorf("an upgrade is not refused: %v\n%s", err, out)
	}
}
