package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/hosts"
	"weft/internal/fact"
	"weft/internal/spec"
)

const hostsFile = "/etc/hosts"

// mendNames writes the names of all nodes into /etc/hosts. Lines of others stay: one
// that gives a name another address is a person's to take away.
func mendNames(d *draft, n *fact.Node, f check.Finding) error {
	if f.Status == check.Unknown {
		return byHand("")
	}
	all := d.allNames()
	if len(all) > mostNames {
		return byHand("%d nodes are too many for %s: give them names in DNS", len(all), hostsFile)
	}
	if err := d.names(n, all); err != nil || d.has(n, "hosts") {
		return err
	}
	// Here all is as it should be, and the finding goes when others agree.
	for _, m := range d.Up() {
		if d.names(m, all) == nil && d.has(m, "hosts") {
			return nil
		}
	}
	return byHand("%s names every node, and the names still resolve otherwise: look at /etc/nsswitch.conf", hostsFile)
}

// mostNames is how many nodes a block may have: it is in the plan once for each of them.
const mostNames = 256

// names adds the step of one node, where it needs one: the block must be the same
// everywhere, or one node resolves a name differently than most.
func (d *draft) names(n *fact.Node, all []hosts.Name) error {
	all = slices.Clone(all)
	if len(n.Peers) == 0 || len(all) == 0 {
		return byHand("no node has a data address that its name could have")
	}
	text, _, err := d.read(n, hostsFile)
	if err != nil {
		return byHand("%v", err)
	}
	others, err := hosts.Others(text, all)
	if err != nil {
		return byHand("%s: %v", hostsFile, err)
	}
	note := ""
	for _, l := range others {
		if !slices.ContainsFunc(l.Names, func(s string) bool { return !strings.EqualFold(s, n.Name) && amongNames(all, s) }) {
			// Debian gives a node's own name 127.0.1.1, and nobody else reads it.
			all = slices.DeleteFunc(all, func(x hosts.Name) bool { return strings.EqualFold(x.Name, n.Name) })
			note = fmt.Sprintf("line %d of %s gives %s, its own name, %s: that stays", l.Num, hostsFile, n.Name, l.Addr)
			continue
		}
		return byHand("line %d of %s says %q, which weft did not write: take the name out of it first", l.Num, hostsFile, l.Text)
	}
	from, to := resolves(n), ""
	for _, part := range strings.Split(from, "; ") {
		name, _, _ := strings.Cut(part, " ")
		i := slices.IndexFunc(all, func(x hosts.Name) bool { return x.Name == name })
		if i < 0 {
			return byHand("%s has no data address that its name could have", name)
		}
		to += "; " + name + " " + all[i].Addr.String()
	}
	if to = strings.TrimPrefix(to, "; "); to == from {
		return nil // here all is as it will be everywhere
	}
	file, err := d.config(n, hostsFile, 0o644, func(text string, _ bool) (string, error) { return hosts.Set(text, all) })
	if err != nil || file == nil {
		return err
	}
	s := Step{What: "hosts", From: from, To: to, Files: []File{*file}, Note: note}
	if n.Host.SSHTo == "" && slices.ContainsFunc(d.Want.Nodes, func(w spec.Node) bool { return w.Name != n.Name && w.SSH == "" }) {
		s.Risk = RiskSSH
		s.Note = strings.TrimPrefix(note+"; weft runs here, and then reaches the nodes over the data plane; give them ssh: in weft.yaml to avoid that", "; ")
	}
	d.add(n, s)
	return nil
}

func amongNames(all []hosts.Name, name string) bool {
	return slices.ContainsFunc(all, func(x hosts.Name) bool { return strings.EqualFold(x.Name, name) })
}

// allNames are the nodes and their first data addresses: weft.yaml's, else those that
// they have.
func (d *draft) allNames() (out []hosts.Name) {
	wishes := map[string]netip.Addr{}
	for _, w := range d.Want.Nodes {
		for _, dp := range slices.Backward(w.Data) {
			if p := prefix(dp.Address); p.IsValid() {
				wishes[w.Name] = p.Addr()
			}
		}
	}
	for _, n := range d.Nodes {
		addr := wishes[n.Name]
		if !addr.IsValid() {
			for _, p := range slices.Backward(d.Data(n)) {
				if dev := n.Netdev(p.Netdev); dev != nil {
					if a, ok := check.Addr4(dev); ok && !a.IsLinkLocalUnicast() {
						addr = a
					}
				}
			}
		}
		if addr.IsValid() {
			out = append(out, hosts.Name{Name: n.Name, Addr: addr})
		}
	}
	return out
}

// resolves is what the names of a node's peers resolve to there: "node2 10.20.0.2".
func resolves(n *fact.Node) string {
	var parts []string
	for _, p := range n.Peers {
		parts = append(parts, strings.TrimSpace(p.Node+" "+strings.Join(p.Resolves, " ")))
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "; ")
}
