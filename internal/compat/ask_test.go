package compat

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/spec"
)

func TestVerdict(t *testing.T) {
	d := Matrix()
	moe, dense := &Model{Name: "m", Kind: "moe"}, &Model{Name: "m", Kind: "dense"}
	for name, c := range map[string]struct {
		ask  Ask
		want string
	}{
		"the silent hang":                {Ask{GPUs: []string{"gfx1151"}, Quants: []string{"awq"}, Engines: []string{"vllm"}, Model: moe}, No},
		"with any engine":                {Ask{GPUs: []string{"gfx1151"}, Quants: []string{"awq"}, Model: moe}, No},
		"what runs instead":              {Ask{GPUs: []string{"gfx1151"}, Quants: []string{"w4a16"}, Model: moe}, Yes},
		"dense may run":                  {Ask{GPUs: []string{"gfx1151"}, Quants: []string{"awq"}, Model: dense}, Partly},
		"an engine is left open":         {Ask{GPUs: []string{"P4"}, Quants: []string{"gguf"}}, Yes},
		"the named engine decides":       {Ask{GPUs: []string{"P4"}, Quants: []string{"gguf"}, Engines: []string{"vllm"}}, No},
		"all GPUs that are named count":  {Ask{GPUs: []string{"H100", "T4"}, Features: []string{"mig"}}, No},
		"all features count":             {Ask{GPUs: []string{"H100"}, Features: []string{"mig", "nvfp4"}}, No},
		"a column":                       {Ask{Features: []string{"mig"}}, Yes},
		"nobody knows":                   {Ask{GPUs: []string{"A100"}, Features: []string{"nvenc"}}, Unknown},
		"a condition":                    {Ask{GPUs: []string{"T4"}, Features: []string{"gpudirect"}}, Partly},
		"the card spoils it":             {Ask{GPUs: []string{"A100"}, NICs: []string{"ConnectX-3"}, Features: []string{"gpudirect"}}, No},
		"both can":                       {Ask{GPUs: []string{"A100"}, NICs: []string{"ConnectX-7"}, Features: []string{"gpudirect"}}, Yes},
		"kernel and ROCm":                {Ask{GPUs: []string{"gfx1151"}, Kernel: "6.19.2-200.fc43.x86_64", ROCm: "7.2.1"}, Yes},
		"ROCm too old for the kernel":    {Ask{GPUs: []string{"gfx1151"}, Kernel: "6.19.2", ROCm: "7.1.1"}, No},
		"kernel too old":                 {Ask{GPUs: []string{"gfx1151"}, Kernel: "6.17.9", ROCm: "7.2.0"}, No},
		"unstable":                       {Ask{GPUs: []string{"gfx1151"}, Kernel: "6.17.9", ROCm: "7.13"}, Partly},
		"Ubuntu's fixed kernel":          {Ask{Kernel: "6.17.0-19-generic", ROCm: "7.14.0"}, Yes},
		"Ubuntu's old kernel":            {Ask{Kernel: "6.17.0-18-generic", ROCm: "7.14.0"}, No},
		"Ubuntu's OEM kernel":            {Ask{Kernel: "6.14.0-1018-oem", ROCm: "7.2.3"}, Yes},
		"its own ROCm":                   {Ask{Kernel: "7.0.0-14-generic", OSes: []string{"ubuntu26.04"}, ROCm: "7.1.1"}, Partly},
		"a ROCm that nobody knows":       {Ask{GPUs: []string{"gfx1151"}, Kernel: "6.19", ROCm: "10.0.0"}, Unknown},
		"a point release of a known one": {Ask{GPUs: []string{"gfx1151"}, Kernel: "6.19", ROCm: "7.10.3"}, No},
		"no bond is known":               {Ask{GPUs: []string{"H100"}, Kernel: "6.1"}, Unknown},
		"dropped":                        {Ask{NICs: []string{"ConnectX-3"}, OSes: []string{"rhel10"}}, No},
		"somewhere":                      {Ask{NICs: []string{"ConnectX-3"}}, Yes},
		"a system's column":              {Ask{OSes: []string{"rhel10"}}, Yes},
		"a card nobody tried":            {Ask{NICs: []string{"Omni-Path 100"}, OSes: []string{"rhel10"}}, Unknown},
	} {
		r := d.Answer(c.ask)
		if r.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %+v", name, r.Verdict, c.want, r.Cells)
		}
		total := 0
		for _, n := range r.Counts {
			total += n
		}
		if total != len(r.Cells) {
			t.Errorf("%s: counts %v of %d cells", name, r.Counts, len(r.Cells))
		}
	}
}

// TestARowIsWhole: a GPU alone answers every feature, every quantisation with every
// engine, and its kernels.
func TestARowIsWhole(t *testing.T) {
	d := Matrix()
	r := d.Answer(Ask{GPUs: []string{"gfx1151"}})
	if want := len(d.featuresOf(true)) + 2*len(d.Quants)*len(d.Engines) + 2*len(releases); len(r.Cells) != want {
		t.Errorf("%d cells, want %d", len(r.Cells), want)
	}
}

// TestReleasesAreKnown: the releases that stand for a range are in the table.
func TestReleasesAreKnown(t *testing.T) {
	d := Matrix()
	for _, v := range releases {
		for _, kernel := range []string{"6.19", "6.17"} {
			if c, ok := d.KernelOf("gfx1151", fact.Host{Kernel: kernel}, v); !ok || c.Answer == Unknown {
				t.Errorf("kernel %s with ROCm %s is %+v", kernel, v, c)
			}
		}
	}
}

func node(name string, gpu *fact.GPU, host fact.Host) *fact.Node {
	return &fact.Node{Name: name, GPUs: []*fact.GPU{gpu}, Host: host}
}

func TestCluster(t *testing.T) {
	d := Matrix()
	strix := &fact.GPU{Vendor: "AMD", Arch: "gfx1151"}
	fedora := fact.Host{Distro: "fedora", Version: "43", Kernel: "6.19.2-200.fc43.x86_64"}
	n1, n2 := node("n1", strix, fedora), node("n2", strix, fedora)
	for _, n := range []*fact.Node{n1, n2} {
		n.Settings.ROCm = "7.2.1"
		n.PCI = []*fact.PCI{{BDF: "0000:c1:00.0", Vendor: 0x15b3, Device: 0x1017}}
	}
	n1.Ports = []*fact.Port{{Name: "mlx5_0/1", BDF: "0000:c1:00.0"}}
	r := d.Cluster([]*fact.Node{n1, n2, {Name: "n3", Down: "n3: no answer"}}, spec.Workload{Model: "DeepSeek-R1", Quant: "AWQ", MoE: true, Features: []string{"gpudirect"}})
	if r.Verdict != No {
		t.Errorf("the verdict is %s", r.Verdict)
	}
	find := func(want Cell) Cell {
		for _, c := range r.Cells {
			if c.Table == want.Table && c.Feature == want.Feature && c.Quant == want.Quant && c.Engine == want.Engine && (want.Nodes == "" || c.Nodes == want.Nodes) {
				return c
			}
		}
		t.Errorf("no cell like %+v", want)
		return Cell{}
	}
	if c := find(Cell{Table: GPUQuant, Quant: "awq", Engine: "vllm"}); !c.Asked || c.Answer != No || c.Nodes != "n[1-2]" || c.Model != "moe" {
		t.Errorf("awq is %+v", c)
	}
	if c := find(Cell{Table: GPUFeature, Feature: "gpudirect"}); !c.Asked || c.Answer != No {
		t.Errorf("gpudirect is %+v", c)
	}
	if c := find(Cell{Table: KernelROCm}); c.Answer != Yes || !c.Asked {
		t.Errorf("the kernel is %+v", c)
	}
	if c := find(Cell{Table: NICOS, Nodes: "n1"}); c.Answer != Yes || !strings.Contains(c.How, "RDMA port") {
		t.Errorf("the card with a port is %+v", c)
	}
	if c := find(Cell{Table: NICOS, Nodes: "n2"}); c.Answer != Unknown {
		t.Errorf("the card without a port is %+v", c)
	}

	// Nothing asked, nothing wrong.
	n2.PCI = nil
	if r := d.Cluster([]*fact.Node{n1, n2}, spec.Workload{}); r.Verdict != Yes {
		t.Errorf("a plain cluster is %s", r.Verdict)
	}
	if r := d.Cluster(nil, spec.Workload{}); r.Verdict != Unknown || len(r.Cells) != 0 {
		t.Errorf("nothing is %+v", r)
	}
	if r := d.Cluster([]*fact.Node{n1}, spec.Workload{Quant: "ternary"}); r.Verdict != Unknown {
		t.Errorf("a strange quantisation is %s", r.Verdict)
	}
	if r := d.Cluster([]*fact.Node{n1}, spec.Workload{Features: []string{"antigravity"}}); r.Verdict != Unknown {
		t.Errorf("a strange feature is %s", r.Verdict)
	}
	strange := node("n9", &fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA Z1"}, fedora)
	if r := d.Cluster([]*fact.Node{strange}, spec.Workload{Quant: "fp8"}); r.Verdict != Unknown || r.Cells[0].How != "weft does not know this GPU" {
		t.Errorf("a strange GPU is %+v", r)
	}
}

func TestGPUOf(t *testing.T) {
	d := Matrix()
	for _, c := range []struct {
		gpu  fact.GPU
		want string
	}{
		{fact.GPU{Vendor: "AMD", Name: "Arcturus GL-XL [Instinct MI100]"}, "gfx908"},
		{fact.GPU{Vendor: "AMD", Name: "AMD Instinct MI300X OAM"}, "gfx942"},
		{fact.GPU{Vendor: "AMD", Name: "Radeon 8060S Graphics"}, "gfx1151"},
		{fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA MI100"}, ""},
		{fact.GPU{Vendor: "AMD", Name: "Radeon 780M"}, ""},
		{fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA H200"}, "H200"},
		{fact.GPU{}, ""},
	} {
		if got, ok := d.gpuOf(&c.gpu); got != c.want || ok != (c.want != "") {
			t.Errorf("%+v is %q, want %q", c.gpu, got, c.want)
		}
	}
}

// TestDroppedDriver: a table's no is not the last word where a driver is there.
func TestDroppedDriver(t *testing.T) {
	d := Matrix()
	n := &fact.Node{Name: "n1", Host: fact.Host{Distro: "rhel", Version: "10.1"}, PCI: []*fact.PCI{{BDF: "a", Vendor: 0x15b3, Device: 0x1003}}}
	if r := d.Cluster([]*fact.Node{n}, spec.Workload{}); r.Verdict != No {
		t.Errorf("a dead ConnectX-3 is %s", r.Verdict)
	}
	n.Ports = []*fact.Port{{Name: "mlx4_0/1", BDF: "a"}}
	if r := d.Cluster([]*fact.Node{n}, spec.Workload{}); r.Verdict != Partly {
		t.Errorf("a ConnectX-3 with a driver from elsewhere is %s", r.Verdict)
	}
}

func TestE810Firmware(t *testing.T) {
	d := Matrix()
	n := &fact.Node{Name: "n1", Host: fact.Host{Distro: "fedora", Version: "43"}, PCI: []*fact.PCI{{BDF: "a", Vendor: 0x8086, Device: 0x1592}},
		Netdevs: []*fact.Netdev{{Name: "eth0", BDF: "a", Firmware: "4.20 0x8001778b 1.3346.0"}}}
	for firmware, want := range map[string]string{"4.20 0x8001778b 1.3346.0": Partly, "4.91 0x800214b5 1.3909.0": Yes, "": Unknown} {
		n.Netdevs[0].Firmware = firmware
		r := d.Cluster([]*fact.Node{n}, spec.Workload{})
		i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Table == Firmware })
		if i < 0 || r.Cells[i].Answer != want || r.Verdict != want {
			t.Errorf("firmware %q: %s, %+v", firmware, r.Verdict, r.Cells[i])
		}
	}
}

// TestAnswerIsTotal: whatever is named, nothing panics and every cell has an answer.
func TestAnswerIsTotal(t *testing.T) {
	d := Matrix()
	for _, g := range platform.GPUs {
		for _, e := range d.Engines {
			r := d.Answer(Ask{GPUs: []string{g.Match}, Engines: []string{e.ID}})
			if len(r.Cells) != 2*len(d.Quants) || !slices.Contains(Answers, r.Verdict) {
				t.Errorf("%s with %s: %d cells, %s", g.Match, e.ID, len(r.Cells), r.Verdict)
			}
		}
	}
}
