package sample_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weft/internal/check"
	"weft/internal/format"
	"weft/internal/sample"
)

// One thing broken on one of two healthy servers is one thing found: these checks
// fail, warn or do not know, and no others.
func TestOneFaultAtATime(t *testing.T) {
	tests := []struct {
		name string
		do   func(m *sample.Machine)
		want []string
	}{
		{"MTU of one interface", func(m *sample.Machine) { m.Netdev("ens1f0np0").MTU = 1500 }, []string{"roce.mtu"}},
		{"no PFC", func(m *sample.Machine) { m.Netdev("ens1f0np0").QoS.PFC = [8]bool{} }, []string{"roce.pfc"}},
		{"PFC on all", func(m *sample.Machine) { m.Netdev("ens1f0np0").QoS.PFC[5] = true }, []string{"roce.pfc"}},
		{"trusts the VLAN tag", func(m *sample.Machine) { m.Netdev("ens1f0np0").QoS.DSCP = nil }, []string{"roce.trust"}},
		{"traffic class", func(m *sample.Machine) { m.Netdev("ens1f0np0").QoS.TC = 0 }, []string{"roce.tc"}},
		{"global pause", func(m *sample.Machine) { m.Netdev("ens1f0np0").QoS.Pause = true }, []string{"roce.pause"}},
		{"cable out", func(m *sample.Machine) { m.Unplug(m.Device("mlx5_0")) }, []string{"port.up"}},
		{"half rate", func(m *sample.Machine) {
			m.Device("mlx5_0").Ports[0].Rate, m.Netdev("ens1f0np0").Mbps = "100 Gb/sec (2X HDR)", 100000
		}, []string{"port.rate"}},
		{"in-tree driver under OFED", func(m *sample.Machine) { m.InTree = true }, []string{"node.ofed"}},
		{"no images", func(m *sample.Machine) { m.Images = nil }, []string{"stack.image"}},
		{"HCA list", func(m *sample.Machine) { m.Export("/etc/environment", "NCCL_IB_HCA=mlx5_7") }, []string{"nccl.env"}},
		{"PCIe lanes lost", func(m *sample.Machine) { m.At("0000:17:00.0").Cur.Width = 8 }, []string{"pcie.path"}},
		{"ASPM", func(m *sample.Machine) { m.At("0000:17:00.0").L1 = true }, []string{"node.aspm"}},
		{"MaxReadReq", func(m *sample.Machine) { m.At("0000:17:00.0").MaxRead = 512 }, []string{"pcie.mrrs"}},
		{"IOMMU translates", func(m *sample.Machine) { m.Passthrough = false }, []string{"node.iommu"}},
		{"link errors", func(m *sample.Machine) { m.Device("mlx5_0").Ports[0].Errors = map[string]uint64{"symbol_error": 5000} }, []string{"port.errors"}},
		{"hot card", func(m *sample.Machine) { m.Device("mlx5_0").Temp = 106 }, []string{"port.temp"}},
		{"firmware", func(m *sample.Machine) { m.Device("mlx5_1").Card.Firmware = "20.28.1002" }, []string{"port.firmware"}},
		{"memlock", func(m *sample.Machine) { m.Memlock, m.Limits = 65536, "" }, []string{"node.memlock"}},
		{"device files", func(m *sample.Machine) { m.User, m.Groups, m.VerbsMode = "me", []string{"me"}, "crw-rw---- root rdma" }, []string{"node.devices"}},
		{"clock", func(m *sample.Machine) { m.Skew = -3 * time.Second }, []string{"node.clock"}},
		{"no NTP", func(m *sample.Machine) { m.Unsynced = true }, []string{"node.clock"}},
		{"kernel", func(m *sample.Machine) {
			m.Kernel = "5.15.0-100-generic"
			m.DKMS = nil
		}, []string{"node.kernel"}},
		{"packages", func(m *sample.Machine) { m.Missing = []string{"perftest"} }, []string{"node.packages"}},
		{"peermem", func(m *sample.Machine) { m.Unload("nvidia_peermem") }, []string{"gpu.direct"}},
		{"firewall", func(m *sample.Machine) { m.Zones = []sample.Zone{{Name: "public", Target: "default"}} }, []string{"node.firewall"}},
		{"ssh on the data plane", func(m *sample.Machine) { m.SSHTo = "10.10.1.2" }, []string{"plane.separate"}},
		{"environment", func(m *sample.Machine) { m.Export("/etc/environment", "NCCL_SOCKET_IFNAME=eth7") }, []string{"nccl.env"}},
		{"image", func(m *sample.Machine) {
			m.Images = []sample.Image{{Name: "vllm/vllm-openai", Tag: "v0.11.0", Digest: "sha256:00ff00ff00ff"}}
		}, []string{"stack.image"}},
		{"library", func(m *sample.Machine) { m.Libs = []string{"/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.1"} }, []string{"stack.nccl"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sample.RoCE("n", 2)
			tt.do(c.Machines[1])
			var got []string
			for _, f := range check.Run(check.All, &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}) {
				if f.Status >= check.Warn {
					got = append(got, f.Check)
				}
			}
			slices.Sort(got)
			if d := cmp.Diff(tt.want, slices.Compact(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// A GPU and a NIC below one PCIe switch reach each other there, unless ACS sends
// their packets up to the processor and back.
func TestSwitchedServer(t *testing.T) {
	m := sample.New("n1", 1)
	full := sample.Link{GTs: 16, Width: 16}
	down := m.SwitchBelow(m.Root("0000:16:02.0", 0, full), 0x17, full)
	m.Plug(sample.ConnectX6, "0000:19:00.0", down[0], "mlx5_0", "ens1np0", 200)
	m.AddGPU(sample.A100, "0000:1a:00.0", down[1])
	if got := acs(m); got != "pass" {
		t.Errorf("a switch without redirection: node.acs says %s", got)
	}
	m.At("0000:18:01.0").Redirect = true
	if got := acs(m); got != "fail" {
		t.Errorf("a switch with redirection: node.acs says %s", got)
	}
}

func acs(m *sample.Machine) string {
	c := &sample.Cluster{Machines: []*sample.Machine{m}}
	out := ""
	for _, f := range check.Run(check.All, &check.Case{Cluster: format.Facts(c.Dump())}) {
		if f.Check == "node.acs" {
			out += f.Status.String()
		}
	}
	return out
}
