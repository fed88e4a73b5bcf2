package check

import (
	"fmt"
	"slices"

	"weft/internal/fact"
)

var ncclEnv = Check{
	ID:    "nccl.env",
	Title: "NCCL's variables name things that exist",
	None:  "no NCCL variable is set anywhere: NCCL chooses by itself",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		return append(out, judgeEnv(c, n)...)
	},
}

func judgeEnv(c *Case, n *fact.Node) (out []Finding) {
	if !n.Settings.EnvRead {
		return []Finding{{Subject: node(n), Status: Unknown, Why: "where NCCL's variables are set was not read", Fix: []string{"run weft as root on " + n.Name}}}
	}
	for _, v := range n.Settings.Env {
		f := Finding{Subject: Subject{n.Name, v.Name}, Got: v.Name + "=" + v.Value + " in " + v.Where}
		switch v.Name {
		case "NCCL_IB_HCA":
			envHCA(&f, c, n, v)
		case "NCCL_IB_GID_INDEX":
			envGID(&f, n, v)
		case "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME":
			envIfname(&f, c, n, v)
		case "NCCL_IB_DISABLE", "NCCL_NET":
			envSockets(&f, n, v)
		case "NCCL_IGNORE_NET_MISMATCH":
			if v.Value == "1" {
				f.Status, f.Want = Warn, "unset"
				f.Why = "it hides that nodes offer different HCAs, so the job hangs instead of saying so"
				f.Fix = []string{"take NCCL_IGNORE_NET_MISMATCH out of " + v.Where}
			}
		}
		if f.Status != Pass {
			out = append(out, f)
		}
	}
	out = append(out, envOverrides(n)...)
	out = append(out, envWish(c, n)...)
	if len(out) == 0 && len(n.Settings.Env) > 0 {
		out = append(out, Finding{Subject: node(n)})
	}
	return out
}

// envSockets: these turn RDMA off altogether.
func envSockets(f *Finding, n *fact.Node, v fact.EnvVar) {
	off := v.Name == "NCCL_IB_DISABLE" && v.Value == "1" || v.Name == "NCCL_NET" && v.Value == "Socket"
	if off && slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return p.Up() && !p.Soft() }) {
		f.Status, f.Want = Fail, "unset"
		f.Why = "the node has RDMA ports, and NCCL goes over TCP all the same"
		f.Fix = []string{"take " + v.Name + " out of " + v.Where}
	}
}

// envOverrides finds a variable that is set twice and means two things: the later
// one wins without a word. Two units or two containers may differ on purpose.
func envOverrides(n *fact.Node) (out []Finding) {
	for i, v := range n.Settings.Env {
		for _, before := range n.Settings.Env[:i] {
			if v.Name != before.Name || v.Value == before.Value || v.Name == "NCCL_DEBUG" || v.Where != before.Where && !ncclForAll(before.Where) {
				continue
			}
			f := Finding{Subject: Subject{n.Name, v.Name}, Status: Warn, Want: "one value",
				Got: fmt.Sprintf("%s in %s, then %s in %s", before.Value, before.Where, v.Value, v.Where),
				Why: "the later one wins without a word, so the earlier pin does nothing there"}
			f.Fix = []string{"keep one of them: " + v.Name + "=" + v.Value + " in " + v.Where + ", or the one in " + before.Where}
			out = append(out, f)
			break
		}
	}
	return out
}
