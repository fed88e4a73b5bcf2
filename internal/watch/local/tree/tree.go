// Package tree makes a folder that looks like the /sys and /proc of a machine with RDMA
// cards, for tests to read and to change. Edge: imported by tests alone.
package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Tree is such a folder.
type Tree string

// counters and hwCounters are the files that mlx5 has: drivers/infiniband/core/sysfs.c and
// hw/mlx5/counters.c.
var (
	Counters = []string{"VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery", "local_link_integrity_errors",
		"multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors", "port_rcv_data", "port_rcv_errors", "port_rcv_packets",
		"port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards",
		"port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets"}
	HWCounters = []string{"duplicate_request", "implied_nak_seq_err", "lifespan", "local_ack_timeout_err", "np_cnp_sent", "np_ecn_marked_roce_packets",
		"out_of_buffer", "out_of_sequence", "packet_seq_err", "req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors", "req_remote_invalid_request",
		"resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error", "resp_remote_access_errors", "rnr_nak_retry_err", "roce_adp_retrans",
		"roce_adp_retrans_to", "roce_slow_restart", "roce_slow_restart_cnps", "roce_slow_restart_trans", "rp_cnp_handled", "rp_cnp_ignored",
		"rx_atomic_requests", "rx_dct_connect", "rx_icrc_encapsulated", "rx_read_requests", "rx_write_requests"}
)

// Make makes a machine with so many cards of one port each below dir.
func Make(dir string, cards int) (Tree, error) {
	t := Tree(dir)
	err := t.Set("proc/sys/kernel/random/boot_id", "6c8f3b3e-0000-4000-8000-000000000001")
	for i := 0; i < cards && err == nil; i++ {
		err = t.Card(i)
	}
	return t, err
}

// Device names a card.
func Device(i int) string { return "mlx5_" + strconv.Itoa(i) }

// Port is the folder of a card's port.
func Port(i int) string { return "sys/class/infiniband/" + Device(i) + "/ports/1" }

// Card adds a card.
func (t Tree) Card(i int) error {
	dev := "sys/class/infiniband/" + Device(i)
	files := map[string]string{
		dev + "/board_id": "MT_0000000834", dev + "/fw_ver": "28.39.1002", dev + "/hca_type": "MT4129", dev + "/node_type": "1: CA",
		dev + "/device/vendor": "0x15b3",
		Port(i) + "/state":     "4: ACTIVE", Port(i) + "/phys_state": "5: LinkUp", Port(i) + "/rate": "400 Gb/sec (4X NDR)", Port(i) + "/link_layer": "Ethernet",
		Port(i) + "/gids/0": fmt.Sprintf("fe80:0000:0000:0000:0000:00ff:fe00:%04x", i), Port(i) + "/gid_attrs/types/0": "IB/RoCE v1", Port(i) + "/gid_attrs/ndevs/0": fmt.Sprintf("eth%d", i),
		Port(i) + "/gids/3": fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0a00:%04x", i), Port(i) + "/gid_attrs/types/3": "RoCE v2", Port(i) + "/gid_attrs/ndevs/3": fmt.Sprintf("eth%d", i),
		Port(i) + "/gids/4":                                      "0000:0000:0000:0000:0000:0000:0000:0000",
		fmt.Sprintf("sys/class/net/eth%d/mtu", i):                "9000",
		fmt.Sprintf("sys/class/net/eth%d/carrier_down_count", i): "1",
	}
	for n, name := range Counters {
		files[Port(i)+"/counters/"+name] = strconv.Itoa(1_000_000*n*n + i)
	}
	for n, name := range HWCounters {
		files[Port(i)+"/hw_counters/"+name] = strconv.Itoa(1000*n + i)
	}
	for path, text := range files {
		if err := t.Set(path, text); err != nil {
			return err
		}
	}
	return nil
}

// Set writes a file of one line in place, as sysfs changes: who has it open sees it.
func (t Tree) Set(path, text string) error {
	path = filepath.Join(string(t), path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text+"\n"), 0o644)
}

// Remove takes a file or folder away.
func (t Tree) Remove(path string) error { return os.RemoveAll(filepath.Join(string(t), path)) }
