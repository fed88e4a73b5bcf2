package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeRead(t *testing.T) {
	gaps := func(c *Case, gaps ...fact.Gap) { c.Nodes[1].Gaps = gaps }
	down := func(c *Case) {
		c.Nodes[1] = &fact.Node{Name: "n2", Down: "ssh: connect to host n2 port 22: No route to host"}
	}
	judge(t, nodeRead, []row{
		{name: "no gaps", want: "n2 pass"},
		{name: "down", do: down, fix: "ssh n2 true",
			want: "n2 fail: ssh: connect to host n2 port 22: No route to host, want an answer: nothing is known of this node, so no other check speaks of it"},
		{name: "down, and ssh said what helps", do: func(c *Case) {
			c.Nodes[1] = &fact.Node{Name: "n2", Down: "n2: no key was accepted\nssh-copy-id ai@10.0.0.2"}
		}, fix: "ssh-copy-id ai@10.0.0.2",
			want: "n2 fail: no key was accepted, want an answer: nothing is known of this node, so no other check speaks of it"},
		{name: "many gaps for one reason are few words", fix: "sudo weft check",
			do: func(c *Case) {
				gaps(c, fact.Gap{Path: "$ dmesg", Why: "needs root, and sudo -n was refused"}, fact.Gap{Path: "$ sudo -n lspci -vvv", Why: "Permission denied"},
					fact.Gap{Path: "/sys/bus/pci/devices/0000:19:00.0/config", Why: "permission denied"}, fact.Gap{Path: "$ nft -j list ruleset", Why: "Operation not permitted"})
			},
			want: "n2 warn: root only: PCIe registers, firewall, kernel log: the checks that need it cannot answer unless weft is root on the node"},
		{name: "broken is not the same as barred", fix: "weft check -n n2",
			do: func(c *Case) {
				gaps(c, fact.Gap{Path: "$ nvidia-smi -q -x", Why: "took longer than 20 s"}, fact.Gap{Path: "$ /usr/bin/docker images", Why: "took longer than 20 s"},
					fact.Gap{Path: "/sys/class/infiniband/mlx5_0/ports/1/rate", Why: "line 1: no rate"}, fact.Gap{Path: "$ dmesg", Why: "needs root"})
			},
			want: "n2 unknown: not read: GPUs, NCCL and containers (took longer than 20 s), RDMA ports (line 1: no rate), kernel log (root only): the checks that need it cannot answer"},
		{name: "a node that was cut off", fix: "ssh n2 uptime", do: func(c *Case) { gaps(c, fact.Gap{Path: "$ sh", Why: "cut short: took longer than 90 s"}) },
			want: "n2 unknown: not read: the rest of its answers (cut short: took longer than 90 s): the checks that need it cannot answer"},
		{name: "what is absent is no gap", do: func(c *Case) {
			gaps(c, fact.Gap{Path: "$ rocm-smi", Why: "rocm-smi: not installed"}, fact.Gap{Path: "/sys/class/net/eth3/speed", Why: "Invalid argument"},
				fact.Gap{Path: "/sys/class/infiniband/rxe0/ports/1/counters", Why: "no such file or directory"})
		}, want: "n2 pass"},
		{name: "what no check needs is not worth a warning", do: func(c *Case) {
			gaps(c, fact.Gap{Path: "$ mokutil --sb-state", Why: "permission denied"}, fact.Gap{Path: "/var/log/boot.log", Why: "permission denied"})
		},
			want: "n2 pass"},
		{name: "fabric tools have nothing to ask without InfiniBand", do: func(c *Case) { gaps(c, fact.Gap{Path: "$ ibnetdiscover", Why: "exit status 1: can't open UMAD port"}) }, want: "n2 pass"},
		{name: "and with it they have", do: func(c *Case) {
			*c = *goodIB()
			gaps(c, fact.Gap{Path: "$ ibnetdiscover", Why: "exit status 1: can't open UMAD port"})
		},
			want: "n2 unknown: not read: InfiniBand fabric (exit status 1: can't open UMAD port): the checks that need it cannot answer"},
		{name: "no nodes", do: func(c *Case) { c.Nodes = nil }, want: "cluster skip: there are no nodes"},
	})
}

// A node that went away while it answered: what it had not told is one finding, and
// what it had told is still judged.
func TestBrokenOffAnswersAreOneFinding(t *testing.T) {
	c := good()
	told := c.Nodes[1]
	cut := fact.Gap{Path: cutOff, Why: "cut short"}
	c.Nodes[1] = &fact.Node{Name: told.Name, Ports: told.Ports, Netdevs: told.Netdevs, Gaps: []fact.Gap{cut}}
	unknown := func() (ids []string) {
		for _, f := range Run(All, c) {
			if f.Status == Unknown {
				ids = append(ids, f.Check)
			}
		}
		return ids
	}
	if got := unknown(); len(got) != 1 || got[0] != "node.read" {
		t.Errorf("unknown: %v, want node.read alone", got)
	}
	c.Nodes[1].Gaps = []fact.Gap{{Path: "/proc/modules", Why: "permission denied"}}
	if got := unknown(); len(got) < 3 {
		t.Errorf("unknown: %v, want every check that lacks something", got)
	}
	c.Nodes[1].Gaps = []fact.Gap{cut}
	c.Nodes[1].Netdevs[1].MTU, c.Nodes[1].Ports[0].ActiveMTU = fact.Some(1500), fact.Some(1024)
	failed := false
	for _, f := range Run(All, c) {
		failed = failed || f.Check == "roce.mtu" && f.Status == Fail
	}
	if !failed {
		t.Error("the MTU that the node told is not judged")
	}
}
