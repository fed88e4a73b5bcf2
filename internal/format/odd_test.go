package format

import (
	"testing"

	"weft/internal/check"
	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/unit"
)

// device puts an RDMA device with one port into a dump.
func device(d *dump.Node, name string, port map[string]string, files map[string]string) {
	for k, v := range port {
		d.Text[ibDir+"/"+name+"/ports/1/"+k] = v + "\n"
	}
	for k, v := range files {
		d.Text[ibDir+"/"+name+"/"+k] = v + "\n"
	}
}

// TestOddDevicesDoNotHideTheOthers puts every odd device that we know of beside one
// healthy port: each is read as far as it can be, and the healthy one in full.
func TestOddDevicesDoNotHideTheOthers(t *testing.T) {
	d := dump.NewNode("n1")
	d.Text[DateKey] = "1\n"
	healthy := map[string]string{"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "100 Gb/sec (4X EDR)", "link_layer": "Ethernet", "counters/link_downed": "0",
		"gids/3": "0000:0000:0000:0000:0000:ffff:c0a8:c801", "gid_attrs/types/3": "RoCE v2", "gid_attrs/ndevs/3": "eth2"}
	device(d, "mlx5_0", healthy, map[string]string{"node_type": "1: CA", "fw_ver": "16.35.2000"})
	d.Link[ibDir+"/mlx5_0/device"] = "../../../0000:01:00.0"
	d.Link[ibDir+"/mlx5_0/device/driver"] = "../../../../bus/pci/drivers/mlx5_core"
	// A function that firmware restricts: the folder is there, most files refuse.
	device(d, "mlx5_1", map[string]string{"state": "1: DOWN"}, nil)
	d.Gap[ibDir+"/mlx5_1/ports/1/rate"] = "invalid argument"
	d.Gap[ibDir+"/mlx5_1/ports/1/counters/link_downed"] = "invalid argument"
	// A bond, a virtual function, Soft-RoCE, soft iWARP, Intel iWARP, Omni-Path.
	device(d, "mlx5_bond_0", map[string]string{"state": "4: ACTIVE", "rate": "25 Gb/sec (1X EDR)", "link_layer": "Ethernet", "gid_attrs/ndevs/0": "bond0", "gids/0": "fe80:0000:0000:0000:0e42:a1ff:fe9a:6766"}, nil)
	device(d, "mlx5_2", map[string]string{"state": "4: ACTIVE", "rate": "100 Gb/sec (4X EDR)", "link_layer": "InfiniBand", "lid": "0xffff", "sm_lid": "0x0"}, nil)
	d.Link[ibDir+"/mlx5_2/device"] = "../../../0000:01:00.2"
	device(d, "rxe0", map[string]string{"state": "4: ACTIVE", "rate": "2.5 Gb/sec (1X SDR)", "link_layer": "Ethernet", "hw_counters/sent_pkts": "7"}, map[string]string{"parent": "eth0", "node_type": "1: CA"})
	device(d, "siw0", map[string]string{"state": "4: ACTIVE", "link_layer": "Ethernet"}, map[string]string{"node_type": "4: RNIC"})
	device(d, "rocep194s0", map[string]string{"state": "4: ACTIVE", "rate": "100 Gb/sec (4X EDR)", "link_layer": "Ethernet"}, map[string]string{"node_type": "4: RNIC"})
	d.Link[ibDir+"/rocep194s0/device"] = "../../../0000:c2:00.0"
	d.Link[ibDir+"/rocep194s0/device/driver"] = "../../../../bus/pci/drivers/ice"
	device(d, "hfi1_0", map[string]string{"state": "4: ACTIVE", "rate": "100 Gb/sec (4X EDR)", "link_layer": "InfiniBand", "counters/port_xmit_data": "9"}, nil)
	// And rubbish where numbers should be.
	device(d, "junk", map[string]string{"state": "\xff\xfe", "rate": "fast", "lid": "-"}, nil)
	d.Text[ibDir+"/junk/ports/x/state"] = "4: ACTIVE\n"

	n := Node(d)
	for name, want := range map[string]fact.Port{
		"mlx5_0/1":      {Driver: "mlx5", Layer: "Ethernet", State: "ACTIVE", Netdev: "eth2", Rate: fact.Some(100 * unit.Gbps)},
		"mlx5_1/1":      {State: "DOWN"},
		"mlx5_bond_0/1": {Layer: "Ethernet", State: "ACTIVE", Netdev: "bond0", Rate: fact.Some(25 * unit.Gbps)},
		"mlx5_2/1":      {Layer: "InfiniBand", State: "ACTIVE", Rate: fact.Some(100 * unit.Gbps)},
		"rxe0/1":        {Driver: "rxe", Layer: "Ethernet", State: "ACTIVE", Netdev: "eth0", Rate: fact.Some(2500 * unit.Mbps)},
		"siw0/1":        {Driver: "siw", Layer: "Ethernet", State: "ACTIVE"},
		"rocep194s0/1":  {Driver: "irdma", Layer: "Ethernet", State: "ACTIVE", Rate: fact.Some(100 * unit.Gbps)},
		"hfi1_0/1":      {Layer: "InfiniBand", State: "ACTIVE", Rate: fact.Some(100 * unit.Gbps)},
		"junk/1":        {State: "\xff\xfe"},
	} {
		p := n.Port(name)
		if p == nil {
			t.Errorf("%s was not read", name)
			continue
		}
		got := fact.Port{Driver: p.Driver, Layer: p.Layer, State: p.State, Netdev: p.Netdev, Rate: p.Rate}
		if got.Driver != want.Driver || got.Layer != want.Layer || got.State != want.State || got.Netdev != want.Netdev || got.Rate != want.Rate {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if len(n.Ports) != 9 {
		t.Errorf("%d ports, want 9", len(n.Ports))
	}
	if p := n.Port("mlx5_0/1"); len(p.GIDs) != 1 || p.GIDs[0].Type != "RoCE v2" || p.Counters["link_downed"] != 0 || p.Firmware != "16.35.2000" {
		t.Errorf("the healthy port: %+v", p)
	}
	if got := n.Port("mlx5_1/1"); got.Counters != nil {
		t.Errorf("counters of a restricted function: %v", got.Counters)
	}
	check.Run(check.All, &check.Case{Cluster: fact.Cluster{Nodes: []*fact.Node{n}}}) // and none of it may panic
}
