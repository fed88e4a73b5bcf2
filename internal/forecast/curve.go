package forecast

import (
	"cmp"
	"fmt"
	"slices"
)

// curves draw the same nodes over RDMA and over TCP, from one to more than there are.
func (a Ask) curves() []Curve {
	if len(a.Nodes) == 0 {
		return nil
	}
	sizes := a.Sizes
	if sizes == nil {
		sizes = []int{1, 2, 4, 8}
		if n := len(a.Nodes); !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
			slices.Sort(sizes)
		}
	}
	var out []Curve
	for _, transport := range []string{"rdma", "tcp"} {
		f := Fabric{Transport: transport, Source: "what if"}
		if transport == "tcp" {
			f.Gbps = a.Fabric.Gbps // the same card; what a card for RDMA would do is not known
		}
		if a.Fabric.Transport == transport || a.Fabric.Transport == "oneshot" && transport == "rdma" {
			f = a.Fabric // with what was measured
		}
		c := Curve{Link: f.String()}
		for _, n := range sizes {
			c.Points = append(c.Points, a.point(n, f))
		}
		c.Says = c.says(a)
		out = append(out, c)
	}
	return out
}

// point is the best layout of one replica on so many nodes. Nodes beyond those that
// there are, are like the last.
func (a Ask) point(n int, f Fabric) Point {
	b := a
	b.Nodes = nil
	best1 := slices.Clone(a.Nodes) // few nodes are the fastest ones
	slices.SortStableFunc(best1, func(x, y Node) int {
		return cmp.Compare(y.speed(), x.speed())
	})
	for i := range n {
		node := best1[min(i, len(best1)-1)]
		node.Name = fmt.Sprintf("n%d", i+1)
		b.Nodes = append(b.Nodes, node)
	}
	b.Fabric, b.TP, b.PP, b.Split = f, 0, 0, nil
	ranks := Spread(b.Nodes)
	best := Point{Nodes: n}
	for _, l := range b.layouts(len(ranks)) {
		if l.Replicas > 1 || b.impossible(l) != nil {
			continue
		}
		p, err := b.plan(l, ranks)
		if err != nil || !p.Fits || p.Each <= best.Each {
			continue
		}
		best.Each, best.Low, best.High, best.TP, best.PP, best.Limit = p.Each, p.Low, p.High, l.TP, l.PP, p.Limit
	}
	return best
}

// says is what the curve means, plainly.
func (c Curve) says(a Ask) string {
	var have []Point
	for _, p := range c.Points {
		if p.Each > 0 {
			have = append(have, p)
		}
	}
	if len(have) == 0 {
		return "it fits on none of these"
	}
	best := have[0]
	for _, p := range have[1:] {
		if p.Each > best.Each {
			best = p
		}
	}
	last := have[len(have)-1]
	why := ""
	switch {
	case last.PP > 1:
		why = "layers are handed on, so a token still reads all of them one after another, and each hop is added"
	case last.Limit == "the slowest rank":
		why = "the slowest rank is waited for"
	case a.Model.MoE.Count > 0:
		why = "a mixture reads little for each token, and what is read less is soon less than what is waited for"
	default:
		why = "what is read less is less than what is waited for"
	}
	switch {
	case last.Nodes == best.Nodes && len(have) == 1:
		return fmt.Sprintf("of these it fits on %d alone: %.1f tokens/s", best.Nodes, best.Each)
	case last.Nodes == best.Nodes:
		return fmt.Sprintf("more nodes are quicker up to %d: %.1f tokens/s, %.2f times as much as on %d", last.Nodes, last.Each, last.Each/have[0].Each, have[0].Nodes)
	}
	than := fmt.Sprintf("more than %d nodes make", best.Nodes)
	if best.Nodes == 1 {
		than = "more than one node makes"
	}
	verdict := "it slower"
	if last.Each > 0.98*best.Each {
		verdict = "it no quicker"
	}
	return fmt.Sprintf("%s %s: %.1f tokens/s on %d, %.1f on %d: %s", than, verdict, best.Each, best.Nodes, last.Each, last.Nodes, why)
}
