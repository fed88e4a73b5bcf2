package check

import "testing"

func TestNodeKernel(t *testing.T) {
	three := func(c *Case) { c.Nodes = append(c.Nodes, goodNode(3)) }
	const odd = ": it is the odd one among 3 nodes of its kind; drivers behave differently, and a hang on one node stops all"
	judge(t, nodeKernel, []row{
		{name: "one kernel", want: "n1 pass: 6.8.0-60-generic"},
		{name: "the odd node is named", do: func(c *Case) { three(c); c.Nodes[1].Host.Kernel = "6.17.0-8-generic" },
			fix: "sudo apt install linux-image-6.8.0-60-generic linux-modules-extra-6.8.0-60-generic", not: "n1 warn",
			want: "n2 warn: kernel 6.17.0-8-generic, want 6.8.0-60-generic" + odd},
		{name: "of two, the older is odd", do: func(c *Case) { c.Nodes[1].Host.Kernel = "6.17.0-8-generic" }, not: "n2 warn",
			want: "n1 warn: kernel 6.8.0-60-generic, want 6.17.0-8-generic: it is the odd one among 2 nodes of its kind; drivers behave differently, and a hang on one node stops all"},
		{name: "Fedora", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Host.Distro, n.Host.Like, n.Host.Kernel = "fedora", "", "6.19.4-200.fc43.x86_64"
			}
			c.Nodes[0].Host.Kernel = "6.17.1-300.fc43.x86_64"
		}, fix: "sudo dnf install kernel-6.19.4-200.fc43.x86_64",
			want: "n1 warn: kernel 6.17.1-300.fc43.x86_64, want 6.19.4-200.fc43.x86_64: it is the odd one among 2 nodes of its kind; drivers behave differently, and a hang on one node stops all"},
		{name: "one OS", do: func(c *Case) { three(c); c.Nodes[2].Host.OS = "Ubuntu 22.04.5 LTS" }, fix: "sudo apt full-upgrade",
			want: "n3 warn: Ubuntu 22.04.5 LTS, want Ubuntu 24.04.2 LTS: it is the odd one among 3 nodes of its kind; libraries differ between the ends of one job"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Host.Kernel = "" }, want: "n2 unknown: uname was not read"},
		{name: "different kinds may differ", do: func(c *Case) { c.Nodes[1].Host.Product, c.Nodes[1].Host.Kernel = "DGX Spark", "6.11.0-1016-nvidia" },
			want: "cluster skip: no two nodes are of one kind"},
	})
}

func TestKernelNewer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"6.17.0-8-generic", "6.8.0-60-generic", true},
		{"6.8.0-60-generic", "6.8.0-59-generic", true},
		{"6.8.0-59-generic", "6.8.0-60-generic", false},
		{"6.8.1", "6.8", true},
		{"6.8", "6.8", false},
		{"6.99999999999999999999999", "6.8", true}, // no number at all, so by letters
	} {
		if got := kernelNewer(tt.a, tt.b); got != tt.want {
			t.Errorf("%s newer than %s: got %v", tt.a, tt.b, got)
		}
	}
}
