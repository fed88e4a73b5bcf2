package check

import (
	"testing"
	"time"
)

func TestPCIeErrors(t *testing.T) {
	// grow gives the card of n2 totals then and now, an hour apart.
	grow := func(c *Case, then, now map[string]int) {
		before := good()
		c.Before, c.Since = &before.Cluster, time.Hour
		before.Nodes[1].At("0000:19:00.0").AER = then
		c.Nodes[1].At("0000:19:00.0").AER = now
	}
	aer := func(correctable, nonfatal, fatal int) map[string]int {
		return map[string]int{"correctable": correctable, "nonfatal": nonfatal, "fatal": fatal}
	}
	const (
		repeats = ", want none that a healthy link would not make: the link repeats packets more often than the standard lets it, which costs bandwidth and comes before worse"
		lost    = ", want none: transfers are being lost between the card and the CPU"
	)
	judge(t, pcieErrors, []row{
		{name: "none", want: "n1 mlx5_0/1 pass"},
		{name: "old errors that do not grow", do: func(c *Case) { grow(c, aer(900, 3, 0), aer(900, 3, 0)) }, want: "n2 mlx5_0/1 pass"},
		// 32 GT/s x16 for an hour at 10^-12: 1843.2 bits may be wrong.
		{name: "just what the standard lets a link make", do: func(c *Case) { grow(c, aer(10, 0, 0), aer(1853, 0, 0)) }, want: "n2 mlx5_0/1 pass"},
		{name: "just more", do: func(c *Case) { grow(c, aer(10, 0, 0), aer(1854, 0, 0)) }, fix: "reseat",
			want: "n2 mlx5_0/1 warn: +1844 correctable at 0000:19:00.0 in 1h0m0s" + repeats},
		{name: "any lost transfer", do: func(c *Case) { grow(c, aer(0, 3, 0), aer(0, 4, 0)) }, fix: "aer_dev_*", want: "n2 mlx5_0/1 fail: +1 uncorrectable at 0000:19:00.0 in 1h0m0s" + lost},
		{name: "fatal", do: func(c *Case) { grow(c, aer(0, 0, 0), aer(50, 0, 2)) }, want: "n2 mlx5_0/1 fail: +2 uncorrectable at 0000:19:00.0 in 1h0m0s" + lost},
		{name: "counted anew since the device was found again", do: func(c *Case) { grow(c, aer(9000, 9, 0), aer(3, 0, 0)) }, want: "n2 mlx5_0/1 pass"},
		{name: "lost since another boot", do: func(c *Case) { grow(c, aer(0, 0, 0), aer(0, 4, 0)); bootAnew(c) },
			want: "n2 mlx5_0/1 warn: 4 uncorrectable at 0000:19:00.0 since boot, want none: transfers were lost at some time; whether it goes on, the next look tells"},
		{name: "repeated since another boot", do: func(c *Case) { grow(c, aer(0, 0, 0), aer(1854, 0, 0)); bootAnew(c) },
			want: "n2 mlx5_0/1 unknown: 1854 correctable at 0000:19:00.0 since boot: there is no earlier look in this boot to tell whether they grow"},
		{name: "a port above the card", do: func(c *Case) { grow(c, aer(0, 0, 0), aer(0, 0, 0)); c.Nodes[1].At("0000:18:00.0").AER = aer(0, 1, 0) },
			want: "n2 mlx5_0/1 warn: 1 uncorrectable at 0000:18:00.0 since boot, want none: transfers were lost at some time; whether it goes on, the next look tells"},
		{name: "the first look cannot see growth", do: func(c *Case) { c.Nodes[1].At("0000:19:00.0").AER = aer(7, 0, 0) }, fix: "weft check",
			want: "n2 mlx5_0/1 unknown: 7 correctable at 0000:19:00.0 since boot: there is no earlier look in this boot to tell whether they grow"},
		{name: "the first look sees lost transfers", do: func(c *Case) { c.Nodes[1].At("0000:19:00.0").AER = aer(7, 2, 0) },
			want: "n2 mlx5_0/1 warn: 2 uncorrectable at 0000:19:00.0 since boot, want none: transfers were lost at some time; whether it goes on, the next look tells"},
		{name: "the device was not read", do: func(c *Case) { c.Nodes[1].PCI = nil }, want: "n2 mlx5_0/1 unknown: PCI device 0000:19:00.0 was not read"},
		{name: "no AER", do: func(c *Case) {
			for _, n := range c.Nodes {
				for _, d := range n.PCI {
					d.AER = nil
				}
			}
		}, want: "cluster skip: no device on a data port's path counts PCIe errors (no AER)"},
	})
}
