package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

// NCCLConf is the file that NCCL reads in every process: NAME=VALUE lines. What the
// environment says wins over it.
const NCCLConf = "/etc/nccl.conf"

// Usable returns the data ports that NCCL can use: up, and not iWARP, for which
// its verbs transport has no addresses (research/community.md item 20).
func (c *Case) Usable(n *fact.Node) (out []*fact.Port) {
	for _, p := range c.Data(n) {
		if (p.Up() || p.State == "") && (p.IB() || p.RoCE()) {
			out = append(out, p)
		}
	}
	return out
}

// envWish holds a node to data.nccl_conf of weft.yaml: which ports carry the data and
// where ranks meet is written down. What is set anywhere counts: a second line for it
// would be one value too many.
func envWish(c *Case, n *fact.Node) []Finding {
	if !c.Want.Data.NCCLConf || len(c.Usable(n)) == 0 {
		return nil
	}
	f := Finding{Subject: Subject{n.Name, NCCLConf}, Status: Fail, Got: "not set"}
	var missing []string
	if dev, _ := c.Management(n); dev != nil && !EnvSet(n, "NCCL_SOCKET_IFNAME") {
		missing = []string{"NCCL_SOCKET_IFNAME"}
		f.Why = "weft.yaml wants it there, and without it ranks may meet over an interface that does not reach every node"
	}
	if !EnvSet(n, "NCCL_IB_HCA") {
		missing = append([]string{"NCCL_IB_HCA"}, missing...)
		f.Why = "weft.yaml wants it there, and without it NCCL takes every RDMA port that is up, also those that are not meant for data"
	}
	if len(missing) == 0 {
		return nil
	}
	f.Want = strings.Join(missing, " and ") + " in " + NCCLConf
	f.Fix = []string{"weft env --node " + n.Name + " | sed -n '/NCCL_DEBUG/d; s/^export NCCL_/NCCL_/p'   # the lines for " + NCCLConf + "; weft plan nccl.env has them, too"}
	return []Finding{f}
}

// EnvSet reports whether a variable is set anywhere on a node.
func EnvSet(n *fact.Node, name string) bool {
	return slices.ContainsFunc(n.Settings.Env, func(v fact.EnvVar) bool { return v.Name == name })
}
