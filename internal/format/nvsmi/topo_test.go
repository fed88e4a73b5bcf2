package nvsmi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTopo(t *testing.T) {
	for name, tt := range map[string]struct {
		names string
		rows  int
		first TopoRow // without its words
		words map[string]string
	}{
		"nvidia-smi_topo_2gpu_nv2.txt": {
			"GPU0 GPU1", 2, TopoRow{Name: "GPU0", CPUAffinity: "0-23"},
			map[string]string{"GPU0 GPU1": "NV2", "GPU1 GPU0": "NV2", "GPU1 GPU1": "X"},
		},
		"nvidia-smi_topo_4gpu_a100_2nic_hdr.txt": {
			"GPU0 GPU1 GPU2 GPU3 mlx5_0 mlx5_1", 6, TopoRow{Name: "GPU0", CPUAffinity: "16-31,80-95", NUMAAffinity: "1"},
			map[string]string{"GPU1 mlx5_0": "PIX", "mlx5_0 GPU1": "PIX", "GPU2 mlx5_1": "PIX", "GPU3 mlx5_1": "SYS", "mlx5_0 mlx5_1": "SYS", "mlx5_1 mlx5_1": "X"},
		},
		"nvidia-smi_topo_8gpu_a10g_phb.txt": {
			"GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7", 8, TopoRow{Name: "GPU0", CPUAffinity: "0-191", NUMAAffinity: "0-1"},
			map[string]string{"GPU0 GPU7": "PHB", "GPU7 GPU7": "X"},
		},
		"nvidia-smi_topo_a100_8gpu.txt": {
			"GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7", 8, TopoRow{Name: "GPU0", CPUAffinity: "0-23", NUMAAffinity: "0"},
			map[string]string{"GPU4 GPU3": "NV12"},
		},
		"nvidia-smi_topo_h100_8gpu_6nic_partial.txt": {
			"GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 NIC0 NIC1 NIC2 NIC3 NIC4 NIC5", 3,
			TopoRow{Name: "GPU0", CPUAffinity: "0-31,64-95", NUMAAffinity: "0"},
			map[string]string{"GPU0 NIC0": "PIX", "GPU2 NIC1": "PIX", "NIC5 GPU2": "SYS", "GPU7 GPU2": "NV18", "GPU7 NIC0": ""},
		},
		"nvidia-smi_topo_p2p_r.txt": {
			"GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7", 8, TopoRow{Name: "GPU0"},
			map[string]string{"GPU0 GPU7": "OK", "GPU3 GPU3": "X"},
		},
		"h200_topo_m.txt": {
			"GPU0", 1, TopoRow{Name: "GPU0", CPUAffinity: "0-15", NUMAAffinity: "0"},
			map[string]string{"GPU0 GPU0": "X"},
		},
		"h200_topo_p2p_r.txt": {
			"GPU0", 1, TopoRow{Name: "GPU0"}, map[string]string{"GPU0 GPU0": "X"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseTopo(recorded(t, name))
			if err != nil {
				t.Error(err)
			}
			if n := strings.Join(got.Names, " "); n != tt.names {
				t.Errorf("names %q, want %q", n, tt.names)
			}
			if len(got.Rows) != tt.rows {
				t.Fatalf("%d rows, want %d", len(got.Rows), tt.rows)
			}
			first := got.Rows[0]
			first.Words = nil
			if d := cmp.Diff(tt.first, first); d != "" {
				t.Error(d)
			}
			for pair, want := range tt.words {
				a, b, _ := strings.Cut(pair, " ")
				if w, ok := got.Word(a, b); w != want || ok != (want != "") {
					t.Errorf("%s: %q, want %q", pair, w, want)
				}
			}
		})
	}
}

const nicTopo = "\t\x1b[4mGPU0\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\r\n" +
	"GPU0\t X \tNODE\tPIX\t0-19\t0\t\tN/A\r\n" +
	"NIC0\tNODE\t X \tPIX\t\t\t\t\r\n" +
	"NIC1\tPIX\r\n" +
	"\r\nLegend:\r\n\r\n  X    = Self\r\n\r\nNIC Legend:\r\n\r\n  NIC0: rocep1s0f0\r\n  NIC1: roceP2p1s0f0\r\n"

func TestParseTopoLegend(t *testing.T) {
	got, err := ParseTopo([]byte(nicTopo))
	want := Topo{
		Names: []string{"GPU0", "NIC0", "NIC1"},
		Rows: []TopoRow{
			{Name: "GPU0", Words: map[string]string{"GPU0": "X", "NIC0": "NODE", "NIC1": "PIX"}, CPUAffinity: "0-19", NUMAAffinity: "0"},
			{Name: "NIC0", Words: map[string]string{"GPU0": "NODE", "NIC0": "X", "NIC1": "PIX"}},
			{Name: "NIC1", Words: map[string]string{"GPU0": "PIX"}},
		},
		NICs: map[string]string{"NIC0": "rocep1s0f0", "NIC1": "roceP2p1s0f0"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != "line 4: 1 words for 3 columns" {
		t.Error(err)
	}
	if _, err := ParseTopo([]byte("GPU0\t X \tNV1\n")); err == nil || err.Error() != "line 1: a row before the header" {
		t.Error(err)
	}
	if _, err := ParseTopo([]byte("nvidia-smi: not found\n")); err == nil || err.Error() != "no topology matrix" {
		t.Error(err)
	}
}

func FuzzParseTopo(f *testing.F) {
	seed(f, "nvidia-smi_topo_4gpu_a100_2nic_hdr.txt", "nvidia-smi_topo_p2p_r.txt", "nvidia-smi_topo_h100_8gpu_6nic_partial.txt")
	f.Add([]byte(nicTopo))
	f.Fuzz(func(t *testing.T, b []byte) {
		topo, _ := ParseTopo(b)
		names := map[string]bool{}
		for _, n := range topo.Names {
			names[n] = true
		}
		for _, r := range topo.Rows {
			if !names[r.Name] {
				t.Errorf("row %q is not among the columns", r.Name)
			}
			for n := range r.Words {
				if !names[n] {
					t.Errorf("column %q is not among the names", n)
				}
			}
		}
	})
}
