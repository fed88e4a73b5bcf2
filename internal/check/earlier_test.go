package check

import (
	"slices"
	"testing"
	"time"

	"weft/internal/fact"
)

// bootAnew makes n2 one that was booted between the two looks.
func bootAnew(c *Case) {
	c.Before.Nodes[1].Host.BootID, c.Nodes[1].Host.BootID = "a", "b"
}

func TestRebooted(t *testing.T) {
	up := func(seconds float64) fact.Val[float64] { return fact.Some(seconds) }
	never := fact.Val[float64]{}
	for _, c := range []struct {
		name      string
		then, now fact.Host
		want      bool
	}{
		{"nothing is known", fact.Host{}, fact.Host{}, false},
		{"the same boot", fact.Host{BootID: "a"}, fact.Host{BootID: "a"}, false},
		{"another boot", fact.Host{BootID: "a"}, fact.Host{BootID: "b"}, true},
		{"another boot, and long ago as it seems", fact.Host{BootID: "a"}, fact.Host{BootID: "b", Uptime: up(9000)}, true},
		{"only now", fact.Host{}, fact.Host{BootID: "b"}, false},
		{"only then", fact.Host{BootID: "a"}, fact.Host{}, false},
		{"an older weft looked, and the node ran on", fact.Host{}, fact.Host{BootID: "b", Uptime: up(3600)}, false},
		{"an older weft looked, and the node did not", fact.Host{}, fact.Host{BootID: "b", Uptime: up(3599.9)}, true},
		{"no boot_id is readable", fact.Host{Uptime: up(500)}, fact.Host{Uptime: up(3599)}, true},
		{"it ran on", fact.Host{BootID: "a", Uptime: up(500)}, fact.Host{BootID: "a", Uptime: up(4100)}, false},
		{"a saved machine was brought back", fact.Host{BootID: "a", Uptime: up(9000)}, fact.Host{BootID: "a", Uptime: up(8999)}, true},
		{"and has run for less than the hour", fact.Host{BootID: "a", Uptime: up(60)}, fact.Host{BootID: "a", Uptime: up(90)}, true},
		{"how long it runs was read then alone", fact.Host{BootID: "a", Uptime: up(9000)}, fact.Host{BootID: "a", Uptime: never}, false},
	} {
		if got := rebooted(&fact.Node{Host: c.now}, &fact.Node{Host: c.then}, time.Hour); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

// Clones of one virtual machine share a boot_id, so it is held against that of the
// same node and no other.
func TestClonesAreNotOneAnother(t *testing.T) {
	c := good()
	c.Before, c.Since = &good().Cluster, time.Minute
	for i, n := range c.Nodes {
		n.Host.BootID, c.Before.Nodes[i].Host.BootID = "a", "a"
		n.Ports[0].Counters["link_downed"] = 1
	}
	c.Nodes[1].Host.BootID = "b"
	want := []string{
		"n1 mlx5_0/1 fail: link_downed +1 in 1 min, want no growth: the link loses packets, and each costs a retransmission or a stall",
		"n2 mlx5_0/1 pass: few errors since the driver was loaded",
	}
	var got []string
	for _, f := range of(portErrors, c) {
		got = append(got, line(f))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
