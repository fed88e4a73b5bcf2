package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeDevices(t *testing.T) {
	set := func(c *Case, user, mode, group string, groups ...string) {
		n := c.Nodes[1]
		n.Host.User, n.Host.Groups = user, groups
		n.Settings.Devices = []fact.DevNode{{Path: "/dev/infiniband/uverbs0", Mode: mode, Owner: "root", Group: group}, {Path: "/dev/infiniband/rdma_cm", Mode: "crw-rw-rw-", Owner: "root", Group: "root"}}
	}
	const barred = ", want read and write for ai: ai may not open it, so RDMA programs find no device and fall back to TCP"
	judge(t, nodeDevices, []row{
		{name: "root opens all", do: func(c *Case) { set(c, "root", "crw-------", "root") }, want: "n2 pass"},
		{name: "open to all", do: func(c *Case) { set(c, "ai", "crw-rw-rw-", "root") }, want: "n2 pass"},
		{name: "by group", do: func(c *Case) { set(c, "ai", "crw-rw----", "rdma", "ai", "rdma") }, want: "n2 pass"},
		{name: "not in the group", do: func(c *Case) { set(c, "ai", "crw-rw----", "rdma", "ai") }, fix: "sudo usermod -aG rdma ai",
			want: "n2 fail: /dev/infiniband/uverbs0 crw-rw---- root:rdma" + barred},
		{name: "root alone", do: func(c *Case) { set(c, "ai", "crw-------", "root", "ai", "sudo") }, fix: "/etc/udev/rules.d/",
			want: "n2 fail: /dev/infiniband/uverbs0 crw------- root:root" + barred},
		{name: "reading is not enough", do: func(c *Case) { set(c, "ai", "crw-rw-r--", "rdma") }, want: "n2 fail: /dev/infiniband/uverbs0 crw-rw-r-- root:rdma" + barred},
		{name: "the group may do less than others", do: func(c *Case) { set(c, "ai", "crw-r--rw-", "rdma", "rdma") }, fix: "/etc/udev/rules.d/",
			want: "n2 fail: /dev/infiniband/uverbs0 crw-r--rw- root:rdma" + barred},
		{name: "umad may stay root's", do: func(c *Case) { c.Nodes[1].Host.User = "ai" }, want: "n2 pass"},
		{name: "no uverbs", do: func(c *Case) { c.Nodes[1].Settings.Devices = c.Nodes[1].Settings.Devices[3:] }, fix: "sudo modprobe ib_uverbs",
			want: "n2 fail: no /dev/infiniband/uverbs*, want one per RDMA device: the kernel has the device, but no program can open it"},
		{name: "no rdma_cm", do: func(c *Case) {
			set(c, "root", "crw-rw-rw-", "root")
			c.Nodes[1].Settings.Devices = c.Nodes[1].Settings.Devices[:1]
		}, fix: "sudo modprobe rdma_ucm",
			want: "n2 warn: no /dev/infiniband/rdma_cm: programs that connect through rdma_cm cannot; NCCL does not need it"},
		{name: "whoever it was", do: func(c *Case) { set(c, "", "crw-rw----", "rdma") }, want: "n2 unknown: who weft was on the node was not read"},
		{name: "a mode that is no mode", do: func(c *Case) { set(c, "ai", "c", "rdma") }, want: "n2 fail: /dev/infiniband/uverbs0 c root:rdma" + barred},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Settings.DevicesRead, c.Nodes[1].Settings.Devices = false, nil }, want: "n2 unknown: /dev/infiniband was not read"},
		{name: "no RDMA", do: func(c *Case) { c.Nodes[0].Ports, c.Nodes[1].Ports = nil, nil }, want: "cluster skip: no node has an RDMA device"},
	})
}
