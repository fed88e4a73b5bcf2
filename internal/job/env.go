// Package job writes a launch out: the environment of every node. Pure: it reads
// facts and starts nothing.
package job

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
)

// Var is an environment variable, and in one line why it has that value.
type Var struct{ Name, Value, Why string }

// rayPort is where the head of a Ray cluster listens unless told otherwise (ray
// start --port).
const rayPort = 6379

// Env returns the environment that NCCL or RCCL, UCX, MPI, PyTorch, vLLM and Ray
// need on a node. A variable that would only repeat a default is left out, unless
// an old setting is likely to stand in its way. When no RDMA port of the node is
// usable the list is for sockets, says so, and does not disable RDMA.
func Env(c *check.Case, n *fact.Node) []Var {
	if n.Down != "" {
		return nil
	}
	var out vars
	ports := c.Usable(n)
	dev, addr := c.Management(n)
	if dev != nil {
		out.add("NCCL_SOCKET_IFNAME", "="+dev.Name, bootstrapWhy(n, ports, dev))
	}
	if len(ports) > 0 {
		out.rdma(c, n, ports)
	}
	out.add("NCCL_DEBUG", "INFO", "shows the transport of every channel: read it once, then set WARN")
	out.ucx(n, ports, dev)
	if dev != nil {
		out.mpi(c, n, ports, dev)
		out.add("GLOO_SOCKET_IFNAME", dev.Name, "Gloo, which PyTorch uses beside NCCL, would otherwise take what the host name resolves to, often 127.0.1.1")
		out.add("TP_SOCKET_IFNAME", dev.Name, "the same for TensorPipe, which PyTorch uses for RPC")
		out.add("VLLM_HOST_IP", addr.String(), "the address that Ray knows this node by; give ray start the same --node-ip-address")
	}
	out.ray(c, n)
	return out
}

type vars []Var

func (out *vars) add(name, value, why string) { *out = append(*out, Var{name, value, why}) }

func bootstrapWhy(n *fact.Node, ports []*fact.Port, dev *fact.Netdev) string {
	why := "bootstrap only, over the management interface; the data goes through NCCL_IB_HCA"
	for _, p := range ports {
		if p.Netdev == dev.Name {
			why = "bootstrap only; this node is managed through a data port, so it shares that"
		}
	}
	if len(ports) == 0 {
		why = "no RDMA port of this node is usable, so NCCL runs over sockets here, slowly; NCCL_IB_DISABLE stays unset, so that RDMA is used once it works"
	}
	for _, g := range n.GPUs {
		if g.Vendor == "AMD" {
			return why + "; RCCL reads the NCCL_ names too"
		}
	}
	return why
}

// rdma says which ports carry the data, and how.
func (out *vars) rdma(c *check.Case, n *fact.Node, ports []*fact.Port) {
	twins, alone := false, false
	for _, p := range ports {
		if twin, ok := platform.Twin(n, p); ok && slices.Contains(ports, twin) {
			twins = true
		} else if ok {
			alone = true
		}
	}
	why := "exactly these ports carry the data; = keeps mlx5_1 from meaning mlx5_10 too"
	switch {
	case alone:
		why = "one function of a Spark port, which reaches half its rate: weft explain port.twins"
	case twins:
		why = "both functions of each Spark port: one alone reaches half its rate"
	}
	out.add("NCCL_IB_HCA", "="+devices(ports), why)
	if i, why, ok := gidIndex(n, ports); ok {
		out.add("NCCL_IB_GID_INDEX", fmt.Sprint(i), why)
	}
	roce := false
	for _, p := range ports {
		roce = roce || p.RoCE()
	}
	if roce && c.Want.Data.Switch == "lossless" {
		out.add("NCCL_IB_TC", fmt.Sprint(c.TrafficClass()), fmt.Sprintf("DSCP %d with an ECN bit: the queue that the switch protects", c.TrafficClass()>>2))
	}
	ring := cablesOf(c)
	switch {
	case ring.pairs:
		out.ring(ring)
	case twins:
		out.add("NCCL_IB_MERGE_NICS", "1", "the default, said aloud: an inherited 0 leaves ports that reach the same peer apart")
	}
	if level, why := gdrLevel(n, ports); level != "" {
		out.add("NCCL_NET_GDR_LEVEL", level, why)
	}
}

// ring is what NCCL needs where every cable joins two nodes and there is no way
// around (research/community.md item 15; NCCL's own note on DGX Spark rings).
func (out *vars) ring(r cables) {
	out.add("NCCL_IB_SUBNET_AWARE_ROUTING", "1", "each cable is a subnet: pick the port whose subnet reaches the peer; NCCL 2.30.7 or newer, older ones ignore it and hang")
	if r.bits != 24 { // NCCL's default, NCCL_IB_SUBNET_PREFIX_LEN in src/transport/net_ib/connect.cc
		out.add("NCCL_IB_SUBNET_PREFIX_LEN", fmt.Sprint(r.bits), fmt.Sprintf("the cables are /%d subnets, and NCCL takes them for /24", r.bits))
	}
	out.add("NCCL_IB_MERGE_NICS", "0", "merged ports would lead to different neighbours")
	out.add("NCCL_CROSS_NIC", "1", "a cable may join port 0 here to port 1 there")
	if !r.complete {
		out.add("NCCL_ALGO", "Ring", "nodes without a common cable cannot connect, and only rings keep to neighbours; ranks must follow the cables")
	}
}

// ucx names the devices for UCX, which MPI and NIXL use.
func (out *vars) ucx(n *fact.Node, ports []*fact.Port, dev *fact.Netdev) {
	switch {
	case len(ports) > 0:
		out.add("UCX_NET_DEVICES", devices(ports), "UCX would otherwise use every device it finds, management included")
		if i, why, ok := ucxIndex(ports); ok {
			out.add("UCX_IB_GID_INDEX", fmt.Sprint(i), why)
		}
	case dev != nil:
		out.add("UCX_NET_DEVICES", dev.Name, "no RDMA port is usable, so UCX gets the same interface as NCCL")
	}
}

// mpi keeps Open MPI's TCP, used where UCX is missing, off docker0 and its kin.
// Data ports are faster, but in a ring they reach neighbours only.
func (out *vars) mpi(c *check.Case, n *fact.Node, ports []*fact.Port, dev *fact.Netdev) {
	var names []string
	for _, p := range ports {
		if d := n.Netdev(p.Netdev); d != nil {
			if a, ok := check.Addr4(d); ok && !a.IsLinkLocalUnicast() {
				names = append(names, d.Name)
			}
		}
	}
	if len(names) == 0 || cablesOf(c).pairs {
		out.add("OMPI_MCA_btl_tcp_if_include", dev.Name, "Open MPI's TCP, where UCX is missing, stays on an interface that reaches every node")
		return
	}
	out.add("OMPI_MCA_btl_tcp_if_include", strings.Join(names, ","), "Open MPI's TCP, where UCX is missing, uses the data network and no container bridge")
}

// ray tells every node but the first where the head is.
func (out *vars) ray(c *check.Case, n *fact.Node) {
	up := c.Up()
	if len(up) == 0 || up[0] == n {
		return
	}
	if dev, addr := c.Management(up[0]); dev != nil {
		out.add("RAY_ADDRESS", netip.AddrPortFrom(addr, rayPort).String(), "the Ray head, "+up[0].Name+", over the management network, which works when the fabric does not")
	}
}

// devices lists ports the way NCCL and UCX read them: "mlx5_0:1,mlx5_1:1".
func devices(ports []*fact.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = fmt.Sprintf("%s:%d", p.Device, p.Num)
	}
	return strings.Join(names, ",")
}
