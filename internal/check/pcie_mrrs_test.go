package check

import (
	"testing"

	"weft/internal/fact"
)

func TestPCIeMRRS(t *testing.T) {
	set := func(c *Case, size int) { c.Nodes[1].At("0000:19:00.0").MaxRead = fact.Some(size) }
	judge(t, pcieMRRS, []row{
		{name: "4096", want: "n1 mlx5_0/1 pass: 4096"},
		{name: "512", do: func(c *Case) { set(c, 512) }, fix: "sudo setpci -s 0000:19:00.0 CAP_EXP+8.w=5000:7000",
			want: "n2 mlx5_0/1 warn: 512, want 4096: the card asks for memory in pieces of 512 bytes, so it needs 8 times as many requests to send"},
		{name: "2048 is just too small", do: func(c *Case) { set(c, 2048) },
			want: "n2 mlx5_0/1 warn: 2048, want 4096: the card asks for memory in pieces of 2048 bytes, so it needs 2 times as many requests to send"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].At("0000:19:00.0").MaxRead = fact.Val[int]{} }, fix: "sudo lspci", want: "n2 mlx5_0/1 unknown: MaxReadReq was not read"},
		{name: "the device was not read", do: func(c *Case) { c.Nodes[1].PCI = nil }, want: "n2 mlx5_0/1 unknown: PCI device 0000:19:00.0 was not read"},
		{name: "other vendors choose for themselves", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.At("0000:19:00.0").Vendor = 0x8086
			}
		}, want: "cluster skip: no data port is on a ConnectX card"},
		{name: "a virtual function alone has no say", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.At("0000:19:00.0").PhysFn = "0000:ff:00.0"
			}
		}, want: "cluster skip: no data port is on a ConnectX card"},
	})
}
