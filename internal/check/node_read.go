package check

import (
	"maps"
	"slices"
	"strings"

	"weft/internal/fact"
)

var nodeRead = Check{
	ID:    "node.read",
	Title: "Everything that the checks need was readable",
	Judge: func(c *Case) (out []Finding) {
		for _, n := range c.Nodes {
			out = append(out, judgeRead(c, n))
		}
		if len(out) == 0 {
			return skip("there are no nodes")
		}
		return out
	},
}

func judgeRead(c *Case, n *fact.Node) Finding {
	f := Finding{Subject: node(n)}
	if n.Down != "" {
		// What went wrong, and on the next line the command that helps.
		what, next, _ := strings.Cut(strings.TrimPrefix(n.Down, n.Name+": "), "\n")
		f.Status, f.Got, f.Want = Fail, what, "an answer"
		f.Why = "nothing is known of this node, so no other check speaks of it"
		if f.Fix = []string{next}; next == "" {
			f.Fix = []string{"ssh " + n.Name + " true   # once this works by itself, so does weft check"}
		}
		return f
	}
	barred, broken := readGaps(n)
	switch {
	case len(broken) > 0:
		var parts []string
		for _, why := range slices.Sorted(maps.Keys(broken)) {
			parts = append(parts, fewWords(broken[why])+" ("+why+")")
		}
		if len(barred) > 0 {
			parts = append(parts, fewWords(barred)+" (root only)")
		}
		f.Status, f.Got = Unknown, "not read: "+fewWords(parts)
		f.Why = "the checks that need it cannot answer"
		f.Fix = []string{"weft check -n " + n.Name + "   # look again"}
		if brokeOff(n) {
			f.Fix = append([]string{"ssh " + n.Name + " uptime   # was it booted just now?"}, f.Fix...)
		}
	case len(barred) > 0:
		f.Status, f.Got = Warn, "root only: "+fewWords(barred)
		f.Why = "the checks that need it cannot answer unless weft is root on the node"
		f.Fix = []string{asRoot(c, n)}
	}
	return f
}

// asRoot says how weft becomes root where it looks.
func asRoot(c *Case, n *fact.Node) string {
	if len(c.Want.Nodes) > 0 {
		return "ssh: root@" + n.Name + "   # in weft.yaml; or let the user run sudo -n there"
	}
	return "sudo weft check   # on this machine"
}
