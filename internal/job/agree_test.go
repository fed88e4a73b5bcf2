package job

import (
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
)

// What weft writes, weft must not complain of.
func TestEnvPassesTheCheckOfEnvironments(t *testing.T) {
	ck, ok := check.ByID("nccl.env")
	if !ok {
		t.Fatal("there is no check nccl.env")
	}
	for name, c := range map[string]*check.Case{"Spark pair": sparks(), "InfiniBand lab": lab(), "Strix Halo": strix(), "ring": triangle(30)} {
		for _, n := range c.Nodes {
			n.Settings.EnvRead = true
			for _, v := range Env(c, n) {
				n.Settings.Env = append(n.Settings.Env, fact.EnvVar{Name: v.Name, Value: v.Value, Where: "/etc/environment"})
			}
		}
		findings := check.Run([]check.Check{ck}, c)
		if len(findings) == 0 {
			t.Errorf("%s: nothing was judged", name)
		}
		for _, f := range findings {
			if f.Status != check.Pass {
				t.Errorf("%s: %v %v: %s: %s", name, f.Subject, f.Status, f.Got, f.Why)
			}
		}
	}
}
