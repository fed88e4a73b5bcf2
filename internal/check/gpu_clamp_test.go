package check

import (
	"testing"

	"weft/internal/fact"
)

func TestGPUClamp(t *testing.T) {
	load := func(c *Case, name string, power float64, clock, util int) *fact.GPU {
		g := c.Nodes[1].GPUs[0]
		g.Name, g.Power, g.Clock, g.Util = name, fact.Some(power), fact.Some(clock), fact.Some(util)
		return g
	}
	const (
		h100  = "NVIDIA H100 80GB HBM3"
		wedge = ": this GB10 is wedged at its lowest power and computes at a third of its speed, which looks like a slow network"
		held  = ": a busy GPU at low clocks and low power is held back, and the whole cluster waits for it"
	)
	judge(t, gpuClamp, []row{
		{name: "idle", want: "cluster skip: no GPU is busy, and a clamp shows under load alone"},
		{name: "busy and well", do: func(c *Case) { load(c, h100, 650, 1755, 100) }, want: "n2 gpu0 pass: 650 W at 100 % load, 1755 MHz"},
		{name: "a wedged GB10", do: func(c *Case) { load(c, "NVIDIA GB10", 14, 507, 96) },
			want: "n2 gpu0 fail: 14 W at 96 % load, 507 MHz, want more than 18 W" + wedge, fix: "unplug"},
		{name: "18 W is just too little", do: func(c *Case) { load(c, "NVIDIA GB10", 18, 507, 90) },
			want: "n2 gpu0 fail: 18 W at 90 % load, 507 MHz, want more than 18 W" + wedge},
		{name: "19 W is just enough", do: func(c *Case) { load(c, "NVIDIA GB10", 19, 2400, 90) }, want: "n2 gpu0 pass: 19 W at 90 % load, 2400 MHz"},
		{name: "an idle GB10 in P8", do: func(c *Case) { load(c, "NVIDIA GB10", 3, 208, 0) },
			want: "cluster skip: no GPU is busy, and a clamp shows under load alone"},
		{name: "89 % is not busy", do: func(c *Case) { load(c, "NVIDIA GB10", 14, 507, 89) },
			want: "cluster skip: no GPU is busy, and a clamp shows under load alone"},
		{name: "low clock and low power", do: func(c *Case) { load(c, h100, 200, 500, 100) },
			want: "n2 gpu0 warn: 200 W at 100 % load, 500 MHz, want clocks nearer 1980 MHz" + held, fix: "nvidia-smi -rgc"},
		{name: "a waiting rank has full clocks", do: func(c *Case) { load(c, h100, 120, 1980, 100) }, want: "n2 gpu0 pass: 120 W at 100 % load, 1980 MHz"},
		{name: "power brake at idle", do: func(c *Case) { c.Nodes[1].GPUs[0].Throttle = []string{"gpu_idle", "hw_power_brake_slowdown"} },
			want: "n2 gpu0 fail: hw_power_brake_slowdown, want no slowdown: the board itself holds the clocks down for lack of power or cooling, and the whole cluster waits for its slowest GPU"},
		{name: "power unread", do: func(c *Case) { load(c, h100, 0, 1980, 100).Power = fact.Val[float64]{} },
			want: "n2 gpu0 unknown: the GPU is busy, and its power was not read"},
		{name: "load unread", do: func(c *Case) { c.Nodes[1].GPUs[0].Util = fact.Val[int]{} },
			want: "n2 gpu0 unknown: the load was not read, and a clamp shows under load alone"},
		{name: "no GPU", do: func(c *Case) { c.Nodes[0].GPUs, c.Nodes[1].GPUs = nil, nil }, want: "cluster skip: no GPU is busy, and a clamp shows under load alone"},
	})
}
