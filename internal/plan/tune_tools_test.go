package plan

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/dump"
	"weft/internal/edit/unit"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/format/dcb"
	"weft/internal/sample"
)

// bench is a place where the lines of steps are run with some real tools. Tools that
// would need hardware are played: they do nothing and succeed.
type bench struct {
	t   *testing.T
	dir string
	env []string
}

func newBench(t *testing.T, played ...string) *bench {
	b := &bench{t: t, dir: t.TempDir()}
	for _, name := range played {
		b.play(name, "exit 0")
	}
	b.env = append(os.Environ(), "LC_ALL=C", "PATH="+b.dir+":/usr/sbin:/sbin:"+os.Getenv("PATH"))
	return b
}

// play puts a shell script in a tool's place.
func (b *bench) play(name, script string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		b.t.Fatal(err)
	}
}

// run runs lines as apply does, each in a shell of its own.
func (b *bench) run(lines ...string) string {
	b.t.Helper()
	all := ""
	for _, line := range lines {
		cmd := exec.Command("sh", "-c", line)
		cmd.Env = b.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.t.Errorf("%s: %v: %s", line, err, out)
		}
		all += string(out)
	}
	return all
}

// whole does a step and undoes it, each twice, and wants its value back every time, also
// when it was never done.
func (b *bench) whole(s Step, done func()) {
	b.t.Helper()
	was := b.run(s.Shows)
	for _, what := range []struct {
		name  string
		lines []string
	}{{"undone, never done", s.Undo}, {"done", s.Do}, {"done twice", s.Do}, {"undone", s.Undo}, {"undone twice", s.Undo}} {
		b.run(what.lines...)
		is := b.run(s.Shows)
		if back := strings.HasPrefix(what.name, "undone"); back && is != was || !back && is == was {
			b.t.Errorf("%s %s: shows %q, was %q", s.What, what.name, is, was)
		}
		if what.name == "done twice" {
			done()
		}
	}
}

// needs skips where a tool is missing.
func needs(t *testing.T, tool, pack string) string {
	t.Helper()
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if path := filepath.Join(dir, tool); exec.Command("test", "-x", path).Run() == nil {
			return path
		}
	}
	t.Skipf("%s is not here: package %s has it", tool, pack)
	return ""
}

// TestDcb runs the real dcb on a card that is played: every step makes the card what the
// step says, and undone it is as it was.
func TestDcb(t *testing.T) {
	newCard(t, "mlx5") // skips here, not in every try
	n := 0
	for _, x := range tuneTries {
		c := x.broken()
		for _, s := range Make(c, x.broken(), check.All, of(c, x.remedy)).Steps {
			if !strings.HasPrefix(s.Shows, "dcb ") {
				continue
			}
			n++
			t.Run(x.remedy+" "+x.name, func(t *testing.T) {
				node := c.Node(s.Node)
				netdev := strings.Split(s.What, "/")[1]
				p := node.Ports[slices.IndexFunc(node.Ports, func(p *fact.Port) bool { return p.Netdev == netdev })]
				b := newCard(t, map[bool]string{true: "mlx5", false: "ice"}[p.Driver == "mlx5"])
				dev := "dev " + netdev
				b.run("dcb pfc set "+dev+" prio-pfc "+strings.ReplaceAll(strings.ReplaceAll(pairs(p.QoS.PFC), "true", "on"), "false", "off"), "dcb ets set "+dev+" tc-tsa all:vendor")
				if p.QoS.TSA != nil {
					b.run("dcb ets set " + dev + " prio-tc " + pairs(p.QoS.PrioTC) + " tc-tsa " + pairs(p.QoS.TSA) + " tc-bw " + pairs(p.QoS.TCBW))
				}
				if len(p.QoS.DSCP) > 0 {
					b.run(dcbDSCP(netdev, nil, p.QoS.DSCP)...)
				}
				if now := b.look(s, netdev); now != s.From {
					t.Fatalf("the card is %q, want %q", now, s.From)
				}
				b.whole(s, func() {
					if now := b.look(s, netdev); now != s.To {
						t.Errorf("%s: the card is %q, want %q", s.What, now, s.To)
					}
				})
			})
		}
	}
	if n < 5 {
		t.Errorf("%d steps with dcb", n)
	}
}

// TestUnitsSetAll: at boot a card is as its driver makes it, and not as it was when the plan
// was made. The unit makes it the same as the step does.
func TestUnitsSetAll(t *testing.T) {
	b := newCard(t, "mlx5")
	p := planOf(t, "roce.trust", "another priority, dcb", tuneTries)
	s := p.Steps[0]
	text := filesOf(p)[unit.Dir+"weft-trust-ens1f0np0.service"]
	for _, start := range []string{"true", "dcb app add dev ens1f0np0 dscp-prio 26:0 5:7", "dcb app add dev ens1f0np0 dscp-prio 26:3"} {
		b.run("dcb app flush dev ens1f0np0 dscp-prio", start)
		n := 0
		for line := range strings.Lines(text) {
			if word, ok := strings.CutPrefix(line, `ExecStart=/bin/sh -c `); ok {
				b.run("sh -c " + word)
				n++
			}
		}
		if now := b.look(s, "ens1f0np0"); n == 0 || now != s.To {
			t.Errorf("after %q and the unit the card is %q, want %q", start, now, s.To)
		}
	}
}

// newCard is a bench with a card that dcb sets.
func newCard(t *testing.T, driver string) *bench {
	t.Helper()
	needs(t, "dcb", "iproute2")
	gcc := needs(t, "gcc", "gcc")
	b := newBench(t, "systemctl", "ethtool")
	card := filepath.Join(b.dir, "card.so")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-o", card, "testdata/dcbnl.c").CombinedOutput(); err != nil {
		t.Skipf("gcc does not make the card: %s", out)
	}
	b.env = append(b.env, "LD_PRELOAD="+card, "DCB_STATE="+filepath.Join(b.dir, "state"), "DCB_DRIVER="+driver)
	return b
}

// look says what the card is, in the words of a step.
func (b *bench) look(s Step, netdev string) string {
	d := dump.NewNode("n")
	const port = "/sys/class/infiniband/mlx5_0/ports/1/"
	d.Text[port+"link_layer"], d.Text[port+"gids/0"], d.Text[port+"gid_attrs/ndevs/0"] = "Ethernet", "fe80::1", netdev
	d.Link["/sys/class/infiniband/mlx5_0/device"], d.Link["/sys/class/infiniband/mlx5_0/device/driver"] = "../../../0000:17:00.0", "../mlx5_core"
	for _, part := range []string{"pfc", "app", "ets"} {
		cmd := "dcb -j " + part + " show dev " + netdev
		d.Text["$ "+cmd] = b.run(cmd)
	}
	q := &format.Node(d).Ports[0].QoS
	switch {
	case strings.HasSuffix(s.What, "/pfc"):
		return bits(q.PFC)
	case strings.HasSuffix(s.What, "/classes"):
		return classWords(q.PrioTC, q.TSA, q.TCBW)
	}
	return trustWords(q.Trust, q.DSCP)
}

// TestMlnxQoS runs the lines for mlnx_qos on a played one, which keeps the rules of the
// real one and prints what it prints: there is none without NVIDIA's packages.
func TestMlnxQoS(t *testing.T) {
	script, err := os.ReadFile("testdata/mlnx_qos.sh")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, x := range tuneTries {
		c := x.broken()
		for _, s := range Make(c, x.broken(), check.All, of(c, x.remedy)).Steps {
			if !strings.HasPrefix(s.Shows, "mlnx_qos ") {
				continue
			}
			n++
			t.Run(x.remedy+" "+x.name, func(t *testing.T) {
				netdev := strings.Split(s.What, "/")[1]
				node := c.Node(s.Node)
				p := node.Ports[slices.IndexFunc(node.Ports, func(p *fact.Port) bool { return p.Netdev == netdev })]
				b := newBench(t, "systemctl")
				b.play("mlnx_qos", string(script))
				b.env = append(b.env, "CARD="+t.TempDir())
				b.run("mlnx_qos -i " + netdev + " --pfc " + bits(p.QoS.PFC))
				if p.QoS.TSA != nil {
					b.run("mlnx_qos -i " + netdev + " --prio_tc " + commas(p.QoS.PrioTC) + " --tsa " + strings.Join(p.QoS.TSA, ",") + " --tcbw " + commas(p.QoS.TCBW))
				}
				if p.QoS.Trust == "dscp" {
					b.run(append(mlnxTrust(netdev, p.QoS.DSCP, 26), mlnxDSCP(netdev, eightEach(), p.QoS.DSCP)...)...)
				}
				b.whole(s, func() {
					q, err := dcb.ParseMlnxQoS([]byte(b.run("mlnx_qos -i " + netdev)))
					if err != nil {
						t.Fatal(err)
					}
					now := map[string]string{"pfc": bits(q.PFC), "trust": trustWords(q.Trust, q.DSCPPrio), "classes": commas(q.PrioTC())}[strings.Split(s.What, "/")[2]]
					if !strings.HasPrefix(s.To, now) {
						t.Errorf("%s: the card is %q, want %q", s.What, now, s.To)
					}
				})
			})
			break // one of equal steps is enough
		}
	}
	if n < 5 {
		t.Errorf("%d steps with mlnx_qos", n)
	}
}

// TestPauseLines runs them on a played ethtool, which calls it an error, as the real one
// does, when nothing changes.
func TestPauseLines(t *testing.T) {
	for _, name := range []string{"both ways", "one way"} {
		s := planOf(t, "roce.pause", name, tuneTries).Steps[0]
		b := newBench(t, "systemctl")
		b.play("ethtool", `f=$0.state; [ -e "$f" ] || echo "$START" >"$f"; case $1 in
-a) printf 'Pause parameters for %s:\nAutonegotiate:\toff\nRX:\t\t%s\nTX:\t\t%s\nRX negotiated: on\n' "$2" $(cat "$f");;
-A) [ "$(cat "$f")" = "$4 $6" ] && { echo 'no pause parameters changed, aborting' >&2; exit 78; }; echo "$4 $6" >"$f";; *) exit 1;; esac`)
		f := strings.Fields(s.From)
		b.env = append(b.env, "START="+f[1]+" "+f[3])
		b.whole(s, func() {
			if got := b.run(s.Shows); got != "RX off TX off\n" {
				t.Errorf("done, it shows %q", got)
			}
		})
	}
}

// TestSetpci has the real setpci say what it would write, from the configuration space
// of machines of the sample: the bits that are meant, and no others.
func TestSetpci(t *testing.T) {
	real := needs(t, "setpci", "pciutils")
	full := sample.Link{GTs: 16, Width: 16}
	m := sample.New("n1", 1)
	down := m.SwitchBelow(m.Root("0000:16:02.0", 0, full), 0x17, full)
	m.Plug(sample.ConnectX6, "0000:19:00.0", down[0], "mlx5_0", "ens1np0", 200)
	m.AddGPU(sample.A100, "0000:1a:00.0", down[1])
	m.At("0000:18:01.0").Redirect = true
	m.At("0000:19:00.0").MaxRead = 512
	c := &sample.Cluster{Machines: []*sample.Machine{m}}
	d := c.Dump()
	k := &check.Case{Cluster: format.Facts(d)}
	var steps []Step
	for _, id := range []string{"pcie.mrrs", "node.acs"} {
		steps = append(steps, Make(k, &check.Case{Cluster: format.Facts(d)}, check.All, of(k, id)).Steps...)
	}
	if len(steps) != 2 {
		t.Fatalf("steps: %+v", steps)
	}
	b := newBench(t, "systemctl")
	file := filepath.Join(b.dir, "pci.txt")
	b.play("setpci", "exec "+real+" -A dump -O dump.name="+file+" -D -v \"$@\"")
	var text strings.Builder
	for _, p := range m.PCI {
		fmt.Fprintf(&text, "%s x\n", p.BDF)
		raw := d.Nodes[0].Text["/sys/bus/pci/devices/"+p.BDF+"/config"]
		for i := 0; i < len(raw); i += 16 {
			fmt.Fprintf(&text, "%02x: % x\n", i, raw[i:min(i+16, len(raw))])
		}
		text.WriteString("\n")
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`^([0-9a-f:.]+) .* ([0-9a-f]{4})->\([0-9a-f]{4}:([0-9a-f]{4})\)->([0-9a-f]{4})\n$`)
	hex := func(s string) int {
		v, err := strconv.ParseInt(s, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return int(v)
	}
	for i, want := range []struct {
		bdf             string
		mask, was, then int
	}{{"0000:19:00.0", 0x7000, 0x2000, 0x5000}, {"0000:18:01.0", 0xc, 0xc, 0}} {
		s := steps[i]
		do, undo := said.FindStringSubmatch(b.run(s.Do[len(s.Do)-1])), said.FindStringSubmatch(b.run(s.Undo[len(s.Undo)-1]))
		if do == nil || undo == nil {
			t.Errorf("setpci does not say what %q and %q do", s.Do, s.Undo)
			continue
		}
		was, mask, then := hex(do[2]), hex(do[3]), hex(do[4])
		if do[1] != want.bdf || mask != want.mask || was&mask != want.was || then&mask != want.then || was&^mask != then&^mask || undo[4] != do[2] {
			t.Errorf("%s: done %q, undone %q, want %+v", s.What, do, undo, want)
		}
	}
	// The line that shows a value reads it from what setpci prints.
	b.play("setpci", "exec "+real+" -A dump -O dump.name="+file+" \"$@\"")
	if got := b.run(steps[0].Shows, steps[1].Shows); got != fmt.Sprintf("%d\n%d\n", 0x2000, 0xc) {
		t.Errorf("shows %q", got)
	}
}

// TestSysfsLines runs lines that write below /sys on files elsewhere.
func TestSysfsLines(t *testing.T) {
	n := 0
	for _, x := range tuneTries {
		if !slices.Contains([]string{"roce.tc", "roce.ecn", "roce.v2"}, x.remedy) && x.name != "policy" {
			continue
		}
		n++
		t.Run(x.remedy+" "+x.name, func(t *testing.T) {
			c := x.broken()
			s := Make(c, x.broken(), check.All, of(c, x.remedy)).Steps[0]
			b := newBench(t, "systemctl", "modprobe")
			move := func(line string) string { return strings.ReplaceAll(line, "/sys/", b.dir+"/sys/") }
			s.Shows = move(s.Shows)
			for _, lines := range [][]string{s.Do, s.Undo} {
				for i := range lines {
					lines[i] = move(lines[i])
				}
			}
			from := strings.Fields(strings.NewReplacer("np ", "", "rp ", "", ",", "").Replace(s.From))
			for i, file := range strings.Fields(s.Shows)[1:] {
				text := s.From
				if x.remedy == "roce.ecn" {
					text = from[i][3:4]
				}
				if x.name == "policy" {
					text, _, _ = strings.Cut(s.From, ";")
				}
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if x.remedy != "roce.ecn" {
				os.MkdirAll(b.dir+"/sys/class/infiniband/mlx5_0", 0o700)
			}
			b.whole(s, func() {
				got := b.run(s.Shows)
				want := s.To + "\n"
				if x.remedy == "roce.ecn" {
					want = "1\n1\n"
				}
				if got != want {
					t.Errorf("done, it shows %q, want %q", got, want)
				}
			})
		})
	}
	if n == 0 {
		t.Error("nothing was tried")
	}
}

// TestSysctlLines runs the real sysctl in a network namespace of its own.
func TestSysctlLines(t *testing.T) {
	needs(t, "sysctl", "procps")
	if os.Getuid() != 0 || exec.Command("unshare", "-n", "true").Run() != nil {
		t.Skip("a network namespace needs root")
	}
	c := settings(map[string]string{"net.ipv4.ip_local_port_range": "20000 30000"}, map[string]string{"net.ipv4.ip_local_port_range": "32768 60999"}, nil)()
	s := Make(c, c, check.All, of(c, "node.sysctl")).Steps[0]
	script := strings.Join(slices.Concat([]string{s.Shows}, s.Do, s.Do, []string{s.Shows}, s.Undo, s.Undo, []string{s.Shows}), "\n")
	out, err := exec.Command("unshare", "-n", "sh", "-ec", script).CombinedOutput()
	if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != "32768 60999 20000 30000 32768 60999" {
		t.Errorf("%v: %s", err, got)
	}
}

// TestUnitsAreRead has systemd read every unit of every try.
func TestUnitsAreRead(t *testing.T) {
	analyze := needs(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	var units []string
	for _, x := range tuneTries {
		for path, text := range filesOf(planOf(t, x.remedy, x.name, tuneTries)) {
			if filepath.Dir(path)+"/" != unit.Dir {
				continue
			}
			file := filepath.Join(dir, filepath.Base(path))
			if slices.Contains(units, file) {
				continue
			}
			units = append(units, file)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(units) < 10 {
		t.Fatalf("%d units", len(units))
	}
	out, err := exec.Command(analyze, append([]string{"--man=no", "verify"}, units...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) || strings.Contains(line, "weft-") {
			t.Errorf("systemd-analyze: %v: %s", err, line)
		}
	}
}

// TestModprobeReadsOptions has the real modprobe read the options that remedies write.
func TestModprobeReadsOptions(t *testing.T) {
	modprobe := needs(t, "modprobe", "kmod")
	for _, tt := range []struct{ remedy, name, want string }{
		{"ib.steering", "dracut", "options mlx4_core log_num_mgm_entry_size=-7\n"},
		{"ib.steering", "another value in modprobe.d", "options mlx4_core port_type_array=1,1 log_num_mgm_entry_size=-7 # ours\n"},
		{"roce.irdma", "Intel's own driver", "options irdma roce_ena=1\n"},
	} {
		dir := t.TempDir()
		for path, text := range filesOf(planOf(t, tt.remedy, tt.name, slices.Concat(tuneTries, bootTries))) {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := exec.Command(modprobe, "-C", dir, "-c").Output(); err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s %s: %v, no %q", tt.remedy, tt.name, err, tt.want)
		}
	}
}
