package design

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRealFRR runs the configurations that weft writes: real FRR, two spines, four
// leaves, eight nodes and the router, each in a network namespace of its own.
func TestRealFRR(t *testing.T) { alone(t, oneFabric) }

// TestRealFRRTwoFabrics runs training and inference beside each other: they meet at
// the router alone.
func TestRealFRRTwoFabrics(t *testing.T) { alone(t, twoFabrics) }

// alone runs a test once more inside a set of namespaces, made for it and gone with
// it: nothing can leave, and nothing stays behind, whatever happens to the test.
func alone(t *testing.T, run func(*testing.T)) {
	if why := noFRR(); why != "" {
		t.Skip(why)
	}
	if os.Getenv("WEFT_FRR_INSIDE") != "" {
		run(t)
		return
	}
	if testing.Short() {
		t.Skip("-short: it takes half a minute")
	}
	// The thread that starts the child must live as long as it: Pdeathsig is bound
	// to the thread, not to the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=4m")
	cmd.Env = append(os.Environ(), "WEFT_FRR_INSIDE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, os.ErrPermission):
		t.Skipf("no namespaces here: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip(string(out))
	case err != nil || !strings.Contains(string(out), "--- PASS"):
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if _, said, ok := strings.Cut(line, "frr_test.go:"); ok {
			_, said, _ = strings.Cut(said, ": ")
			t.Log(strings.TrimSpace(said))
		}
	}
}

const frrDaemons = "/usr/lib/frr"

// noFRR says why FRR cannot run here, or "".
func noFRR() string {
	if os.Getuid() != 0 {
		return "network namespaces need root"
	}
	for _, tool := range []string{"ip", "vtysh"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed: apt install iproute2 frr"
		}
	}
	for _, daemon := range []string{"zebra", "bgpd"} {
		if _, err := os.Stat(filepath.Join(frrDaemons, daemon)); err != nil {
			return "FRR is not installed: apt install frr"
		}
	}
	return ""
}

// up mounts what the namespaces need, and starts a design in them.
func up(t *testing.T, a Ask) *frrLab {
	for _, m := range []struct{ source, target, kind string }{{"", "/", ""}, {"proc", "/proc", "proc"}, {"tmpfs", "/run", "tmpfs"}} {
		flags := uintptr(0)
		if m.kind == "" {
			flags = syscall.MS_REC | syscall.MS_PRIVATE
		}
		if err := syscall.Mount(m.source, m.target, m.kind, flags, ""); err != nil {
			t.Skipf("mount %s in a namespace of its own: %v", m.target, err)
		}
	}
	l := &frrLab{t: t, d: must(t, a)}
	began := time.Now()
	l.build()
	l.t.Logf("namespaces and wires: %v", since(began))
	began = time.Now()
	for _, x := range l.routed() {
		l.start(x)
	}
	for _, x := range l.routed() {
		l.load(x)
	}
	l.t.Logf("daemons and configurations: %v", since(began))
	began = time.Now()
	l.wait("every leaf has two next hops to every other", func() string { return l.ecmp(2) })
	l.t.Logf("convergence: %v", since(began))
	l.echoes()
	return l
}

func oneFabric(t *testing.T) {
	l := up(t, Ask{Nodes: 8, GPUs: 2, Workload: "pretrain", Fabric: "clos", Ports: 5, Name: "n"})
	if f := l.d.Fabrics[0]; f.Leaves != 4 || f.Spines != 2 {
		t.Fatalf("%d leaves and %d spines, want 4 and 2", f.Leaves, f.Spines)
	}
	l.reach("at the start")
	l.spread()
	l.outside()
	l.oneLink()
	l.spineDown()
	l.spineKilled()
}

func twoFabrics(t *testing.T) {
	l := up(t, Ask{Nodes: 4, GPUs: 2, Workload: "pretrain", InferenceNodes: 4, Fabric: "clos", Ports: 4, Name: "n", BFD: true})
	for _, f := range l.d.Fabrics {
		if p := f.Planes[0]; p.EdgeAt != RoleSpine || f.Leaves != 2 {
			t.Fatalf("%s: %+v: want uplinks at the spines, for a change", f.Name, p)
		}
	}
	l.reach("through the router")
	for _, x := range l.d.Devices {
		if x.Role != RoleLeaf && x.Role != RoleSpine {
			continue
		}
		for _, y := range l.leaves() {
			if _, knows := l.routes(x.Name)[y.Own.String()]; knows && x.Fabric != y.Fabric {
				t.Errorf("%s of %s knows the nodes of %s", x.Name, x.Fabric, y.Name)
			}
		}
	}
	l.wait("BFD is up on every link", func() string {
		for _, x := range l.routed() {
			if out := l.vtysh(x, "show bfd peers"); strings.Contains(out, "Status: down") || strings.Count(out, "Status: up") < 2 {
				return x.Name + ":\n" + out
			}
		}
		return ""
	})
	// A spine that lives on and says nothing: its cables stay up, its kernel forwards.
	spine := l.d.Device("inf-spine2")
	l.signal(spine, syscall.SIGSTOP)
	began := time.Now()
	l.wait("BFD finds the silent spine", func() string { return l.ecmpOf("inference", 1) })
	took := since(began)
	l.t.Logf("inf-spine2 frozen: one next hop in its fabric within %v (BFD 3 × 300 ms; the hold time is %d s)", took, hold)
	if took >= hold*time.Second {
		l.t.Errorf("BFD took %v, no less than the hold time", took)
	}
	l.reach("inf-spine2 frozen")
	l.signal(spine, syscall.SIGCONT)
	l.wait("two next hops again", func() string { return l.ecmp(2) })
}

// signal sends a signal to all daemons of a device.
func (l *frrLab) signal(x *Device, s syscall.Signal) {
	for _, p := range l.procs[x.Name] {
		if err := p.Process.Signal(s); err != nil {
			l.t.Error(err)
		}
	}
}

func (l *frrLab) vtysh(x *Device, commands ...string) string {
	args := []string{"ip", "netns", "exec", x.Name, "vtysh", "--vty_socket", l.dir(x)}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	return l.run(args...)
}

// frrLab is a design that runs.
type frrLab struct {
	t     *testing.T
	d     *Design
	nodes []frrNode
	procs map[string][]*exec.Cmd
}

type frrNode struct {
	name string
	addr netip.Addr
	conn *net.UDPConn // answers
}

func (l *frrLab) routed() []*Device {
	return slices.DeleteFunc(slices.Clone(l.d.Devices), func(x *Device) bool { return !x.Routed() })
}

func (l *frrLab) run(args ...string) string {
	l.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// batch runs many lines of ip in one process, in a namespace or in none.
func (l *frrLab) batch(ns string, lines ...string) {
	l.t.Helper()
	args := []string{"-batch", "-"}
	if ns != "" {
		args = append([]string{"-n", ns}, args...)
	}
	cmd := exec.Command("ip", args...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Fatalf("ip -n %s: %v\n%s\n%s", ns, err, out, strings.Join(lines, "\n"))
	}
}

// build makes the namespaces and the cables of the design, with its own names, and
// gives the nodes their addresses and routes as addresses.csv has them.
func (l *frrLab) build() {
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for _, x := range l.d.Devices {
		if x.Role == RoleNode || x.Routed() {
			names = append(names, x.Name)
		}
	}
	names = append(names, "outside")
	var lines []string
	for _, n := range names {
		lines = append(lines, "netns add "+n)
	}
	l.batch("", lines...)
	for _, n := range names {
		inside(l.t, n, func() {
			for path, value := range map[string]string{
				"ipv4/fib_multipath_hash_policy": "1", // as switches do: ports, too
				"ipv4/conf/all/rp_filter":        "0",
				"ipv6/conf/default/accept_dad":   "0", // veth pairs have no twin to wait for
				"ipv6/conf/all/accept_dad":       "0",
			} {
				if err := os.WriteFile("/proc/sys/net/"+path, []byte(value), 0o644); err != nil {
					l.t.Errorf("%s: %v", n, err)
				}
			}
		})
	}
	lines = nil
	ups := map[string][]string{}
	for _, c := range l.d.Cables {
		if c.Plane != Data && c.Plane != UplinkLine {
			continue
		}
		lines = append(lines, fmt.Sprintf("link add %s netns %s mtu 9000 type veth peer name %s netns %s mtu 9000", c.A.Port, c.A.Device, c.B.Port, c.B.Device))
		ups[c.A.Device] = append(ups[c.A.Device], "link set "+c.A.Port+" up")
		ups[c.B.Device] = append(ups[c.B.Device], "link set "+c.B.Port+" up")
	}
	lines = append(lines, "link add out netns router1 mtu 9000 type veth peer name out netns outside mtu 9000")
	l.batch("", lines...)
	for _, n := range names {
		ups[n] = append(ups[n], "link set lo up")
	}
	ups["router1"] = append(ups["router1"], "link set out up", "addr add 203.0.113.1/24 dev out")
	ups["outside"] = append(ups["outside"], "link set out up", "addr add 203.0.113.2/24 dev out", "route add default via 203.0.113.1")
	for _, a := range l.d.Addresses {
		if x := l.d.Device(a.Device); x.Role != RoleNode || !strings.HasPrefix(a.Port, "rail") {
			continue
		}
		ups[a.Device] = append(ups[a.Device], fmt.Sprintf("addr add %v dev %s", a.Address, a.Port), fmt.Sprintf("route add %s via %v", a.Route, a.Gateway),
			fmt.Sprintf("route add 203.0.113.0/24 via %v", a.Gateway),    // the storage, by rail 1
			fmt.Sprintf("route add %v via %v", l.d.Net.Block, a.Gateway)) // the other fabric
		l.nodes = append(l.nodes, frrNode{name: a.Device, addr: a.Address.Addr()})
	}
	for _, n := range names {
		l.batch(n, ups[n]...)
	}
	l.nodes = append(l.nodes, frrNode{name: "outside", addr: netip.MustParseAddr("203.0.113.2")})
}

// inside runs a function in a network namespace, on a thread that ends with it.
func inside(t *testing.T, ns string, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread goes, and its namespace
		fd, err := unix.Open("/run/netns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			unix.Close(fd)
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("namespace %s: %v", ns, err)
	}
}

func (l *frrLab) dir(x *Device) string { return "/run/frr/" + x.Name }

// start runs a device's daemons in the foreground, as children: they end with the
// namespace of processes that this test is the first process of.
func (l *frrLab) start(x *Device) {
	dir := l.dir(x)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		l.t.Fatal(err)
	}
	os.Chmod(dir, 0o777) // whatever the umask: the daemons give up being root
	empty := dir + "/empty.conf"
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		l.t.Fatal(err)
	}
	if l.procs == nil {
		l.procs = map[string][]*exec.Cmd{}
	}
	for _, daemon := range []string{"mgmtd", "zebra", "bgpd", "bfdd"} {
		if daemon == "bfdd" && !l.d.ask.BFD {
			continue
		}
		path := filepath.Join(frrDaemons, daemon)
		if _, err := os.Stat(path); err != nil {
			continue // FRR before 9 has no mgmtd
		}
		cmd := exec.Command("ip", "netns", "exec", x.Name, path, "-f", empty, "-i", dir+"/"+daemon+".pid", "-z", dir+"/zserv.api", "--vty_socket", dir, "-A", "127.0.0.1", "-P", "0", "--log", "file:"+dir+"/"+daemon+".log")
		switch daemon {
		case "mgmtd":
			cmd = exec.Command("ip", "netns", "exec", x.Name, path, "-i", dir+"/"+daemon+".pid", "--vty_socket", dir, "-A", "127.0.0.1", "-P", "0")
		case "bfdd": // its control socket has a fixed place otherwise
			cmd.Args = append(cmd.Args, "--bfdctl", dir+"/bfdd.sock")
		}
		if err := cmd.Start(); err != nil {
			l.t.Fatal(err)
		}
		l.procs[x.Name] = append(l.procs[x.Name], cmd)
		for range 200 { // its socket says that it listens
			if _, err := os.Stat(dir + "/" + daemon + ".vty"); err == nil {
				break
			}
			time.Sleep(25 * time.Millisecond)
		}
	}
}

// load gives a device its configuration the way FRR's own start does, and wants no
// complaint.
func (l *frrLab) load(x *Device) {
	file := l.dir(x) + "/frr.conf"
	if err := os.WriteFile(file, []byte(l.d.FRR(x)), 0o644); err != nil {
		l.t.Fatal(err)
	}
	out := l.run("ip", "netns", "exec", x.Name, "vtysh", "--vty_socket", l.dir(x), "-f", file)
	for line := range strings.Lines(out) {
		if strings.Contains(line, "%") || strings.Contains(strings.ToLower(line), "error") {
			l.t.Errorf("%s: vtysh says %s", x.Name, line)
		}
	}
}

// patience is for a busy machine: it takes seconds.
const patience = 90 * time.Second

// wait polls until a condition has nothing to complain of.
func (l *frrLab) wait(what string, complaint func() string) {
	l.t.Helper()
	said := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if said = complaint(); said == "" {
			return
		}
	}
	x := l.d.Device("leaf1")
	l.t.Fatalf("%s: not after %v: %s\n%s", what, patience, said, l.vtysh(x, "show bgp summary", "show ip route"))
}

type kernelRoute struct {
	Dst      string `json:"dst"`
	Gateway  any    `json:"gateway"`
	Via      any    `json:"via"`
	Dev      string `json:"dev"`
	Type     string `json:"type"`
	Nexthops []struct {
		Dev string `json:"dev"`
	} `json:"nexthops"`
}

// routes are what the kernel of a device forwards by: destination to devices.
func (l *frrLab) routes(device string) map[string][]string {
	var list []kernelRoute
	if err := json.Unmarshal([]byte(l.run("ip", "-n", device, "-j", "-d", "route", "show")), &list); err != nil {
		l.t.Fatal(err)
	}
	out := map[string][]string{}
	for _, r := range list {
		if r.Dev != "" {
			out[r.Dst] = append(out[r.Dst], r.Dev)
		}
		for _, h := range r.Nexthops {
			out[r.Dst] = append(out[r.Dst], h.Dev)
		}
	}
	return out
}

// ecmp complains where a leaf has not that many next hops, over different ports, to
// the nodes of another of its fabric.
func (l *frrLab) ecmp(want int) string { return l.ecmpOf("", want) }

func (l *frrLab) ecmpOf(fabric string, want int) string {
	for _, a := range l.leaves() {
		if fabric != "" && a.Fabric != fabric {
			continue
		}
		routes := l.routes(a.Name)
		for _, b := range l.leaves() {
			if a == b || a.Fabric != b.Fabric {
				continue
			}
			got := slices.Compact(slices.Sorted(slices.Values(routes[b.Own.String()])))
			if len(got) != want {
				return fmt.Sprintf("%s has next hops %v to %v of %s, want %d", a.Name, got, b.Own, b.Name, want)
			}
		}
		if len(routes["default"]) == 0 {
			return a.Name + " has no default route"
		}
	}
	return ""
}

func (l *frrLab) leaves() []*Device {
	return slices.DeleteFunc(slices.Clone(l.d.Devices), func(x *Device) bool { return x.Role != RoleLeaf })
}

// echoes opens a socket in every node that sends back what it gets.
func (l *frrLab) echoes() {
	for i := range l.nodes {
		n := &l.nodes[i]
		inside(l.t, n.name, func() {
			var err error
			if n.conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: n.addr.AsSlice(), Port: 7}); err != nil {
				l.t.Error(err)
			}
		})
		go func() {
			b := make([]byte, 64)
			for {
				k, from, err := n.conn.ReadFromUDPAddrPort(b)
				if err != nil {
					return
				}
				n.conn.WriteToUDPAddrPort(b[:k], from)
			}
		}()
	}
}

func (l *frrLab) dial(from, to frrNode) *net.UDPConn {
	var conn *net.UDPConn
	inside(l.t, from.name, func() {
		var err error
		conn, err = net.DialUDP("udp4", nil, &net.UDPAddr{IP: to.addr.AsSlice(), Port: 7})
		if err != nil {
			l.t.Error(err)
		}
	})
	return conn
}

// ping sends one probe and waits for its echo.
func ping(conn *net.UDPConn, wait time.Duration) bool {
	b := []byte("weft")
	conn.SetDeadline(time.Now().Add(wait))
	if _, err := conn.Write(b); err != nil {
		return false
	}
	_, err := conn.Read(b)
	return err == nil
}

// reach wants every ordered pair of nodes to answer, and no probe lost.
func (l *frrLab) reach(when string) {
	l.t.Helper()
	pairs, probes, lost := 0, 0, 0
	for _, a := range l.nodes {
		for _, b := range l.nodes {
			if a.name == b.name {
				continue
			}
			pairs++
			conn := l.dial(a, b)
			ping(conn, 2*time.Second) // the first may wait for ARP
			for range 3 {
				probes++
				if !ping(conn, 2*time.Second) {
					lost++
					l.t.Errorf("%s: %s does not reach %s", when, a.name, b.name)
				}
			}
			conn.Close()
		}
	}
	l.t.Logf("%s: %d pairs of %d nodes and the outside, %d probes, %d lost", when, pairs, len(l.nodes)-1, probes, lost)
}

// spread wants flows on both uplinks of a leaf.
func (l *frrLab) spread() {
	leaf := l.leaves()[0]
	before := l.sent(leaf)
	const flows = 64
	for range flows { // each has a source port of its own
		conn := l.dial(l.nodes[0], l.nodes[6])
		if !ping(conn, 2*time.Second) {
			l.t.Error("a flow is lost")
		}
		conn.Close()
	}
	after := l.sent(leaf)
	var used []string
	for _, k := range l.d.links(leaf) {
		if k.peer.Role == RoleSpine {
			n := after[k.port] - before[k.port]
			used = append(used, fmt.Sprintf("%s %d packets", k.peer.Name, n))
			if n < flows/8 {
				l.t.Errorf("%s got %d of %d flows of %s", k.peer.Name, n, flows, leaf.Name)
			}
		}
	}
	l.t.Logf("%d flows from %s to %s: %s", flows, l.nodes[0].name, l.nodes[6].name, strings.Join(used, ", "))
}

// sent counts packets that left a device, by port.
func (l *frrLab) sent(x *Device) map[string]int {
	var list []struct {
		Name  string `json:"ifname"`
		Stats struct {
			TX struct {
				Packets int `json:"packets"`
			} `json:"tx"`
		} `json:"stats64"`
	}
	if err := json.Unmarshal([]byte(l.run("ip", "-n", x.Name, "-j", "-s", "link", "show")), &list); err != nil {
		l.t.Fatal(err)
	}
	out := map[string]int{}
	for _, i := range list {
		out[i.Name] = i.Stats.TX.Packets
	}
	return out
}

// outside wants the router to know the fabric, and the fabric nothing of the outside
// but a default route.
func (l *frrLab) outside() {
	router := l.routes("router1")
	for _, leaf := range l.leaves() {
		if len(router[leaf.Own.String()]) == 0 {
			l.t.Errorf("router1 has no route to %v", leaf.Own)
		}
	}
	if n := len(l.routes("leaf1")); n > 3*len(l.d.Devices) {
		l.t.Errorf("leaf1 has %d routes", n)
	}
	if _, ok := l.routes("leaf1")["203.0.113.0/24"]; ok {
		l.t.Error("leaf1 knows a net of the outside")
	}
}

// watch sends probes over some pairs without a pause until stop, and returns the
// longest time without an answer and how many were lost.
func (l *frrLab) watch() (stop func() (gap time.Duration, sent, lost int)) {
	end := make(chan struct{})
	type result struct {
		gap        time.Duration
		sent, lost int
	}
	results := make(chan result)
	var conns []*net.UDPConn
	for _, p := range [][2]int{{0, 2}, {0, 4}, {0, 6}, {2, 6}, {4, 1}, {6, 3}, {5, 8}, {8, 7}} { // 8 is the outside
		for range 2 { // source ports differ, and so may the way
			conns = append(conns, l.dial(l.nodes[p[0]], l.nodes[p[1]]))
		}
	}
	var wg sync.WaitGroup
	for _, conn := range conns {
		ping(conn, 2*time.Second)
		wg.Add(1)
		go func() {
			defer wg.Done()
			var r result
			last := time.Now()
			for {
				select {
				case <-end:
					results <- r
					return
				case <-time.After(5 * time.Millisecond):
				}
				r.sent++
				if ping(conn, 20*time.Millisecond) {
					r.gap = max(r.gap, time.Since(last))
					last = time.Now()
				} else {
					r.lost++
				}
			}
		}()
	}
	return func() (gap time.Duration, sent, lost int) {
		close(end)
		for range conns {
			r := <-results
			gap, sent, lost = max(gap, r.gap), sent+r.sent, lost+r.lost
		}
		wg.Wait()
		for _, c := range conns {
			c.Close()
		}
		return gap, sent, lost
	}
}

func (l *frrLab) set(x *Device, state string, which func(link) bool) {
	var lines []string
	for _, k := range l.d.links(x) {
		if which(k) {
			lines = append(lines, "link set "+k.port+" "+state)
		}
	}
	l.batch(x.Name, lines...)
}

// oneLink cuts one cable between leaf1 and spine1: nothing is lost, and no leaf
// becomes a way between spines.
func (l *frrLab) oneLink() {
	spine, leaf := l.d.Device("spine1"), l.d.Device("leaf1")
	l.set(leaf, "down", func(k link) bool { return k.peer == spine })
	own := leaf.Own.String()
	l.wait("spine1 gives up leaf1", func() string {
		if via := l.routes("spine1")[own]; len(via) > 0 && via[0] != "" {
			return fmt.Sprintf("spine1 reaches leaf1's nodes over %v: a leaf became a way between spines", via)
		}
		return ""
	})
	l.wait("leaf1's nodes are reached by spine2 alone", func() string {
		from := l.routes("leaf1")
		for _, x := range l.leaves() {
			if x != leaf && (len(l.routes(x.Name)[own]) != 1 || len(from[x.Own.String()]) != 1) {
				return x.Name
			}
		}
		return ""
	})
	l.reach("one cable cut")
	l.set(leaf, "up", func(k link) bool { return k.peer == spine })
	began := time.Now()
	l.wait("two next hops again", func() string { return l.ecmp(2) })
	l.t.Logf("cable back: two next hops everywhere after %v", since(began))
}

// spineDown takes all cables of a spine away at once, as its power would.
func (l *frrLab) spineDown() {
	spine := l.d.Device("spine1")
	stop := l.watch()
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	l.set(spine, "down", func(link) bool { return true })
	l.wait("one next hop everywhere", func() string { return l.ecmp(1) })
	took := since(began)
	time.Sleep(300 * time.Millisecond)
	gap, sent, lost := stop()
	l.t.Logf("spine1 down: one next hop everywhere within %v; %d of %d probes lost, longest gap %v", took, lost, sent, gap.Round(time.Millisecond))
	l.reach("spine1 down, converged")
	l.set(spine, "up", func(link) bool { return true })
	began = time.Now()
	l.wait("two next hops again", func() string { return l.ecmp(2) })
	l.t.Logf("spine1 back: two next hops everywhere after %v", since(began))
	l.reach("spine1 back")
}

// spineKilled ends a spine's daemons without a word while its cables stay up.
func (l *frrLab) spineKilled() {
	stop := l.watch()
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	for _, p := range l.procs["spine2"] {
		p.Process.Kill()
		p.Wait()
	}
	l.wait("one next hop everywhere", func() string { return l.ecmp(1) })
	took := since(began)
	time.Sleep(300 * time.Millisecond)
	gap, sent, lost := stop()
	l.t.Logf("spine2's daemons killed: one next hop everywhere within %v; %d of %d probes lost, longest gap %v", took, lost, sent, gap.Round(time.Millisecond))
	l.reach("spine2 dead, converged")
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }

// TestFRRAcceptsEveryConfiguration gives configurations to vtysh, which knows every
// daemon's commands: all of small designs, a sample of large ones.
func TestFRRAcceptsEveryConfiguration(t *testing.T) {
	if _, err := exec.LookPath("vtysh"); err != nil {
		t.Skip("vtysh is not installed: apt install frr")
	}
	tests := []struct {
		name string
		ask  Ask
	}{
		{"8", Ask{Nodes: 8, GPUs: 4, Workload: "pretrain", Fabric: "clos"}},
		{"16", Ask{Nodes: 16, GPUs: 4, Workload: "vision", BFD: true}},
		{"64", Ask{Nodes: 64, GPUs: 8, Workload: "pretrain", PortName: "Ethernet"}},
		{"1024", Ask{Nodes: 1024, GPUs: 8, Workload: "pretrain"}},
		{"planes", Ask{Nodes: 700, GPUs: 8, Workload: "finetune", Ports: 64, InferenceNodes: 20}},
		{"lag", Ask{Nodes: 20, GPUs: 8, Workload: "vision", NIC: "100g", InferenceNodes: 6, PerGPU: "4GB/s"}},
		{"four-byte", Ask{Nodes: 4000, GPUs: 8, Workload: "pretrain", Rails: 8, Ports: 92}},
	}
	dir := t.TempDir()
	for _, tt := range tests {
		d := must(t, tt.ask)
		var routed []*Device
		for _, x := range d.Devices {
			if x.Routed() {
				routed = append(routed, x)
			}
		}
		step := max(1, len(routed)/12)
		n := 0
		for i, x := range routed {
			if i%step != 0 && i != len(routed)-1 && !x.border {
				continue
			}
			if n == 16 {
				break
			}
			n++
			file := filepath.Join(dir, tt.name+"-"+x.Name+".conf")
			if err := os.WriteFile(file, []byte(d.FRR(x)), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("vtysh", "-C", "-f", file).CombinedOutput(); err != nil {
				t.Errorf("%s nodes, %s: %v\n%s", tt.name, x.Name, err, out)
			}
		}
		t.Logf("%s: %d of %d configurations accepted", tt.name, n, len(routed))
	}
	wrong := filepath.Join(dir, "wrong.conf")
	if err := os.WriteFile(wrong, []byte("router bgp 64512\n neighbour swp1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("vtysh", "-C", "-f", wrong).Run(); err == nil {
		t.Error("vtysh accepts nonsense, so its yes says nothing")
	}
}
