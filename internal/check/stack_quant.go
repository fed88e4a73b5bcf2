package check

import (
	"fmt"

	"weft/internal/platform"
)

var stackQuant = Check{
	ID:    "stack.quant",
	Title: "The model's quantisation works on every GPU",
	Judge: func(c *Case) (out []Finding) {
		w := c.Want.Workload
		if w.Quant == "" {
			return skip("weft.yaml names no quantisation (workload.quant)")
		}
		for _, at := range c.gpuModels() {
			out = append(out, judgeQuant(at, w.Quant, w.MoE))
		}
		if len(out) == 0 {
			return skip(noGPU)
		}
		return out
	},
}

func judgeQuant(at gpuAt, quant string, moe bool) Finding {
	kind := "dense"
	if moe {
		kind = "MoE"
	}
	f := Finding{Subject: gpuSubject(at.node, at.gpu), Got: fmt.Sprintf("%s %s on %s", kind, quant, gpuName(at.gpu))}
	q, ok := platform.QuantOf(at.gpu, quant, moe)
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
