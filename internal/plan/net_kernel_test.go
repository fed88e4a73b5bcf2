package plan

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/spec"
)

// kernel is a network of its own with two data netdevs, rail0 and rail1, and mgmt0.
type kernel struct {
	t   *testing.T
	pid string
}

func newKernel(t *testing.T) kernel {
	t.Helper()
	cmd := exec.Command("unshare", "-n", "-m", "sh", "-c", "mount -t sysfs sysfs /sys && echo ready && read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	b := make([]byte, 5)
	if n, _ := out.Read(b); string(b[:n]) != "ready" {
		t.Skip("no network namespace here: only root may make one")
	}
	k := kernel{t, fmt.Sprint(cmd.Process.Pid)}
	for _, dev := range []string{"mgmt0", "rail0", "rail1"} {
		if out, err := k.run(fmt.Sprintf("ip link add %s type veth peer name far-%[1]s && ip link set %[1]s up && ip link set far-%[1]s up", dev)); err != nil {
			t.Skipf("no veth here: %s", out)
		}
	}
	k.must("sysctl -qw net.ipv4.conf.all.promote_secondaries=0 net.ipv4.conf.rail0.promote_secondaries=0; ip addr add 10.90.0.1/24 brd + dev mgmt0")
	return k
}

func (k kernel) run(line string) (string, error) {
	cmd := exec.Command("nsenter", "-t", k.pid, "-n", "-m", "sh", "-c", line)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", line, err, errs.String())
	}
	return out.String(), nil
}

func (k kernel) must(line string) string {
	k.t.Helper()
	out, err := k.run(line)
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// state is all that is at stake. Which of two broadcasts of one subnet is first is not.
func (k kernel) state() string {
	return k.must("ip -4 -d addr; ip -o link | sed 's/ qdisc.*//'; ip -4 route; ip -4 route show table local | sort")
}

// look is the facts of the namespace: one node with an rxe port on each rail.
func (k kernel) look(see func(c *check.Case)) *check.Case {
	d := &dump.Dump{Nodes: []*dump.Node{dump.NewNode("node1")}}
	for _, cmd := range []string{"ip -j -d addr", "ip -j route"} {
		d.Nodes[0].Text["$ "+cmd] = k.must(cmd)
	}
	c := &check.Case{Cluster: format.Facts(d)}
	n := c.Nodes[0]
	n.Host.SSHTo, n.Host.SSHFrom, n.Settings.FilesRead = "10.90.0.1", "10.90.0.9", true
	for _, dev := range n.Netdevs {
		dev.Kind = "" // as if they were cards
	}
	want := spec.Node{Name: n.Name}
	for i, dev := range []string{"rail0", "rail1"} {
		n.Ports = append(n.Ports, &fact.Port{Name: fmt.Sprintf("rdma%d/1", i), Device: fmt.Sprintf("rdma%d", i), Num: 1, Driver: "rxe", Netdev: dev, Layer: "Ethernet",
			State: "ACTIVE", Phys: "LinkUp", GIDsRead: true})
		for j, a := range n.Netdev(dev).Prefixes() {
			if a.Addr().Is4() {
				n.Ports[i].GIDs = append(n.Ports[i].GIDs, fact.GID{Index: j, GID: gidOf(a.Addr()), Type: "RoCE v2", Netdev: dev})
			}
		}
		want.Data = append(want.Data, spec.DataPort{Port: fmt.Sprintf("rdma%d/1", i), Netdev: dev, Address: fmt.Sprintf("10.20.%d.1/24", i)})
	}
	c.Want = spec.Spec{Data: spec.Data{Layer: "roce"}, Nodes: []spec.Node{want}}
	if see != nil {
		see(c)
	}
	return c
}

// TestKernelTakesTheLines runs the lines of steps without a manager in a kernel: twice
// each, undone after all, after the first line, and without having been done.
func TestKernelTakesTheLines(t *testing.T) {
	const right = "ip addr add 10.20.0.1/24 brd + dev rail0; ip addr add 10.20.1.1/24 brd + dev rail1; "
	peer := func(addr, dev, src string) func(c *check.Case) {
		return func(c *check.Case) {
			c.Nodes[0].Peers = []fact.Peer{{Node: "node2", Addr: addr, Port: "rdma0/1", RouteDev: dev, RouteSrc: src}}
			c.Nodes = append(c.Nodes, &fact.Node{Name: "node2"})
		}
	}
	for _, tt := range []struct {
		name, check, setup, after string
		see                       func(c *check.Case)
	}{
		{"mtu", "roce.mtu", right, "rail0@far-rail0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000", nil},
		{"no address", "roce.gid", "ip addr add 10.20.1.1/24 brd + dev rail1", "10.20.0.1/24 brd 10.20.0.255", nil},
		{"beside an old one", "roce.gid", "ip addr add 169.254.7.7/16 scope link dev rail0", "10.20.0.1/24 brd 10.20.0.255", nil},
		{"another address", "roce.subnets", "ip addr add 10.99.0.1/24 brd 10.99.0.255 label rail0:old dev rail0; ip addr add 10.20.1.1/24 dev rail1", "10.20.0.1/24 brd 10.20.0.255", nil},
		{"another length", "roce.subnets", "ip addr add 10.20.0.1/25 dev rail0 noprefixroute; ip route add 10.20.0.0/25 dev rail0 proto kernel scope link src 10.20.0.1 metric 101", "10.20.0.1/24 brd 10.20.0.255", nil},
		{"three, one a secondary", "roce.subnets",
			"ip addr add 10.20.1.9/24 dev rail0; ip addr add 10.20.1.10/24 brd + dev rail0; ip addr add 10.50.0.1/16 dev rail0 metric 9; ip addr add 10.20.1.1/24 brd + dev rail1", "10.20.0.1/24 brd 10.20.0.255", nil},
		{"a primary goes and its secondary stays", "roce.subnets",
			"ip addr add 10.20.0.1/25 dev rail0; ip addr add 10.20.0.9/25 dev rail0; ip addr add 10.20.1.1/24 brd + dev rail1", "10.20.0.9/25", nil},
		{"the first of two ways", "roce.subnets", "ip addr add 10.20.1.9/24 brd + dev rail0; ip addr add 10.20.1.1/24 brd + dev rail1", "10.20.0.1/24 brd 10.20.0.255", nil},
		{"default route", "plane.separate", right + "ip route add default via 10.20.0.254 dev rail0 proto static metric 50; ip route add default via 10.90.0.254 metric 100", "default via 10.90.0.254", nil},
		{"only default route", "plane.separate", right + "ip route add default via 10.20.0.254 dev rail0", "10.20.0.0/24", nil},
		{"the subnet's route", "plane.route", right + "ip route del 10.20.0.0/24 dev rail0; ip route add default via 10.90.0.254", "10.20.0.0/24 dev rail0", peer("10.20.0.2", "mgmt0", "10.90.0.1")},
		{"a narrower route", "plane.route", right + "ip route add 10.20.0.0/28 dev mgmt0", "10.20.0.2 dev rail0", peer("10.20.0.2", "mgmt0", "10.90.0.1")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newKernel(t)
			k.must(tt.setup)
			c := k.look(tt.see)
			p := Make(c, k.look(tt.see), check.All, of(c, tt.check))
			if len(p.Steps) == 0 {
				t.Fatalf("no steps; by hand %+v", p.Hand)
			}
			start := k.state()
			undo := func(when string) {
				t.Helper()
				for i := range p.Steps {
					for _, line := range p.Steps[len(p.Steps)-1-i].Undo {
						k.must(line)
					}
				}
				if got := k.state(); got != start {
					t.Errorf("undone %s:\n%s", when, firstDiff(start, got))
				}
			}
			undo("without having been done")
			shows := k.must(p.Steps[0].Shows)
			for i, s := range p.Steps {
				for j, line := range s.Do {
					k.must(line)
					if i+j == 0 {
						undo("after the first line")
						k.must(line)
					}
				}
			}
			done := k.state()
			if !strings.Contains(done, tt.after) {
				t.Errorf("done, and there is no %q:\n%s", tt.after, done)
			}
			for _, s := range p.Steps {
				for _, line := range s.Do {
					k.must(line)
				}
			}
			if got := k.state(); got != done {
				t.Errorf("done again:\n%s", firstDiff(done, got))
			}
			undo("after all")
			undo("again")
			if got := k.must(p.Steps[0].Shows); got != shows {
				t.Errorf("%s: %q before, %q after the undo", p.Steps[0].Shows, shows, got)
			}
		})
	}
}
