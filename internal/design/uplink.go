package design

import (
	"fmt"
	"strings"

	"weft/internal/unit"
)

// Uplink is how a fabric reaches the rest of the world. It is sized by what is
// read, never by the fabric.
type Uplink struct {
	PerGPU    unit.Rate `json:"per_gpu"`
	Sustained unit.Rate `json:"sustained"`
	Burst     unit.Rate `json:"burst"`
	Links     int       `json:"links"`
	Rate      unit.Rate `json:"link_rate"`
	Other     string    `json:"or,omitempty"`        // another way to buy the same: "2 × 100 GbE"
	Via       string    `json:"via"`                 // "data switches", "access switches", "the nodes' own Ethernet ports"
	NodePort  unit.Rate `json:"node_port,omitempty"` // of a node's own Ethernet port, where that carries it
	Lines     []Line    `json:"arithmetic"`
}

// uplinkRates are Ethernet ports that routers and switches have.
var uplinkRates = []unit.Rate{unit.Gbps, 10 * unit.Gbps, 25 * unit.Gbps, 100 * unit.Gbps, 200 * unit.Gbps, 400 * unit.Gbps, 800 * unit.Gbps}

// smallest is the slowest link that carries a rate; ok is false when none does.
func smallest(need, most unit.Rate) (unit.Rate, bool) {
	best, ok := unit.Rate(0), false
	for _, r := range uplinkRates {
		if r > most {
			break
		}
		best = r
		if r >= need {
			return r, true
		}
	}
	return best, ok
}

func (d *Design) uplink(f *Fabric, w workload, m model) error {
	u := &f.Uplink
	u.PerGPU = w.perGPU
	if d.ask.PerGPU != "" && f.Name == mainName(d) {
		r, err := flow("per-gpu-rate", d.ask.PerGPU)
		if err != nil {
			return err
		}
		u.PerGPU = r
	}
	seconds := d.burstTime(f, w)
	if d.ask.PerGPU == "" || f.Name != mainName(d) {
		d.assume("per-gpu-rate"+d.beside(f), strings.ReplaceAll(v(u.PerGPU), " ", ""), w.source)
	}
	gpus := f.Nodes * f.GPUs
	u.Sustained = u.PerGPU * unit.Rate(gpus)
	u.line("sustained", "%s × %s × %s per GPU = %s", plural(f.Nodes, "node", "nodes"), plural(f.GPUs, "GPU", "GPUs"), v(u.PerGPU), v(u.Sustained))
	switch w.burst {
	case "ahead":
		u.Burst = unit.Rate(float64(u.Sustained) * w.percent / 100)
		u.line("burst", "%s × %s for reading ahead = %s", v(u.Sustained), num4(w.percent/100), v(u.Burst))
	default:
		size, what := m.weights, "weights"
		if w.burst == "checkpoint" {
			size, what = m.checkpoint, "a checkpoint"
		}
		more := unit.Rate(size * 8 / seconds)
		u.Burst = u.Sustained + more
		u.line("burst", "%s + %s GB × 8 / %s s for %s = %s", v(u.Sustained), num(size/1e9), num(seconds), what, v(u.Burst))
	}
	if per, most := u.PerGPU*unit.Rate(f.GPUs), d.Card.Gets*unit.Rate(f.Rails); f.Layer == "Ethernet" && (f.Shape == "switch" || f.Shape == "clos") && per > most {
		return bad("per-gpu-rate", v(u.PerGPU), "a node of %s would read %s through NICs that carry %d × %s = %s: take a faster --nic or more --rails", plural(f.GPUs, "GPU", "GPUs"), v(per), f.Rails, v(d.Card.Gets), v(most))
	}
	most := uplinkRates[len(uplinkRates)-1]
	switch {
	case f.Shape == "none" || f.Shape == "direct":
		u.Via = "the nodes' own Ethernet ports"
	case f.Layer == "InfiniBand":
		u.Via = "access switches"
	default:
		u.Via = "data switches"
		most = f.Rate
	}
	var one bool
	u.Rate, one = smallest(u.Burst, most)
	u.Links = ceilRate(u.Burst, u.Rate)
	u.line("uplink", "%d × %s ≥ %s", u.Links, gbe(u.Rate), v(u.Burst))
	if i := index(uplinkRates, u.Rate); one && i > 1 {
		if k := ceilRate(u.Burst, uplinkRates[i-1]); k == 2 {
			u.Other = fmt.Sprintf("%d × %s", k, gbe(uplinkRates[i-1]))
		}
	}
	if u.Via != "data switches" {
		share := u.Burst / unit.Rate(f.Nodes)
		r, ok := smallest(share, 800*unit.Gbps)
		if !ok {
			return bad("per-gpu-rate", v(u.PerGPU), "each node would read %s over one Ethernet port, and none is faster than 800 Gb/s", v(share))
		}
		u.NodePort = r
		u.line("node port", "%s / %s = %s each: %s of its own", v(u.Burst), plural(f.Nodes, "node", "nodes"), v(share), gbe(r))
	}
	if f.Nodes > 1 {
		east := f.Rate * unit.Rate(f.Nodes*f.Rails)
		u.line("not", "the fabric: %d nodes × %d × %s = %s east-west; the uplink is 100 × %s / %s = %s %% of it, by what is read", f.Nodes, f.Rails, v(f.Rate), v(east), num(gb(u.Rate)*float64(u.Links)), num(gb(east)), num(100*float64(u.Rate)*float64(u.Links)/float64(east)))
	}
	streams := ceilRate(u.Sustained, u.Rate)
	switch {
	case u.Links == 1:
		u.line("one flow", "at most %s, the link's rate", v(u.Rate))
	default:
		u.line("one flow", "at most %s: a flow stays on one of the %d links; in aggregate %s, so read with %d or more parallel streams", v(u.Rate), u.Links, v(u.Rate*unit.Rate(u.Links)), max(2, streams))
	}
	return nil
}

// homeSeconds is for nodes without a switch, on somebody's desk: ten minutes for a
// model are bearable there, and a port of 10 GbE is what such nodes have. Ours.
const homeSeconds = 600

// burstTime is how long a checkpoint, or new weights, may take.
func (d *Design) burstTime(f *Fabric, w workload) float64 {
	switch {
	case w.burst == "ahead":
		return 0
	case d.ask.BurstTime > 0:
		return d.ask.BurstTime
	case f.Shape == "none" || f.Shape == "direct":
		d.assume("burst-time"+d.beside(f), num(homeSeconds), "seconds; a few nodes without a switch can wait ten minutes for a model")
		return homeSeconds
	}
	d.assume("burst-time"+d.beside(f), num(w.seconds), "seconds; "+w.why)
	return w.seconds
}

// beside names the second fabric in a list of flags.
func (d *Design) beside(f *Fabric) string {
	if f != d.Fabrics[0] {
		return " (" + f.Name + ")"
	}
	return ""
}

func (u *Uplink) line(what, format string, args ...any) {
	u.Lines = append(u.Lines, Line{what, fmt.Sprintf(format, args...)})
}

// gbe writes a rate as Ethernet ports are called.
func gbe(r unit.Rate) string { return num(gb(r)) + " GbE" }

func ceilRate(a, b unit.Rate) int { return int((a + b - 1) / b) }

func index(list []unit.Rate, r unit.Rate) int {
	for i, x := range list {
		if x == r {
			return i
		}
	}
	return -1
}

// num4 writes a factor exactly.
func num4(f float64) string { return fmt.Sprintf("%.6g", f) }

// model is what is moved: weights, and what a training job saves.
type model struct{ weights, checkpoint float64 } // bytes

// Transfers are how long a model takes over each link.
type Transfers struct {
	Weights    float64    `json:"weights_bytes"`
	Checkpoint float64    `json:"checkpoint_bytes"`
	Lines      []Line     `json:"arithmetic"`
	Rows       []Transfer `json:"rows"`
}

// Transfer is one link, at line rate.
type Transfer struct {
	Over       string    `json:"over"`
	Rate       unit.Rate `json:"rate"`
	Weights    float64   `json:"weights_seconds"`
	Checkpoint float64   `json:"checkpoint_seconds"`
}

// transfers computes them for the uplink, for common links and for the fabric.
func (d *Design) transfers(m model) {
	t := &d.Transfers
	t.Weights, t.Checkpoint = m.weights, m.checkpoint
	t.Lines = append(t.Lines, Line{"seconds", "GB × 8 / (Gb/s), at line rate; headers and disks take more"})
	add := func(over string, r unit.Rate) {
		t.Rows = append(t.Rows, Transfer{over, r, m.weights * 8 / float64(r), m.checkpoint * 8 / float64(r)})
	}
	for _, f := range d.Fabrics {
		name := ""
		if len(d.Fabrics) > 1 {
			name = f.Name + " "
		}
		u := f.Uplink
		if u.Links > 1 {
			add(fmt.Sprintf("%suplink, %d parallel flows or more", name, u.Links), u.Rate*unit.Rate(u.Links))
		}
		add(name+"uplink, one flow", u.Rate)
		if f.Shape != "none" {
			add(name+"fabric, one flow on one NIC", d.Card.Gets)
			if f.Rails > 1 {
				add(fmt.Sprintf("%sfabric, flows on all %d NICs", name, f.Rails), d.Card.Gets*unit.Rate(f.Rails))
			}
		}
	}
	for _, r := range []unit.Rate{10 * unit.Gbps, 25 * unit.Gbps, 100 * unit.Gbps, 400 * unit.Gbps} {
		add(gbe(r), r)
	}
}
