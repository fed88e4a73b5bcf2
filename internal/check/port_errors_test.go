package check

import (
	"testing"
	"time"

	"weft/internal/fact"
)

func TestPortErrors(t *testing.T) {
	set := func(c *Case, name string, v uint64) { c.Nodes[1].Ports[0].Counters[name] = v }
	later := func(d time.Duration, name string, then, now uint64) func(c *Case) {
		return func(c *Case) {
			c.Before, c.Since = &good().Cluster, d
			c.Before.Nodes[1].Ports[0].Counters[name] = then
			set(c, name, now)
		}
	}
	const wire = "the link loses packets, and each costs a retransmission or a stall"
	const slow = "the far end cannot take or acknowledge packets in time, so they are sent again"
	const old = "errors were counted since the driver was loaded; only growth tells whether they still happen"
	judge(t, portErrors, []row{
		{name: "one look, few errors", want: "n1 mlx5_0/1 pass: few errors since the driver was loaded"},
		{name: "10 is not much", do: func(c *Case) { set(c, "link_downed", 10) }, want: "n2 mlx5_0/1 pass: few errors since the driver was loaded"},
		{name: "11 is worth a second look, no more", do: func(c *Case) { set(c, "link_downed", 11) }, want: "n2 mlx5_0/1 warn: link_downed 11, want no growth: " + old, fix: "weft check"},
		{name: "any count alone never fails", do: func(c *Case) { set(c, "symbol_error", 60000); set(c, "port_xmit_discards", 101) },
			want: "n2 mlx5_0/1 warn: symbol_error 60000, port_xmit_discards 101, want no growth: " + old, not: "fail"},
		{name: "a full counter cannot grow", do: func(c *Case) { set(c, "excessive_buffer_overrun_errors", 15) }, fix: "sudo perfquery -C mlx5_0 -P 1 -R",
			want: "n2 mlx5_0/1 warn: excessive_buffer_overrun_errors 15, want a counter that can count: the counter is full, so growth can no longer be seen"},
		{name: "nothing grew", do: later(time.Hour, "link_downed", 200, 200), want: "n2 mlx5_0/1 pass: no growth"},
		{name: "the link went down once", do: later(time.Hour, "link_downed", 3, 4), want: "n2 mlx5_0/1 fail: link_downed +1 in 1 h, want no growth: " + wire, fix: "change the cable"},
		{name: "120 symbol errors an hour are allowed", do: later(time.Hour, "symbol_error", 0, 120), want: "n2 mlx5_0/1 pass: no growth"},
		{name: "121 are not", do: later(time.Hour, "symbol_error", 0, 121), want: "n2 mlx5_0/1 fail: symbol_error +121 in 1 h, want no growth: " + wire},
		{name: "over both of its limits is said once", do: later(10*time.Second, "symbol_error", 0, 121), want: "n2 mlx5_0/1 fail: symbol_error +121 in 10 s, want no growth: " + wire},
		{name: "one in ten seconds is no rate", do: later(10*time.Second, "symbol_error", 0, 1), want: "n2 mlx5_0/1 pass: no growth"},
		{name: "twelve a minute over ten minutes", do: later(10*time.Minute, "link_error_recovery", 0, 51), want: "n2 mlx5_0/1 fail: link_error_recovery +51 in 10 min, want no growth: " + wire},
		{name: "ten errors a second are allowed", do: later(20*time.Second, "port_rcv_errors", 0, 200), want: "n2 mlx5_0/1 pass: no growth"},
		{name: "more are not", do: later(20*time.Second, "port_rcv_errors", 0, 201), want: "n2 mlx5_0/1 fail: port_rcv_errors +201 in 20 s, want no growth: " + wire},
		{name: "retries are not the cable's fault", do: later(time.Minute, "rnr_nak_retry_err", 0, 1), want: "n2 mlx5_0/1 fail: rnr_nak_retry_err +1 in 1 min, want no growth: " + slow, fix: "congestion"},
		{name: "the driver was loaded anew", do: later(time.Hour, "link_downed", 9, 2), want: "n2 mlx5_0/1 pass: no growth"},
		{name: "the machine was booted since, and its link came up", do: func(c *Case) {
			later(29*time.Second, "link_downed", 0, 1)(c)
			bootAnew(c)
		}, want: "n2 mlx5_0/1 pass: few errors since the driver was loaded"},
		{name: "the others were not", do: func(c *Case) {
			later(29*time.Second, "link_downed", 0, 1)(c)
			bootAnew(c)
			c.Nodes[0].Ports[0].Counters["link_downed"] = 1
		}, want: "n1 mlx5_0/1 fail: link_downed +1 in 29 s, want no growth: " + wire},
		{name: "many since that boot", do: func(c *Case) {
			later(29*time.Second, "link_downed", 11, 11)(c)
			bootAnew(c)
		}, want: "n2 mlx5_0/1 warn: link_downed 11, want no growth: " + old},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Ports[0].Counters = nil }, want: "n2 mlx5_0/1 unknown: the counters of the port were not read"},
		{name: "irdma counts other things", do: func(c *Case) { c.Nodes[1].Ports[0].Counters = map[string]uint64{"ip4InOctets": 5} },
			want: "n1 mlx5_0/1 pass: few errors since the driver was loaded", not: "n2"},
		{name: "Soft-RoCE counts how often its link went down", do: func(c *Case) {
			later(time.Minute, "link_downed", 254, 255)(c)
			c.Nodes[1].Ports[0].Driver = "rxe"
		}, want: "n2 mlx5_0/1 fail: link_downed +1 in 1 min, want no growth: " + wire},
		{name: "in a counter that is never full", do: func(c *Case) {
			later(time.Minute, "link_downed", 300, 300)(c)
			c.Nodes[1].Ports[0].Driver = "rxe"
		}, want: "n2 mlx5_0/1 pass: no growth"},
		{name: "software counts nothing", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = []*fact.Port{{Name: "rxe0/1", Num: 1, Driver: "rxe", State: "ACTIVE"}}
			}
		}, want: "cluster skip: no data port counts errors"},
	})
}
