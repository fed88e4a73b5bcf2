package platform

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/internal/fact"
)

func TestRowsAreWhole(t *testing.T) {
	nics := map[uint32]string{}
	for _, n := range NICs {
		id := uint32(n.Vendor)<<16 | uint32(n.Device)
		if nics[id] != "" {
			t.Errorf("%04x:%04x is %s and %s", n.Vendor, n.Device, nics[id], n.Name)
		}
		nics[id] = n.Name
		if n.Source == "" || n.Name == "" || n.Driver == "" || len(n.Modules) < 2 || len(n.Layers) == 0 {
			t.Errorf("%04x:%04x %s lacks a source, name, driver, modules or layers", n.Vendor, n.Device, n.Name)
		}
		if n.VF != strings.HasSuffix(n.Name, "VF") || n.VF && n.Rate != 0 {
			t.Errorf("%s: VF %v, rate %v", n.Name, n.VF, n.Rate)
		}
	}
	gpus, matches := map[string]string{}, map[string]bool{}
	for _, g := range GPUs {
		if matches[g.Match] {
			t.Errorf("%s is listed twice", g.Match)
		}
		matches[g.Match] = true
		for _, d := range g.Devices {
			id := fmt.Sprintf("%s %04x", g.Vendor, d)
			if gpus[id] != "" {
				t.Errorf("%s is %s and %s", id, gpus[id], g.Match)
			}
			gpus[id] = g.Match
		}
		if g.Source == "" || !slices.Contains([]string{"NVIDIA", "AMD"}, g.Vendor) || !slices.Contains([]string{"yes", "no", "conditional"}, g.Direct) ||
			!slices.Contains([]string{"datacenter", "workstation", "geforce", "integrated"}, g.Class) || g.Arch == "" {
			t.Errorf("%s: %+v", g.Match, g)
		}
		if len(g.Features) != len(Features) {
			t.Errorf("%s answers %d features of %d: %v", g.Match, len(g.Features), len(Features), g.Features)
		}
		for f, v := range g.Features {
			if v != "yes" && v != "no" && (!strings.HasPrefix(v, "unclear: ") || len(v) < len("unclear: why")) {
				t.Errorf("%s %s: %q", g.Match, f, v)
			}
		}
		if direct := g.Features["gpudirect"]; (g.Direct == "no") != (direct == "no") {
			t.Errorf("%s: Direct %q but gpudirect %q", g.Match, g.Direct, direct)
		}
	}
	for _, f := range Features {
		if Instead[f] == "" {
			t.Errorf("nothing to use instead of %s", f)
		}
	}
	seen := map[string]bool{}
	for _, q := range Quants {
		key := q.On + " " + q.Quant + " " + q.MoE
		if seen[key] {
			t.Errorf("%s is listed twice", key)
		}
		seen[key] = true
		if q.Source == "" || !slices.Contains([]string{"works", "broken", "unknown"}, q.Verdict) || (q.Verdict != "works") != (q.Instead != "") || q.Verdict != "works" && q.Note == "" {
			t.Errorf("%s: %+v", key, q)
		}
	}
	for _, k := range KernelMins {
		if k.Source == "" || k.Why == "" || len(numbers(k.Min)) < 3 {
			t.Errorf("kernel row %+v", k)
		}
	}
	for _, d := range Drops {
		if d.Source == "" || d.Note == "" {
			t.Errorf("drop row %+v", d)
		}
	}
	for _, p := range []Platform{Spark, StrixHalo} {
		if p.Source == "" || p.Note == "" {
			t.Errorf("platform %+v", p)
		}
	}
}

// TestIDsAgainstPCIIDs holds every id against the machine's own pci.ids; ids
// that are newer than that file are left out by their source.
func TestIDsAgainstPCIIDs(t *testing.T) {
	f, err := os.Open("/usr/share/misc/pci.ids")
	if err != nil {
		t.Skip("no pci.ids on this machine: ", err)
	}
	defer f.Close()
	names := map[string]string{}
	vendor := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if id, _, ok := strings.Cut(line, "  "); ok && len(id) == 4 && isHex(id) {
			vendor = id
		} else if id, name, ok := strings.Cut(strings.TrimPrefix(line, "\t"), "  "); ok && len(id) == 4 && line[0] == '\t' {
			names[vendor+":"+id] = name
		}
	}
	for _, n := range NICs {
		id := fmt.Sprintf("%04x:%04x", n.Vendor, n.Device)
		want := strings.TrimSuffix(strings.TrimSuffix(strings.Fields(strings.TrimPrefix(n.Name, "AMD "))[0], "-C"), "-L")
		if n.Name == "AMD Pensando" || n.Name == "AMD Pensando VF" {
			want = "DSC Ethernet"
		}
		switch name, known := names[id]; {
		case !known && !strings.HasPrefix(n.Source, ids23): // newer than the oldest file this runs with
		case !strings.Contains(name, want):
			t.Errorf("%s is %q, not %s", id, name, n.Name)
		}
	}
	vendors := map[string]string{"NVIDIA": "10de", "AMD": "1002"}
	for _, g := range GPUs {
		for _, d := range g.Devices {
			id := fmt.Sprintf("%s:%04x", vendors[g.Vendor], d)
			if name, known := names[id]; !known && !strings.Contains(g.Source, ids26) {
				t.Errorf("%s (%s) is not in pci.ids: %q", id, g.Match, name)
			}
		}
	}
}

func isHex(s string) bool {
	_, err := strconv.ParseUint(s, 16, 16)
	return err == nil
}

func TestGPUOf(t *testing.T) {
	for _, c := range []struct {
		gpu   fact.GPU
		match string
	}{
		{fact.GPU{Name: "NVIDIA H100 80GB HBM3"}, "H100"},
		{fact.GPU{Name: "NVIDIA GH200 480GB"}, "GH200"},
		{fact.GPU{Name: "NVIDIA GB200"}, "GB200"},
		{fact.GPU{Name: "NVIDIA B200"}, "B200"},
		{fact.GPU{Name: "NVIDIA A100-SXM4-80GB"}, "A100"},
		{fact.GPU{Name: "Tesla P100-SXM2-16GB"}, "P100-SXM2"},
		{fact.GPU{Name: "Tesla P100-PCIE-16GB"}, "P100"},
		{fact.GPU{Name: "Tesla P4"}, "P4"},
		{fact.GPU{Name: "Tesla P40"}, ""},
		{fact.GPU{Name: "Tesla K20Xm"}, "K20*"},
		{fact.GPU{Name: "NVIDIA L4"}, "L4"},
		{fact.GPU{Name: "NVIDIA L40S"}, "L40S"},
		{fact.GPU{Name: "NVIDIA L40"}, ""},
		{fact.GPU{Name: "NVIDIA GeForce RTX 3090 Ti"}, "GeForce RTX 3090*"},
		{fact.GPU{Name: "NVIDIA GeForce RTX 3070"}, "GeForce RTX 30*"},
		{fact.GPU{Name: "NVIDIA RTX PRO 6000 Blackwell Server Edition"}, "RTX PRO 6000 Blackwell"},
		{fact.GPU{Name: "NVIDIA GB10"}, "GB10"},
		{fact.GPU{Name: "AMD Radeon 8060S Graphics", Arch: "gfx1151"}, "gfx1151"},
		{fact.GPU{Vendor: "AMD", Device: 0x74a1}, "gfx942"},
		{fact.GPU{Vendor: "NVIDIA", Device: 0x2330}, "H100"},
		{fact.GPU{Vendor: "NVIDIA", Device: 0x74a1}, ""},
		{fact.GPU{}, ""},
	} {
		if got, ok := GPUOf(&c.gpu); got.Match != c.match || ok != (c.match != "") {
			t.Errorf("GPUOf(%+v) = %q, %v; want %q", c.gpu, got.Match, ok, c.match)
		}
	}
}

func TestNICOf(t *testing.T) {
	n, ok := NICOf(&fact.PCI{Vendor: 0x15b3, Device: 0x1021})
	if !ok || n.Name != "ConnectX-7" || !n.GPUDirect || n.DMABuf != "5.12" {
		t.Errorf("ConnectX-7 is %+v, %v", n, ok)
	}
	if n, ok := NICOf(&fact.PCI{Vendor: 0x15b3, Device: 0x1003}); !ok || n.GPUDirect || n.Driver != "mlx4_ib" {
		t.Errorf("ConnectX-3 is %+v, %v", n, ok)
	}
	if n, ok := NICOf(&fact.PCI{Vendor: 0x8086, Device: 0x1592}); !ok || n.MinFirmware != "4.91" {
		t.Errorf("E810 is %+v, %v", n, ok)
	}
	if n, ok := NICOf(&fact.PCI{Vendor: 0x10ec, Device: 0x8125}); ok {
		t.Errorf("a Realtek is %+v", n)
	}
}

func TestOfAndTwin(t *testing.T) {
	spark := &fact.Node{GPUs: []*fact.GPU{{Name: "NVIDIA GB10"}}, Ports: []*fact.Port{
		{Device: "rocep1s0f0", Num: 1, BDF: "0000:01:00.0"},
		{Device: "rocep1s0f1", Num: 1, BDF: "0000:01:00.1"},
		{Device: "roceP2p1s0f0", Num: 1, BDF: "0002:01:00.0"},
	}}
	if p, ok := Of(spark); !ok || p.ID != "spark" {
		t.Errorf("a Spark is %+v, %v", p, ok)
	}
	if twin, ok := Twin(spark, spark.Ports[0]); !ok || twin.Device != "roceP2p1s0f0" {
		t.Errorf("the twin is %+v, %v", twin, ok)
	}
	if twin, ok := Twin(spark, spark.Ports[1]); ok {
		t.Errorf("rocep1s0f1 has twin %+v", twin)
	}
	if p, ok := Of(&fact.Node{GPUs: []*fact.GPU{{Name: "NVIDIA H100 80GB HBM3"}}}); ok {
		t.Errorf("an H100 machine is %+v", p)
	}
}

func TestQuantOf(t *testing.T) {
	strix := fact.GPU{Vendor: "AMD", Arch: "gfx1151"}
	for _, c := range []struct {
		gpu     fact.GPU
		quant   string
		moe     bool
		verdict string // "" is not known
	}{
		{strix, "awq", true, "broken"},
		{strix, "AWQ", true, "broken"},
		{strix, "awq", false, "unknown"},
		{strix, "w4a16", true, "works"},
		{strix, "fp8", true, "broken"},
		{strix, "nvfp4", false, "broken"},
		{fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA H100 80GB HBM3", Arch: "Hopper"}, "fp8", true, "works"},
		{fact.GPU{Vendor: "NVIDIA", Name: "Tesla P4"}, "fp8", false, "broken"},
		{fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA B200"}, "int8", false, "broken"},
		{fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA GB10"}, "nvfp4", true, "works"},
		{fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA H100 80GB HBM3"}, "ternary", false, ""},
		{fact.GPU{}, "fp8", false, ""},
	} {
		if got, ok := QuantOf(&c.gpu, c.quant, c.moe); got.Verdict != c.verdict || ok != (c.verdict != "") {
			t.Errorf("QuantOf(%s%s, %s, %v) = %q, %v; want %q", c.gpu.Name, c.gpu.Arch, c.quant, c.moe, got.Verdict, ok, c.verdict)
		}
	}
}

func TestKernelMinOf(t *testing.T) {
	g := &fact.GPU{Vendor: "AMD", Arch: "gfx1151"}
	for _, c := range []struct{ distro, kernel, min string }{
		{"fedora", "6.17.1-300.fc43.x86_64", "6.18.4"},
		{"ubuntu", "6.17.0-19-generic", "6.17.0-19"},
		{"ubuntu", "6.14.0-1018-oem", "6.14.0-1018"},
		{"debian", "6.12.0-1-generic", "6.18.4"},
		{"", "", "6.18.4"},
	} {
		if k, ok := KernelMinOf(g, fact.Host{Distro: c.distro, Kernel: c.kernel}); !ok || k.Min != c.min {
			t.Errorf("%s %s wants %q, %v; want %q", c.distro, c.kernel, k.Min, ok, c.min)
		}
	}
	if k, ok := KernelMinOf(&fact.GPU{Name: "NVIDIA L4"}, fact.Host{}); ok {
		t.Errorf("an L4 wants %+v", k)
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		version, least string
		reached, ok    bool
	}{
		{"6.18.4", "6.18.4", true, true},
		{"6.18.3-200.fc43.x86_64", "6.18.4", false, true},
		{"6.18.9-200.fc43.x86_64", "6.18.4", true, true},
		{"6.19.0", "6.19", true, true},
		{"7.0.1", "6.18.4", true, true},
		{"6.17.0-18-generic", "6.17.0-19", false, true},
		{"6.17.0-19-generic", "6.17.0-19", true, true},
		{"6.14.0-1017-oem", "6.14.0-1018", false, true},
		{"6.20-rc1", "6.19", true, true},
		{"580.126.09", "515", true, true},
		{"99999999999999999999.1", "1", false, false},
		{"next-20260101", "6.18.4", false, false},
		{"", "6.18.4", false, false},
	} {
		if reached, ok := AtLeast(c.version, c.least); reached != c.reached || ok != c.ok {
			t.Errorf("AtLeast(%q, %q) = %v, %v; want %v, %v", c.version, c.least, reached, ok, c.reached, c.ok)
		}
	}
}

func TestDropOf(t *testing.T) {
	for _, c := range []struct {
		module string
		host   fact.Host
		want   bool
	}{
		{"mlx4_core", fact.Host{Distro: "rhel", Version: "10.1"}, true},
		{"mlx4_core", fact.Host{Distro: "rocky", Like: "rhel centos fedora", Version: "10.0"}, true},
		{"mlx4_core", fact.Host{Distro: "rhel", Version: "9.6"}, false},
		{"mlx4_core", fact.Host{Distro: "fedora", Version: "43"}, false},
		{"mlx5_core", fact.Host{Distro: "rhel", Version: "10.1"}, false},
		{"mlx4_core", fact.Host{Distro: "rhel"}, false},
	} {
		if _, got := DropOf(c.module, c.host); got != c.want {
			t.Errorf("DropOf(%s, %+v) = %v", c.module, c.host, got)
		}
	}
}
