package plan

import (
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/unit"
	"weft/internal/fact"
	"weft/internal/nodeset"
)

// mendSM has one subnet manager run and come back after a boot: where there is none, on
// the first node that can; where there are several masters, on one of them. port.up asks
// for it, too, when ports wait for a manager.
func mendSM(d *draft, _ *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	if subnets := d.IBSubnets(); subnets != 1 {
		return byHand("there are %d subnets, and which manager is whose is not known", subnets)
	}
	var runs []*fact.Node // where opensm runs
	for _, n := range d.Up() {
		if opensmRuns(n) != "" {
			runs = append(runs, n)
		}
	}
	read, masters, outside := d.masters()
	switch {
	case outside: // on a switch, say: that one stays
		return d.stopSMs(masters)
	case len(masters) > 1:
		return d.stopSMs(masters[1:])
	case len(masters) == 0 && len(runs) == 0:
		return d.startSM()
	case len(masters) == 0 && read:
		return byHand("opensm runs on %s, and still nobody is master: its log knows why", runs[0].Name)
	case !read && len(runs) > 1:
		return d.stopSMs(runs[1:])
	case len(runs) == 1:
		return d.setSM(runs[0], opensmRuns(runs[0]), true)
	}
	return byHand("where the master runs is not known")
}

// opensmRuns is the unit of a subnet manager that runs on a node; "" when none does.
func opensmRuns(n *fact.Node) string {
	for _, name := range sorted(n.Settings.Services) {
		if strings.HasPrefix(name, "opensm") && n.Settings.Services[name].Active == "active" {
			return name
		}
	}
	return ""
}

// masters returns the nodes whose manager is master, in the order of the cluster, and
// whether another one is, beyond them.
func (d *draft) masters() (read bool, nodes []*fact.Node, outside bool) {
	if d.Fabric == nil || !d.Fabric.SMsRead {
		return false, nil, false
	}
	seen := map[int]bool{}
	for _, n := range d.Up() {
		if i := smOf(&d.Cluster, n); i >= 0 && d.Fabric.SMs[i].State == "MASTER" {
			nodes = append(nodes, n)
			seen[i] = true
		}
	}
	for i, sm := range d.Fabric.SMs {
		outside = outside || sm.State == "MASTER" && !seen[i]
	}
	return true, nodes, outside
}

// smOf finds the manager that runs on a node: by the LID of its port, else by the name
// that the node's cards have in the fabric, "n1 mlx5_0". -1 when there is none.
func smOf(c *fact.Cluster, n *fact.Node) int {
	if c.Fabric == nil {
		return -1
	}
	for i, sm := range c.Fabric.SMs {
		for _, p := range n.Ports {
			if lid, ok := p.LID.Get(); ok && lid != 0 && p.IB() && lid == sm.LID {
				return i
			}
		}
		if name, _, _ := strings.Cut(sm.Name, " "); sm.LID == 0 && name != "" && (name == n.Name || name == n.Host.Hostname) {
			return i
		}
	}
	return -1
}

func (d *draft) stopSMs(nodes []*fact.Node) error {
	for _, n := range nodes {
		name := opensmRuns(n)
		if name == "" {
			return byHand("what runs the manager of %s is not known", n.Name)
		}
		if err := d.setSM(n, name, false); err != nil {
			return err
		}
	}
	return nil
}

// startSM starts a manager on the first node with an InfiniBand port that has a link.
func (d *draft) startSM() error {
	for _, n := range d.Up() {
		link := slices.ContainsFunc(d.Data(n), func(p *fact.Port) bool { return p.IB() && p.State != "DOWN" && p.State != "" })
		switch {
		case !link:
		case slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return p.Driver == "hfi1" }):
			return byHand("Omni-Path has a manager of its own, opafm")
		case strings.HasPrefix(n.Host.Kernel, "6.11."): // opensm does not start there: docs/checks/ib.sm.md
		case !n.Settings.ServicesRead:
			return byHand("the services of %s were not read", n.Name)
		default:
			for _, name := range []string{"opensm.service", "opensmd.service"} { // the distribution's, OFED's
				if n.Settings.Services[name].Load == "loaded" {
					return d.setSM(n, name, true)
				}
			}
			if _, there := n.Settings.Packages["opensm"]; there || !n.Settings.PackagesRead {
				return byHand("opensm is installed on %s and has no service", n.Name)
			}
			s, err := install(n, []string{"opensm"})
			if err != nil {
				return err
			}
			d.add(n, s)
			return d.setSM(n, "opensm.service", true)
		}
	}
	return byHand("no node can run a subnet manager")
}

// setSM is the step that has a manager run, now and at boot, or not.
func (d *draft) setSM(n *fact.Node, name string, on bool) error {
	v := n.Settings.Services[name]
	switch {
	case !unit.Valid(name):
		return byHand("%q is no name of a service", name)
	case v.Load == "loaded" && v.Enabled != "enabled" && v.Enabled != "disabled":
		return byHand("%s is %s, which weft does not change", name, v.Enabled)
	}
	state := "not asked"
	if d.Fabric != nil && d.Fabric.SMsRead {
		state = "no manager"
		if i := smOf(&d.Cluster, n); i >= 0 {
			state = d.Fabric.SMs[i].State
		}
	}
	s := Step{What: "service/" + name, From: state + "; " + serviceWords(v), Lasts: true,
		Shows: sh("systemctl is-enabled %s 2>/dev/null; systemctl -q is-active %s && echo active; true", name, name)}
	if on {
		if state != "not asked" {
			state = "MASTER"
		}
		s.To = state + "; enabled active"
		s.From += d.waiting()
		s.Do = []string{sh("systemctl enable --now %s", name)}
		if v.Active != "active" {
			s.Undo = append(s.Undo, sh("systemctl stop %s 2>/dev/null || true", name))
		}
		if v.Enabled != "enabled" {
			s.Undo = append(s.Undo, sh("systemctl disable %s 2>/dev/null || true", name))
		}
	} else {
		if state != "not asked" {
			state = "NOTACTIVE"
		}
		s.To = state + "; disabled inactive"
		s.Do = []string{sh("systemctl disable --now %s", name)}
		if v.Enabled == "enabled" {
			s.Undo = append(s.Undo, sh("systemctl enable %s", name))
		}
		s.Undo = append(s.Undo, sh("systemctl start %s", name))
		s.Risk = RiskLink
		s.Note = "the manager that stays may give out other LIDs: RDMA connections end then"
	}
	d.add(n, s)
	return nil
}

// serviceWords is how a service is: "enabled active", or "absent".
func serviceWords(v fact.Service) string {
	if v.Load != "loaded" {
		return "absent"
	}
	return v.Enabled + " " + v.Active
}

// waiting lists the ports that wait for a manager: "; INIT n[1-3] mlx5_0/1".
func (d *draft) waiting() (words string) {
	at := map[string][]string{} // port → nodes
	for _, n := range d.Up() {
		for _, p := range n.Ports {
			if waits(p) {
				at[p.Name] = append(at[p.Name], n.Name)
			}
		}
	}
	for _, port := range sorted(at) {
		words += "; INIT " + nodeset.Fold(at[port]) + " " + port
	}
	return words
}

// waits reports whether a port has a link and no LID.
func waits(p *fact.Port) bool { return p.IB() && p.State == "INIT" }
