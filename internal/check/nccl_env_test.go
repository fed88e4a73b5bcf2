package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNCCLEnv(t *testing.T) {
	set := func(c *Case, vars ...fact.EnvVar) *fact.Node {
		n := c.Nodes[1]
		n.Settings.Env = vars
		return n
	}
	etc := func(name, value string) fact.EnvVar {
		return fact.EnvVar{Name: name, Value: value, Where: "/etc/environment"}
	}
	ray := func(name, value string) fact.EnvVar {
		return fact.EnvVar{Name: name, Value: value, Where: "container ray-head"}
	}
	up := func(n *fact.Node) { n.Ports[1].State = "ACTIVE" }
	const (
		none = ", want an interface that is up: "
		meet = "so ranks cannot find each other"
	)
	judge(t, ncclEnv, []row{
		{name: "as it should be", want: "n1 pass"},
		{name: "nothing set", do: func(c *Case) { set(c); c.Nodes[0].Settings.Env = nil }, want: "cluster skip: no NCCL variable is set anywhere: NCCL chooses by itself"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Settings.EnvRead = false }, want: "n2 unknown: where NCCL's variables are set was not read"},

		{name: "HCA by prefix", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "mlx5")) }, want: "n2 pass"},
		{name: "HCA absent", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "mlx5_0,mlx5_7")) },
			want: `n2 NCCL_IB_HCA fail: NCCL_IB_HCA=mlx5_0,mlx5_7 in /etc/environment, want =mlx5_0:1: no RDMA device here is called "mlx5_7", only mlx5_0, mlx5_1, so NCCL has one device less than was meant, or none and goes over TCP`, fix: "NCCL_IB_HCA==mlx5_0:1"},
		{name: "HCA with a blank", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "mlx5_0, mlx5_1")) },
			want: `n2 NCCL_IB_HCA fail: NCCL_IB_HCA=mlx5_0, mlx5_1 in /etc/environment, want =mlx5_0:1: no RDMA device here is called " mlx5_1", only mlx5_0, mlx5_1, so NCCL has one device less than was meant, or none and goes over TCP`},
		{name: "HCA port absent", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "=mlx5_0:2")) },
			want: "n2 NCCL_IB_HCA fail: NCCL_IB_HCA==mlx5_0:2 in /etc/environment, want =mlx5_0:1: mlx5_0 has no port 2, so NCCL does not use it"},
		{name: "HCA is a netdev", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "eth2")) },
			want: "n2 NCCL_IB_HCA fail: NCCL_IB_HCA=eth2 in /etc/environment, want =mlx5_0:1: eth2 is a netdev; NCCL wants its RDMA device, mlx5_0"},
		{name: "HCA down", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "=mlx5_1")) },
			want: "n2 NCCL_IB_HCA fail: NCCL_IB_HCA==mlx5_1 in /etc/environment, want an ACTIVE port: NCCL takes ACTIVE ports alone, and this list leaves none, so it goes over TCP"},
		{name: "HCA is a beginning of another", do: func(c *Case) {
			n := set(c, etc("NCCL_IB_HCA", "mlx5_1"))
			up(n)
			n.Ports[0].Device, n.Ports[0].Name = "mlx5_10", "mlx5_10/1"
			n.Ports[0], n.Ports[1] = n.Ports[1], n.Ports[0]
		}, want: "n2 NCCL_IB_HCA warn: NCCL_IB_HCA=mlx5_1 in /etc/environment, want =mlx5_1:1,mlx5_10:1: a name is a beginning, so mlx5_1 also takes mlx5_10"},
		{name: "all but an absent one", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "^mlx5_7")) }, want: "n2 pass"},
		{name: "all but all", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "^mlx5")) },
			want: "n2 NCCL_IB_HCA fail: NCCL_IB_HCA=^mlx5 in /etc/environment, want an ACTIVE port: NCCL takes ACTIVE ports alone, and this list leaves none, so it goes over TCP"},
		{name: "no device at all", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "mlx5")).Ports = nil },
			want: "n2 NCCL_IB_HCA fail: NCCL_IB_HCA=mlx5 in /etc/environment, want an RDMA device: this node has no RDMA device at all, so NCCL goes over TCP"},

		{name: "GID 3 is filled", do: func(c *Case) { set(c, etc("NCCL_IB_GID_INDEX", "3")) }, want: "n2 pass"},
		{name: "GID chosen by NCCL", do: func(c *Case) { set(c, etc("NCCL_IB_GID_INDEX", "-1")) }, want: "n2 pass"},
		{name: "GID 5 is empty", do: func(c *Case) { set(c, etc("NCCL_IB_GID_INDEX", "5")) },
			want: "n2 NCCL_IB_GID_INDEX fail: NCCL_IB_GID_INDEX=5 in /etc/environment, want 3: entry 5 of mlx5_0/1 is empty, so connections fail about a minute into the launch (ibv_modify_qp)", fix: "or set it to 3"},
		{name: "GID 3 is all zero", do: func(c *Case) {
			set(c, etc("NCCL_IB_GID_INDEX", "3")).Ports[0].GIDs[3].GID = "0000:0000:0000:0000:0000:0000:0000:0000"
		}, want: "n2 NCCL_IB_GID_INDEX fail: NCCL_IB_GID_INDEX=3 in /etc/environment, want an IPv4-mapped RoCE v2 entry: entry 3 of mlx5_0/1 is empty, so connections fail about a minute into the launch (ibv_modify_qp)"},
		{name: "GID 2 is v1", do: func(c *Case) { set(c, etc("NCCL_IB_GID_INDEX", "2")) },
			want: "n2 NCCL_IB_GID_INDEX warn: NCCL_IB_GID_INDEX=2 in /etc/environment, want 3: entry 2 of mlx5_0/1 is RoCE v1, which no router and few switch settings carry"},
		{name: "GID table unread", do: func(c *Case) { set(c, etc("NCCL_IB_GID_INDEX", "3")).Ports[0].GIDsRead = false },
			want: "n2 NCCL_IB_GID_INDEX unknown: NCCL_IB_GID_INDEX=3 in /etc/environment: the GID table of mlx5_0/1 was not read"},
		{name: "GID empty on a port that is not taken", do: func(c *Case) {
			up(set(c, etc("NCCL_IB_HCA", "=mlx5_0:1"), ray("NCCL_IB_GID_INDEX", "3")))
		}, want: "n2 pass"},
		{name: "GID on InfiniBand is not heeded", do: func(c *Case) {
			*c = *goodIB()
			set(c, etc("NCCL_IB_GID_INDEX", "3"))
		}, want: "n2 pass"},

		{name: "interface absent", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "enp3s0")) },
			want: "n2 NCCL_SOCKET_IFNAME fail: NCCL_SOCKET_IFNAME=enp3s0 in /etc/environment" + none + "no interface here is called enp3s0, " + meet, fix: "NCCL_SOCKET_IFNAME=eno1"},
		{name: "interface by prefix", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "en")) }, want: "n2 pass"},
		{name: "interface by whole name", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "=en")) },
			want: "n2 NCCL_SOCKET_IFNAME fail: NCCL_SOCKET_IFNAME==en in /etc/environment" + none + "no interface here is called en, " + meet},
		{name: "Gloo wants whole names", do: func(c *Case) { set(c, etc("GLOO_SOCKET_IFNAME", "en")) },
			want: "n2 GLOO_SOCKET_IFNAME fail: GLOO_SOCKET_IFNAME=en in /etc/environment" + none + "no interface here is called en, " + meet},
		{name: "interface down", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "eth3")) },
			want: "n2 NCCL_SOCKET_IFNAME fail: NCCL_SOCKET_IFNAME=eth3 in /etc/environment" + none + "what it takes is down or has no address, " + meet},
		{name: "all but docker", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "^docker,lo")) }, want: "n2 pass"},
		{name: "all but all interfaces", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "^e")) },
			want: "n2 NCCL_SOCKET_IFNAME fail: NCCL_SOCKET_IFNAME=^e in /etc/environment" + none + "what it takes is down or has no address, " + meet},
		{name: "lo between two nodes", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "lo")) },
			want: "n2 NCCL_SOCKET_IFNAME fail: NCCL_SOCKET_IFNAME=lo in /etc/environment" + none + "lo reaches this node alone, so ranks of other nodes never connect"},
		{name: "lo on one node", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "lo")); c.Nodes = c.Nodes[1:] }, want: "n2 pass"},
		{name: "a container may have other names", do: func(c *Case) { set(c, ray("NCCL_SOCKET_IFNAME", "eth0")) },
			want: "n2 NCCL_SOCKET_IFNAME warn: NCCL_SOCKET_IFNAME=eth0 in container ray-head" + none + "no interface here is called eth0, " + meet},
		{name: "an RDMA device is no interface", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "mlx5_0")) },
			want: "n2 NCCL_SOCKET_IFNAME fail: NCCL_SOCKET_IFNAME=mlx5_0 in /etc/environment" + none + "mlx5_0 is an RDMA device; this variable wants a network interface"},
		{name: "the interface is not the data path", do: func(c *Case) { up(set(c, etc("NCCL_SOCKET_IFNAME", "eth2"))) },
			want: "n2 NCCL_SOCKET_IFNAME warn: NCCL_SOCKET_IFNAME=eth2 in /etc/environment, want NCCL_IB_HCA beside it: it chooses the way to meet, not the way for data: NCCL still takes every RDMA port"},
		{name: "with one port that makes no difference", do: func(c *Case) { set(c, etc("NCCL_SOCKET_IFNAME", "eth2")) }, want: "n2 pass"},

		{name: "RDMA turned off", do: func(c *Case) { set(c, etc("NCCL_IB_DISABLE", "1")) },
			want: "n2 NCCL_IB_DISABLE fail: NCCL_IB_DISABLE=1 in /etc/environment, want unset: the node has RDMA ports, and NCCL goes over TCP all the same", fix: "take NCCL_IB_DISABLE out of /etc/environment"},
		{name: "RDMA not turned off", do: func(c *Case) { set(c, etc("NCCL_IB_DISABLE", "0")) }, want: "n2 pass"},
		{name: "sockets asked for", do: func(c *Case) { set(c, etc("NCCL_NET", "Socket")) },
			want: "n2 NCCL_NET fail: NCCL_NET=Socket in /etc/environment, want unset: the node has RDMA ports, and NCCL goes over TCP all the same"},
		{name: "mismatch hidden", do: func(c *Case) { set(c, etc("NCCL_IGNORE_NET_MISMATCH", "1")) },
			want: "n2 NCCL_IGNORE_NET_MISMATCH warn: NCCL_IGNORE_NET_MISMATCH=1 in /etc/environment, want unset: it hides that nodes offer different HCAs, so the job hangs instead of saying so"},

		{name: "overridden later", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "=mlx5_0:1"), ray("NCCL_IB_HCA", "mlx5")) },
			want: "n2 NCCL_IB_HCA warn: =mlx5_0:1 in /etc/environment, then mlx5 in container ray-head, want one value: the later one wins without a word, so the earlier pin does nothing there"},
		{name: "set twice alike", do: func(c *Case) { set(c, etc("NCCL_IB_HCA", "mlx5"), ray("NCCL_IB_HCA", "mlx5")) }, want: "n2 pass"},
		{name: "two containers may differ", do: func(c *Case) {
			set(c, ray("NCCL_IB_HCA", "mlx5"), fact.EnvVar{Name: "NCCL_IB_HCA", Value: "=mlx5_0:1", Where: "container other"})
		}, want: "n2 pass"},
		{name: "twice in one container", do: func(c *Case) { set(c, ray("NCCL_IB_HCA", "mlx5"), ray("NCCL_IB_HCA", "=mlx5_0:1")) },
			want: "n2 NCCL_IB_HCA warn: mlx5 in container ray-head, then =mlx5_0:1 in container ray-head, want one value: the later one wins without a word, so the earlier pin does nothing there"},
	})
}

// TestNCCLConf is about the wish that NCCL's variables stand in /etc/nccl.conf.
func TestNCCLConf(t *testing.T) {
	wish := func(c *Case, vars ...fact.EnvVar) *fact.Node {
		c.Want.Data.NCCLConf = true
		n := c.Nodes[1]
		n.Settings.Env = vars
		return n
	}
	at := func(where, name, value string) fact.EnvVar {
		return fact.EnvVar{Name: name, Value: value, Where: where}
	}
	const (
		every = "weft.yaml wants it there, and without it NCCL takes every RDMA port that is up, also those that are not meant for data"
		meet  = "weft.yaml wants it there, and without it ranks may meet over an interface that does not reach every node"
	)
	judge(t, ncclEnv, []row{
		{name: "in another file", do: func(c *Case) { c.Want.Data.NCCLConf = true }, want: "n2 pass", not: "n2 /etc/nccl.conf"},
		{name: "not wished", do: func(c *Case) { c.Nodes[1].Settings.Env = nil }, want: "n1 pass", not: "n2"},
		{name: "nothing set", do: func(c *Case) { wish(c) }, fix: "weft env --node n2 | sed",
			want: "n2 /etc/nccl.conf fail: not set, want NCCL_IB_HCA and NCCL_SOCKET_IFNAME in /etc/nccl.conf: " + every},
		{name: "no list of devices", do: func(c *Case) { wish(c, at("/etc/nccl.conf", "NCCL_SOCKET_IFNAME", "=eno1")) }, fix: "weft plan nccl.env",
			want: "n2 /etc/nccl.conf fail: not set, want NCCL_IB_HCA in /etc/nccl.conf: " + every},
		{name: "no interface", do: func(c *Case) { wish(c, at("container ray-head", "NCCL_IB_HCA", "=mlx5_0:1")) },
			want: "n2 /etc/nccl.conf fail: not set, want NCCL_SOCKET_IFNAME in /etc/nccl.conf: " + meet},
		{name: "no interface to name", do: func(c *Case) {
			n := wish(c, at("/etc/nccl.conf", "NCCL_IB_HCA", "=mlx5_0:1"))
			n.Host.SSHTo, n.Settings.Routes, n.Netdevs = "", nil, n.Netdevs[1:]
		}, want: "n2 pass", not: "n2 /etc/nccl.conf"},
		{name: "as wished", do: func(c *Case) {
			wish(c, at("/etc/nccl.conf", "NCCL_IB_HCA", "=mlx5_0:1"), at("/etc/nccl.conf", "NCCL_SOCKET_IFNAME", "=eno1"))
		}, want: "n2 pass", not: "n2 /etc/nccl.conf"},
		{name: "no port to name", do: func(c *Case) { wish(c).Ports[0].State = "DOWN" }, want: "n1 pass", not: "n2"},
		{name: "iWARP, which NCCL does not use", do: func(c *Case) { wish(c).Ports[0].NodeType = "4: RNIC" }, want: "n1 pass", not: "n2"},
		{name: "InfiniBand", do: func(c *Case) { *c = *goodIB(); wish(c) },
			want: "n2 /etc/nccl.conf fail: not set, want NCCL_IB_HCA and NCCL_SOCKET_IFNAME in /etc/nccl.conf: " + every},
		{name: "unread", do: func(c *Case) { wish(c).Settings.EnvRead = false }, want: "n2 unknown: where NCCL's variables are set was not read", not: "n2 /etc/nccl.conf"},
		{name: "down", do: func(c *Case) { wish(c).Down = "no route to host" }, want: "n1 pass", not: "n2"},
	})
}

func TestNCCLFilter(t *testing.T) {
	for _, c := range []struct {
		value, name string
		port        int
		want        bool
	}{
		{"", "mlx5_0", 1, true},
		{"mlx5", "mlx5_0", 1, true},
		{"mlx5_1", "mlx5_10", 1, true},
		{"=mlx5_1", "mlx5_10", 1, false},
		{"=mlx5_0:1,mlx5_1:1", "mlx5_1", 1, true},
		{"=mlx5_0:1,mlx5_1:1", "mlx5_1", 2, false},
		{"mlx5_0:2", "mlx5_0", 1, false},
		{"^mlx5_0", "mlx5_0", 1, false},
		{"^mlx5_0", "mlx5_1", 1, true},
		{"^=mlx5_1:1", "mlx5_10", 1, true},
		{"^=mlx5_1:1", "mlx5_1", 2, true},
		{"mlx5_0,,", "mlx5_0", 1, true},
		{"=", "mlx5_0", 1, true},
	} {
		if got := parseNCCLFilter(c.value).takes(c.name, c.port); got != c.want {
			t.Errorf("%q takes %s:%d = %v", c.value, c.name, c.port, got)
		}
	}
}
