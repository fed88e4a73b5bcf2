package check

import (
	"slices"

	"weft/internal/fact"
	"weft/internal/nodeset"
)

var nodeNames = Check{
	ID:    "node.names",
	Title: "Node names resolve to data-plane addresses, alike everywhere",
	Judge: func(c *Case) (out []Finding) {
		nodes := c.Up()
		nodes = slices.DeleteFunc(nodes, func(n *fact.Node) bool { return len(n.Peers) == 0 })
		if len(nodes) == 0 {
			return skip("no node was asked for another's name")
		}
		owned, usual := namesOwned(c), namesUsual(c)
		for _, n := range nodes {
			out = append(out, judgeNames(n, owned, usual))
		}
		return out
	},
}

// What may be wrong with a name, worst first.
const (
	namesAlien = iota
	namesSomewhere
	namesUnread
	namesDiffer
	namesManaged
	namesNowhere
	namesFine
)

var namesWrong = [...]Finding{
	namesAlien:     {Status: Fail, Got: "resolve to addresses that are not theirs: ", Why: "whatever is started by name talks to the wrong machine or to nobody"},
	namesSomewhere: {Status: Fail, Got: "resolve elsewhere but not here: ", Why: "whatever is started by name works from some nodes only"},
	namesUnread:    {Status: Unknown, Got: "not looked up: ", Why: "name lookups were not read"},
	namesDiffer:    {Status: Warn, Got: "resolve differently than on most nodes: ", Why: "the nodes of one job meet on different networks"},
	namesManaged:   {Status: Warn, Got: "resolve to the management network: ", Why: "whatever is started by name keeps its traffic off the data plane"},
	namesNowhere:   {Status: Warn, Got: "do not resolve: ", Why: "jobs can be started by address only"},
}

func judgeNames(n *fact.Node, owned map[string]map[string]bool, usual map[string]string) Finding {
	data := namesData(n)
	var wrong [namesFine][]string
	for _, p := range n.Peers {
		if i := nameState(p, data[p.Node], owned, usual[p.Node]); i < namesFine {
			wrong[i] = append(wrong[i], p.Node)
		}
	}
	for i, peers := range wrong {
		if len(peers) > 0 {
			f := namesWrong[i]
			if i == namesUnread {
				data = nil // nothing is known to be wrong: only look again
			}
			f.Subject, f.Got, f.Fix = node(n), f.Got+nodeset.Fold(peers), namesFix(peers, data)
			return f
		}
	}
	return Finding{Subject: node(n)}
}

func nameState(p fact.Peer, data []string, owned map[string]map[string]bool, usual string) int {
	own, answered := owned[p.Node]
	onData := func(a string) bool { return slices.Contains(data, a) }
	theirs := func(a string) bool { return !answered || own[a] || onData(a) }
	switch {
	case !p.ResolvesRead:
		return namesUnread
	case len(p.Resolves) == 0 && usual != "":
		return namesSomewhere
	case len(p.Resolves) == 0:
		return namesNowhere
	case !slices.ContainsFunc(p.Resolves, theirs):
		return namesAlien
	case namesAnswer(p) != usual:
		return namesDiffer
	case len(data) > 0 && !slices.ContainsFunc(p.Resolves, onData):
		return namesManaged
	}
	return namesFine
}

// namesFix is a block for /etc/hosts. Its length is bounded: the rest is alike.
func namesFix(peers []string, data map[string][]string) (fix []string) {
	slices.Sort(peers)
	for _, peer := range slices.Compact(peers) {
		if len(data[peer]) > 0 && len(fix) < 16 {
			fix = append(fix, "echo '"+data[peer][0]+" "+peer+"' | sudo tee -a /etc/hosts")
		}
	}
	return append(fix, "getent hosts "+peers[0]+"   # look again; the block must be the same on every node")
}
