package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
)

var gpuClamp = Check{
	ID:    "gpu.clamp",
	Title: "No GPU is held at low power or low clocks under load",
	After: []string{"gpu.seen"},
	None:  "no GPU is busy, and a clamp shows under load alone",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, g := range c.gpus(n) {
			if f, judged := judgeClamp(n, g); judged {
				out = append(out, f)
			}
		}
		return out
	},
}

const (
	// A GPU below this is not under load: nvidia-smi's utilisation is the share of
	// time in which any kernel ran, so a computing GPU shows nearly all of it.
	clampBusy = 90
	// A wedged GB10 stays at about 14 W until it is power-cycled, and computes at a
	// third of its speed (research/community.md item 18).
	clampGB10 = 18.0
	// For other GPUs no clamp is published, so the bounds are wide: a GPU that is
	// busy at under a third of both its clock and its power limit is held back. Both
	// must be low: a rank that waits in NCCL spins at full clock and little power.
	clampShare = 1.0 / 3
)

// clampReasons are held by hardware, so they are wrong at idle too. The words are
// nvidia-smi's.
var clampReasons = []string{"hw_power_brake_slowdown", "hw_thermal_slowdown", "hw_slowdown"}

// judgeClamp judges one GPU; judged is false when it is idle.
func judgeClamp(n *fact.Node, g *fact.GPU) (f Finding, judged bool) {
	f.Subject = gpuSubject(n, g)
	for _, r := range clampReasons {
		if slices.Contains(g.Throttle, r) {
			f.Status, f.Got, f.Want = Fail, r, "no slowdown"
			f.Why = "the board itself holds the clocks down for lack of power or cooling, and the whole cluster waits for its slowest GPU"
			f.Fix = []string{"look at the power cables, the power supply and the fans of " + n.Name, "nvidia-smi -q -d PERFORMANCE,TEMPERATURE"}
			return f, true
		}
	}
	util, utilOK := g.Util.Get()
	power, powerOK := g.Power.Get()
	clock, clockOK := g.Clock.Get()
	switch {
	case !utilOK:
		f.Status, f.Why = Unknown, "the load was not read, and a clamp shows under load alone"
		return f, true
	case util < clampBusy:
		return f, false
	case !powerOK:
		f.Status, f.Why = Unknown, "the GPU is busy, and its power was not read"
		return f, true
	}
	f.Got = fmt.Sprintf("%.0f W at %d %% load", power, util)
	if clockOK {
		f.Got += fmt.Sprintf(", %d MHz", clock)
	}
	spark := strings.Contains(g.Name, "GB10")
	limit, limitOK := g.PowerMax.Get()
	clockMax, maxOK := g.ClockMax.Get()
	switch {
	case spark && power <= clampGB10:
		f.Status, f.Want = Fail, fmt.Sprintf("more than %.0f W", clampGB10)
		f.Why = "this GB10 is wedged at its lowest power and computes at a third of its speed, which looks like a slow network"
		f.Fix = []string{"shut " + n.Name + " down, unplug its power for a minute, start it again (a reboot does not help)"}
	case !spark && limitOK && clockOK && maxOK && power < limit*clampShare && float64(clock) < float64(clockMax)*clampShare:
		f.Status, f.Want = Warn, fmt.Sprintf("clocks nearer %d MHz", clockMax)
		f.Why = "a busy GPU at low clocks and low power is held back, and the whole cluster waits for it"
		f.Fix = []string{"nvidia-smi -q -d PERFORMANCE,CLOCK   # or amd-smi metric", "sudo nvidia-smi -rgc   # drops a clock limit that somebody set", "power-cycle " + n.Name}
	}
	return f, true
}
