package plan

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/nodeset"
)

// clusterEffects lists the facts whose change other nodes feel.
var clusterEffects = []clusterEffect{
	{"service/opensm*", setManager},
}

// setManager has a subnet manager be as a value says: what the fabric calls it, how its
// service is, and which ports wait. A manager that comes serves all that wait.
func setManager(c *fact.Cluster, n *fact.Node, name, value string) error {
	words := strings.Split(value, "; ")
	if len(words) < 2 {
		return fmt.Errorf("%q is no state of a subnet manager", value)
	}
	setMaster(c, n, words[0])
	name = "opensm" + name
	v := n.Settings.Services[name]
	v.Load, v.Enabled, v.Active = "not-found", "", "inactive"
	if words[1] != "absent" {
		v.Load = "loaded"
		v.Enabled, v.Active, _ = strings.Cut(words[1], " ")
	}
	if n.Settings.Services == nil {
		n.Settings.Services = map[string]fact.Service{}
	}
	n.Settings.Services[name] = v
	for _, other := range c.Nodes {
		for _, p := range other.Ports {
			if waits(p) && v.Active == "active" {
				serve(p, "ACTIVE", 1)
			}
		}
	}
	for _, word := range words[2:] {
		f := strings.Fields(word)
		if len(f) != 3 {
			return fmt.Errorf("%q names no ports", word)
		}
		nodes, err := nodeset.Expand(f[1])
		if err != nil {
			return err
		}
		for _, at := range nodes {
			if other := c.Node(at); other != nil && other.Port(f[2]) != nil {
				serve(other.Port(f[2]), f[0], 0)
			}
		}
	}
	return nil
}

// serve gives a port a state and the LID of its manager.
func serve(p *fact.Port, state string, manager int) {
	p.State = state
	if p.SMLID.Known() {
		p.SMLID = fact.Some(manager)
	}
}

// setMaster sets what the fabric says of a node's manager.
func setMaster(c *fact.Cluster, n *fact.Node, state string) {
	if state == "not asked" || c.Fabric == nil {
		return
	}
	switch i := smOf(c, n); {
	case state == "no manager" && i >= 0:
		c.Fabric.SMs = slices.Delete(slices.Clone(c.Fabric.SMs), i, i+1)
	case state == "no manager":
	case i >= 0:
		c.Fabric.SMs[i].State = state
	default:
		c.Fabric.SMs = append(slices.Clone(c.Fabric.SMs), fact.SM{Name: n.Name, State: state})
	}
}
