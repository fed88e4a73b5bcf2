package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestNodeMemlock(t *testing.T) {
	login := func(c *Case, limit, wish fact.Limit) {
		c.Nodes[1].Settings.Memlock = fact.Memlock{Login: fact.Some(limit), Wish: fact.Some(wish)}
	}
	service := func(c *Case, name string, s fact.Service) {
		s.Load = "loaded"
		c.Nodes[1].Settings.Services = map[string]fact.Service{name: s}
	}
	const (
		small  = fact.Limit(64 * unit.KiB)
		reg    = `: RDMA programs cannot register memory: ibv_reg_mr says "Cannot allocate memory"`
		room   = ": this node has 512 GiB, and a large model's buffers may need more than the limit"
		starts = ": what this service starts cannot register memory, whatever a login may do"
	)
	judge(t, nodeMemlock, []row{
		{name: "unlimited", want: "n1 pass: unlimited"},
		{name: "64 KiB", do: func(c *Case) { login(c, small, small); c.Nodes[1].Host.User = "ai" }, fix: "'* hard memlock unlimited' 'root soft memlock unlimited'",
			want: "n2 fail: 64 KiB in logins, want unlimited" + reg},
		{name: "root is exempt, others are not", do: func(c *Case) { login(c, small, small) }, fix: "'root hard memlock unlimited'",
			want: `n2 warn: 64 KiB in root's login, want unlimited: root itself is exempt (CAP_IPC_LOCK); where users and containers have the same limit, ibv_reg_mr says "Cannot allocate memory"`},
		{name: "the wish is not in effect", do: func(c *Case) { login(c, small, fact.Unlimited); c.Nodes[1].Host.User = "ai" }, fix: "ssh -O exit n2",
			want: "n2 fail: 64 KiB in logins, although limits.d says unlimited, want unlimited: the wish is not in effect in this login, so RDMA programs cannot register memory"},
		{name: "just enough, yet less than the memory", do: func(c *Case) { login(c, memlockEnough, 0) }, want: "n2 warn: 32 GiB, want unlimited" + room},
		{name: "just too little", do: func(c *Case) { login(c, memlockEnough-1, 0); c.Nodes[1].Host.User = "ai" }, want: "n2 fail: 32 GiB in logins, want unlimited" + reg},
		{name: "as much as there is memory", do: func(c *Case) { login(c, fact.Limit(512*unit.GiB), 0) }, want: "n2 pass: 512 GiB"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Settings.Memlock = fact.Memlock{} }, want: "n2 unknown: the login's limit was not read"},

		{name: "a service that may", want: "n1 docker.service pass: unlimited"},
		{name: "a service that may not", do: func(c *Case) {
			service(c, "ray-head.service", fact.Service{Active: "active", Memlock: fact.Some(fact.Limit(8 * unit.MiB))})
		},
			fix: "/etc/systemd/system/ray-head.service.d/memlock.conf", want: "n2 ray-head.service fail: 8 MiB, want unlimited" + starts},
		{name: "a service that will start at boot", do: func(c *Case) {
			service(c, "containerd.service", fact.Service{Active: "inactive", Enabled: "enabled", Memlock: fact.Some(small)})
		},
			want: "n2 containerd.service fail: 64 KiB, want unlimited" + starts},
		{name: "a unit that only records the wish", do: func(c *Case) {
			service(c, "vllm.service", fact.Service{Active: "active", Memlock: fact.Some(fact.Unlimited), Running: fact.Some(fact.Limit(8 * unit.MiB))})
		}, fix: "systemctl restart vllm.service",
			want: "n2 vllm.service fail: 8 MiB in the process, although the unit says unlimited, want unlimited: the unit's wish is not in effect, so what it starts cannot register memory; a user's unit may not raise its own limit"},
		{name: "the process has what it needs", do: func(c *Case) {
			service(c, "vllm.service", fact.Service{Active: "active", Memlock: fact.Some(small), Running: fact.Some(fact.Unlimited)})
		}, want: "n2 vllm.service pass: unlimited"},
		{name: "a service whose limit was not read", do: func(c *Case) { service(c, "docker.service", fact.Service{Active: "active"}) },
			want: "n2 docker.service unknown: the limit of this service was not read"},
		{name: "a service nobody uses", do: func(c *Case) {
			service(c, "podman.service", fact.Service{Active: "inactive", Enabled: "disabled", Memlock: fact.Some(small)})
		},
			want: "n2 pass: unlimited", not: "podman"},
		{name: "a service that starts no RDMA", do: func(c *Case) { service(c, "sshd.service", fact.Service{Active: "active", Memlock: fact.Some(small)}) },
			want: "n2 pass: unlimited", not: "sshd"},
		{name: "no RDMA", do: func(c *Case) { c.Nodes[0].Ports, c.Nodes[1].Ports = nil, nil }, want: "cluster skip: no node has an RDMA device that would lock memory"},
	})
}
