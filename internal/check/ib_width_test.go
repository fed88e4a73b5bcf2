package check

import "testing"

func TestIBWidth(t *testing.T) {
	set := func(width, speed string, nodes ...int) func(c *Case) {
		return func(c *Case) {
			*c = *goodIB()
			for _, i := range nodes {
				c.Nodes[i].Ports[0].Width, c.Nodes[i].Ports[0].Speed = width, speed
			}
		}
	}
	const half = "half of the lanes carry nothing, unless a splitter cable or a half-speed card does this by design"
	judge(t, ibWidth, []row{
		{name: "no InfiniBand", want: "cluster skip: no InfiniBand link is up"},
		{name: "four lanes", do: set("4X", "HDR"), want: "n1 mlx5_0/1 pass: 4X HDR"},
		{name: "one lane", do: set("1X", "HDR", 1), fix: "reseat the cable",
			want: "n2 mlx5_0/1 fail: 1X HDR, want 4X: three of four lanes are dead, so the link carries a quarter: a bad cable or a dirty connector"},
		{name: "two lanes of EDR are never by design", do: set("2X", "EDR", 0, 1), fix: "iblinkinfo",
			want: "n2 mlx5_0/1 fail: 2X EDR, want 4X: lanes are dead, so the link carries a part of what it could"},
		{name: "HDR100 on all", do: set("2X", "HDR", 0, 1), want: "n2 mlx5_0/1 pass: 2X HDR, as on all equal cards"},
		{name: "two lanes on one of two", do: set("2X", "HDR", 1), want: "n2 mlx5_0/1 warn: 2X HDR, want 4X: " + half},
		{name: "two lanes on the only one", do: func(c *Case) { set("2X", "NDR", 0)(c); c.Nodes = c.Nodes[:1] }, want: "n1 mlx5_0/1 warn: 2X NDR, want 4X: " + half},
		{name: "QDR behind an old switch is right", do: set("4X", "QDR", 0, 1), want: "n2 mlx5_0/1 pass: 4X QDR"},
		{name: "stuck at SDR", do: set("4X", "SDR", 1),
			want: "n2 mlx5_0/1 fail: 4X SDR, want QDR or newer: links begin at SDR and step up; this one never did, so cable or switch port is bad"},
		{name: "DDR", do: set("4X", "DDR", 1),
			want: "n2 mlx5_0/1 warn: 4X DDR, want QDR or newer: DDR is slower than any ConnectX card: right only behind a switch of that age"},
		{name: "a generation weft does not know", do: set("4X", "GDR", 1), want: "n2 mlx5_0/1 pass: 4X GDR"},
		{name: "unread", do: set("", "", 1), want: "n2 mlx5_0/1 unknown: the width of the link was not read"},
	})
}
