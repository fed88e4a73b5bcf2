package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/platform"
)

func TestPortFirmware(t *testing.T) {
	port := func(c *Case) *fact.Port { return c.Nodes[1].Ports[0] }
	e810 := func(c *Case, version string) {
		p := port(c)
		p.Driver, p.Firmware, p.Board, p.HCAType = "irdma", "1.71", "", ""
		*c.Nodes[1].At(p.BDF) = fact.PCI{BDF: p.BDF, Vendor: 0x8086, Device: 0x1592, Class: 0x020000, Driver: "ice"}
		c.Nodes[1].Netdev(p.Netdev).Firmware = version
	}
	judge(t, portFirmware, []row{
		{name: "all alike", want: "n1 mlx5_0/1 pass: 28.43.2026"},
		{name: "one is older", do: func(c *Case) { port(c).Firmware = "28.9.1000" }, fix: "sudo mstflint -d 0000:19:00.0 -i FIRMWARE.bin burn   # for PSID MT_0000000838",
			want: "n2 mlx5_0/1 warn: 28.9.1000, want 28.43.2026: 3 of 4 equal cards run 28.43.2026, and a difference in firmware is a difference nobody looks for"},
		{name: "half and half: the newer is wanted", do: func(c *Case) {
			c.Nodes[1].Ports[0].Firmware = "28.9.1000"
			c.Nodes[1].Ports[1].Firmware = "28.9.1000"
		}, want: "n2 mlx5_1/1 warn: 28.9.1000, want 28.43.2026: 2 of 4 equal cards run 28.43.2026, and a difference in firmware is a difference nobody looks for", not: "n1 mlx5_0/1 warn"},
		{name: "another board is another product", do: func(c *Case) { port(c).Firmware = "28.9.1000"; port(c).Board = "DEL0000000004" }, want: "n2 mlx5_0/1 pass: 28.9.1000"},
		{name: "Intel tells it on the netdev", do: func(c *Case) { e810(c, "4.91 0x800214b5 1.3909.0") }, want: "n2 mlx5_0/1 pass: 4.91"},
		{name: "unread", do: func(c *Case) { port(c).Firmware = "" }, want: "n2 mlx5_0/1 unknown: the firmware version was not read", not: "warn"},
		{name: "a virtual function repeats its card", do: func(c *Case) { port(c).Firmware = ""; c.Nodes[1].At(port(c).BDF).PhysFn = "0000:19:00.1" },
			want: "n1 mlx5_0/1 pass: 28.43.2026", not: "n2 mlx5_0/1"},
		{name: "software has none", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = []*fact.Port{{Name: "rxe0/1", Num: 1, Driver: "rxe", State: "ACTIVE"}}
			}
		}, want: "cluster skip: no RDMA card with firmware of its own"},
	})
}

func TestFirmwareTooOld(t *testing.T) {
	d := &fact.PCI{BDF: "0000:01:00.0", Vendor: 0x8086, Device: 0x1592}
	nic, ok := platform.NICOf(d)
	if !ok || nic.MinFirmware == "" {
		t.Skip("the platform table has no minimum firmware for the E810 yet")
	}
	n := &fact.Node{Name: "n1", PCI: []*fact.PCI{d}, Netdevs: []*fact.Netdev{{Name: "eth0", Firmware: "2.10 0x80000000 1.0"}}}
	p := &fact.Port{Name: "rocep1s0/1", Num: 1, BDF: d.BDF, Driver: "irdma", Netdev: "eth0"}
	f := judgeFirmware(n, p, "2.10", 1, 1)
	if f.Status != Warn || f.Want != nic.MinFirmware+" or newer" {
		t.Errorf("firmware 2.10 is %v, want %q; wanted a warning for %s", f.Status, f.Want, nic.MinFirmware)
	}
}

func TestOlderFirmware(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"28.9.1000", "28.43.2026", true}, {"28.43.2026", "28.9.1000", false}, {"4.91", "4.91", false},
		{"4.9", "4.91", true}, {"4", "4.1", true}, {"", "1", true},
	} {
		if got := olderFirmware(tc.a, tc.b); got != tc.want {
			t.Errorf("olderFirmware(%q, %q) is %v", tc.a, tc.b, got)
		}
	}
}
