package why

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/compat"
	"weft/internal/forecast"
	"weft/internal/nodeset"
	"weft/internal/topo"
	"weft/internal/unit"
)

// Cause is something that is wrong, and what it costs a token where that is known.
type Cause struct {
	Check  string       `json:"check"` // "roce.irdma", "nccl.socket", "eager"
	Status check.Status `json:"status"`
	On     string       `json:"on"` // node set, ranks; "" is all
	Got    string       `json:"got"`
	Ms     forecast.Ms  `json:"ms"`         // charged; 0 is nothing, or not known: see How
	Known  bool         `json:"quantified"` // whether anybody can say what it costs
	Bound  bool         `json:"bound"`      // Ms is at most this, and charged up to what is left
	Basis  string       `json:"basis,omitempty"`
	How    string       `json:"how"` // how the milliseconds came about, or why there are none
	Fix    []string     `json:"fix,omitempty"`
}

// effect is how a finding of weft check slows a token.
type effect int

const (
	noRDMA    effect = iota // RDMA cannot be used, so TCP is
	narrow                  // the PCIe link carries less than the port
	packets                 // smaller packets
	inRate                  // the rate that the facts state is already what is computed with
	clamped                 // a GPU computes slowly
	latency                 // messages take longer; nobody measured by how much
	large                   // large messages suffer, small ones hardly
	lost                    // packets are lost or held up now and then
	stops                   // a job hangs or stops: it does not run slowly
	slowStack               // software that is known to be slow
)

// rule says what a finding of a check means for a token. A check that is not in the
// table does not slow one.
type rule struct {
	check string
	says  string // only findings whose reason holds this; "" is any
	means effect
	fails bool // failures alone: warnings of it cost nothing
}

var rules = []rule{
	{"roce.irdma", "", noRDMA, true},
	{"roce.mixed", "iWARP", noRDMA, true},
	{"node.memlock", "", noRDMA, true},
	{"node.devices", "", noRDMA, true},
	{"node.packages", "falls back", noRDMA, true},
	{"node.modules", "no RDMA device", noRDMA, true},
	{"nccl.env", "over TCP", noRDMA, true},
	{"roce.gid", "", noRDMA, true},
	{"ib.sm", "", noRDMA, true},
	{"port.layer", "", noRDMA, true},
	{"pcie.path", "", narrow, false},
	{"pcie.design", "", narrow, false},
	{"roce.mtu", "", packets, false},
	{"roce.mtu.path", "", packets, false},
	{"ib.mtu", "", packets, false},
	{"port.up", "", inRate, false},
	{"port.rate", "", inRate, false},
	{"port.twins", "", inRate, false},
	{"port.shaping", "", inRate, false},
	{"ib.width", "", inRate, false},
	{"gpu.clamp", "", clamped, false},
	{"node.aspm", "", latency, false},
	{"node.iommu", "", latency, false},
	{"pcie.numa", "", latency, false},
	{"ib.ipoib", "", latency, false},
	{"plane.route", "", latency, false},
	{"node.sysctl", "", large, false},
	{"node.acs", "", large, false},
	{"pcie.mrrs", "", large, false},
	{"gpu.direct", "", large, false},
	{"fabric.switch", "", lost, false},
	{"fabric.sharing", "", lost, false},
	{"port.errors", "", lost, false},
	{"port.pause", "", lost, false},
	{"port.temp", "", lost, false},
	{"pcie.errors", "", lost, false},
	{"roce.pfc", "", lost, false},
	{"roce.ecn", "", lost, false},
	{"roce.trust", "", lost, false},
	{"roce.pause", "", lost, false},
	{"node.firewall", "", stops, true},
	{"nccl.symmetry", "", stops, true},
	{"stack.rocm", "", stops, true},
	{"stack.nccl", "development build", slowStack, false},
	{"stack.nccl", "", stops, true},
}

func bad(s check.Status) bool { return s == check.Fail || s == check.Warn }

// found are the findings of one check that mean the same, folded over nodes.
type found struct {
	rule
	check.Finding
	nodes []string
}

// findings are what weft check says that slows a token. They are worked out once.
func (a *Ask) findings() []found {
	if a.Case == nil || a.looked {
		return a.seen
	}
	var out []found
	for _, f := range check.Run(check.All, a.Case) {
		if !bad(f.Status) {
			continue
		}
		i := slices.IndexFunc(rules, func(r rule) bool {
			return r.check == f.Check && strings.Contains(f.Why, r.says) && (f.Status == check.Fail || !r.fails)
		})
		if i < 0 {
			continue
		}
		j := slices.IndexFunc(out, func(o found) bool { return o.Check == f.Check && o.means == rules[i].means && o.Got == f.Got })
		if j < 0 {
			out = append(out, found{rule: rules[i], Finding: f})
			j = len(out) - 1
		}
		if n := f.Subject.Node; n != "" && !slices.Contains(out[j].nodes, n) {
			out[j].nodes = append(out[j].nodes, n)
		}
	}
	a.seen, a.looked = out, true
	return out
}

// blockers are the findings that keep RDMA from working.
func (a *Ask) blockers() (out []found) {
	for _, f := range a.findings() {
		if f.means == noRDMA {
			out = append(out, f)
		}
	}
	return out
}

// causes are all that is wrong: the way between nodes first, because one cost has many
// reasons there; then kernels; then what weft check found.
func (a *Ask) causes(base, run forecast.Waterfall, out Answer) []Cause {
	var list []Cause
	found := a.findings()
	over := a.transportCause(base, run, out)
	if over != nil {
		list = append(list, *over)
	}
	if a.Engine.Eager {
		list = append(list, a.eagerCause(base, run))
	}
	list = append(list, a.logCauses(over != nil)...)
	if c, ok := a.quantCause(); ok {
		list = append(list, c)
	}
	for _, f := range found {
		c := Cause{Check: f.Check, Status: f.Status, On: nodeset.Fold(f.nodes), Got: f.Got, Fix: f.Fix}
		if c.Got == "" {
			c.Got = f.Why
		}
		a.cost(&c, f, base, out, over != nil)
		list = append(list, c)
	}
	return list
}

// transportCause is sockets where RDMA could have been.
func (a *Ask) transportCause(base, run forecast.Waterfall, out Answer) *Cause {
	more := run.Net() - base.Net()
	if out.Fabric.Transport != "tcp" || out.Should.Transport == "tcp" || more <= 0 {
		return nil
	}
	c := Cause{Check: "tcp", Status: check.Fail, Ms: more, Known: true, Basis: Fitted, Got: "TCP carried it between nodes, where RDMA could"}
	each := func(w forecast.Waterfall, f forecast.Fabric) string {
		by := "constant"
		if f.Sync > 0 {
			by = "measured"
		}
		return fmt.Sprintf("%.0f µs (%s)", w.SyncEach, by)
	}
	if out.Fabric.Sync > 0 {
		c.Basis = Measured
	}
	if run.Syncs > 0 {
		c.How = fmt.Sprintf("%d collectives of %s instead of %s", run.Syncs, each(run, out.Fabric), each(base, out.Should))
	} else {
		c.How = fmt.Sprintf("hops take %.2f ms instead of %.2f", run.Hops, base.Hops)
	}
	switch {
	case inferred(out.Fabric):
		c.Got = "RDMA cannot work here, and the measurement fits TCP better"
		c.How += fmt.Sprintf("; a log would prove it: weft why --log; %s kept RDMA from working", checksOf(a.blockers()))
	case a.Log != nil && a.Log.Between != "":
		c.Check = "nccl.socket"
		c.Got = a.Log.Between + " carried it between nodes, where RDMA could"
		for _, f := range a.Log.Findings {
			if f.ID == "nccl.socket" && bad(f.Status) {
				c.Got, c.Fix, c.Status, c.On = f.Got, f.Fix, f.Status, nodeset.Fold(f.Hosts)
				break
			}
		}
	default:
		c.How += "; " + a.Told + ", and every node has an RDMA port that is up"
	}
	if b := a.blockers(); len(c.Fix) == 0 {
		for _, f := range b {
			c.Fix = append(c.Fix, "weft explain "+f.Check)
		}
		c.Fix = slices.Compact(c.Fix)
		if len(b) == 0 {
			c.Fix = []string{"NCCL_DEBUG=INFO in the job's environment, then weft nccl LOG says why it did not take RDMA"}
		}
	}
	return &c
}

func checksOf(list []found) string {
	var ids []string
	for _, f := range list {
		if !slices.Contains(ids, f.Check) {
			ids = append(ids, f.Check)
		}
	}
	return strings.Join(ids, ", ")
}

// eagerCause is kernels that the host launches one by one.
func (a *Ask) eagerCause(base, run forecast.Waterfall) Cause {
	by := a.Eager
	if by == "" {
		by = "--engine " + a.Engine.Name
	}
	return Cause{Check: "eager", Status: check.Warn, Got: "kernels are launched one by one (" + by + ")", Ms: run.Dispatch - base.Dispatch, Known: true, Basis: Fitted,
		How: fmt.Sprintf("%d layers, %.0f µs each more; two published pairs say 0 and 600 µs, so it may be off by all of it", a.Model.Layers, 1000*float64(run.Dispatch-base.Dispatch)/float64(max(a.Model.Layers, 1))),
		Fix: []string{"start the engine without --enforce-eager, so that it captures graphs"}}
}

// logCauses are the log's other failures: of none of them anybody knows milliseconds.
func (a *Ask) logCauses(socketTold bool) (out []Cause) {
	if a.Log == nil {
		return nil
	}
	for _, f := range a.Log.Findings {
		if f.Status != check.Fail || f.ID == "nccl.socket" && socketTold {
			continue
		}
		out = append(out, Cause{Check: f.ID, Status: f.Status, On: nodeset.Fold(f.Hosts), Got: f.Got, How: "not quantified: the log says that it happened, not how long it took", Fix: f.Fix})
	}
	return out
}

// quantCause is a format that is known not to run on these GPUs.
func (a *Ask) quantCause() (Cause, bool) {
	quant := a.Quant
	if quant == "" {
		quant = a.Format.Name
	}
	answer, why := a.works(quant, a.Engine)
	if answer != compat.No {
		return Cause{}, false
	}
	return Cause{Check: "stack.quant", Status: check.Warn, Got: fmt.Sprintf("%s with %s on %s: %s", quant, a.Engine.Name, a.Nodes[0].HW.Name, why),
		How: "not quantified: it is known not to run, so one of these is not what ran, or something newer than weft's table", Fix: []string{"weft compat --quant " + quant + " --engine " + a.Engine.Name}}, true
}

// Headers of a RoCE v2 packet on the wire: preamble and gap 20, Ethernet 18, IP 20, UDP
// 8, BTH 12, ICRC 4 (IBTA annex A17).
const roceOverhead = 82

// cost says what a finding costs, or why nobody can say.
func (a *Ask) cost(c *Cause, f found, base forecast.Waterfall, out Answer, tcp bool) {
	syncs := float64(base.Syncs)
	set := func(ms float64, basis, how string) {
		c.Ms, c.Known, c.Basis, c.How = forecast.Ms(ms), true, basis, how
	}
	alone := !a.many()
	switch f.means {
	case noRDMA:
		switch {
		case alone:
			set(0, Derived, "nothing: the layout stays within one node")
		case tcp:
			set(0, Derived, "counted above: it keeps RDMA from working")
		case a.Log != nil && out.Fabric.Transport == "rdma" && a.known():
			set(0, Measured, "nothing: RDMA carried it all the same ("+out.Fabric.Source+")")
		case out.Fabric.Transport == "rdma" && a.known():
			set(0, Derived, "nothing, if RDMA carried it: "+a.Told)
		case out.Fabric.Transport == "rdma":
			c.How = "not quantified: the measurement fits RDMA better than TCP, so it seems not to matter; a log would tell"
		default:
			set(0, Derived, "counted above: sync is that of TCP")
		}
	case stops:
		c.How = "not quantified: a job stops or hangs of it; it does not make one slower"
	case clamped:
		a.clampCost(c, f, base)
	case slowStack:
		// NVIDIA/dgx-spark-playbooks PR 103: all_gather of large messages, 3.04 GB/s with a
		// development build of NCCL, 23.74 with the release.
		set(float64(base.Wire)*(23.74/3.04-1), Published, "bytes on the wire take 7.8 times as long (dgx-spark-playbooks PR 103); what it does to latency is not known")
	case narrow, packets, inRate, latency, large, lost:
		if alone {
			set(0, Derived, "nothing: the layout stays within one node")
			return
		}
		a.linkCost(c, f, base, syncs, set)
	}
}

// linkCost is what a slower or rougher link costs.
func (a *Ask) linkCost(c *Cause, f found, base forecast.Waterfall, syncs float64, set func(float64, string, string)) {
	switch f.means {
	case narrow:
		port, path, ok := a.pcie()
		if !ok || path >= port {
			c.How = "not quantified: the rates of its PCIe path were not read"
			return
		}
		set(float64(base.Wire)*(float64(port)/float64(path)-1), Derived, fmt.Sprintf("%v of the port's %v reach the host, so bytes on the wire take %.1f times as long", path, port, float64(port)/float64(path)))
	case packets:
		full, small := float64(4096), float64(1024)
		set(float64(base.Wire)*((small+roceOverhead)/small/((full+roceOverhead)/full)-1), Derived, "headers of packets with 1024 instead of 4096 bytes; published: prefill 2.4 % slower, decoding unchanged (MiaAI-Lab, pull 104)")
	case inRate:
		set(0, Derived, "counted above: wire is computed with the rate that the link has now")
	case latency:
		c.How = "not quantified: messages wait longer, and nobody published by how much"
		if f.Check == "node.aspm" && syncs > 0 {
			c.How = fmt.Sprintf("not quantified: a link that sleeps takes up to 64 µs to wake (PCIe, L1 exit latency), at most %.1f ms for %.0f collectives; whether it slept is not known", syncs*0.064, syncs)
		}
	case large:
		c.How = fmt.Sprintf("not quantified: large messages suffer of it, and those of a token are %.1f KiB: %.2f ms on the wire in all", base.Message/1024, base.Wire)
	default:
		c.How = "not quantified: it holds up a message now and then, and a mean of tokens/s does not show how often"
	}
}

// pcie is the port's rate and what its PCIe path carries, where that is least.
func (a *Ask) pcie() (port, path unit.Rate, ok bool) {
	least := 1.0
	for _, at := range a.Case.DataPorts() {
		rate, known := at.Port.Rate.Get()
		hop, told := topo.Narrowest(topo.Hops(at.Node, at.Port.BDF))
		if !known || !told || rate == 0 {
			continue
		}
		if has := topo.RDMARate(hop.Cur); has > 0 && float64(has)/float64(rate) < least {
			least, port, path, ok = float64(has)/float64(rate), rate, has, true
		}
	}
	return port, path, ok
}

// clampCost: a GB10 that is held at 14 W computes 27 TFLOPS instead of 80
// (research/community.md item 18). Whether its memory is as slow is not known, so that
// is a bound.
func (a *Ask) clampCost(c *Cause, f found, base forecast.Waterfall) {
	spark := false
	for _, n := range a.Case.Nodes {
		for _, g := range n.GPUs {
			spark = spark || slices.Contains(f.nodes, n.Name) && strings.Contains(g.Name, "GB10")
		}
	}
	if !spark {
		c.How = "not quantified: how far the GPU's memory is slowed, too, is not known"
		return
	}
	c.Ms = base.Local() * forecast.Ms((80.0/27-1)/float64(max(a.PP, 1)))
	c.Known, c.Bound, c.Basis = true, true, Published
	c.How = "at most: it computes 27 TFLOPS instead of 80, and the others wait for it; whether its memory is as slow is not known, so what is left is charged up to that"
}
