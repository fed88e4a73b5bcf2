package format

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/fixture"
	"weft/internal/format/dcb"
	"weft/internal/format/ethtool"
	"weft/internal/format/host"
	"weft/internal/format/ibdev"
	"weft/internal/format/ibnet"
	"weft/internal/format/iproute"
	"weft/internal/format/kmsg"
	"weft/internal/format/lspci"
	"weft/internal/format/nccllog"
	"weft/internal/format/nccltests"
	"weft/internal/format/nmcli"
	"weft/internal/format/nvsmi"
	"weft/internal/format/perftest"
	"weft/internal/format/rocmsmi"
	"weft/internal/format/vllmbench"
)

// use is who reads a fixture, or why nobody does yet.
type use struct {
	pkg    string // folder below internal/format; "." is this one
	parse  func([]byte) (any, error)
	refuse bool   // the output is a refusal: an error is the right answer
	later  string // not read yet: what it is for
}

// by makes the use of a parser.
func by[T any](pkg string, parse func([]byte) (T, error)) use {
	return use{pkg: pkg, parse: func(b []byte) (any, error) { return parse(b) }}
}

func later(why string) use { return use{later: why} }

// measures reports whether the fixture holds measurements or a job's log, which say
// nothing about the state of a node.
func (u use) measures() bool {
	return slices.Contains([]string{"perftest", "nccltests", "vllmbench", "../transport"}, u.pkg)
}

// What the fixtures that no parser reads are for.
const (
	measurement = "measurement of prove, issue 5"
	tokenTimes  = "token times for forecast, issue 6"
	servingLog  = "serving log, issue 7"
)

// fixtures lists every file of the shared folder.
var fixtures = map[string]use{
	"all_reduce_bench_py_4n.txt":                          by("nccltests", nccltests.Read),
	"amd-smi_ainic_ionic_down.txt":                        by("rocmsmi", rocmsmi.ParseNICs),
	"amd-smi_metric_json_igpu.txt":                        by("rocmsmi", rocmsmi.ParseAMD),
	"compare_eth_vs_rdma_strixhalo_e810.txt":              by("perftest", perftest.ReadPaths),
	"dllama_per_token_timing_rpi5.txt":                    later(tokenTimes),
	"dmesg_mlx4_connectx3_strixhalo.txt":                  kernelLog,
	"dmesg_mlx5_link_up.txt":                              kernelLog,
	"dmesg_mlx5_port_module_and_power.txt":                kernelLog,
	"dmesg_mlx5_responder_error_cqe.txt":                  kernelLog,
	"dmesg_xid119.txt":                                    kernelLog,
	"etc_rdma_conf.txt":                                   by("host", host.ParseRDMAConf),
	"ethtool_S_stats.txt":                                 by("ethtool", ethtool.ParseStats),
	"ethtool_a_pause_fail.txt":                            refused(by("ethtool", ethtool.ParsePause)),
	"ethtool_c_coalesce.txt":                              by("ethtool", ethtool.ParseCoalesce),
	"ethtool_g_rings.txt":                                 by("ethtool", ethtool.ParseRings),
	"ethtool_i_ice_e810.txt":                              by("ethtool", ethtool.ParseDriver),
	"ethtool_k_offloads.txt":                              by("ethtool", ethtool.ParseFeatures),
	"ethtool_link_settings.txt":                           by("ethtool", ethtool.ParseSettings),
	"ethtool_priv_flags.txt":                              by("ethtool", ethtool.ParsePrivFlags),
	"fabricmanager_gpud.txt":                              later("NVSwitch log: no check asks for it yet"),
	"gpcnet_network_test.txt":                             later(measurement),
	"ibdev2netdev_ethN.txt":                               by("ibdev", ibdev.ParseIbdev2netdev),
	"ibdev2netdev_spark1.txt":                             by("ibdev", ibdev.ParseIbdev2netdev),
	"ibdev2netdev_spark2.txt":                             by("ibdev", ibdev.ParseIbdev2netdev),
	"ibdev2netdev_spark_port1.txt":                        by("ibdev", ibdev.ParseIbdev2netdev),
	"ibnetdiscover_bad.txt":                               by("ibnet", ibnet.ParseNetdiscover),
	"ibnetdiscover_hdr.txt":                               by("ibnet", ibnet.ParseNetdiscover),
	"ibnetdiscover_topograph_head.txt":                    by("ibnet", ibnet.ParseNetdiscover),
	"ibportstate_ibstat_mlx4_disabled_fdr.txt":            by("ibdev", ibdev.ParseIbportstate),
	"ibstat_cx7_ndr_active.txt":                           by("ibdev", ibdev.ParseIbstat),
	"ibstatus_bond_25g.txt":                               by("ibdev", ibdev.ParseIbstatus),
	"ibswinfo_1.txt":                                      by("ibnet", ibnet.ParseIbswinfo),
	"ibswinfo_err1.txt":                                   by("ibnet", ibnet.ParseIbswinfo),
	"ibv_devinfo_mixed_eth_ib_mtu1024.txt":                by("ibdev", ibdev.ParseDevinfo),
	"ibv_devinfo_port_down_cx7.txt":                       by("ibdev", ibdev.ParseDevinfo),
	"ibv_devinfo_port_init_no_sm.txt":                     by("ibdev", ibdev.ParseDevinfo),
	"ifconfig_docker_lo_eth.txt":                          by("iproute", iproute.ParseIfconfig),
	"ip_a_ipoib_connectx3.txt":                            by("iproute", iproute.ParseLinks),
	"ip_addr_spark_linklocal.txt":                         by("iproute", iproute.ParseLinks),
	"kmsg_nvidia_peermem_invalid_context.txt":             kernelLog,
	"llama_bench_rpc_4node_strix.txt":                     later(tokenTimes),
	"llama_bench_rpc_header_iwarp_strix.txt":              later(tokenTimes),
	"llama_rpc_server_startup_strix.txt":                  later(tokenTimes),
	"lspci_lnk_connectx3_x4_downgraded.txt":               by("lspci", lspci.Parse),
	"lspci_nn_a100.txt":                                   by("lspci", lspci.Parse),
	"lspci_vvv_connectx_h100host.txt":                     by("lspci", lspci.Parse),
	"mlnx_qos_dscp_ets.txt":                               by("dcb", dcb.ParseMlnxQoS),
	"mlnx_qos_pfc_prio3_only.txt":                         by("dcb", dcb.ParseMlnxQoS),
	"nccl-tests_allgather_spark_mtu1500_16G.txt":          by("nccltests", nccltests.Read),
	"nccl-tests_allgather_superbench.txt":                 by("nccltests", nccltests.Read),
	"nccl-tests_allreduce_gb200_72gpu.txt":                by("nccltests", nccltests.Read),
	"nccl-tests_allreduce_old_8titanxp.txt":               by("nccltests", nccltests.Read),
	"nccl-tests_allreduce_single_size_a10g.txt":           by("nccltests", nccltests.Read),
	"nccl-tests_allreduce_spark_2node_2.31.txt":           by("nccltests", nccltests.Read),
	"nccl-tests_alltoall_superbench.txt":                  by("nccltests", nccltests.Read),
	"nccl-tests_broadcast_socket_no_libibverbs.txt":       by("nccltests", nccltests.Read),
	"nccl-tests_broadcast_superbench.txt":                 by("nccltests", nccltests.Read),
	"nccl-tests_reduce_superbench.txt":                    by("nccltests", nccltests.Read),
	"nccl-tests_reducescatter_superbench.txt":             by("nccltests", nccltests.Read),
	"nccl_debug_227_bootstrap_socket_ifname.txt":          ncclLog,
	"nccl_debug_asymmetric_hca_channels.txt":              ncclLog,
	"nccl_debug_async_port_error_flap.txt":                ncclLog,
	"nccl_debug_bond_roce_ibext.txt":                      ncclLog,
	"nccl_debug_e810_init_complete.txt":                   ncclLog,
	"nccl_debug_gdr_disabled_roce.txt":                    ncclLog,
	"nccl_debug_gin_net_plugin_229.txt":                   ncclLog,
	"nccl_debug_ib_error12_vendor129.txt":                 ncclLog,
	"nccl_debug_ib_sharp_ibext_v8.txt":                    ncclLog,
	"nccl_debug_ibv_modify_qp_errno19_gid0.txt":           ncclLog,
	"nccl_debug_init_complete_timings_2.2x.txt":           ncclLog,
	"nccl_debug_net_lines.txt":                            ncclLog,
	"nccl_debug_no_libibverbs_socket_vllm.txt":            ncclLog,
	"nccl_debug_roce_bootstrap_h100.txt":                  ncclLog,
	"nccl_debug_socket_fallback_no_ib_in_container.txt":   ncclLog,
	"nccl_debug_spark_ray_channels.txt":                   ncclLog,
	"nccl_plugin_mismatch_between_nodes.txt":              ncclLog,
	"nccl_topo_xml_v100_ib.txt":                           later("NCCL's view of the PCIe tree, which weft reads from sysfs"),
	"nmcli_conn_show_ib_german.txt":                       by("nmcli", nmcli.Parse),
	"nvidia-fabricmanager_wrapper_lpf.txt":                later("NVSwitch log: no check asks for it yet"),
	"nvidia-smi_L_8gpu.txt":                               by("nvsmi", nvsmi.ParseList),
	"nvidia-smi_azure_bad.txt":                            by("nvsmi", nvsmi.ParseText),
	"nvidia-smi_gb10_q_fb_memory_na.txt":                  by("nvsmi", nvsmi.ParseText),
	"nvidia-smi_gb10_query_csv.txt":                       by("nvsmi", nvsmi.ParseCSV),
	"nvidia-smi_gb10_table.txt":                           by("nvsmi", nvsmi.ParseTable),
	"nvidia-smi_q_x_rtx3090_v12.xml":                      by("nvsmi", nvsmi.ParseXML),
	"nvidia-smi_q_x_rtx4000ada_v13.xml":                   by("nvsmi", nvsmi.ParseXML),
	"nvidia-smi_topo_2gpu_nv2.txt":                        by("nvsmi", nvsmi.ParseTopo),
	"nvidia-smi_topo_4gpu_a100_2nic_hdr.txt":              by("nvsmi", nvsmi.ParseTopo),
	"nvidia-smi_topo_8gpu_a10g_phb.txt":                   by("nvsmi", nvsmi.ParseTopo),
	"nvidia-smi_topo_a100_8gpu.txt":                       by("nvsmi", nvsmi.ParseTopo),
	"nvidia-smi_topo_h100_8gpu_6nic_partial.txt":          by("nvsmi", nvsmi.ParseTopo),
	"nvidia-smi_topo_p2p_r.txt":                           by("nvsmi", nvsmi.ParseTopo),
	"nvlink_status_bad.txt":                               by("nvsmi", nvsmi.ParseNVLink),
	"odinlink_thunderbolt_crc_error_kernel.txt":           kernelLog,
	"opensm_bind_failed_kernel_6.11.txt":                  by("ibnet", ibnet.ParseOpensmLog),
	"perfquery_hca.txt":                                   by("ibnet", ibnet.ParsePerfquery),
	"perfquery_switch.txt":                                by("ibnet", ibnet.ParsePerfquery),
	"perftest_ib_loopback_8M.txt":                         by("perftest", perftest.Read),
	"perftest_ib_loopback_all_sizes.txt":                  by("perftest", perftest.Read),
	"perftest_ib_write_bw_cx3_mib.txt":                    by("perftest", perftest.Read),
	"perftest_ib_write_bw_edr_ib_header.txt":              by("perftest", perftest.Read),
	"perftest_ib_write_bw_spark_rail1_run_infinitely.txt": by("perftest", perftest.Read),
	"perftest_ib_write_lat_cx3.txt":                       by("perftest", perftest.Read),
	"perftest_out_json_invalid_unquoted.json":             by("perftest", perftest.ReadJSON),
	"proc_limits_memlock_64k.txt":                         by("host", host.ParseLimits),
	"ray_status_1node_template.txt":                       later(servingLog),
	"ray_status_2node_16gpu_idle.txt":                     later(servingLog),
	"ray_status_gpu_seen_as_tpu.txt":                      later(servingLog),
	"rccl_debug_7900xtx_rocm7.14.txt":                     ncclLog,
	"rccl_ras_v2283_connection_reset.txt":                 ncclLog,
	"rccl_ras_v2283_degraded.txt":                         ncclLog,
	"rccl_ras_v2283_healthy.txt":                          ncclLog,
	"rccl_ras_v2289_degraded.json":                        ncclLog,
	"rccl_ras_v2289_healthy.json":                         ncclLog,
	"rdma_link_flapping_ib.txt":                           by("iproute", iproute.ParseRDMALink),
	"rdma_link_mixed_ib_eth_vf_down.txt":                  by("iproute", iproute.ParseRDMALink),
	"rdma_link_strixhalo_cx_25g.txt":                      by("iproute", iproute.ParseRDMALink),
	"rocm-smi_json_radeon780m.json":                       by("rocmsmi", rocmsmi.ParseROCm),
	"rocm-smi_mi100_rocm602.json":                         by("rocmsmi", rocmsmi.ParseROCm),
	"rocm-smi_rx6700xt_rocm612.json":                      by("rocmsmi", rocmsmi.ParseROCm),
	"rocm-smi_topo_weight_8gpu.txt":                       by("rocmsmi", rocmsmi.ParseTopo),
	"rocm_memory_d2h_bw.txt":                              later(measurement),
	"rocminfo_gfx1201_isa.txt":                            by("rocmsmi", rocmsmi.ParseInfo),
	"sglang_decode_batch_log.txt":                         later(servingLog),
	"show_gids_index_differs_node_a.txt":                  by("ibdev", ibdev.ParseShowGIDs),
	"show_gids_index_differs_node_b.txt":                  by("ibdev", ibdev.ParseShowGIDs),
	"show_gids_macvlan_pod.txt":                           by("ibdev", ibdev.ParseShowGIDs),
	"sparkrun_cluster_inspect_3node_ring.txt":             later("another tool's plan of a ring, to compare serve's with, issue 7"),
	"sysfs_infiniband_hfi1_0_procfs.txt":                  sysfsCopy,
	"sysfs_infiniband_mlx5_0_h100.txt":                    sysfsCopy,
	"sysfs_infiniband_mlx5_0_procfs.txt":                  sysfsCopy,
	"sysfs_infiniband_mlx5_1_h100.txt":                    sysfsCopy,
	"uccl_gid_version_read_failed.txt":                    later("another library's log"),
	"ucx_mlx5dv_errors.txt":                               later("UCX's log during prove, issue 5"),
	"vllm_bench_serve_hetero_fp8_30b.txt":                 by("vllmbench", vllmbench.Read),
	"vllm_gpu_worker_uma_memory_line.txt":                 later(servingLog),
	"vllm_placement_group_wait.txt":                       later(servingLog),
	"vllm_pp2_startup_log_0.5.2.txt":                      later(servingLog),
	"vllm_ray_r9700_connect_log.txt":                      later(servingLog),
	"vllm_ray_worker_nccl_p2p_32ranks.txt":                ncclLog,
	"vllm_spark_launch_cluster_linklocal.txt":             later(servingLog),
}

// ncclLog is a job's log; what it says is asserted where transports are named.
var ncclLog = by("../transport", func(b []byte) (nccllog.Log, error) { return nccllog.Read(bytes.NewReader(b)) })

var kernelLog = by("kmsg", func(b []byte) ([]kmsg.Event, error) { return kmsg.Parse(b), nil })

// sysfsCopy is a flattened tree, which Bundle unfolds and the readers read.
var sysfsCopy = by(".", func(b []byte) ([]*fact.Port, error) {
	n := dump.NewNode("n")
	maps.Copy(n.Text, flattened(string(b)))
	return Node(n).Ports, nil
})

func refused(u use) use {
	u.refuse = true
	return u
}

// TestEveryFixtureIsRead holds the table and the folder together: no sample of a
// real tool lies there that weft neither reads nor says why not.
func TestEveryFixtureIsRead(t *testing.T) {
	there := fixture.All(t)
	for _, name := range there {
		if _, listed := fixtures[name]; !listed {
			t.Errorf("%s is in no row: give it a parser, or say what it is for", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		u := fixtures[name]
		if !slices.Contains(there, name) {
			t.Errorf("%s has a row and is not there any more", name)
			continue
		}
		if u.later != "" {
			continue
		}
		got, err := u.parse(fixture.Read(t, name))
		switch {
		case u.refuse && err == nil:
			t.Errorf("%s: %s took a refusal for an answer: %+v", name, u.pkg, got)
		case !u.refuse && empty(got):
			t.Errorf("%s: %s read nothing, error %v", name, u.pkg, err)
		}
		if !asserted(t, u.pkg, name) {
			t.Errorf("%s: no test in %s names it: its values are not asserted", name, u.pkg)
		}
	}
}

// empty reports whether a parser read nothing: a zero struct, an empty list.
func empty(v any) bool {
	r := reflect.ValueOf(v)
	if k := r.Kind(); k == reflect.Slice || k == reflect.Map {
		return r.Len() == 0
	}
	return r.IsZero()
}

// asserted reports whether a test of the package names the file outside a fuzz
// target's seeds and this table.
func asserted(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if file == "fixtures_test.go" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			quoted := strings.Contains(line, name+`"`)
			if quoted && !strings.Contains(strings.ToLower(line), "seed(") && !strings.Contains(line, "fuzz") && !strings.Contains(line, "f.Add(") {
				return true
			}
		}
	}
	return false
}
