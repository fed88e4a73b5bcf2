package history

import (
	"fmt"
	"strconv"
)

// Counter is a counter of an RDMA port: what the kernel calls it and what weft's metric
// for it is called.
type Counter struct {
	row
	Priority string // of Ethernet: "3"; "" is not of one
	Parts    uint64 // parts of a base unit: 1e6 of microseconds; 0 is 1
}

type row struct {
	Kernel  string
	Metric  string // "transmit_bytes": without weft_port_ and _total
	Scale   uint64 // to base units; 0 is 1
	Trouble bool   // growth tells of something wrong, be it small
	Help    string
}

// Table is every counter that has a name of its own. Any other is shown under the name
// that its driver gives it. Sources: InfiniBand 1.3 chapter 16 (PortCounters), the kernel's
// drivers/infiniband (core/sysfs.c, mlx5/counters.c, mlx4/main.c, sw/rxe/rxe_hw_counters.c,
// irdma/verbs.c, bnxt_re/hw_counters.c, efa/efa_verbs.c) and NVIDIA's "Understanding mlx5
// counters".
var Table = func() (all []Counter) {
	for _, r := range rows {
		all = append(all, Counter{row: r})
	}
	return append(all, ethernet()...)
}()

var rows = []row{
	{"port_xmit_data", "transmit_bytes", 4, false, "Bytes sent. The kernel counts words of four bytes."},
	{"port_rcv_data", "receive_bytes", 4, false, "Bytes received. The kernel counts words of four bytes."},
	{"port_xmit_packets", "transmit_packets", 0, false, "Packets sent."},
	{"port_rcv_packets", "receive_packets", 0, false, "Packets received."},
	{"unicast_xmit_packets", "transmit_unicast_packets", 0, false, "Unicast packets sent."},
	{"unicast_rcv_packets", "receive_unicast_packets", 0, false, "Unicast packets received."},
	{"multicast_xmit_packets", "transmit_multicast_packets", 0, false, "Multicast packets sent."},
	{"multicast_rcv_packets", "receive_multicast_packets", 0, false, "Multicast packets received."},
	{"port_xmit_wait", "transmit_wait_ticks", 0, false, "Ticks in which there was something to send and no credit or bandwidth for it."},
	{"port_xmit_discards", "transmit_discards", 0, true, "Packets not sent because the port was down or congested."},
	{"port_rcv_errors", "receive_errors", 0, true, "Packets received with an error."},
	{"port_rcv_remote_physical_errors", "receive_remote_physical_errors", 0, true, "Packets received that another link had marked bad."},
	{"port_rcv_switch_relay_errors", "receive_switch_relay_errors", 0, true, "Packets that a switch could not forward."},
	{"port_xmit_constraint_errors", "transmit_constraint_errors", 0, true, "Packets not sent because of their partition or size."},
	{"port_rcv_constraint_errors", "receive_constraint_errors", 0, true, "Packets dropped because of their partition or size."},
	{"link_downed", "link_downed", 0, true, "Times that the link went down."},
	{"link_error_recovery", "link_error_recovery", 0, true, "Times that the link trained again without going down."},
	{"local_link_integrity_errors", "local_link_integrity_errors", 0, true, "Times that errors of the link came too fast."},
	{"excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors", 0, true, "Times that receive buffers overran again and again."},
	{"symbol_error", "symbol_errors", 0, true, "Symbols received that are none: a bad cable or transceiver."},
	{"VL15_dropped", "vl15_dropped", 0, true, "Packets of subnet management dropped for want of room."},

	// mlx5 and mlx4, hw_counters
	{"np_cnp_sent", "cnp_sent", 0, false, "Congestion notifications sent as receiver of marked packets."},
	{"np_ecn_marked_roce_packets", "ecn_marked_packets", 0, false, "RoCE packets received with the mark of congestion."},
	{"rp_cnp_handled", "cnp_handled", 0, false, "Congestion notifications obeyed as sender."},
	{"rp_cnp_ignored", "cnp_ignored", 0, true, "Congestion notifications not obeyed as sender."},
	{"out_of_buffer", "out_of_buffer", 0, true, "Packets dropped because the receive queue had no buffer."},
	{"out_of_sequence", "out_of_sequence", 0, true, "Packets received out of order."},
	{"packet_seq_err", "packet_sequence_errors", 0, true, "NAKs received for packets out of order."},
	{"implied_nak_seq_err", "implied_nak_sequence_errors", 0, true, "Read or atomic answers that showed a lost request."},
	{"duplicate_request", "duplicate_requests", 0, true, "Requests received again, because an answer was lost or late."},
	{"local_ack_timeout_err", "ack_timeouts", 0, true, "Times that no acknowledgement came and packets were sent again."},
	{"rnr_nak_retry_err", "rnr_nak_retries", 0, true, "NAKs received because the receiver was not ready."},
	{"roce_slow_restart", "slow_restarts", 0, true, "Times that a RoCE sender began anew slowly."},
	{"roce_slow_restart_cnps", "slow_restart_cnps", 0, true, "Congestion notifications made by slow restarts."},
	{"roce_slow_restart_trans", "slow_restart_transitions", 0, true, "Times that a sender entered slow restart."},
	{"roce_adp_retrans", "adaptive_retransmits", 0, true, "Adaptive retransmissions."},
	{"roce_adp_retrans_to", "adaptive_retransmit_timeouts", 0, true, "Timeouts that adaptive retransmission reached."},
	{"req_cqe_error", "requester_completion_errors", 0, true, "Requests completed with an error."},
	{"req_cqe_flush_error", "requester_flush_errors", 0, false, "Requests flushed because their queue pair had ended."},
	{"req_remote_access_errors", "requester_remote_access_errors", 0, true, "Requests refused by the other side's memory keys."},
	{"req_remote_invalid_request", "requester_remote_invalid_requests", 0, true, "Requests that the other side called invalid."},
	{"req_transport_retries_exceeded", "requester_retries_exceeded", 0, true, "Requests given up because nothing was acknowledged."},
	{"req_rnr_retries_exceeded", "requester_rnr_retries_exceeded", 0, true, "Requests given up because the receiver was never ready."},
	{"resp_cqe_error", "responder_completion_errors", 0, true, "Receives completed with an error."},
	{"resp_cqe_flush_error", "responder_flush_errors", 0, false, "Receives flushed because their queue pair had ended."},
	{"resp_local_length_error", "responder_length_errors", 0, true, "Messages longer than the buffer for them."},
	{"resp_remote_access_errors", "responder_remote_access_errors", 0, true, "Requests of others refused by this side's memory keys."},
	{"resp_rnr_nak", "responder_rnr_naks", 0, true, "NAKs sent because this receiver was not ready."},
	{"rx_write_requests", "receive_write_requests", 0, false, "RDMA writes received."},
	{"rx_read_requests", "receive_read_requests", 0, false, "RDMA reads received."},
	{"rx_atomic_requests", "receive_atomic_requests", 0, false, "Atomic operations received."},
	{"rx_dct_connect", "receive_dct_connects", 0, false, "Connection requests received for dynamically connected transport."},
	{"rx_icrc_encapsulated", "receive_icrc_errors", 0, true, "RoCE packets received with a bad ICRC."},
	{"rq_num_lle", "responder_local_length_errors", 0, true, "mlx4: responder's local length errors."},
	{"rq_num_lqpoe", "responder_queue_pair_errors", 0, true, "mlx4: responder's local queue pair errors."},
	{"rq_num_lpe", "responder_protection_errors", 0, true, "mlx4: responder's local protection errors."},
	{"rq_num_wrfe", "responder_flushes", 0, false, "mlx4: responder's work requests flushed."},
	{"rq_num_rirdma", "responder_invalid_requests", 0, true, "mlx4: invalid requests received."},
	{"rq_num_rae", "responder_access_errors", 0, true, "mlx4: remote access errors received."},
	{"rq_num_oos", "responder_out_of_sequence", 0, true, "mlx4: out of sequence NAKs sent."},
	{"rq_num_rnr", "responder_rnr", 0, true, "mlx4: receiver-not-ready NAKs sent."},
	{"rq_num_dup", "responder_duplicates", 0, true, "mlx4: duplicate requests received."},
	{"sq_num_to", "requester_timeouts", 0, true, "mlx4: retransmissions after a timeout."},
	{"sq_num_tree", "requester_timeout_retries_exceeded", 0, true, "mlx4: requests given up after timeouts."},
	{"sq_num_rree", "requester_rnr_given_up", 0, true, "mlx4: requests given up after receiver-not-ready NAKs."},
	{"sq_num_rnr", "requester_rnr", 0, true, "mlx4: receiver-not-ready NAKs received."},
	{"sq_num_oos", "requester_out_of_sequence", 0, true, "mlx4: out of sequence NAKs received."},
	{"sq_num_rae", "requester_access_errors", 0, true, "mlx4: remote access errors."},
	{"sq_num_roe", "requester_operation_errors", 0, true, "mlx4: remote operation errors."},
	{"sq_num_rire", "requester_invalid_requests", 0, true, "mlx4: remote invalid request errors."},
	{"sq_num_wrfe", "requester_flushes", 0, false, "mlx4: requester's work requests flushed."},

	// rxe
	{"sent_pkts", "rxe_transmit_packets", 0, false, "rxe: packets sent."},
	{"rcvd_pkts", "rxe_receive_packets", 0, false, "rxe: packets received."},
	{"out_of_seq_request", "rxe_out_of_sequence", 0, true, "rxe: requests received out of order."},
	{"rcvd_rnr_err", "rxe_rnr_naks_received", 0, true, "rxe: receiver-not-ready NAKs received."},
	{"send_rnr_err", "rxe_rnr_naks_sent", 0, true, "rxe: receiver-not-ready NAKs sent."},
	{"rcvd_seq_err", "rxe_sequence_errors", 0, true, "rxe: NAKs received for packets out of order."},
	{"ack_deferred", "rxe_acks_deferred", 0, false, "rxe: acknowledgements deferred."},
	{"ack_deffered", "rxe_acks_deferred_old", 0, false, "rxe: acknowledgements deferred, as older kernels spell it."},
	{"retry_exceeded_err", "rxe_retries_exceeded", 0, true, "rxe: requests given up because nothing was acknowledged."},
	{"retry_rnr_exceeded_err", "rxe_rnr_retries_exceeded", 0, true, "rxe: requests given up because the receiver was never ready."},
	{"completer_retry_err", "rxe_retransmits", 0, true, "rxe: times that packets were sent again."},
	{"send_err", "rxe_send_errors", 0, true, "rxe: packets that could not be sent."},
	{"rdma_sends", "rdma_sends", 0, false, "RDMA sends."},
	{"rdma_recvs", "rdma_receives", 0, false, "RDMA receives."},

	// irdma
	{"ip4InOctets", "ip4_receive_bytes", 0, false, "irdma: bytes of IPv4 received."},
	{"ip4OutOctets", "ip4_transmit_bytes", 0, false, "irdma: bytes of IPv4 sent."},
	{"ip4InPkts", "ip4_receive_packets", 0, false, "irdma: packets of IPv4 received."},
	{"ip4OutPkts", "ip4_transmit_packets", 0, false, "irdma: packets of IPv4 sent."},
	{"ip4InDiscards", "ip4_receive_discards", 0, true, "irdma: packets of IPv4 dropped."},
	{"ip4InTruncatedPkts", "ip4_receive_truncated", 0, true, "irdma: packets of IPv4 received short."},
	{"ip4OutNoRoutes", "ip4_transmit_no_routes", 0, true, "irdma: packets of IPv4 without a route."},
	{"ip6InOctets", "ip6_receive_bytes", 0, false, "irdma: bytes of IPv6 received."},
	{"ip6OutOctets", "ip6_transmit_bytes", 0, false, "irdma: bytes of IPv6 sent."},
	{"ip6InPkts", "ip6_receive_packets", 0, false, "irdma: packets of IPv6 received."},
	{"ip6OutPkts", "ip6_transmit_packets", 0, false, "irdma: packets of IPv6 sent."},
	{"ip6InDiscards", "ip6_receive_discards", 0, true, "irdma: packets of IPv6 dropped."},
	{"tcpInSegs", "tcp_receive_segments", 0, false, "irdma: iWARP TCP segments received."},
	{"tcpOutSegs", "tcp_transmit_segments", 0, false, "irdma: iWARP TCP segments sent."},
	{"tcpRetransSegs", "tcp_retransmits", 0, true, "irdma: iWARP TCP segments sent again."},
	{"tcpInProtoErrors", "tcp_protocol_errors", 0, true, "irdma: iWARP TCP segments received with an error."},
	{"tcpInOptErrors", "tcp_option_errors", 0, true, "irdma: iWARP TCP segments received with bad options."},
	{"iwInRdmaWrites", "irdma_writes_received", 0, false, "irdma: RDMA writes received."},
	{"iwInRdmaReads", "irdma_reads_received", 0, false, "irdma: RDMA reads received."},
	{"iwInRdmaSends", "irdma_sends_received", 0, false, "irdma: sends received."},
	{"iwOutRdmaWrites", "irdma_writes", 0, false, "irdma: RDMA writes sent."},
	{"iwOutRdmaReads", "irdma_reads", 0, false, "irdma: RDMA reads sent."},
	{"iwOutRdmaSends", "irdma_sends", 0, false, "irdma: sends sent."},
	{"iwRdmaBnd", "irdma_binds", 0, false, "irdma: memory windows bound."},
	{"iwRdmaInv", "irdma_invalidates", 0, false, "irdma: memory keys invalidated."},
	{"cnpHandled", "irdma_cnp_handled", 0, false, "irdma: congestion notifications obeyed as sender."},
	{"cnpIgnored", "irdma_cnp_ignored", 0, true, "irdma: congestion notifications not obeyed."},
	{"cnpSent", "irdma_cnp_sent", 0, false, "irdma: congestion notifications sent."},
	{"RxECNMrkd", "irdma_ecn_marked_packets", 0, false, "irdma: packets received with the mark of congestion."},

	// bnxt_re
	{"tx_roce_only_bytes", "roce_transmit_bytes", 0, false, "bnxt_re: bytes of RoCE sent."},
	{"rx_roce_only_bytes", "roce_receive_bytes", 0, false, "bnxt_re: bytes of RoCE received."},
	{"tx_roce_only_pkts", "roce_transmit_packets", 0, false, "bnxt_re: packets of RoCE sent."},
	{"rx_roce_only_pkts", "roce_receive_packets", 0, false, "bnxt_re: packets of RoCE received."},
	{"tx_roce_errors", "roce_transmit_errors", 0, true, "bnxt_re: packets of RoCE not sent for an error."},
	{"tx_roce_discards", "roce_transmit_discards", 0, true, "bnxt_re: packets of RoCE not sent."},
	{"rx_roce_errors", "roce_receive_errors", 0, true, "bnxt_re: packets of RoCE received with an error."},
	{"rx_roce_discards", "roce_receive_discards", 0, true, "bnxt_re: packets of RoCE dropped."},
	{"to_retransmits", "timeout_retransmits", 0, true, "bnxt_re: packets sent again after a timeout."},
	{"seq_err_naks_rcvd", "sequence_naks_received", 0, true, "bnxt_re: NAKs received for packets out of order."},
	{"max_retry_exceeded", "max_retries_exceeded", 0, true, "bnxt_re: requests given up because nothing was acknowledged."},
	{"rnr_naks_rcvd", "rnr_naks_received", 0, true, "bnxt_re: receiver-not-ready NAKs received."},
	{"oos_drop_count", "out_of_sequence_drops", 0, true, "bnxt_re: packets dropped because they were out of order."},
	{"rx_cnp_pkts", "cnp_received", 0, false, "bnxt_re: congestion notifications received."},
	{"tx_cnp_pkts", "cnp_transmitted", 0, false, "bnxt_re: congestion notifications sent."},
	{"rx_ecn_marked_pkts", "ecn_marked_received", 0, false, "bnxt_re: packets received with the mark of congestion."},

	// efa
	{"tx_bytes", "driver_transmit_bytes", 0, false, "Bytes sent, as the driver counts."},
	{"rx_bytes", "driver_receive_bytes", 0, false, "Bytes received, as the driver counts."},
	{"tx_pkts", "driver_transmit_packets", 0, false, "Packets sent, as the driver counts."},
	{"rx_pkts", "driver_receive_packets", 0, false, "Packets received, as the driver counts."},
	{"rx_drops", "driver_receive_drops", 0, true, "Packets dropped, as the driver counts."},
	{"rdma_read_bytes", "rdma_read_bytes", 0, false, "efa: bytes of RDMA reads."},
	{"rdma_write_bytes", "rdma_write_bytes", 0, false, "efa: bytes of RDMA writes."},
	{"retrans_bytes", "retransmit_bytes", 0, true, "efa: bytes sent again."},
	{"retrans_pkts", "retransmit_packets", 0, true, "efa: packets sent again."},
	{"retrans_timeout_events", "retransmit_timeouts", 0, true, "efa: timeouts after which packets were sent again."},
}

// perPriority are what drivers call the counters of one priority; %d is the priority.
// mlx5: "Understanding mlx5 ethtool counters"; mlx4: mlx4_en/en_ethtool.c; ice:
// ice_ethtool.c, where XOFF is the frame that says stop; bnxt: bnxt_ethtool.c.
var perPriority = []struct {
	kernel []string
	row
	parts uint64
}{
	{[]string{"rx_prio%d_pause", "rx_pause_prio_%d", "rx_priority_%d_xoff.nic", "rx_pfc_ena_frames_pri%d"}, row{Metric: "pause_frames_received", Help: "Frames received that tell this port to stop sending one priority (PFC)."}, 0},
	{[]string{"tx_prio%d_pause", "tx_pause_prio_%d", "tx_priority_%d_xoff.nic", "tx_pfc_ena_frames_pri%d"}, row{Metric: "pause_frames_sent", Help: "Frames sent that tell the other side to stop sending one priority (PFC)."}, 0},
	{[]string{"rx_prio%d_pause_duration"}, row{Metric: "pause_received_seconds", Help: "Time in which this port was told to send nothing of one priority."}, 1e6},
	{[]string{"tx_prio%d_pause_duration"}, row{Metric: "pause_sent_seconds", Help: "Time in which this port told the other side to send nothing of one priority."}, 1e6},
	{[]string{"rx_prio%d_discards"}, row{Metric: "receive_priority_discards", Trouble: true, Help: "Packets of one priority dropped for want of buffers."}, 0},
}

// whole are counters of the physical port, as ethtool -S tells them.
var whole = []row{
	{"rx_pause_ctrl_phy", "pause_control_received", 0, false, "Pause frames received, of all kinds."},
	{"tx_pause_ctrl_phy", "pause_control_sent", 0, false, "Pause frames sent, of all kinds."},
	{"rx_discards_phy", "receive_phy_discards", 0, true, "Packets dropped because the port had no buffer for them."},
	{"tx_discards_phy", "transmit_phy_discards", 0, true, "Packets dropped on the way out of the port."},
	{"rx_crc_errors_phy", "receive_crc_errors", 0, true, "Frames received with a bad checksum."},
	{"rx_symbol_err_phy", "receive_phy_symbol_errors", 0, true, "Symbols received that are none."},
	{"rx_pcs_symbol_err_phy", "receive_pcs_symbol_errors", 0, true, "Errors that the port's correction could not mend."},
	{"rx_corrected_bits_phy", "receive_corrections", 0, false, "Bits that the port's correction mended."},
	{"link_down_events_phy", "phy_link_downs", 0, true, "Times that the physical link went down."},
	{"rx_out_of_buffer", "netdev_out_of_buffer", 0, true, "Packets of the interface dropped because a queue had no buffer."},
	{"tx_pause_storm_warning_events", "pause_storm_warnings", 0, true, "Times that this port sent pauses for too long."},
	{"tx_pause_storm_error_events", "pause_storm_errors", 0, true, "Times that this port sent pauses for so long that it was stopped."},
	{"outbound_pci_buffer_overflow", "pci_buffer_overflows", 0, true, "Packets dropped because PCIe did not take them in time."},
	{"module_bad_shorted", "module_shorts", 0, true, "Times that the cable or transceiver was shorted."},
}

// ethernet are the counters of the interface, which tell of pauses and of the wire.
func ethernet() (all []Counter) {
	for _, r := range whole {
		r.Help += " ethtool -S."
		all = append(all, Counter{row: r})
	}
	for _, p := range perPriority {
		for _, kernel := range p.kernel {
			for prio := range 8 {
				c := Counter{row: p.row, Priority: strconv.Itoa(prio), Parts: p.parts}
				c.Kernel = fmt.Sprintf(kernel, prio)
				all = append(all, c)
			}
		}
	}
	return all
}

// Ethernet reports whether weft follows a counter of ethtool -S.
func Ethernet(name string) bool { return ethernetNames[name] }

var ethernetNames = func() map[string]bool {
	m := map[string]bool{}
	for _, c := range ethernet() {
		m[c.Kernel] = true
	}
	return m
}()

var byKernel = func() map[string]*Counter {
	m := make(map[string]*Counter, len(Table))
	for i := range Table {
		m[Table[i].Kernel] = &Table[i]
	}
	return m
}()

// CounterOf finds a counter by the kernel's name; nil when it has no name of its own.
func CounterOf(kernel string) *Counter { return byKernel[kernel] }

// NotCounted reports whether a file of hw_counters is a setting. lifespan is for how many
// milliseconds the kernel keeps counters before it asks the card again.
func NotCounted(kernel string) bool { return kernel == "lifespan" }

// carriers are the counters that see bytes leave and arrive, in the order they are
// believed; trial.carriers says why.
var carriers = []struct {
	sent, received string
	step           float64
}{
	{"port_xmit_data", "port_rcv_data", 4},
	{"ip4OutOctets", "ip4InOctets", 1},
	{"tx_roce_only_bytes", "rx_roce_only_bytes", 1},
	{"tx_bytes", "rx_bytes", 1},
}
