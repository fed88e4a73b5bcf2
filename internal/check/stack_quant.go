package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/platform"
)

var stackQuant = Check{
	ID:    "stack.quant",
	Title: "The model's quantisation works on every GPU",
	None:  "weft.yaml names no quantisation (workload.quant), or no node has a GPU",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		w := &c.Want.Workload
		if w.Quant == "" {
			return out
		}
		for _, g := range c.gpuModels(n) {
			out = append(out, judgeQuant(n, g, w.Quant, w.MoE))
		}
		return out
	},
}

func judgeQuant(n *fact.Node, g *fact.GPU, quant string, moe bool) Finding {
	kind := "dense"
	if moe {
		kind = "MoE"
	}
	f := Finding{Subject: gpuSubject(n, g), Got: fmt.Sprintf("%s %s on %s", kind, quant, gpuName(g))}
	q, ok := platform.QuantOf(g, quant, moe)
	switch {
	case !ok:
		f.Status, f.Why = Unknown, "nobody told weft whether this runs"
		f.Fix = []string{"try a small model of this kind first, with a time limit: it may hang instead of failing"}
	case q.Verdict == "broken":
		f.Status, f.Want, f.Why = Fail, q.Instead, q.Note
		f.Fix = []string{"take a checkpoint in " + q.Instead + " and name it in weft.yaml (workload.model, workload.quant)"}
	case q.Verdict == "unknown":
		f.Status, f.Why = Unknown, q.Note
		f.Fix = []string{"prefer a checkpoint in " + q.Instead}
	default:
		f.Why = q.Note
	}
	return f
}
