package verbs

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// value is something of verbs.h, as a C expression, and what weft takes it for.
type value struct {
	c    string
	want uint64
}

func size(c string, n uintptr) value { return value{"sizeof(struct " + c + ")", uint64(n)} }

func offset(c, field string, n uintptr) value {
	return value{"offsetof(struct " + c + ", " + field + ")", uint64(n)}
}

func layout() []value {
	var (
		s   sge
		sw  sendWR
		rw  recvWR
		wc  completion
		qc  qpCap
		qi  qpInitAttr
		gr  globalRoute
		ah  ahAttr
		qa  qpAttr
		pa  portAttr
		da  deviceAttr
		dv  device
		ops contextOps
		cx  ibvContext
		mr  memoryRegion
		ch  compChannel
		qp  queuePair
	)
	return []value{
		{"sizeof(union ibv_gid)", uint64(unsafe.Sizeof(gid{}))},

		size("ibv_sge", unsafe.Sizeof(s)),
		offset("ibv_sge", "addr", unsafe.Offsetof(s.addr)),
		offset("ibv_sge", "length", unsafe.Offsetof(s.length)),
		offset("ibv_sge", "lkey", unsafe.Offsetof(s.lkey)),

		size("ibv_send_wr", unsafe.Sizeof(sw)),
		offset("ibv_send_wr", "wr_id", unsafe.Offsetof(sw.wrID)),
		offset("ibv_send_wr", "next", unsafe.Offsetof(sw.next)),
		offset("ibv_send_wr", "sg_list", unsafe.Offsetof(sw.sgList)),
		offset("ibv_send_wr", "num_sge", unsafe.Offsetof(sw.numSGE)),
		offset("ibv_send_wr", "opcode", unsafe.Offsetof(sw.opcode)),
		offset("ibv_send_wr", "send_flags", unsafe.Offsetof(sw.sendFlags)),
		offset("ibv_send_wr", "imm_data", unsafe.Offsetof(sw.immData)),
		offset("ibv_send_wr", "wr.rdma.remote_addr", unsafe.Offsetof(sw.remoteAddr)),
		offset("ibv_send_wr", "wr.rdma.rkey", unsafe.Offsetof(sw.rkey)),
		offset("ibv_send_wr", "qp_type.xrc.remote_srqn", unsafe.Offsetof(sw.remoteSRQN)),

		size("ibv_recv_wr", unsafe.Sizeof(rw)),
		offset("ibv_recv_wr", "wr_id", unsafe.Offsetof(rw.wrID)),
		offset("ibv_recv_wr", "next", unsafe.Offsetof(rw.next)),
		offset("ibv_recv_wr", "sg_list", unsafe.Offsetof(rw.sgList)),
		offset("ibv_recv_wr", "num_sge", unsafe.Offsetof(rw.numSGE)),

		size("ibv_wc", unsafe.Sizeof(wc)),
		offset("ibv_wc", "wr_id", unsafe.Offsetof(wc.wrID)),
		offset("ibv_wc", "status", unsafe.Offsetof(wc.status)),
		offset("ibv_wc", "opcode", unsafe.Offsetof(wc.opcode)),
		offset("ibv_wc", "vendor_err", unsafe.Offsetof(wc.vendorErr)),
		offset("ibv_wc", "byte_len", unsafe.Offsetof(wc.byteLen)),
		offset("ibv_wc", "imm_data", unsafe.Offsetof(wc.immData)),
		offset("ibv_wc", "qp_num", unsafe.Offsetof(wc.qpNum)),
		offset("ibv_wc", "src_qp", unsafe.Offsetof(wc.srcQP)),
		offset("ibv_wc", "wc_flags", unsafe.Offsetof(wc.wcFlags)),
		offset("ibv_wc", "pkey_index", unsafe.Offsetof(wc.pkeyIndex)),
		offset("ibv_wc", "slid", unsafe.Offsetof(wc.slid)),
		offset("ibv_wc", "sl", unsafe.Offsetof(wc.sl)),
		offset("ibv_wc", "dlid_path_bits", unsafe.Offsetof(wc.pathBits)),

		size("ibv_qp_cap", unsafe.Sizeof(qc)),
		offset("ibv_qp_cap", "max_send_wr", unsafe.Offsetof(qc.maxSendWR)),
		offset("ibv_qp_cap", "max_recv_wr", unsafe.Offsetof(qc.maxRecvWR)),
		offset("ibv_qp_cap", "max_send_sge", unsafe.Offsetof(qc.maxSendSGE)),
		offset("ibv_qp_cap", "max_recv_sge", unsafe.Offsetof(qc.maxRecvSGE)),
		offset("ibv_qp_cap", "max_inline_data", unsafe.Offsetof(qc.maxInlineData)),

		size("ibv_qp_init_attr", unsafe.Sizeof(qi)),
		offset("ibv_qp_init_attr", "qp_context", unsafe.Offsetof(qi.qpContext)),
		offset("ibv_qp_init_attr", "send_cq", unsafe.Offsetof(qi.sendCQ)),
		offset("ibv_qp_init_attr", "recv_cq", unsafe.Offsetof(qi.recvCQ)),
		offset("ibv_qp_init_attr", "srq", unsafe.Offsetof(qi.srq)),
		offset("ibv_qp_init_attr", "cap", unsafe.Offsetof(qi.cap)),
		offset("ibv_qp_init_attr", "qp_type", unsafe.Offsetof(qi.qpType)),
		offset("ibv_qp_init_attr", "sq_sig_all", unsafe.Offsetof(qi.sqSigAll)),

		size("ibv_global_route", unsafe.Sizeof(gr)),
		offset("ibv_global_route", "dgid", unsafe.Offsetof(gr.dgid)),
		offset("ibv_global_route", "flow_label", unsafe.Offsetof(gr.flowLabel)),
		offset("ibv_global_route", "sgid_index", unsafe.Offsetof(gr.sgidIndex)),
		offset("ibv_global_route", "hop_limit", unsafe.Offsetof(gr.hopLimit)),
		offset("ibv_global_route", "traffic_class", unsafe.Offsetof(gr.trafficClass)),

		size("ibv_ah_attr", unsafe.Sizeof(ah)),
		offset("ibv_ah_attr", "grh", unsafe.Offsetof(ah.grh)),
		offset("ibv_ah_attr", "dlid", unsafe.Offsetof(ah.dlid)),
		offset("ibv_ah_attr", "sl", unsafe.Offsetof(ah.sl)),
		offset("ibv_ah_attr", "src_path_bits", unsafe.Offsetof(ah.srcPathBits)),
		offset("ibv_ah_attr", "static_rate", unsafe.Offsetof(ah.staticRate)),
		offset("ibv_ah_attr", "is_global", unsafe.Offsetof(ah.isGlobal)),
		offset("ibv_ah_attr", "port_num", unsafe.Offsetof(ah.portNum)),

		size("ibv_qp_attr", unsafe.Sizeof(qa)),
		offset("ibv_qp_attr", "qp_state", unsafe.Offsetof(qa.qpState)),
		offset("ibv_qp_attr", "cur_qp_state", unsafe.Offsetof(qa.curQPState)),
		offset("ibv_qp_attr", "path_mtu", unsafe.Offsetof(qa.pathMTU)),
		offset("ibv_qp_attr", "path_mig_state", unsafe.Offsetof(qa.pathMigState)),
		offset("ibv_qp_attr", "qkey", unsafe.Offsetof(qa.qkey)),
		offset("ibv_qp_attr", "rq_psn", unsafe.Offsetof(qa.rqPSN)),
		offset("ibv_qp_attr", "sq_psn", unsafe.Offsetof(qa.sqPSN)),
		offset("ibv_qp_attr", "dest_qp_num", unsafe.Offsetof(qa.destQPNum)),
		offset("ibv_qp_attr", "qp_access_flags", unsafe.Offsetof(qa.qpAccessFlags)),
		offset("ibv_qp_attr", "cap", unsafe.Offsetof(qa.cap)),
		offset("ibv_qp_attr", "ah_attr", unsafe.Offsetof(qa.ahAttr)),
		offset("ibv_qp_attr", "alt_ah_attr", unsafe.Offsetof(qa.altAHAttr)),
		offset("ibv_qp_attr", "pkey_index", unsafe.Offsetof(qa.pkeyIndex)),
		offset("ibv_qp_attr", "alt_pkey_index", unsafe.Offsetof(qa.altPkeyIndex)),
		offset("ibv_qp_attr", "en_sqd_async_notify", unsafe.Offsetof(qa.enSQDAsyncNotify)),
		offset("ibv_qp_attr", "sq_draining", unsafe.Offsetof(qa.sqDraining)),
		offset("ibv_qp_attr", "max_rd_atomic", unsafe.Offsetof(qa.maxRdAtomic)),
		offset("ibv_qp_attr", "max_dest_rd_atomic", unsafe.Offsetof(qa.maxDestRdAtomic)),
		offset("ibv_qp_attr", "min_rnr_timer", unsafe.Offsetof(qa.minRNRTimer)),
		offset("ibv_qp_attr", "port_num", unsafe.Offsetof(qa.portNum)),
		offset("ibv_qp_attr", "timeout", unsafe.Offsetof(qa.timeout)),
		offset("ibv_qp_attr", "retry_cnt", unsafe.Offsetof(qa.retryCnt)),
		offset("ibv_qp_attr", "rnr_retry", unsafe.Offsetof(qa.rnrRetry)),
		offset("ibv_qp_attr", "alt_port_num", unsafe.Offsetof(qa.altPortNum)),
		offset("ibv_qp_attr", "alt_timeout", unsafe.Offsetof(qa.altTimeout)),
		offset("ibv_qp_attr", "rate_limit", unsafe.Offsetof(qa.rateLimit)),

		size("ibv_port_attr", unsafe.Sizeof(pa)),
		offset("ibv_port_attr", "state", unsafe.Offsetof(pa.state)),
		offset("ibv_port_attr", "max_mtu", unsafe.Offsetof(pa.maxMTU)),
		offset("ibv_port_attr", "active_mtu", unsafe.Offsetof(pa.activeMTU)),
		offset("ibv_port_attr", "gid_tbl_len", unsafe.Offsetof(pa.gidTblLen)),
		offset("ibv_port_attr", "port_cap_flags", unsafe.Offsetof(pa.portCapFlags)),
		offset("ibv_port_attr", "max_msg_sz", unsafe.Offsetof(pa.maxMsgSz)),
		offset("ibv_port_attr", "bad_pkey_cntr", unsafe.Offsetof(pa.badPkeyCntr)),
		offset("ibv_port_attr", "qkey_viol_cntr", unsafe.Offsetof(pa.qkeyViolCntr)),
		offset("ibv_port_attr", "pkey_tbl_len", unsafe.Offsetof(pa.pkeyTblLen)),
		offset("ibv_port_attr", "lid", unsafe.Offsetof(pa.lid)),
		offset("ibv_port_attr", "sm_lid", unsafe.Offsetof(pa.smLID)),
		offset("ibv_port_attr", "lmc", unsafe.Offsetof(pa.lmc)),
		offset("ibv_port_attr", "max_vl_num", unsafe.Offsetof(pa.maxVLNum)),
		offset("ibv_port_attr", "sm_sl", unsafe.Offsetof(pa.smSL)),
		offset("ibv_port_attr", "subnet_timeout", unsafe.Offsetof(pa.subnetTimeout)),
		offset("ibv_port_attr", "init_type_reply", unsafe.Offsetof(pa.initTypeReply)),
		offset("ibv_port_attr", "active_width", unsafe.Offsetof(pa.activeWidth)),
		offset("ibv_port_attr", "active_speed", unsafe.Offsetof(pa.activeSpeed)),
		offset("ibv_port_attr", "phys_state", unsafe.Offsetof(pa.physState)),
		offset("ibv_port_attr", "link_layer", unsafe.Offsetof(pa.linkLayer)),
		offset("ibv_port_attr", "flags", unsafe.Offsetof(pa.flags)),
		offset("ibv_port_attr", "port_cap_flags2", unsafe.Offsetof(pa.portCapFlags2)),

		size("ibv_device_attr", unsafe.Sizeof(da)),
		offset("ibv_device_attr", "fw_ver", unsafe.Offsetof(da.fwVer)),
		offset("ibv_device_attr", "node_guid", unsafe.Offsetof(da.nodeGUID)),
		offset("ibv_device_attr", "max_mr_size", unsafe.Offsetof(da.maxMRSize)),
		offset("ibv_device_attr", "vendor_id", unsafe.Offsetof(da.vendorID)),
		offset("ibv_device_attr", "max_qp", unsafe.Offsetof(da.maxQP)),
		offset("ibv_device_attr", "max_qp_wr", unsafe.Offsetof(da.maxQPWR)),
		offset("ibv_device_attr", "max_cqe", unsafe.Offsetof(da.maxCQE)),
		offset("ibv_device_attr", "max_qp_rd_atom", unsafe.Offsetof(da.maxQPRdAtom)),
		offset("ibv_device_attr", "max_qp_init_rd_atom", unsafe.Offsetof(da.maxQPInitRdAtom)),
		offset("ibv_device_attr", "atomic_cap", unsafe.Offsetof(da.atomicCap)),
		offset("ibv_device_attr", "max_srq_sge", unsafe.Offsetof(da.maxSRQSGE)),
		offset("ibv_device_attr", "max_pkeys", unsafe.Offsetof(da.maxPkeys)),
		offset("ibv_device_attr", "phys_port_cnt", unsafe.Offsetof(da.physPortCnt)),

		offset("ibv_device", "node_type", unsafe.Offsetof(dv.nodeType)),
		offset("ibv_device", "transport_type", unsafe.Offsetof(dv.transportType)),
		offset("ibv_device", "name", unsafe.Offsetof(dv.name)),
		offset("ibv_device", "dev_name", unsafe.Offsetof(dv.devName)),

		size("ibv_context_ops", unsafe.Sizeof(ops)),
		offset("ibv_context_ops", "poll_cq", unsafe.Offsetof(ops.pollCQ)),
		offset("ibv_context_ops", "req_notify_cq", unsafe.Offsetof(ops.reqNotifyCQ)),
		offset("ibv_context_ops", "post_send", unsafe.Offsetof(ops.postSend)),
		offset("ibv_context_ops", "post_recv", unsafe.Offsetof(ops.postRecv)),
		offset("ibv_context", "device", unsafe.Offsetof(cx.device)),
		offset("ibv_context", "ops", unsafe.Offsetof(cx.ops)),
		offset("ibv_context", "cmd_fd", unsafe.Offsetof(cx.cmdFD)),
		offset("ibv_context", "async_fd", unsafe.Offsetof(cx.asyncFD)),

		size("ibv_mr", unsafe.Sizeof(mr)),
		offset("ibv_mr", "addr", unsafe.Offsetof(mr.addr)),
		offset("ibv_mr", "length", unsafe.Offsetof(mr.length)),
		offset("ibv_mr", "handle", unsafe.Offsetof(mr.handle)),
		offset("ibv_mr", "lkey", unsafe.Offsetof(mr.lkey)),
		offset("ibv_mr", "rkey", unsafe.Offsetof(mr.rkey)),

		size("ibv_comp_channel", unsafe.Sizeof(ch)),
		offset("ibv_comp_channel", "fd", unsafe.Offsetof(ch.fd)),
		offset("ibv_comp_channel", "refcnt", unsafe.Offsetof(ch.refcnt)),

		offset("ibv_qp", "context", unsafe.Offsetof(qp.context)),
		offset("ibv_qp", "send_cq", unsafe.Offsetof(qp.sendCQ)),
		offset("ibv_qp", "recv_cq", unsafe.Offsetof(qp.recvCQ)),
		offset("ibv_qp", "handle", unsafe.Offsetof(qp.handle)),
		offset("ibv_qp", "qp_num", unsafe.Offsetof(qp.qpNum)),
		offset("ibv_qp", "state", unsafe.Offsetof(qp.state)),
		offset("ibv_qp", "qp_type", unsafe.Offsetof(qp.qpType)),

		{"IBV_ACCESS_LOCAL_WRITE", accessLocalWrite},
		{"IBV_ACCESS_REMOTE_WRITE", accessRemoteWrite},
		{"IBV_ACCESS_REMOTE_READ", accessRemoteRead},
		{"IBV_ACCESS_RELAXED_ORDERING", accessRelaxedOrdering},
		{"IBV_LINK_LAYER_INFINIBAND", linkInfiniBand},
		{"IBV_LINK_LAYER_ETHERNET", linkEthernet},
		{"IBV_PORT_ACTIVE", portActive},
		{"IBV_QPF_GRH_REQUIRED", portGRHRequired},
		{"IBV_MTU_256", uint64(mtuCode(256))},
		{"IBV_MTU_1024", uint64(mtuCode(1024))},
		{"IBV_MTU_4096", uint64(mtuCode(4096))},
		{"IBV_QPT_RC", qptRC},
		{"IBV_QPS_INIT", qpsInit},
		{"IBV_QPS_RTR", qpsRTR},
		{"IBV_QPS_RTS", qpsRTS},
		{"IBV_QP_STATE", qpState},
		{"IBV_QP_ACCESS_FLAGS", qpAccessFlags},
		{"IBV_QP_PKEY_INDEX", qpPkeyIndex},
		{"IBV_QP_PORT", qpPort},
		{"IBV_QP_AV", qpAV},
		{"IBV_QP_PATH_MTU", qpPathMTU},
		{"IBV_QP_TIMEOUT", qpTimeout},
		{"IBV_QP_RETRY_CNT", qpRetryCnt},
		{"IBV_QP_RNR_RETRY", qpRNRRetry},
		{"IBV_QP_RQ_PSN", qpRQPSN},
		{"IBV_QP_MAX_QP_RD_ATOMIC", qpMaxQPRdAtomic},
		{"IBV_QP_MIN_RNR_TIMER", qpMinRNRTimer},
		{"IBV_QP_SQ_PSN", qpSQPSN},
		{"IBV_QP_MAX_DEST_RD_ATOMIC", qpMaxDestRdAtomic},
		{"IBV_QP_DEST_QPN", qpDestQPN},
		{"IBV_SEND_SIGNALED", sendSignaled},
		{"IBV_SEND_INLINE", sendInline},
		{"IBV_TRANSPORT_IWARP", transportIWARP},
		{"IBV_WC_SUCCESS", wcSuccess},
		{"IBV_WC_LOC_LEN_ERR", wcLocLen},
		{"IBV_WC_LOC_QP_OP_ERR", wcLocQPOp},
		{"IBV_WC_LOC_PROT_ERR", wcLocProt},
		{"IBV_WC_WR_FLUSH_ERR", wcFlush},
		{"IBV_WC_BAD_RESP_ERR", wcBadResp},
		{"IBV_WC_LOC_ACCESS_ERR", wcLocAccess},
		{"IBV_WC_REM_INV_REQ_ERR", wcRemInvReq},
		{"IBV_WC_REM_ACCESS_ERR", wcRemAccess},
		{"IBV_WC_REM_OP_ERR", wcRemOp},
		{"IBV_WC_RETRY_EXC_ERR", wcRetryExc},
		{"IBV_WC_RNR_RETRY_EXC_ERR", wcRNRRetryExc},
		{"IBV_WC_REM_ABORT_ERR", wcRemAbort},
		{"IBV_WC_FATAL_ERR", wcFatal},
		{"IBV_WC_RESP_TIMEOUT_ERR", wcRespTimeout},
		{"IBV_WC_GENERAL_ERR", wcGeneral},
		{"IBV_WR_RDMA_WRITE", wrRDMAWrite},
		{"IBV_WR_RDMA_WRITE_WITH_IMM", wrRDMAWriteImm},
		{"IBV_WR_SEND", wrSend},
		{"IBV_WR_RDMA_READ", wrRDMARead},
	}
}

// TestLayout has the C compiler work every size, offset and constant out from the real
// headers, for each architecture that there is a compiler for. Nothing is run: the
// numbers are read from the object file.
func TestLayout(t *testing.T) {
	const headers = "/usr/include/infiniband"
	if _, err := os.Stat(filepath.Join(headers, "verbs.h")); err != nil {
		t.Skip("needs libibverbs-dev: apt install libibverbs-dev")
	}
	for arch, cc := range map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"} {
		t.Run(arch, func(t *testing.T) {
			path, err := exec.LookPath(cc)
			if err != nil {
				t.Skipf("needs %s: apt install gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross", cc)
			}
			compareLayout(t, path, headers)
		})
	}
}

func compareLayout(t *testing.T, cc, headers string) {
	values := layout()
	var c strings.Builder
	c.WriteString("#include <stddef.h>\n#include <infiniband/verbs.h>\nconst unsigned long long values[] = {\n")
	for _, v := range values {
		fmt.Fprintf(&c, "\t(unsigned long long)(%s),\n", v.c)
	}
	c.WriteString("};\n")
	dir := t.TempDir()
	file, object := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout.o")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(headers, filepath.Join(dir, "infiniband")); err != nil { // a cross compiler looks elsewhere
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-c", "-I", dir, "-o", object, file).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	got := objectWords(t, object, "values")
	if len(got) != len(values) {
		t.Fatalf("the object has %d values, want %d", len(got), len(values))
	}
	for i, v := range values {
		if got[i] != v.want {
			t.Errorf("%s is %d, weft takes it for %d", v.c, got[i], v.want)
		}
	}
	t.Logf("%d sizes, offsets and constants", len(values))
}

// objectWords reads an array of 64-bit words from an object file.
func objectWords(t *testing.T, object, name string) (words []uint64) {
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name != name {
			continue
		}
		data, err := f.Sections[s.Section].Data()
		if err != nil {
			t.Fatal(err)
		}
		for b := data[s.Value : s.Value+s.Size]; len(b) > 0; b = b[8:] {
			words = append(words, binary.LittleEndian.Uint64(b))
		}
	}
	return words
}
