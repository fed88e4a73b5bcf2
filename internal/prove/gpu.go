package prove

import (
	"context"
	"fmt"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format/perftest"
	"weft/internal/meter"
	"weft/internal/topo"
	"weft/internal/trial"
)

// gpuMemory measures the memory of every GPU, all nodes at once.
func (p *prover) gpuMemory(ctx context.Context, t trial.Trial) {
	done := make(chan []trial.Cell)
	for _, name := range p.asked {
		go func() { done <- p.gpuOf(ctx, t, name) }()
	}
	for range p.asked {
		p.keep(<-done...)
	}
}

func (p *prover) gpuOf(ctx context.Context, t trial.Trial, node string) []trial.Cell {
	at := trial.End{Node: node}
	cell := trial.Cell{Trial: t.ID, Pair: trial.Pair{A: at, B: at}, Round: 1, Tests: 1}
	switch {
	case p.out[node] != "":
		cell.Missing, cell.Skipped = p.out[node], p.res.Busy[node] != ""
		return []trial.Cell{cell}
	case len(p.Case.Node(node).GPUs) == 0:
		cell.Missing, cell.Skipped = "no GPU here", true
		return []trial.Cell{cell}
	}
	ans, err := p.sessions[node].Ask(ctx, meter.Ask{Do: "gpu membw", Effort: p.Effort.Word, Seconds: p.Effort.Seconds, Within: 30 + p.Effort.Seconds*float64(len(p.Case.Node(node).GPUs))})
	var cells []trial.Cell
	if err != nil || len(ans.GPUs) == 0 {
		if cell.Missing = "it told of no GPU"; err != nil {
			cell.Missing = why(err)
		}
		cells = append(cells, cell)
	}
	for _, g := range ans.GPUs {
		c := cell
		c.A.Port = fmt.Sprintf("gpu%d", g.Index)
		c.B, c.Samples, c.Note = c.A, g.Samples, g.Name
		cells = append(cells, c.Filled())
	}
	return cells
}

// gpuDirect measures RDMA between the memories of the GPUs nearest to both ports, and
// then between the memories of both hosts, which it is held against. perftest does both:
// the same program twice.
func (p *prover) gpuDirect(ctx context.Context, x *pairing) (there, back *seen, err error) {
	gpus := [2]*perftest.GPU{}
	for i, e := range []trial.End{x.pair.A, x.pair.B} {
		if gpus[i], err = p.gpuNear(e); err != nil {
			return nil, nil, err
		}
	}
	if *gpus[0] != *gpus[1] {
		return nil, nil, &Skip{"the two ends have different kinds of GPU, or the nearest ones have different numbers: perftest is told one"}
	}
	run := func(a *Session, at Path, b *Session, bt Path) (*seen, error) {
		device, err := x.perftestRun(ctx, a, at, b, bt, gpus[0])
		if err != nil {
			return nil, err
		}
		host, err := x.perftestRun(ctx, a, at, b, bt, nil)
		if err != nil {
			return nil, err
		}
		device.host, _, _ = trial.Median(host.samples)
		return device, nil
	}
	if there, err = run(x.a, x.pa, x.b, x.pb); err == nil {
		back, err = run(x.b, x.pb, x.a, x.pa)
	}
	return there, back, err
}

// gpuNear is the GPU nearest to a port, or why GPUDirect is not measured there.
func (p *prover) gpuNear(e trial.End) (*perftest.GPU, error) {
	n := p.Case.Node(e.Node)
	port := n.Port(e.Port)
	if len(n.GPUs) == 0 {
		return nil, &Skip{e.Node + " has no GPU"}
	}
	for _, f := range check.Run([]check.Check{direct}, &check.Case{Cluster: fact.Cluster{Nodes: []*fact.Node{n}}, Want: p.Case.Want}) {
		if f.Status != check.Pass || strings.HasPrefix(f.Got, "none") { // none, as expected on such a GPU
			return nil, &Skip{fmt.Sprintf("%s has no way from GPU memory to the card: %s", e.Node, f.Why)}
		}
	}
	near := n.GPUs[0]
	for _, g := range n.GPUs {
		if topo.Between(n, port.BDF, g.BDF) < topo.Between(n, port.BDF, near.BDF) {
			near = g
		}
	}
	kinds := map[string]string{"NVIDIA": "cuda", "AMD": "rocm"}
	if kinds[near.Vendor] == "" {
		return nil, &Skip{"perftest does not know GPUs of " + near.Vendor}
	}
	return &perftest.GPU{Kind: kinds[near.Vendor], Number: near.Index, DMABuf: !n.Settings.Loaded("nvidia_peermem")}, nil
}

var direct, _ = check.ByID("gpu.direct")
