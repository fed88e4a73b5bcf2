package plan

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/fact"
	"weft/internal/unit"
)

// bootEffects are the facts after the boot that their steps wait for.
var bootEffects = []effect{
	{"iommu", func(n *fact.Node, _, value string) error {
		n.Settings.IOMMUType = value
		return nil
	}},
	{"gtt", setGTT},
	{"mlx4/steering", setSteering},
	{"irdma/roce_ena", func(n *fact.Node, _, value string) error {
		if n.Settings.ModParams == nil {
			n.Settings.ModParams = map[string]string{}
		}
		n.Settings.ModParams["irdma.roce_ena"] = value
		for _, p := range n.Ports {
			if p.Driver == "irdma" {
				setProtocol(p, value == "1")
			}
		}
		return nil
	}},
}

func setGTT(n *fact.Node, _, value string) error {
	for _, word := range strings.Split(value, "; ") {
		what, number, _ := strings.Cut(word, " ")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil && number != "unknown" {
			return fmt.Errorf("%q is no amount of memory", word)
		}
		known := err == nil
		if what == "pages" {
			n.Settings.TTMPages = some(v, known)
		}
		for _, g := range n.GPUs {
			if what == fmt.Sprintf("gpu%d", g.Index) {
				g.GTT = some(unit.Size(v), known)
			}
		}
	}
	return nil
}

func some[T any](v T, known bool) fact.Val[T] {
	if !known {
		return fact.Val[T]{}
	}
	return fact.Some(v)
}

// setSteering sets the parameter, and what the driver would say of it: one text for all
// cards, or one for each.
func setSteering(n *fact.Node, _, value string) error {
	words := strings.Split(value, "; ")
	const param = "mlx4_core.log_num_mgm_entry_size"
	if words[0] == "unknown" {
		delete(n.Settings.ModParams, param)
	} else {
		if n.Settings.ModParams == nil {
			n.Settings.ModParams = map[string]string{}
		}
		n.Settings.ModParams[param] = words[0]
	}
	texts := words[1:]
	i := 0
	for k := range n.Settings.Kmsg {
		if e := &n.Settings.Kmsg[k]; e.Kind == "mlx4.steering" && len(texts) > 0 {
			e.Text = texts[min(i, len(texts)-1)]
			i++
		}
	}
	return nil
}
