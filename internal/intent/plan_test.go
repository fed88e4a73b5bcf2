package intent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/plan"
	"weft/internal/sample"
)

// switchedOff has the data interfaces of a node as Ubuntu leaves those that nobody
// configured: nothing tells whether there is a link.
func switchedOff(c *fact.Cluster) {
	for _, n := range c.Nodes {
		for _, p := range n.Ports {
			d := n.Netdev(p.Netdev)
			p.State, p.Phys = "DOWN", "Disabled"
			d.Oper, d.Carrier, d.Off = "down", fact.Val[bool]{}, true
		}
	}
}

// TestInitPlanApply is a new cluster in three commands: what init writes is what plan
// works towards, and once its steps are done nothing that weft can mend is left.
func TestInitPlanApply(t *testing.T) {
	for _, x := range []struct {
		name    string
		cluster *sample.Cluster
		given   Given
		do      func(*fact.Cluster)
		plans   int    // how many it takes: what is hidden by a port that is down shows in the second
		left    string // what only a person can do
	}{
		{"seeds 000: Strix Halo on InfiniBand", strixIB(sample.Init), Given{Layer: "infiniband", Subnets: []string{"192.168.100.0/24"}, IPoIB: "datagram"}, nil, 1, "fabric.switch"},
		{"seeds 001: a lossless rack", noQoS(sample.RoCE("gpu", 2)), Given{Subnets: []string{"10.10.1.0/24", "10.10.2.0/24"}, MTU: "9000", Switch: "lossless"}, nil, 1, ""},
		{"seeds 002: an InfiniBand lab", sample.InfiniBand("lab", 3), Given{Layer: "infiniband", Subnets: []string{"192.168.40.0/24"}}, nil, 1, ""},
		{"seeds 003: Strix Halo on RoCE", sample.Strix("strix", 4), Given{Layer: "roce", Subnets: []string{"192.168.100.0/24"}, Switch: "plain"}, nil, 1, ""},
		{"seeds 004: a Spark and a workstation", sparkAndWorkstation(), Given{Subnets: []string{"192.168.200.0/24"}, MTU: "9000", Switch: "none"}, nil, 1, ""},
		{"two Sparks", sample.Sparks("spark"), Given{Subnets: []string{"192.168.200.0/24", "192.168.201.0/24"}, Switch: "none"}, nil, 1, ""},
		{"interfaces that are switched off", sample.RoCE("gpu", 2), Given{Subnets: []string{"10.10.1.0/24", "10.10.2.0/24"}, Switch: "lossless"}, switchedOff, 1, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := fresh(x.cluster)
			facts := func() *check.Case {
				k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
				if x.do != nil {
					x.do(&k.Cluster)
				}
				return k
			}
			wish, err := Parse(x.given)
			if err != nil {
				t.Fatal(err)
			}
			text, err := Draft(facts(), wish, nil, "", "2026-11-15")
			if err != nil {
				t.Fatal(err)
			}
			c.Want = parsed(t, text)
			k, plans := facts(), 0
			for plans < 5 {
				p := plan.Make(k, facts(), check.All, check.Run(check.All, k))
				if len(p.Steps) == 0 {
					break
				}
				plans++
				for _, s := range p.Steps {
					if err := plan.SetIn(&k.Cluster, s.Node, s.What, s.To); err != nil {
						t.Fatal(err)
					}
				}
			}
			if plans != x.plans {
				t.Errorf("it took %d plans, want %d", plans, x.plans)
			}
			var left []string
			for _, f := range check.Run(check.All, k) {
				if f.Status != check.Pass && f.Status != check.Skip && !strings.HasPrefix(f.Subject.Part, "→") { // pings are of before
					left = append(left, f.Check)
				}
			}
			if got := strings.Join(slices.Compact(left), " "); got != x.left {
				t.Errorf("left: %s", got)
			}
			for _, n := range c.Want.Nodes {
				for _, p := range n.Data {
					if d := k.Node(n.Name).Netdev(p.Netdev); !slices.Contains(d.Addrs, p.Address) {
						t.Errorf("%s has %s on %s, want %s", n.Name, fmt.Sprint(d.Addrs), d.Name, p.Address)
					}
				}
			}
		})
	}
}
