package format

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/fixture"
)

// Some words for facts, so that the table below stays a table.
func portsOf(n *fact.Node) string {
	var out []string
	for _, p := range n.Ports {
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", p.Name, p.Netdev, p.State, p.Phys)), " "))
	}
	return strings.Join(out, "; ")
}

func gidsOf(n *fact.Node) string {
	var out []string
	for _, p := range n.Ports {
		for _, g := range p.GIDs {
			out = append(out, fmt.Sprintf("%s %d %s %s %s", p.Name, g.Index, g.GID, g.Type, g.Netdev))
		}
	}
	return strings.Join(out, "; ")
}

func netdevsOf(n *fact.Node) string {
	var out []string
	for _, v := range n.Netdevs {
		out = append(out, fmt.Sprintf("%s %s %d %s %s", v.Name, v.Type, v.MTU.Or(0), v.Oper, strings.Join(v.Addrs, ",")))
	}
	return strings.Join(out, "; ")
}

func pciOf(n *fact.Node) string {
	var out []string
	for _, p := range n.PCI {
		out = append(out, fmt.Sprintf("%s %s %v x%d of %v x%d", p.BDF, p.Driver, p.Cur.GTs, p.Cur.Width, p.Max.GTs, p.Max.Width))
	}
	return strings.Join(out, "; ")
}

func kmsgOf(n *fact.Node) string {
	var out []string
	for _, e := range n.Settings.Kmsg {
		out = append(out, fmt.Sprintf("%s %s %d", e.Kind, e.Device, e.Count))
	}
	return strings.Join(out, "; ")
}

func firstPort(f func(*fact.Port) string) func(*fact.Node) string {
	return func(n *fact.Node) string {
		if len(n.Ports) == 0 {
			return "no port"
		}
		return f(n.Ports[0])
	}
}

// Every fixture whose command a reader understands, alone in a folder.
func TestBundleFixtures(t *testing.T) {
	for _, c := range []struct {
		file string
		as   string // the name to give it, where the fixture's says nothing
		node string
		say  func(*fact.Node) string
		want string
	}{
		{"ibdev2netdev_spark1.txt", "", "spark-5c2d", portsOf, "roceP2p1s0f0/1 enP2p1s0f0np0 ACTIVE; roceP2p1s0f1/1 enP2p1s0f1np1 DOWN; rocep1s0f0/1 enp1s0f0np0 ACTIVE; rocep1s0f1/1 enp1s0f1np1 DOWN"},
		{"ibdev2netdev_spark2.txt", "", "spark-bd26", portsOf, "roceP2p1s0f0/1 enP2p1s0f0np0 ACTIVE; roceP2p1s0f1/1 enP2p1s0f1np1 DOWN; rocep1s0f0/1 enp1s0f0np0 ACTIVE; rocep1s0f1/1 enp1s0f1np1 DOWN"},
		{"ibdev2netdev_spark_port1.txt", "x.txt", "node", portsOf, "roceP2p1s0f0/1 enP2p1s0f0np0 DOWN; roceP2p1s0f1/1 enP2p1s0f1np1 ACTIVE; rocep1s0f0/1 enp1s0f0np0 DOWN; rocep1s0f1/1 enp1s0f1np1 ACTIVE"},
		{"ibdev2netdev_ethN.txt", "", "10", portsOf, "mlx5_0/1 eth2 ACTIVE; mlx5_1/1 eth3 ACTIVE; mlx5_2/1 eth4 ACTIVE; mlx5_3/1 eth5 ACTIVE"},
		{"rdma_link_mixed_ib_eth_vf_down.txt", "", "node2", portsOf, "mlx5_0/1 ACTIVE LinkUp; mlx5_1/1 DOWN Disabled; mlx5_2/1 ACTIVE LinkUp; mlx5_3/1 DOWN Disabled; mlx5_4/1 enp97s0f0 ACTIVE LinkUp; mlx5_5/1 DOWN Disabled; mlx5_6/1 ACTIVE LinkUp; mlx5_7/1 DOWN Disabled; mlx5_8/1 ACTIVE LinkUp"},
		{"rdma_link_strixhalo_cx_25g.txt", "x", "strixhalo", portsOf, "rocep3s0f0/1 enp3s0f0np0 ACTIVE LinkUp; rocep3s0f1/1 enp3s0f1np1 DOWN Disabled"},
		{"rdma_link_strixhalo_cx_25g.txt", "", "strix-halo-2", portsOf, "rocep3s0f0/1 ens1f0np0 ACTIVE LinkUp; rocep3s0f1/1 ens1f1np1 DOWN Disabled"},
		{"ibstat_cx7_ndr_active.txt", "", "node", portsOf, "mlx5_5/1 ACTIVE LinkUp"},
		{"ibstat_cx7_ndr_active.txt", "h/what.txt", "h", firstPort(func(p *fact.Port) string {
			return fmt.Sprint(p.Rate.Or(0), " ", p.LID.Or(0), " ", p.SMLID.Or(0), " ", p.Firmware, " ", p.Layer)
		}), "400 Gb/s 987 359 28.41.1000 InfiniBand"},
		{"ibportstate_ibstat_mlx4_disabled_fdr.txt", "", "node", portsOf, "mlx4_0/1 DOWN Disabled; mlx4_0/2 ACTIVE LinkUp"},
		{"ibstatus_bond_25g.txt", "bug/1.txt", "bug", portsOf, "mlx5_bond_0/1 ACTIVE LinkUp"},
		{"ibv_devinfo_mixed_eth_ib_mtu1024.txt", "", "node", firstPort(func(p *fact.Port) string {
			return fmt.Sprint(p.Name, " ", p.State, " ", p.ActiveMTU.Or(0), " ", p.MaxMTU.Or(0), " ", p.Layer, " ", p.Board)
		}), "mlx5_12/1 DOWN 1024 4096 Ethernet MT_0000000436"},
		{"ibv_devinfo_port_init_no_sm.txt", "notes.md", "node", portsOf, "mlx5_7/1 INIT"},
		{"ibv_devinfo_port_down_cx7.txt", "", "f51fec68bf55", firstPort(func(p *fact.Port) string { return p.State + " " + p.Layer }), "DOWN InfiniBand"},
		{"show_gids_index_differs_node_a.txt", "a/gids", "a", gidsOf, "mlx5_4/1 4 0000:0000:0000:0000:0000:ffff:ac14:0101 IB/RoCE v1 net1; mlx5_4/1 5 0000:0000:0000:0000:0000:ffff:ac14:0101 RoCE v2 net1"},
		{"sysfs_infiniband_mlx5_1_h100.txt", "", "node", firstPort(func(p *fact.Port) string {
			return fmt.Sprint(p.Name, " ", p.State, " ", p.Rate.Or(0), " ", p.Speed, " ", p.Counters["link_downed"], " ", p.Counters["excessive_buffer_overrun_errors"], " ", p.Board)
		}), "mlx5_1/1 ACTIVE 400 Gb/s NDR 255 15 MT_0000000838"},
		{"sysfs_infiniband_mlx5_0_h100.txt", "", "node", firstPort(func(p *fact.Port) string {
			return fmt.Sprint(p.Counters["port_rcv_errors"], " ", p.Counters["port_rcv_data"], " ", p.HCAType)
		}), "14 230539874932483 MT4129"},
		{"sysfs_infiniband_mlx5_0_procfs.txt", "", "node", firstPort(func(p *fact.Port) string { return p.NodeGUID + " " + p.Rate.Or(0).String() + " " + p.Width }), "0a7f:bc12:45ef:d23b 25 Gb/s 1X"},
		{"sysfs_infiniband_hfi1_0_procfs.txt", "", "node", firstPort(func(p *fact.Port) string { return p.Name + " " + p.Firmware + " " + p.Rate.Or(0).String() }), "hfi1_0/1 1.27.0 100 Gb/s"},
		{"ip_a_ipoib_connectx3.txt", "", "node", netdevsOf, "ibp195s0 infiniband 2044 up ; ibp195s0d1 infiniband 4092 down "},
		{"ip_addr_spark_linklocal.txt", "a.txt", "node", netdevsOf, "enp1s0f1np1 ether 1500 up 169.254.35.62/16,fe80::3e6d:66ff:fecc:b3b7/64"},
		{"ifconfig_docker_lo_eth.txt", "n", "node", func(n *fact.Node) string { return strings.Join(n.Netdevs[0].Addrs, " ") }, "172.99.0.1/16 f330::42:fe33:f335:7c94/64"},
		{"nvidia-smi_q_x_rtx3090_v12.xml", "", "node", func(n *fact.Node) string {
			return n.GPUs[0].Name + " " + n.Settings.GPUDriver + " " + n.Settings.CUDA
		}, "NVIDIA GeForce RTX 3090 525.147.05 12.0"},
		{"nvidia-smi_q_x_rtx4000ada_v13.xml", "gpu.log", "node", func(n *fact.Node) string { return fmt.Sprint(n.GPUs[0].Name, " ", int64(n.GPUs[0].Memory.Or(0))) }, "NVIDIA RTX 4000 SFF Ada Generation 21469593600"},
		{"nvidia-smi_gb10_table.txt", "1.txt", "node", func(n *fact.Node) string { return n.GPUs[0].BDF + " " + n.GPUs[0].Name + " " + n.Settings.GPUDriver }, "000f:01:00.0 NVIDIA GB10 580.126.09"},
		{"nvidia-smi_azure_bad.txt", "", "node", func(n *fact.Node) string { return fmt.Sprint(len(n.GPUs), " ", n.Settings.GPUDriver) }, "8 535.86.10"},
		{"rocm-smi_mi100_rocm602.json", "", "node", func(n *fact.Node) string { return fmt.Sprint(n.GPUs[0].Vendor, " ", int64(n.GPUs[0].Memory.Or(0))) }, "AMD 34342961152"},
		{"rocm-smi_rx6700xt_rocm612.json", "amd", "node", func(n *fact.Node) string { return fmt.Sprint(len(n.GPUs)) }, "1"},
		{"lspci_vvv_connectx_h100host.txt", "host/pci.txt", "host", pciOf, "0000:1a:00.0 mlx5_core 32 x16 of 32 x16; 0000:1b:00.0 mlx5_core 16 x16 of 16 x16; 0000:1b:00.1 mlx5_core 16 x16 of 16 x16"},
		{"lspci_nn_a100.txt", "", "node", func(n *fact.Node) string {
			return fmt.Sprintf("%s %04x:%04x", n.PCI[0].BDF, n.PCI[0].Vendor, n.PCI[0].Device)
		}, "0001:00:00.0 10de:20b2"},
		{"proc_limits_memlock_64k.txt", "", "node", func(n *fact.Node) string { return fmt.Sprint(uint64(n.Settings.Memlock.Login.Or(0))) }, "65536"},
		{"dmesg_mlx4_connectx3_strixhalo.txt", "x.log", "node", func(n *fact.Node) string { return fmt.Sprint(n.Settings.KmsgRead, " ", kmsgOf(n) != "") }, "true true"},
		{"odinlink_thunderbolt_crc_error_kernel.txt", "", "node", func(n *fact.Node) string { return fmt.Sprint(kmsgOf(n) != "") }, "true"},
		{"dmesg_xid119.txt", "", "node", func(n *fact.Node) string { return fmt.Sprint(strings.Contains(kmsgOf(n), "xid")) }, "true"},
	} {
		name := c.as
		if name == "" {
			name = c.file
		}
		d, notes := Bundle(map[string][]byte{name: fixture.Read(t, c.file)})
		f := Facts(d)
		n := f.Node(c.node)
		if n == nil {
			t.Errorf("%s: no node %s, notes %q", c.file, c.node, notes)
			continue
		}
		if got := c.say(n); got != c.want {
			t.Errorf("%s as %s:\n got %s\nwant %s", c.file, name, got, c.want)
		}
		if slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "left out") }) {
			t.Errorf("%s: notes %q", c.file, notes)
		}
		if _, err := dump.Parse(d.Format()); err != nil {
			t.Errorf("%s: own format: %v", c.file, err)
		}
	}
}

// What a parser reads is recognised under a name that tells nothing, unless only
// its name can tell; what none reads is not mistaken for something else.
func TestBundleRecognises(t *testing.T) {
	byNameOnly := []string{"amd-smi_metric_json_igpu.txt", "amd-smi_ainic_ionic_down.txt", "ibswinfo_1.txt", "ibswinfo_err1.txt",
		"kmsg_nvidia_peermem_invalid_context.txt", "lspci_lnk_connectx3_x4_downgraded.txt", "nmcli_conn_show_ib_german.txt", "nvidia-smi_gb10_q_fb_memory_na.txt",
		"opensm_bind_failed_kernel_6.11.txt", "perfquery_hca.txt", "perfquery_switch.txt", "rocm-smi_topo_weight_8gpu.txt", "rocminfo_gfx1201_isa.txt"}
	for name, u := range fixtures {
		for _, as := range []string{name, "x"} {
			_, notes := Bundle(map[string][]byte{as: fixture.Read(t, name)})
			left := slices.Contains(notes, as+": not recognised, left out")
			if want := u.later != "" || u.measures() || as == "x" && slices.Contains(byNameOnly, name); left != want {
				t.Errorf("%s as %s: left out %v, want %v: %q", name, as, left, want, notes)
			}
		}
	}
}

func TestBundleFabric(t *testing.T) {
	d, _ := Bundle(map[string][]byte{"fabric.txt": fixture.Read(t, "ibnetdiscover_topograph_head.txt")})
	f := Fabric(d)
	// eight switches of their own, nine spines that only their links name
	if f == nil || len(f.Switches) != 17 || f.Switches[0].GUID != "0x2c5eab0300b87b40" || f.Switches[0].Ports != 65 {
		t.Error("the switches are wrong")
	}
	d, _ = Bundle(map[string][]byte{"p": fixture.Read(t, "ibnetdiscover_hdr.txt")})
	if f := Fabric(d); f == nil || len(f.Links) != 4 || f.Links[0].A.Name+" "+f.Links[0].B.Name != "o0001 HCA-1 ib-i1l1s01" {
		t.Errorf("fabric %+v", f)
	}
}

// Several outputs of one node add up: mlnx_qos and ethtool need a port or an
// interface to speak of.
func TestBundleAddsUp(t *testing.T) {
	d, _ := Bundle(map[string][]byte{
		"ibdev2netdev.txt":                    fixture.Read(t, "ibdev2netdev_ethN.txt"),
		"qos.txt":                             fixture.Read(t, "mlnx_qos_dscp_ets.txt"),
		"ethtool_-i_eth2.txt":                 fixture.Read(t, "ethtool_i_ice_e810.txt"),
		"ethtool_eth1.txt":                    fixture.Read(t, "ethtool_link_settings.txt"),
		"ethtool-S-eth2.out":                  []byte("NIC statistics:\n     rx_prio3_pause: 12\n"),
		"ethtool_-a_eth2.txt":                 []byte("Pause parameters for eth2:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n"),
		"ip_-j_addr.json":                     []byte(`[{"ifindex":2,"ifname":"eth1","mtu":9000,"operstate":"UP","link_type":"ether","addr_info":[]},{"ifindex":3,"ifname":"eth2","mtu":1500,"operstate":"UP","link_type":"ether","addr_info":[{"family":"inet","local":"192.0.2.1","prefixlen":24}]}]`),
		"ip route.txt":                        []byte("192.0.2.0/24 dev eth2 proto kernel scope link src 192.0.2.1\n"),
		"lsmod.txt":                           []byte("Module                  Size  Used by\nmlx5_ib               450560  0\nib_core               430080  2 mlx5_ib,rdma_cm\n"),
		"uname_-a.txt":                        []byte("Linux box 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux\n"),
		"sys/class/net/eth2/ifindex":          []byte("3\n"),
		"sys/class/net/eth1/ifindex":          []byte("2\n"),
		"sys/class/net/eth2/name_assign_type": []byte("4\n"),
	})
	n := Node(d.Node("10"))
	p := n.Port("mlx5_0/1")
	if p == nil {
		t.Fatal("no port mlx5_0/1")
	}
	if want := []bool{true, false, true, false, false, false, true, true}; !slices.Equal(p.QoS.PFC, want) || p.QoS.Trust != "dscp" {
		t.Errorf("PFC %v trust %s", p.QoS.PFC, p.QoS.Trust)
	}
	if p.QoS.PausePrio[3] != 12 || !p.QoS.PauseRx.Or(false) || p.QoS.PauseTx.Or(true) {
		t.Errorf("pause %+v", p.QoS)
	}
	eth2, eth1 := n.Netdev("eth2"), n.Netdev("eth1")
	if eth2 == nil || eth2.Driver != "ice" || eth2.BDF != "0000:c2:00.0" || eth2.MTU.Or(0) != 1500 || !slices.Equal(eth2.Addrs, []string{"192.0.2.1/24"}) {
		t.Errorf("eth2 %+v", eth2)
	}
	if eth1 == nil || eth1.Speed.Or(0).String() != "1 Gb/s" {
		t.Errorf("eth1 %+v", eth1)
	}
	s := n.Settings
	if !slices.Equal(s.Modules, []string{"mlx5_ib", "ib_core"}) || len(s.Routes) != 1 || n.Host.Kernel != "6.8.0-45-generic" || n.Host.Arch != "x86_64" {
		t.Errorf("settings %+v host %+v", s, n.Host)
	}
	// lsmod alone must not make silence of the rest into knowledge.
	if s.KmsgRead || s.EnvRead || s.DevicesRead || s.LibrariesRead {
		t.Errorf("nobody asked for the kernel log, variables, device files or libraries: %+v", s)
	}
}

func TestBundleNodes(t *testing.T) {
	ibstat := func(dev string) []byte {
		return []byte("CA '" + dev + "'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n")
	}
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string // node key, in order
	}{
		"a folder a node":    {map[string][]byte{"n1/ibstat.txt": ibstat("a"), "n2/ibstat": ibstat("b")}, "n1 $ ibstat; n2 $ ibstat"},
		"a wrapper":          {map[string][]byte{"lab/n1/ibstat.txt": ibstat("a"), "lab/n2/ibstat": ibstat("b")}, "n1 $ ibstat; n2 $ ibstat"},
		"sosreport":          {map[string][]byte{"sos-h1/sos_commands/infiniband/ibstat": ibstat("a"), "sos-h1/sys/class/net/eth0/mtu": []byte("9000\n")}, "sos-h1 $ ibstat; sos-h1 /sys/class/net/eth0/mtu"},
		"a prompt":           {map[string][]byte{"a.txt": append([]byte("root@spark1:~# ibstat\n"), ibstat("a")...), "uname": []byte("Linux x 6.1.0 #1 x86_64\n")}, "spark1 $ ibstat; spark1 $ uname -m; spark1 /proc/sys/kernel/osrelease"},
		"one transcript":     {map[string][]byte{"a.txt": []byte("me@h1 ~ % sudo ibstat | less\n" + string(ibstat("a")) + "me@h2:~$ cat /proc/cmdline\nquiet\n")}, "h1 $ ibstat; h2 /proc/cmdline"},
		"no name":            {map[string][]byte{"ibstat.txt": ibstat("a")}, "node $ ibstat"},
		"an odd name":        {map[string][]byte{"my node (1)/ibstat.txt": ibstat("a")}, "my-node--1 $ ibstat"},
		"a dump's tree":      {map[string][]byte{"n1/$ ibstat": ibstat("a"), "n1/proc/self/limits": []byte("x\n")}, "n1 $ ibstat; n1 /proc/self/limits"},
		"grep -r":            {map[string][]byte{"n1/x": []byte("/sys/bus/pci/devices/0000:01:00.0/class:0x020000\n/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n")}, "n1 /sys/bus/pci/devices/0000:01:00.0/class; n1 /sys/class/infiniband/mlx5_0/ports/1/state"},
		"head of files":      {map[string][]byte{"n1/x": []byte("==> /sys/class/net/eth0/mtu <==\n9000\n\n==> /sys/class/net/eth0/flags <==\n0x1003\n")}, "n1 /sys/class/net/eth0/mtu"},
		"numbers in front":   {map[string][]byte{"01-ibstat.out.txt": ibstat("a")}, "node $ ibstat"},
		"windows":            {map[string][]byte{`n1\ibstat.txt`: []byte("\ufeffCA 'a'\r\n\tNumber of ports: 1\r\n\tPort 1:\r\n")}, "n1 $ ibstat"},
		"outside the folder": {map[string][]byte{"../../etc/os-release": []byte("ID=debian\n")}, "node /etc/os-release"},
	} {
		d, notes := Bundle(c.files)
		var got []string
		for _, n := range d.Nodes {
			for _, k := range slices.Sorted(maps.Keys(n.Text)) {
				got = append(got, n.Name+" "+k)
			}
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: got %s, want %s, notes %q", name, s, c.want, notes)
		}
	}
}

func TestBundleNotes(t *testing.T) {
	_, notes := Bundle(map[string][]byte{
		"n/x.txt":                   []byte("hello\n"),
		"n/empty":                   nil,
		"n/core":                    []byte("\x7fELF\x00\x01"),
		"n/huge.txt":                make([]byte, dump.MaxText+1),
		"n/perfquery.txt":           []byte("# Port counters: Lid 3 port 1\nPortSelect:...1\n"),
		"n/ethtool_-i.txt":          []byte("driver: ice\nversion: 1\nbus-info: 0000:01:00.0\n"),
		"n/ibstat.txt":              []byte("bash: ibstat: command not found\n"),
		"n/ibstat2.txt":             []byte("CA 'a'\n"),
		"n/sys/module/x/sections/y": []byte("1\n"),
		"n/ip-j-addr.json":          []byte("[]"),
		"n/ip_addr.json":            []byte(`[{"ifname":"lo"}]`),
	})
	want := []string{
		"n/core: not text, left out",
		"n/empty: empty, left out",
		"n/huge.txt: more than 16 MiB, left out",
		"n/ethtool_-i.txt: ethtool -i of which interface? name the file ethtool_-i_DEV.txt",
		"n/ip_addr.json: a second ip -j addr of n, left out; put the files of each node into a folder of its own",
		"n/perfquery.txt: perfquery: weft takes no fact from it, left out",
		"n/x.txt: not recognised, left out",
		"1 files below /sys, /proc and /etc that weft does not read, left out",
		"no RDMA port: run ibv_devinfo and rdma link, or weft collect",
		"no PCI path: run lspci -vv as root, or weft collect",
		"no address: run ip -j addr, or weft collect",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
	d, notes := Bundle(map[string][]byte{"n/ibstat.txt": []byte("bash: ibstat: command not found\n")})
	if got := d.Node("n").Gap["$ ibstat"]; got != "bash: ibstat: command not found" {
		t.Errorf("gap %q, notes %q", got, notes)
	}
	if d, notes := Bundle(nil); len(d.Nodes) != 0 || len(notes) != 0 {
		t.Errorf("of nothing: %v %q", d, notes)
	}
}

// A tar of a real node: command outputs beside a copy of /sys.
func TestBundleOfSamples(t *testing.T) {
	z, err := gzip.NewReader(bytes.NewReader(fixture.Read(t, "lab/samples/sysfs-k61.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[path.Join("vm", h.Name)] = b
		}
	}
	d, notes := Bundle(files)
	n := Node(d.Node("vm"))
	if got, want := portsOf(n), "rxe_0/1 data0 ACTIVE LinkUp; rxe_1/1 data1 ACTIVE LinkUp"; got != want {
		t.Errorf("ports %s, want %s", got, want)
	}
	if got := n.Netdev("data0"); got == nil || got.Driver != "virtio_net" || len(got.Addrs) == 0 {
		t.Errorf("data0 %+v", got)
	}
	for _, s := range notes {
		if strings.Contains(s, "not recognised") {
			t.Error(s)
		}
	}
}

// A redacted dump is judged like the original: but for the addresses themselves,
// the facts are the same.
func TestRedactedFactsAreTheSame(t *testing.T) {
	blank := regexp.MustCompile(`GPU-[0-9a-f-]{36}|0x[0-9a-f]{16}|[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]+`)
	seen := 0
	for name, u := range fixtures {
		if u.later != "" {
			continue
		}
		d, _ := Bundle(map[string][]byte{name: fixture.Read(t, name)})
		before, err := json.Marshal(Facts(d))
		if err != nil {
			t.Fatal(err)
		}
		after, err := json.Marshal(Facts(dump.Redact(d, []byte("k"))))
		if err != nil {
			t.Fatal(err)
		}
		if string(before) != string(after) {
			seen++
		}
		want, got := blank.ReplaceAllString(string(before), "#"), blank.ReplaceAllString(string(after), "#")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff[:min(len(diff), 600)])
		}
	}
	if seen < 15 {
		t.Errorf("only %d fixtures had something to redact in their facts", seen)
	}
}

func FuzzBundle(f *testing.F) {
	f.Add("n/ibstat.txt", []byte("root@h:~# ibstat\nCA 'a'\n"), "b", []byte("==> /sys/class/net/eth0/mtu <==\n1"))
	f.Add("../x", []byte("\x00\xff"), "sys/class/net/e/mtu", []byte("/proc/modules:x 1 1 - Live 0x0"))
	f.Add("ip-a", []byte("# ethtool -S\nNIC statistics:\n"), "mlnx_qos", []byte("PFC configuration:\n"))
	f.Fuzz(func(t *testing.T, a string, x []byte, b string, y []byte) {
		files := map[string][]byte{a: x, b: y}
		d, notes := Bundle(files)
		again, notes2 := Bundle(files)
		if string(d.Format()) != string(again.Format()) || !slices.Equal(notes, notes2) {
			t.Fatal("the same files gave two bundles")
		}
		Facts(d)
		if len(d.Nodes) == 0 {
			return
		}
		members := 0
		for _, n := range d.Nodes {
			members += len(n.Text) + len(n.Gap)
		}
		if _, err := dump.Parse(d.Format()); err != nil && members > 0 {
			t.Fatalf("own format: %v", err)
		}
	})
}
