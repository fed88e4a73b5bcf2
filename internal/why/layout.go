package why

import (
	"fmt"

	"weft/internal/forecast"
)

// first are the nodes, and of the last one the GPUs, that so many ranks take.
func first(nodes []forecast.Node, ranks int) (out []forecast.Node) {
	for _, n := range nodes {
		if ranks <= 0 {
			break
		}
		n.GPUs = min(n.GPUs, ranks)
		ranks -= n.GPUs
		out = append(out, n)
	}
	return out
}

// Usual fills in the layout where a person did not say it: layers split over all ranks,
// or handed on where the engine cannot split them over nodes. say tells what was taken.
func Usual(a *forecast.Ask) (say string, err error) {
	ranks := len(forecast.Spread(a.Nodes))
	switch {
	case a.TP > 0 && a.PP > 0:
	case a.TP > 0: // engines take one stage when they are not told
		a.PP = 1
		if a.Engine.Near && len(a.Nodes) > 1 && ranks%a.TP == 0 {
			a.PP = ranks / a.TP
		}
	case a.PP > 0 && ranks%a.PP != 0 && a.PP < ranks:
		return "", fmt.Errorf("pp %d leaves ranks of %d over: say --tp, too", a.PP, ranks)
	case a.PP > 0:
		a.TP = max(1, ranks/a.PP)
	case a.Engine.Near:
		a.TP, a.PP = 1, ranks
	default:
		a.TP, a.PP = ranks, 1
	}
	if n := a.TP * a.PP; n > ranks {
		return "", fmt.Errorf("tp %d × pp %d takes %d ranks: there are %d", a.TP, a.PP, n, ranks)
	}
	if err := a.Model.Divides(a.TP); err != nil {
		return "", err
	}
	if a.PP > a.Model.Layers {
		return "", fmt.Errorf("pp %d: %s has %d layers", a.PP, a.Model.Name, a.Model.Layers)
	}
	a.Nodes = first(a.Nodes, a.TP*a.PP) // the others serve other people
	if ranks > 1 {
		say = fmt.Sprintf("layout taken as tp %d, pp %d over %d ranks; --tp and --pp say otherwise", a.TP, a.PP, ranks)
	}
	return say, nil
}
