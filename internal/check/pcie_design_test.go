package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/platform"
)

func TestPCIeDesign(t *testing.T) {
	x4 := fact.Link{GTs: 32, Width: 4}
	x2 := fact.Link{GTs: 32, Width: 2}
	const old = "n2 mlx5_0/1 fail: 32 GT/s x2, want 32 GT/s x4: firmware from before April 2026 wires this function with too few lanes, so the port loses part of its rate"
	judge(t, pcieDesign, []row{
		{name: "an ordinary server", want: "cluster skip: no data port is on a machine known to be narrow by design"},
		{name: "Spark", do: func(c *Case) { spark(c.Nodes[1], x4) }, want: "n2 mlx5_0/1 pass: 32 GT/s x4, about 107.1 Gb/s of RDMA: " + platform.Spark.Note, not: "n1"},
		{name: "Spark with old firmware", do: func(c *Case) { spark(c.Nodes[1], x2) }, fix: "sudo fwupdmgr update", want: old},
		{name: "Strix Halo", do: func(c *Case) { strixHalo(c.Nodes[1]) }, want: "n2 mlx5_0/1 pass: 8 GT/s x4, about 26.8 Gb/s of RDMA: " + platform.StrixHalo.Note},
		{name: "Strix Halo in a slot of two lanes is pcie.path's matter", do: func(c *Case) {
			strixHalo(c.Nodes[1])
			for _, d := range c.Nodes[1].PCI[:2] {
				d.Cur, d.Max = fact.Link{GTs: 8, Width: 2}, fact.Link{GTs: 8, Width: 2}
			}
		}, want: "cluster skip: no data port is on a machine known to be narrow by design"},
		{name: "unread", do: func(c *Case) { spark(c.Nodes[1], x4); c.Nodes[1].PCI = nil }, want: "cluster skip: no data port is on a machine known to be narrow by design"},
	})

	c := good()
	spark(c.Nodes[1], x2)
	for _, f := range Run([]Check{pcieDesign, pciePath}, c) {
		if f.Check == "pcie.path" && f.Subject.Node == "n2" && line(f) != "n2 mlx5_0/1 skip: pcie.design failed here first" {
			t.Errorf("pcie.path echoes: %s", line(f))
		}
	}
}
