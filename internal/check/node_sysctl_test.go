package check

import "testing"

func TestNodeSysctl(t *testing.T) {
	set := func(c *Case, want, got string) {
		c.Want.Sysctl = map[string]string{"vm.swappiness": want}
		for _, n := range c.Nodes {
			n.Settings.SysctlRead, n.Settings.Sysctl = true, map[string]string{"vm.swappiness": got}
		}
	}
	judge(t, nodeSysctl, []row{
		{name: "nothing wanted", want: "cluster skip: weft.yaml names no kernel setting"},
		{name: "as wanted", do: func(c *Case) { set(c, "10", "10") }, want: "n1 vm.swappiness pass: 10"},
		{name: "spaces do not matter", do: func(c *Case) { set(c, "4096  131072\t6291456", "4096 131072 6291456") }, want: "n1 vm.swappiness pass: 4096 131072 6291456"},
		{name: "another value", do: func(c *Case) { set(c, "10", "60") }, fix: "sudo sysctl -w 'vm.swappiness=10'",
			want: "n1 vm.swappiness fail: 60, want 10: weft.yaml wants it, and the kernel has another value"},
		{name: "no such setting", do: func(c *Case) { set(c, "10", "10"); c.Nodes[0].Settings.Sysctl = nil }, fix: "ls /proc/sys/vm/swappiness",
			want: "n1 vm.swappiness fail: not there, want 10: this kernel has no such setting: its module is not loaded, or weft.yaml spells it wrong"},
		{name: "not asked", do: func(c *Case) { set(c, "10", "10"); c.Nodes[0].Settings.SysctlRead = false },
			want: "n1 vm.swappiness unknown: the node was not asked for it: weft.yaml named it later"},
	})
}
