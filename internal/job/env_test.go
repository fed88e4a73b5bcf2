package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
)

// host returns a node that is managed through mgmt at 10.0.0.i.
func host(i int, mgmt string, gpu *fact.GPU) *fact.Node {
	return &fact.Node{
		Name:    fmt.Sprintf("n%d", i),
		Host:    fact.Host{SSHTo: fmt.Sprintf("10.0.0.%d", i), NUMANodes: 1},
		GPUs:    []*fact.GPU{gpu},
		Netdevs: []*fact.Netdev{{Name: mgmt, Type: "ether", Oper: "up", Addrs: []string{fmt.Sprintf("10.0.0.%d/24", i)}}},
	}
}

// roce adds a RoCE port with an address, whose GID is at the given index.
func roce(n *fact.Node, device, driver, bdf, netdev, addr string, index int) *fact.Port {
	ip, _, _ := strings.Cut(addr, "/")
	p := &fact.Port{Name: device + "/1", Device: device, Num: 1, BDF: bdf, Driver: driver, Netdev: netdev, Layer: "Ethernet", NodeType: "1: CA", State: "ACTIVE",
		GIDsRead: true, GIDs: []fact.GID{{Index: index, GID: mapped(ip), Type: "RoCE v2", Netdev: netdev}}}
	n.Ports = append(n.Ports, p)
	n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: netdev, Type: "ether", Oper: "up", Addrs: []string{addr}})
	return p
}

func mapped(ip string) string {
	var a, b, c, d int
	fmt.Sscanf(ip, "%d.%d.%d.%d", &a, &b, &c, &d)
	return fmt.Sprintf("0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", a, b, c, d)
}

func gb10() *fact.GPU {
	return &fact.GPU{BDF: "000f:01:00.0", Vendor: "NVIDIA", Device: 0x2e12, Name: "NVIDIA GB10"}
}

// sparks returns two Sparks with one cable: both functions of port 0 are up.
func sparks() *check.Case {
	c := &check.Case{}
	for i := 1; i <= 2; i++ {
		n := host(i, "enP7s7", gb10())
		roce(n, "rocep1s0f0", "mlx5", "0000:01:00.0", "enp1s0f0np0", fmt.Sprintf("192.168.100.%d/24", i), 3)
		roce(n, "roceP2p1s0f0", "mlx5", "0002:01:00.0", "enP2p1s0f0np0", fmt.Sprintf("192.168.101.%d/24", i), 3)
		n.Ports = append(n.Ports, &fact.Port{Name: "rocep1s0f1/1", Device: "rocep1s0f1", Num: 1, BDF: "0000:01:00.1", Driver: "mlx5", Layer: "Ethernet", State: "DOWN"})
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// triangle returns three Sparks, each wired to the two others; bits is the size of
// the subnet on each cable.
func triangle(bits int) *check.Case {
	c := &check.Case{}
	for i := 1; i <= 3; i++ {
		c.Nodes = append(c.Nodes, host(i, "enP7s7", gb10()))
	}
	for i := range 3 { // cable i joins port 0 of node i to port 1 of the next
		a, b := c.Nodes[i], c.Nodes[(i+1)%3]
		roce(a, "rocep1s0f0", "mlx5", "0000:01:00.0", "enp1s0f0np0", fmt.Sprintf("192.168.%d.1/%d", i, bits), 3)
		roce(b, "rocep1s0f1", "mlx5", "0000:01:00.1", "enp1s0f1np1", fmt.Sprintf("192.168.%d.2/%d", i, bits), 3)
	}
	return c
}

// lab returns an InfiniBand lab: one NIC behind the GPU's PCIe switch, one on the
// other socket.
func lab() *check.Case {
	c := &check.Case{}
	for i := 1; i <= 2; i++ {
		n := host(i, "eno1", &fact.GPU{BDF: "0000:1a:00.0", Vendor: "NVIDIA", Device: 0x2330, Name: "NVIDIA H100 80GB HBM3"})
		n.Host.NUMANodes = 2
		n.PCI = []*fact.PCI{
			{BDF: "0000:17:00.0", Host: "pci0000:16", NUMA: fact.Some(0)},
			{BDF: "0000:18:00.0", Up: "0000:17:00.0", Host: "pci0000:16", NUMA: fact.Some(0)},
			{BDF: "0000:18:01.0", Up: "0000:17:00.0", Host: "pci0000:16", NUMA: fact.Some(0)},
			{BDF: "0000:19:00.0", Vendor: 0x15b3, Device: 0x1021, Up: "0000:18:00.0", Host: "pci0000:16", NUMA: fact.Some(0)},
			{BDF: "0000:1a:00.0", Vendor: 0x10de, Device: 0x2330, Up: "0000:18:01.0", Host: "pci0000:16", NUMA: fact.Some(0)},
			{BDF: "0000:99:00.0", Vendor: 0x15b3, Device: 0x1021, Host: "pci0000:98", NUMA: fact.Some(1)},
			{BDF: "0000:9a:00.0", Vendor: 0x10de, Device: 0x2330, Host: "pci0000:98", NUMA: fact.Some(1)},
		}
		for j, bdf := range []string{"0000:19:00.0", "0000:99:00.0"} {
			n.Ports = append(n.Ports, &fact.Port{Name: fmt.Sprintf("mlx5_%d/1", j), Device: fmt.Sprintf("mlx5_%d", j), Num: 1, BDF: bdf, Driver: "mlx5", Layer: "InfiniBand", NodeType: "1: CA", State: "ACTIVE"})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// strix returns two Strix Halo boxes with an E810 each.
func strix() *check.Case {
	c := &check.Case{}
	for i := 1; i <= 2; i++ {
		n := host(i, "enp191s0", &fact.GPU{BDF: "0000:c5:00.0", Vendor: "AMD", Device: 0x1586, Arch: "gfx1151", Name: "Radeon 8060S"})
		roce(n, "rocep194s0f0", "irdma", "0000:c2:00.0", "enp194s0f0", fmt.Sprintf("192.168.100.%d/30", i), 1)
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func TestEnv(t *testing.T) {
	tests := []struct {
		name string
		c    *check.Case
		do   func(c *check.Case)
		node int
		want string // NAME=VALUE, one a line
		why  string // part of a reason, when one is wanted: "NAME: part"
	}{
		{name: "Spark pair, head", c: sparks(), want: `
NCCL_SOCKET_IFNAME==enP7s7
NCCL_IB_HCA==rocep1s0f0:1,roceP2p1s0f0:1
NCCL_IB_MERGE_NICS=1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1
OMPI_MCA_btl_tcp_if_include=enp1s0f0np0,enP2p1s0f0np0
GLOO_SOCKET_IFNAME=enP7s7
TP_SOCKET_IFNAME=enP7s7
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_IB_HCA: both functions of each Spark port"},
		{name: "Spark with one function in use", c: sparks(), do: func(c *check.Case) {
			p := c.Nodes[0].Port("roceP2p1s0f0/1")
			p.State, p.Phys = "DOWN", "Disabled"
		}, want: `
NCCL_SOCKET_IFNAME==enP7s7
NCCL_IB_HCA==rocep1s0f0:1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep1s0f0:1
OMPI_MCA_btl_tcp_if_include=enp1s0f0np0
GLOO_SOCKET_IFNAME=enP7s7
TP_SOCKET_IFNAME=enP7s7
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_IB_HCA: one function of a Spark port"},
		{name: "Spark pair, worker", c: sparks(), node: 1, want: `
NCCL_SOCKET_IFNAME==enP7s7
NCCL_IB_HCA==rocep1s0f0:1,roceP2p1s0f0:1
NCCL_IB_MERGE_NICS=1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1
OMPI_MCA_btl_tcp_if_include=enp1s0f0np0,enP2p1s0f0np0
GLOO_SOCKET_IFNAME=enP7s7
TP_SOCKET_IFNAME=enP7s7
VLLM_HOST_IP=10.0.0.2
RAY_ADDRESS=10.0.0.1:6379`, why: "RAY_ADDRESS: the Ray head, n1,"},
		{name: "InfiniBand lab", c: lab(), want: `
NCCL_SOCKET_IFNAME==eno1
NCCL_IB_HCA==mlx5_0:1,mlx5_1:1
NCCL_NET_GDR_LEVEL=PIX
NCCL_DEBUG=INFO
UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1
OMPI_MCA_btl_tcp_if_include=eno1
GLOO_SOCKET_IFNAME=eno1
TP_SOCKET_IFNAME=eno1
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_NET_GDR_LEVEL: behind the same PCIe switches"},
		{name: "a GPU that is far from its only card", c: lab(), do: func(c *check.Case) {
			n := c.Nodes[0]
			n.GPUs = append(n.GPUs, &fact.GPU{Index: 1, BDF: "0000:9a:00.0", Vendor: "NVIDIA", Device: 0x2330, Name: "NVIDIA H100 80GB HBM3"})
			n.Ports = n.Ports[:1]
		}, want: `
NCCL_SOCKET_IFNAME==eno1
NCCL_IB_HCA==mlx5_0:1
NCCL_NET_GDR_LEVEL=PHB
NCCL_DEBUG=INFO
UCX_NET_DEVICES=mlx5_0:1
OMPI_MCA_btl_tcp_if_include=eno1
GLOO_SOCKET_IFNAME=eno1
TP_SOCKET_IFNAME=eno1
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_NET_GDR_LEVEL: it stays off there"},
		{name: "Strix Halo with E810", c: strix(), want: `
NCCL_SOCKET_IFNAME==enp191s0
NCCL_IB_HCA==rocep194s0f0:1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep194s0f0:1
OMPI_MCA_btl_tcp_if_include=enp194s0f0
GLOO_SOCKET_IFNAME=enp191s0
TP_SOCKET_IFNAME=enp191s0
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_SOCKET_IFNAME: RCCL reads the NCCL_ names too"},
		{name: "ring of three", c: triangle(24), want: `
NCCL_SOCKET_IFNAME==enP7s7
NCCL_IB_HCA==rocep1s0f0:1,rocep1s0f1:1
NCCL_IB_SUBNET_AWARE_ROUTING=1
NCCL_IB_MERGE_NICS=0
NCCL_CROSS_NIC=1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep1s0f0:1,rocep1s0f1:1
OMPI_MCA_btl_tcp_if_include=enP7s7
GLOO_SOCKET_IFNAME=enP7s7
TP_SOCKET_IFNAME=enP7s7
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_IB_SUBNET_AWARE_ROUTING: NCCL 2.30.7 or newer"},
		{name: "ring of three on /30s", c: triangle(30), want: `
NCCL_SOCKET_IFNAME==enP7s7
NCCL_IB_HCA==rocep1s0f0:1,rocep1s0f1:1
NCCL_IB_SUBNET_AWARE_ROUTING=1
NCCL_IB_SUBNET_PREFIX_LEN=30
NCCL_IB_MERGE_NICS=0
NCCL_CROSS_NIC=1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep1s0f0:1,rocep1s0f1:1
OMPI_MCA_btl_tcp_if_include=enP7s7
GLOO_SOCKET_IFNAME=enP7s7
TP_SOCKET_IFNAME=enP7s7
VLLM_HOST_IP=10.0.0.1`},
		{name: "chain of three: the ends share no cable", c: triangle(24), do: func(c *check.Case) {
			c.Nodes[2].Ports, c.Nodes[0].Ports = c.Nodes[2].Ports[:1], c.Nodes[0].Ports[:1]
		}, node: 1, want: `
NCCL_SOCKET_IFNAME==enP7s7
NCCL_IB_HCA==rocep1s0f1:1,rocep1s0f0:1
NCCL_IB_SUBNET_AWARE_ROUTING=1
NCCL_IB_MERGE_NICS=0
NCCL_CROSS_NIC=1
NCCL_ALGO=Ring
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep1s0f1:1,rocep1s0f0:1
OMPI_MCA_btl_tcp_if_include=enP7s7
GLOO_SOCKET_IFNAME=enP7s7
TP_SOCKET_IFNAME=enP7s7
VLLM_HOST_IP=10.0.0.2
RAY_ADDRESS=10.0.0.1:6379`},
		{name: "no RDMA", c: strix(), do: func(c *check.Case) { c.Nodes[0].Ports = nil }, want: `
NCCL_SOCKET_IFNAME==enp191s0
NCCL_DEBUG=INFO
UCX_NET_DEVICES=enp191s0
OMPI_MCA_btl_tcp_if_include=enp191s0
GLOO_SOCKET_IFNAME=enp191s0
TP_SOCKET_IFNAME=enp191s0
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_SOCKET_IFNAME: NCCL_IB_DISABLE stays unset"},
		{name: "iWARP is as good as none", c: strix(), do: func(c *check.Case) { c.Nodes[0].Ports[0].NodeType = "4: RNIC" }, want: `
NCCL_SOCKET_IFNAME==enp191s0
NCCL_DEBUG=INFO
UCX_NET_DEVICES=enp191s0
OMPI_MCA_btl_tcp_if_include=enp191s0
GLOO_SOCKET_IFNAME=enp191s0
TP_SOCKET_IFNAME=enp191s0
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_SOCKET_IFNAME: no RDMA port of this node is usable"},
		{name: "one network for both planes", c: strix(), do: func(c *check.Case) {
			c.Nodes[0].Host.SSHTo = "192.168.100.1"
			c.Nodes[0].Netdevs = c.Nodes[0].Netdevs[1:]
		}, want: `
NCCL_SOCKET_IFNAME==enp194s0f0
NCCL_IB_HCA==rocep194s0f0:1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep194s0f0:1
OMPI_MCA_btl_tcp_if_include=enp194s0f0
GLOO_SOCKET_IFNAME=enp194s0f0
TP_SOCKET_IFNAME=enp194s0f0
VLLM_HOST_IP=192.168.100.1`, why: "NCCL_SOCKET_IFNAME: managed through a data port"},
		{name: "lossless switch", c: strix(), do: func(c *check.Case) { c.Want.Data.Switch = "lossless" }, want: `
NCCL_SOCKET_IFNAME==enp191s0
NCCL_IB_HCA==rocep194s0f0:1
NCCL_IB_TC=106
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep194s0f0:1
OMPI_MCA_btl_tcp_if_include=enp194s0f0
GLOO_SOCKET_IFNAME=enp191s0
TP_SOCKET_IFNAME=enp191s0
VLLM_HOST_IP=10.0.0.1`, why: "NCCL_IB_TC: DSCP 26"},
		{name: "a node that did not answer", c: strix(), do: func(c *check.Case) { c.Nodes[0] = &fact.Node{Name: "n1", Down: "no route to host"} }},
		{name: "the head did not answer", c: strix(), do: func(c *check.Case) { c.Nodes[0] = &fact.Node{Name: "n1", Down: "no route to host"} }, node: 1, want: `
NCCL_SOCKET_IFNAME==enp191s0
NCCL_IB_HCA==rocep194s0f0:1
NCCL_DEBUG=INFO
UCX_NET_DEVICES=rocep194s0f0:1
OMPI_MCA_btl_tcp_if_include=enp194s0f0
GLOO_SOCKET_IFNAME=enp191s0
TP_SOCKET_IFNAME=enp191s0
VLLM_HOST_IP=10.0.0.2`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.do != nil {
				tt.do(tt.c)
			}
			vars := Env(tt.c, tt.c.Nodes[tt.node])
			var got strings.Builder
			for _, v := range vars {
				got.WriteString("\n" + v.Name + "=" + v.Value)
				if v.Why == "" || strings.Contains(v.Why, "\n") {
					t.Errorf("%s: why %q is not one line", v.Name, v.Why)
				}
			}
			if got.String() != tt.want {
				t.Errorf("got:%s\nwant:%s", got.String(), tt.want)
			}
			name, part, wanted := strings.Cut(tt.why, ": ")
			if wanted && !slices.ContainsFunc(vars, func(v Var) bool { return v.Name == name && strings.Contains(v.Why, part) }) {
				t.Errorf("%s has no reason with %q: %v", name, part, vars)
			}
		})
	}
}

func TestGIDIndexIsSetOnlyWhenNeeded(t *testing.T) {
	linkLocal := func(c *check.Case, index int) {
		for _, p := range c.Nodes[0].Ports[:2] {
			p.GIDs = append([]fact.GID{{Index: index, GID: mapped("169.254.35.62"), Type: "RoCE v2", Netdev: p.Netdev}}, p.GIDs...)
		}
	}
	version := func(v string) func(c *check.Case) {
		return func(c *check.Case) {
			c.Nodes[0].Settings.NCCL = []fact.Library{{Name: "libnccl", Version: v}}
		}
	}
	tests := []struct {
		name      string
		do        func(c *check.Case)
		nccl, ucx string // what is set; "" is nothing
		why       string
	}{
		{name: "NCCL finds it", do: version("2.28.3")},
		{name: "2.21 just finds it", do: version("2.21.5")},
		{name: "2.20 just does not", do: version("2.20.5"), nccl: "3", why: "NCCL 2.20.5 does not look for the RoCE v2 entry by itself; 2.21 and newer do"},
		{name: "another library's version says nothing", do: func(c *check.Case) {
			c.Nodes[0].Settings.NCCL = []fact.Library{{Name: "librccl", Version: "1.0.70003"}, {Name: "libnccl-net", Version: "1.2"}}
		}},
		{name: "a link-local address comes first", do: func(c *check.Case) { linkLocal(c, 1) }, nccl: "3", ucx: "3", why: "NCCL would take GID 1 of rocep1s0f0, which is 169.254.35.62"},
		{name: "a VLAN comes first", do: func(c *check.Case) {
			p := c.Nodes[0].Ports[0]
			p.GIDs = append([]fact.GID{{Index: 1, GID: mapped("10.7.0.1"), Type: "RoCE v2", Netdev: "enp1s0f0np0.7"}}, p.GIDs...)
		}, nccl: "3", ucx: "3", why: "NCCL would take GID 1 of rocep1s0f0, which is 10.7.0.1"},
		{name: "the VLAN has the only address", do: func(c *check.Case) { c.Nodes[0].Ports[0].GIDs[0].Netdev = "enp1s0f0np0.7" }},
		{name: "version 1 before version 2 misleads nobody", do: func(c *check.Case) {
			p := c.Nodes[0].Ports[0]
			p.GIDs = append([]fact.GID{{Index: 2, GID: p.GIDs[0].GID, Type: "IB/RoCE v1", Netdev: p.Netdev}}, p.GIDs...)
		}},
		{name: "no index is right on both ports", do: func(c *check.Case) { linkLocal(c, 1); c.Nodes[0].Ports[1].GIDs[1].Index = 5 }},
		{name: "no address at all", do: func(c *check.Case) { c.Nodes[0].Ports[0].GIDs = nil; version("2.20.5")(c) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sparks()
			tt.do(c)
			var nccl, ucx Var
			for _, v := range Env(c, c.Nodes[0]) {
				switch v.Name {
				case "NCCL_IB_GID_INDEX":
					nccl = v
				case "UCX_IB_GID_INDEX":
					ucx = v
				}
			}
			if nccl.Value != tt.nccl || ucx.Value != tt.ucx || nccl.Why != tt.why {
				t.Errorf("NCCL %q (%s), UCX %q; want %q (%s), %q", nccl.Value, nccl.Why, ucx.Value, tt.nccl, tt.why, tt.ucx)
			}
		})
	}
}
