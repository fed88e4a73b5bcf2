package design

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/unit"
)

// What a design may be asked for. A two-tier Clos of 256-port switches carries
// 32768 node ports; above it weft would have to guess at a third tier.
const (
	mostNodes = 16384
	mostGPUs  = 16 // HGX-2 had 16 in one node
	mostRails = 8
)

// Workloads are the names that --workload takes.
func Workloads() []string {
	var names []string
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return names
}

// Make answers an ask, or says which part of it cannot be answered.
func Make(a Ask) (*Design, error) {
	d := &Design{Workload: a.Workload, Nodes: a.Nodes, GPUs: a.GPUs, ask: a, at: map[string]*Device{}}
	if err := d.bounds(); err != nil {
		return nil, err
	}
	kind, err := d.card()
	if err != nil {
		return nil, err
	}
	m, err := d.model()
	if err != nil {
		return nil, err
	}
	if err := d.net(); err != nil {
		return nil, err
	}
	d.fabrics()
	for _, f := range d.Fabrics {
		if err := d.shape(f, kind, m); err != nil {
			return nil, err
		}
	}
	d.transfers(m)
	if err := d.wire(); err != nil {
		return nil, err
	}
	if err := d.manage(); err != nil {
		return nil, err
	}
	d.flows()
	d.plans()
	d.lossless()
	if err := d.bill(); err != nil {
		return nil, err
	}
	d.notes()
	d.forget()
	return d, nil
}

// forget drops assumptions that did not matter.
func (d *Design) forget() {
	clos := slices.ContainsFunc(d.Fabrics, func(f *Fabric) bool { return f.Shape == "clos" })
	d.Assumed = slices.DeleteFunc(d.Assumed, func(a Assumed) bool {
		return a.Field == "oversubscription" && !clos || a.Field == "port-name" && !d.switched()
	})
}

// kind is what the words of --fabric say.
type kind struct{ shape, layer string }

func (d *Design) assume(field, value, source string) {
	d.Assumed = append(d.Assumed, Assumed{field, value, source})
}

func (d *Design) bounds() error {
	a := &d.ask
	_, known := workloadOf(a.Workload)
	switch {
	case a.Nodes < 1 || a.Nodes > mostNodes:
		return bad("nodes", a.Nodes, "want 1 to %d", mostNodes)
	case a.GPUs < 1 || a.GPUs > mostGPUs:
		return bad("gpus", a.GPUs, "want 1 to %d GPUs in a node", mostGPUs)
	case !known:
		why := "want one of " + strings.Join(Workloads(), ", ")
		if near := nearest(a.Workload, Workloads()); a.Workload != "" && len(near) > 0 {
			why += "; near it: " + near[0]
		}
		return bad("workload", a.Workload, "%s", why)
	case a.Rails < 0 || a.Rails > mostRails:
		return bad("rails", a.Rails, "want 1 to %d data ports in a node", mostRails)
	case a.Ports != 0 && (a.Ports < 4 || a.Ports > 1024):
		return bad("ports", a.Ports, "want 4 to 1024 ports of a switch")
	case a.Oversubscription != 0 && !(a.Oversubscription >= 1 && a.Oversubscription <= 16):
		return bad("oversubscription", num4(a.Oversubscription), "want 1 (nothing is shared) to 16 (16 node ports share one spine port)")
	case a.BurstTime != 0 && !(a.BurstTime >= 1 && a.BurstTime <= 86400):
		return bad("burst-time", num4(a.BurstTime), "want 1 to 86400 seconds")
	case a.InferenceNodes < 0 || a.InferenceNodes > mostNodes:
		return bad("inference-nodes", a.InferenceNodes, "want 1 to %d, or leave it out", mostNodes)
	case a.InferenceGPUs < 0 || a.InferenceGPUs > mostGPUs:
		return bad("inference-gpus", a.InferenceGPUs, "want 1 to %d GPUs in a node", mostGPUs)
	case a.InferenceGPUs > 0 && a.InferenceNodes == 0:
		return bad("inference-gpus", a.InferenceGPUs, "without --inference-nodes there is nobody to have them")
	case a.InferenceNodes > 0 && a.Workload == "inference":
		return bad("inference-nodes", a.InferenceNodes, "--workload inference makes all %d nodes inference nodes: say what the others train", a.Nodes)
	case !(a.HostLength >= 0 && a.HostLength <= 10000):
		return bad("host-length", num4(a.HostLength), "want metres, at most 10000")
	case !(a.SpineLength >= 0 && a.SpineLength <= 10000):
		return bad("spine-length", num4(a.SpineLength), "want metres, at most 10000")
	}
	for _, x := range a.Accept {
		if x != "slot" {
			return bad("accept", x, "want slot: to live with a slot that is slower than its card")
		}
	}
	for _, n := range []struct{ field, value string }{{"name", a.Name}, {"port-name", a.PortName}} {
		if strings.Trim(n.value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" || len(n.value) > 12 || strings.HasPrefix(n.value, "-") {
			return bad(n.field, n.value, "want at most 12 letters, digits and dashes")
		}
	}
	if a.Name == "" {
		a.Name = "node"
	}
	if a.PortName == "" {
		a.PortName = "swp"
		d.assume("port-name", "swp", "Cumulus Linux and mlxsw call their ports so; FRR needs the switch's own names")
	}
	for _, taken := range []string{"leaf", "spine", "switch", "router", "mgmt", "access", "inf", "office"} {
		if strings.HasPrefix(a.Name, taken) {
			return bad("name", a.Name, "switches are called %s…: nodes want another name", taken)
		}
	}
	if a.Oversubscription == 0 {
		a.Oversubscription, d.loose = 1, true
		d.assume("oversubscription", "1", "in an all-reduce every port sends at once")
	}
	return nil
}

func workloadOf(name string) (workload, bool) {
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
	if i < 0 {
		return workload{}, false
	}
	return workloads[i], true
}

// card settles rate, layer, shape and slot from --fabric, --nic and --slot.
func (d *Design) card() (kind, error) {
	var k kind
	var rate unit.Rate
	words := strings.FieldsFunc(strings.ToLower(d.ask.Fabric), func(r rune) bool { return r == ',' || r == ' ' || r == '+' })
	layer := ""
	set := func(at *string, value, word string) error {
		if *at != "" && *at != value {
			return bad("fabric", d.ask.Fabric, "%s and %s contradict each other", strings.ToLower(*at), word)
		}
		*at = value
		return nil
	}
	for _, w := range words {
		var err error
		switch w {
		case "auto":
		case "direct", "switch", "clos":
			err = set(&k.shape, w, w)
		case "ring", "mesh":
			err = set(&k.shape, "direct", w)
		case "single":
			err = set(&k.shape, "switch", w)
		case "leaf-spine", "spine-leaf":
			err = set(&k.shape, "clos", w)
		case "roce", "ethernet", "rocev2":
			err = set(&layer, "Ethernet", w)
		case "ib", "infiniband":
			err = set(&layer, "InfiniBand", w)
		default:
			r, l, ok := portRate(w)
			switch {
			case !ok:
				why := "want words of: direct, switch, clos; roce, infiniband; a rate like 100g or hdr"
				if near := nearest(w, []string{"direct", "switch", "clos", "roce", "infiniband"}); len(near) > 0 {
					why += fmt.Sprintf("; %q is near %s", w, near[0])
				}
				return k, bad("fabric", d.ask.Fabric, "%s", why)
			case !slices.Contains(portRates, r):
				return k, bad("fabric", d.ask.Fabric, "no port runs at %v: %s", r, rateList())
			case rate != 0 && rate != r:
				return k, bad("fabric", d.ask.Fabric, "%s and %s contradict each other", v(rate), v(r))
			}
			rate = r
			if l != "" {
				err = set(&layer, l, w)
			}
		}
		if err != nil {
			return k, err
		}
	}
	var slot *Slot
	if d.ask.Slot != "" {
		s, err := slotOf(d.ask.Slot)
		if err != nil {
			return k, err
		}
		slot = &s
	}
	var c Card
	switch {
	case d.ask.NIC != "":
		var err error
		if c, err = cardOf(d.ask.NIC); err != nil {
			return k, err
		}
		if rate > c.Rate {
			return k, bad("fabric", d.ask.Fabric, "--nic %s runs at %s at most", d.ask.NIC, v(c.Rate))
		}
		if rate != 0 && c.Name == "" && rate != c.Rate {
			return k, bad("fabric", d.ask.Fabric, "--nic %s says %s", d.ask.NIC, v(c.Rate))
		}
		if rate != 0 {
			c.Rate = rate
		}
	case rate != 0:
		c = Card{Rate: rate}
	case slot != nil:
		c = Card{}
		r, _, _ := portRate(fits(slotRate(*slot)))
		c.Rate = r
		if slotRate(*slot) < r {
			return k, bad("slot", d.ask.Slot, "carries about %s Gb/s of RDMA, less than the slowest port that weft plans with, %s", num(gb(slotRate(*slot))), v(r))
		}
		d.assume("nic", fits(slotRate(*slot)), "the fastest port that the slot feeds")
	default:
		c = Card{Rate: 200 * unit.Gbps}
		d.assume("nic", "200g", "the Kentino wiki's cluster: ConnectX-6, 200 GbE")
	}
	if c.Layer != "" && layer != "" && c.Layer != layer {
		return k, bad("fabric", d.ask.Fabric, "--nic %s speaks %s alone", d.ask.NIC, c.Layer)
	}
	if c.Layer == "" {
		c.Layer = layer
	}
	if c.Layer == "" {
		c.Layer = "Ethernet"
		d.assume("fabric", "roce", "BGP, ECMP and the uplink are Ethernet's; --fabric infiniband for the other")
	}
	k.layer = c.Layer
	d.Card = c
	return k, d.Card.fit(slot, slices.Contains(d.ask.Accept, "slot"))
}

// model settles what is moved.
func (d *Design) model() (model, error) {
	var m model
	var err error
	size := d.ask.ModelSize
	if size == "" {
		size = "70B"
		d.assume("model-size", "70B", "Kentino wiki: 70B parameters × 2 bytes = 140 GB")
	}
	if m.weights, err = bytes("model-size", size); err != nil {
		return m, err
	}
	if d.ask.Checkpoint == "" {
		m.checkpoint = 2 * m.weights
		d.assume("checkpoint", num(m.checkpoint/1e9)+"GB", "Kentino wiki: twice the weights")
		return m, nil
	}
	m.checkpoint, err = bytes("checkpoint", d.ask.Checkpoint)
	return m, err
}

// Net is the address plan: a /12 cut into sixteen /16.
type Net struct {
	Block     netip.Prefix   `json:"block"`
	Rails     []netip.Prefix `json:"rails"` // of the training fabric, then of the inference fabric
	Loopbacks netip.Prefix   `json:"loopbacks"`
	Manage    netip.Prefix   `json:"management"`
	Lines     []Line         `json:"arithmetic"`
}

// Blocks of the /12: training rails 0 to 7, inference rails 8 to 12, access switches
// 13, management 14, loopbacks 15.
const (
	blockInference = 8
	blockAccess    = 13
	blockManage    = 14
	blockLoopbacks = 15
)

func (d *Design) net() error {
	if d.ask.Net == "" {
		d.ask.Net = "10.16.0.0/12"
		d.assume("net", d.ask.Net, "private (RFC 1918), and apart from what Kubernetes, Docker and Tailscale take by default")
	}
	p, err := netip.ParsePrefix(d.ask.Net)
	switch {
	case err != nil || !p.Addr().Is4():
		return bad("net", d.ask.Net, "not an IPv4 block like 10.16.0.0/12")
	case p.Bits() > 12 || p.Bits() < 4:
		return bad("net", d.ask.Net, "want a /12: sixteen blocks of /16, for rails, loopbacks and management")
	case p.Masked() != p:
		return bad("net", d.ask.Net, "the address is not the first of its block: %v", p.Masked())
	case !p.Addr().IsPrivate() && p != netip.MustParsePrefix("100.64.0.0/10"):
		return bad("net", d.ask.Net, "not private: want a block of 10.0.0.0/8, or 172.16.0.0/12")
	}
	d.Net.Block = netip.PrefixFrom(p.Addr(), 12)
	d.Net.Loopbacks, d.Net.Manage = d.sixteen(blockLoopbacks), d.sixteen(blockManage)
	return nil
}

// sixteen returns the nth /16 of the block.
func (d *Design) sixteen(n int) netip.Prefix {
	return netip.PrefixFrom(add(d.Net.Block.Addr(), n<<16), 16)
}

// add counts on from an address.
func add(a netip.Addr, n int) netip.Addr {
	b := a.As4()
	u := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	u += uint32(n)
	return netip.AddrFrom4([4]byte{byte(u >> 24), byte(u >> 16), byte(u >> 8), byte(u)})
}

// fabrics lists who is designed for.
func (d *Design) fabrics() {
	a := d.ask
	name := "training"
	if a.Workload == "inference" {
		name = "inference"
	}
	main := &Fabric{Name: name, Workload: a.Workload, Nodes: a.Nodes, GPUs: a.GPUs, node: a.Name}
	d.Fabrics = append(d.Fabrics, main)
	if a.InferenceNodes > 0 {
		gpus := a.InferenceGPUs
		if gpus == 0 {
			gpus = a.GPUs
			d.assume("inference-gpus", fmt.Sprint(gpus), "as many as the others have")
		}
		d.Fabrics = append(d.Fabrics, &Fabric{Name: "inference", Workload: "inference", Nodes: a.InferenceNodes, GPUs: gpus, node: "inf", prefix: "inf-", block: blockInference})
	}
	for i, f := range d.Fabrics {
		f.Layer, f.Rate = d.Card.Layer, d.Card.Rate
		flag := "rails"
		switch {
		case i == 0 && a.Rails > 0:
			f.Rails = a.Rails
		case f.Workload == "inference":
			f.Rails = 1
			if i > 0 {
				flag = "rails (inference)"
			}
			d.assume(flag, "1", "decoding waits for latency, not for bandwidth")
		default:
			f.Rails = min(mostRails, ceil(f.GPUs, 2))
			d.assume(flag, fmt.Sprint(f.Rails), "Kentino wiki: two NICs beside four GPUs, so one for two GPUs")
		}
		for r := range f.Rails {
			d.Net.Rails = append(d.Net.Rails, d.sixteen(f.block+r))
		}
	}
}

// mainName is the fabric that --per-gpu-rate speaks of.
func mainName(d *Design) string { return d.Fabrics[0].Name }
