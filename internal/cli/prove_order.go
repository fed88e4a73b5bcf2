package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/plan"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/trial"
)

// printOrder says what would be measured, and with which commands.
func (a *app) printOrder(o prove.Order) error {
	rails, left := trial.Rails(o.Case)
	rounds, more := trial.Rounds(rails, o.Which, o.Perm)
	left = append(left, more...)
	if a.json || a.jsonl {
		return report.JSON(a.out, "prove order", map[string]any{"rails": rails, "rounds": rounds, "left": left, "engine": o.Engine, "effort": o.Effort.Word, "commands": prove.Commands(o, rounds)})
	}
	var b strings.Builder
	for i, r := range rounds {
		fmt.Fprintf(&b, "round %d on %s:", i+1, r.Rail)
		for _, p := range r.Pairs {
			fmt.Fprintf(&b, "  %s ↔ %s", p.A, p.B)
		}
		b.WriteString("\n")
	}
	for _, t := range o.Trials {
		fmt.Fprintf(&b, "%s: %s\n", t.ID, t.Title)
	}
	fmt.Fprintf(&b, "each up to %g s, less when the numbers agree to %.0f %%; suspects up to %d times more, then with other partners\n", o.Effort.Seconds, 100*o.Effort.Within, o.Effort.Tests)
	for _, c := range prove.Commands(o, rounds) {
		fmt.Fprintf(&b, "%s\n", c)
	}
	for _, l := range left {
		fmt.Fprintf(&b, "left out: %s\n", l)
	}
	b.WriteString("nothing was measured; to do it:\n    weft prove\n")
	_, err := fmt.Fprint(a.out, b.String())
	return err
}

// nodesAt is what a proof keeps of the nodes: enough to tell later whether they were the
// same machines with the same software.
func nodesAt(l *look, res prove.Result) (all []trial.NodeAt) {
	for _, n := range l.kase.Nodes {
		bound := plan.Bound(n)
		h := sha256.New()
		for _, k := range slices.Sorted(maps.Keys(bound)) {
			fmt.Fprintf(h, "%s=%s\n", k, bound[k])
		}
		at := trial.NodeAt{Name: n.Name, Facts: hex.EncodeToString(h.Sum(nil))[:16], Versions: versionsOf(n), Busy: res.Busy[n.Name]}
		all = append(all, at)
	}
	return all
}

// proofPackages are the packages whose versions a number depends on.
var proofPackages = []string{"rdma-core", "libibverbs1", "libibverbs", "ibverbs-providers", "perftest", "mft", "doca-ofed"}

func versionsOf(n *fact.Node) map[string]string {
	v := map[string]string{}
	set := func(name, value string) {
		if value != "" {
			v[name] = value
		}
	}
	set("kernel", n.Host.Kernel)
	set("OFED", n.Settings.OFED)
	set("GPU driver", n.Settings.GPUDriver)
	set("CUDA", n.Settings.CUDA)
	set("ROCm", n.Settings.ROCm)
	for _, p := range n.Ports {
		set(p.Device+" driver", p.Driver)
		set(p.Device+" firmware", p.Firmware)
	}
	for _, name := range proofPackages {
		set(name, n.Settings.Packages[name])
	}
	for _, lib := range n.Settings.NCCL {
		set(lib.Name, lib.Version)
	}
	return v
}
