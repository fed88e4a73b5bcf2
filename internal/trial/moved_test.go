package trial

import "testing"

// TestMoves: bytes by the counter that sees RDMA, packets where there is no such, the
// busiest first, and what should not grow named.
func TestMoves(t *testing.T) {
	before := Counters{
		"mlx5_0/1": {"port_xmit_data": 100, "port_rcv_data": 10, "out_of_sequence": 5, "sent_pkts": 1},
		"rxe0/1":   {"sent_pkts": 7, "rcvd_pkts": 7},
		"eth0":     {"tx_bytes": 50, "rx_bytes": 50, "tx_packets": 1},
		"eth1":     {"tx_bytes": 9, "rx_bytes": 9},
	}
	after := Counters{
		"mlx5_0/1": {"port_xmit_data": 1100, "port_rcv_data": 10, "out_of_sequence": 8, "sent_pkts": 9},
		"rxe0/1":   {"sent_pkts": 27, "rcvd_pkts": 17},
		"eth0":     {"tx_bytes": 70, "rx_bytes": 50, "tx_packets": 3},
		"eth1":     {"tx_bytes": 9, "rx_bytes": 3}, // set back meanwhile
	}
	got := Moves("n1", before, after)
	if len(got) != 3 {
		t.Fatalf("%d moved: %+v", len(got), got)
	}
	if m := got[0]; m.End != (End{"n1", "mlx5_0/1"}) || m.Sent != 4000 || m.Received != 0 || m.Packets || len(m.Grew) != 1 || m.Grew["out_of_sequence"] != 3 ||
		len(m.Before) != 3 || m.Before["port_xmit_data"] != 100 || m.After["port_xmit_data"] != 1100 {
		t.Errorf("%+v", m)
	}
	if m := got[1]; m.Port != "rxe0/1" || m.Sent != 20 || m.Received != 10 || !m.Packets {
		t.Errorf("%+v", m)
	}
	if m := got[2]; m.Port != "eth0" || m.Sent != 20 || m.Grew != nil {
		t.Errorf("%+v", m)
	}
	if m := Moves("n1", nil, nil); len(m) != 0 {
		t.Errorf("nothing moved: %+v", m)
	}
}
