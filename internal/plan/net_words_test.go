package plan

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/sample"
)

// TestNamesAreOnlyNames gives a netdev a name that a shell would run, and runs every
// line of its steps where nothing but a shell is at hand.
func TestNamesAreOnlyNames(t *testing.T) {
	const evil = "x;>pwned;$(>pwned)`>pwned`'\"%s"
	rename := func(c *check.Case) {
		for _, n := range c.Nodes {
			for _, d := range n.Netdevs {
				if d.Name == "ens1f0np0" {
					d.Name = evil
				}
			}
			for _, p := range n.Ports {
				if p.Netdev == "ens1f0np0" {
					p.Netdev = evil
				}
				for i := range p.GIDs {
					p.GIDs[i].Netdev = strings.Replace(p.GIDs[i].Netdev, "ens1f0np0", evil, 1)
				}
			}
			for i := range n.Settings.Routes {
				r := &n.Settings.Routes[i]
				r.Dev, r.Again = strings.Replace(r.Dev, "ens1f0np0", evil, 1), strings.Replace(r.Again, "ens1f0np0", evil, 1)
			}
			for i := range n.Peers {
				n.Peers[i].RouteDev = strings.Replace(n.Peers[i].RouteDev, "ens1f0np0", evil, 1)
			}
			n.Index()
		}
	}
	dir := t.TempDir()
	steps := 0
	for _, manager := range []string{sample.Nobody, sample.Networkd, sample.Netplan, sample.NetworkManager} {
		make := broken(managed(manager), func(c *sample.Cluster) {
			mtu1500(c)
			badAddr(c)
			c.Machines[0].Routes[0].Dev = "ens1f0np0"
		}, func(c *check.Case) {
			c.Nodes[0].Netdev("ens1f0np0").Qdiscs = []fact.Qdisc{{Kind: "netem", Does: []string{"loss 1%"}, Again: "root handle 1: netem limit 1 loss 1%"}}
			rename(c)
		})
		c := make()
		p := Make(c, make(), check.All, check.Run(check.All, c))
		for _, s := range p.Steps {
			if !strings.HasPrefix(s.What, "net/") && !strings.HasPrefix(s.What, "route/") {
				continue
			}
			steps++
			for _, line := range slices.Concat(s.Do, s.Undo, []string{s.Shows}) {
				cmd := exec.Command("/bin/sh", "-c", line)
				cmd.Dir, cmd.Env = dir, []string{"PATH=/nothing"}
				cmd.Run() // whether ip is there is no matter
			}
		}
	}
	if steps < 4 {
		t.Errorf("only %d steps", steps)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("a shell ran a name: %q", left)
	}
	if _, err := os.Stat("pwned"); err == nil {
		t.Error("a shell ran a name here")
	}
}
