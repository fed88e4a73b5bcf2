package compat

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/fact"
	"weft/internal/platform"
)

// One fact may stand twice, here and in internal/platform, only if both say the same.

// TestFeaturesAgreeWithPlatform: what platform knows, the matrix must not deny; where
// platform has its doubts, the matrix may know more.
func TestFeaturesAgreeWithPlatform(t *testing.T) {
	d := Matrix()
	for _, g := range platform.GPUs {
		for _, f := range platform.Features {
			c := d.FeatureOf(g.Match, f)
			switch has := g.Features[f]; {
			case d.Feature(f) == nil:
				t.Errorf("platform's feature %s is not in feature.csv", f)
			case has == "yes" && c.Answer != Yes && c.Answer != Partly,
				has == "no" && c.Answer != No:
				t.Errorf("%s %s: platform says %s, the matrix says %s (%s)", g.Match, f, has, c.Answer, c.Source)
			}
		}
		if c := d.FeatureOf(g.Match, "gpudirect"); (g.Direct == "no") != (c.Answer == No) || g.Direct == "yes" && c.Answer != Yes {
			t.Errorf("%s: platform's Direct is %q, the matrix says %s", g.Match, g.Direct, c.Answer)
		}
	}
}

// TestQuantsAgreeWithPlatform: platform's rows are what vLLM does.
func TestQuantsAgreeWithPlatform(t *testing.T) {
	d := Matrix()
	for _, g := range platform.GPUs {
		for _, q := range d.Quants {
			for _, kind := range []string{"dense", "moe"} {
				row, ok := platform.QuantOf(&fact.GPU{Vendor: g.Vendor, Name: strings.TrimSuffix(g.Match, "*") + "90", Arch: g.Match}, q.ID, kind == "moe")
				c := d.QuantOf(g.Match, q.ID, "vllm", kind)
				switch {
				case !ok:
				case row.Verdict == "works" && c.Answer == No,
					row.Verdict == "works" && c.Answer == Unknown && g.Match != "gfx908", // the matrix doubts the MI100 as a whole
					row.Verdict == "broken" && c.Answer != No && !(c.Answer == Unknown && g.Match == "gfx908"):
					t.Errorf("%s %s %s: platform says %s (%s), the matrix says %s: %s (%s)", g.Match, kind, q.ID, row.Verdict, row.Source, c.Answer, c.How, c.Where)
				}
			}
		}
	}
	for _, q := range platform.Quants {
		if _, err := d.FindQuant(q.Quant); err != nil {
			t.Errorf("platform's %s: %v", q.Quant, err)
		}
	}
}

func TestKernelsAgreeWithPlatform(t *testing.T) {
	d := Matrix()
	for _, k := range platform.KernelMins {
		old, enough := fact.Host{Distro: k.Distro, Kernel: "5.10.0-1"}, fact.Host{Distro: k.Distro, Kernel: k.Min}
		if k.Flavour != "" {
			old.Kernel, enough.Kernel = old.Kernel+"-"+k.Flavour, enough.Kernel+"-"+k.Flavour
		}
		for _, rocm := range []string{"", "7.2.0", "7.14.1"} {
			if c, ok := d.KernelOf(k.On, old, rocm); !ok || c.Answer == Yes {
				t.Errorf("%s on %+v with ROCm %q is %s", k.On, old, rocm, c.Answer)
			}
			if c, ok := d.KernelOf(k.On, enough, rocm); !ok || c.Answer != Yes {
				t.Errorf("%s on %+v with ROCm %q is %s", k.On, enough, rocm, c.Answer)
			}
		}
	}
	if _, ok := d.KernelOf("H100", fact.Host{Kernel: "6.1.0"}, ""); ok {
		t.Error("an H100 is bound to a kernel")
	}
}

// TestDropsAgreeWithPlatform: a driver that a distribution dropped has a no.
func TestDropsAgreeWithPlatform(t *testing.T) {
	d := Matrix()
	for _, n := range platform.NICs {
		for _, o := range d.OSes {
			host := fact.Host{Distro: o.distro, Version: o.version}
			for _, m := range n.Modules {
				if _, dropped := platform.DropOf(m, host); dropped && !n.VF && d.SystemOf(n.Name, o.ID).Answer != No {
					t.Errorf("%s on %s: platform says that %s is dropped, the matrix says %s", n.Name, o.ID, m, d.SystemOf(n.Name, o.ID).Answer)
				}
			}
		}
	}
}

func TestCardsAgreeWithPlatform(t *testing.T) {
	d := Matrix()
	for _, n := range platform.NICs {
		if n.VF {
			continue
		}
		direct, ib, roce, buf := d.CardOf(n.Name, "gpudirect"), d.CardOf(n.Name, "infiniband"), d.CardOf(n.Name, "roce"), d.CardOf(n.Name, "dma-buf")
		switch layers := n.Layers; {
		case n.GPUDirect != (direct.Answer == Yes):
			t.Errorf("%s: GPUDirect is %v in platform and %s here", n.Name, n.GPUDirect, direct.Answer)
		case n.DMABuf != "" && (buf.Answer != Yes || !strings.Contains(buf.How, n.DMABuf)):
			t.Errorf("%s: dma-buf since %s in platform and %s (%s) here", n.Name, n.DMABuf, buf.Answer, buf.How)
		case n.Driver != "hfi1" && slices.Contains(layers, "InfiniBand") != (ib.Answer == Yes):
			t.Errorf("%s: layers are %v in platform, InfiniBand is %s here", n.Name, layers, ib.Answer)
		case !slices.Contains(layers, "Ethernet") && roce.Answer != No:
			t.Errorf("%s: layers are %v in platform, RoCE is %s here", n.Name, layers, roce.Answer)
		}
		if n.MinFirmware != "" {
			if c, ok := d.FirmwareOf(n.Name, n.MinFirmware); !ok || c.Answer != Yes {
				t.Errorf("%s: its own oldest firmware is %s", n.Name, c.Answer)
			}
			if !strings.Contains(roce.How, n.MinFirmware) {
				t.Errorf("%s: platform wants firmware %s, the matrix says %q", n.Name, n.MinFirmware, roce.How)
			}
		}
	}
}
