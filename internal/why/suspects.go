package why

import (
	"fmt"

	"weft/internal/forecast"
)

// Suspect is what would explain what is left, if it were so: nothing says that it is.
type Suspect struct {
	What string      `json:"what"`
	Ms   forecast.Ms `json:"ms"` // that it would add
	Look string      `json:"look"`
}

// suspects are guesses whose cost is about what is left. Only where more is left than
// the forecast is usually wrong by.
func (a *Ask) suspects(out Answer, run forecast.Plan) (list []Suspect) {
	left := out.Left()
	if left < 0.1*out.Step || a.Measured >= out.Low {
		return nil
	}
	add := func(what, look string, ms forecast.Ms) {
		if ms > left/2 && ms < left*3/2 {
			list = append(list, Suspect{what, ms, look})
		}
	}
	if out.Fabric.Transport == "rdma" && a.many() && !a.known() {
		tcp := forecast.Fabric{Transport: "tcp", Gbps: out.Fabric.Gbps}
		if p, err := a.run(a.Ask, tcp); err == nil {
			add("TCP carried it, not RDMA", "NCCL_DEBUG=INFO in the job, then weft why --log LOG", p.Step.Net()-run.Step.Net())
		}
	}
	if a.Engine.Layer == "graph" && !a.Engine.Eager {
		ask := a.Ask
		ask.Engine.Eager = true
		if p, err := a.run(ask, out.Fabric); err == nil {
			add("graphs are off (--enforce-eager)", "the engine's command line and its log", p.Step.Dispatch-run.Step.Dispatch)
		}
	}
	if a.TP > 1 && a.PP == 1 {
		ask := a.Ask
		ask.TP, ask.PP = 1, a.TP
		if p, err := a.run(ask, out.Fabric); err == nil {
			add("layers are handed on (pipeline), not split", "the engine's command line: tensor and pipeline parallel size", p.Step.Total()-run.Step.Total())
		}
	}
	if a.Nodes[0].HW.Name == "gb10" {
		add("a GB10 is held at 14 W and computes at a third of its speed", "nvidia-smi under load, or weft check gpu.clamp", run.Step.Local()*(80.0/27-1))
	}
	if n := a.contextFor(left, run, out.Fabric); n > 0 {
		add(fmt.Sprintf("the cache held about %d tokens, not %d", n, a.Context), "how long the text was: --context", left)
	}
	return list
}

// contextFor is how many tokens in the cache would take so much longer; 0 is none that
// people use.
func (a *Ask) contextFor(left forecast.Ms, run forecast.Plan, f forecast.Fabric) int {
	const usual = 128 << 10
	ask := a.Ask
	ask.Context = usual
	p, err := a.run(ask, f)
	if err != nil || a.Context >= usual || p.Step.Total()-run.Step.Total() < left {
		return 0
	}
	return a.Context + int(float64(left/(p.Step.Total()-run.Step.Total()))*float64(usual-a.Context))
}

// verdict is the answer in a few sentences.
func (a *Ask) verdict(out Answer, w forecast.Waterfall) (says []string) {
	switch {
	case a.Measured < out.Low:
		says = append(says, fmt.Sprintf("slower than forecast: %.1f tokens/s were to be expected, %.1f to %.1f usually", out.Forecast, out.Low, out.High))
	case a.Measured > out.High:
		says = append(says, fmt.Sprintf("quicker than forecast: %.1f tokens/s were to be expected, %.1f to %.1f usually", out.Forecast, out.Low, out.High))
	default:
		says = append(says, fmt.Sprintf("about as forecast for this: %.1f tokens/s, %.1f to %.1f usually", out.Forecast, out.Low, out.High))
	}
	if ideal := out.Parts[0].Ms; out.Step < ideal {
		says = append(says, fmt.Sprintf("that cannot be: reading the weights alone takes %.*f ms at the stated bandwidth; was it another format, more nodes, several sequences or speculation?", out.Digits, ideal))
	}
	if ms := out.Mended(); ms > 0 {
		says = append(says, fmt.Sprintf("what is set up wrongly costs %.*f ms of %.*f: %.0f %%", out.Digits, ms, out.Digits, out.Step, 100*ms/out.Step))
	}
	if a.many() && w.Sync > 0.1*out.Step && w.Sync > 5*w.Wire {
		says = append(says, fmt.Sprintf("between nodes it is latency that costs, not bandwidth: %d collectives wait %.1f ms for each other, their bytes take %.2f ms on the wire", w.Syncs, w.Sync, w.Wire))
	}
	if w.Hops > 0.1*out.Step {
		says = append(says, fmt.Sprintf("layers are handed on between nodes: each node more is one step more (%.1f ms), and none of them saves reading", w.Hops))
	}
	if !out.Fits {
		says = append(says, "by the forecast this does not fit into the memory of a rank: is the model, the format or the hardware another?")
	}
	return says
}
