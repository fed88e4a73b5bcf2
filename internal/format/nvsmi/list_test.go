package nvsmi

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

func TestParseList(t *testing.T) {
	got, err := ParseList(fixture.Read(t, "nvidia-smi_L_8gpu.txt"))
	if err != nil || len(got) != 8 {
		t.Fatalf("%d GPUs, error %v; want 8, none", len(got), err)
	}
	want := Listed{Index: 7, Name: "Quadro RTX 8000", UUID: "GPU-9f690c37-bb84-1e1a-1e4a-3dbfd1b1015c"}
	if d := cmp.Diff(want, got[7]); d != "" {
		t.Error(d)
	}
}

const listed = `GPU 0: NVIDIA A100 80GB (rev. 2) (UUID: GPU-aa)
  MIG 1g.10gb     Device  0: (UUID: MIG-bb)
  MIG 2g.20gb     Device  1: (UUID: MIG-cc)
Unable to determine the device handle for gpu 0000:41:00.0: GPU is lost.
GPU 2: NVIDIA A100 80GB (UUID: GPU-dd)`

func TestParseListMIG(t *testing.T) {
	got, err := ParseList([]byte(listed))
	want := []Listed{
		{0, "NVIDIA A100 80GB (rev. 2)", "GPU-aa", []MIGDevice{{"1g.10gb", 0, "MIG-bb"}, {"2g.20gb", 1, "MIG-cc"}}},
		{2, "NVIDIA A100 80GB", "GPU-dd", nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != `line 4: "Unable to determine the device handle for gpu 0000:41:00.0: GPU is lost."` {
		t.Error(err)
	}
	one, err := ParseList(own(t, "h200_list.txt"))
	if d := cmp.Diff([]Listed{{0, "NVIDIA H200", h200.UUID, nil}}, one); d != "" || err != nil {
		t.Error(err, d)
	}
}

func TestParseNVLinkBad(t *testing.T) {
	got, err := ParseNVLink(fixture.Read(t, "nvlink_status_bad.txt"))
	want := []NVLinks{{
		GPU:     Listed{Index: 6, Name: "NVIDIA A100-SXM4-80GB", UUID: "GPU-9667d95e-6d22-0c22-1f57-c481f13e7c44"},
		Problem: "Unable to retrieve NVLink information as all links are inactive",
	}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
}

const linkStatus = "GPU 0: NVIDIA H100 (UUID: GPU-aa)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\t Link 2: soon\nGPU 1: NVIDIA H100 (UUID: GPU-bb)\n\t Link 0: 50 GB/s\n"

func TestParseNVLink(t *testing.T) {
	got, err := ParseNVLink([]byte(linkStatus))
	want := []NVLinks{
		{GPU: Listed{0, "NVIDIA H100", "GPU-aa", nil}, Links: []NVLink{{0, new(26562)}, {1, nil}}},
		{GPU: Listed{1, "NVIDIA H100", "GPU-bb", nil}, Links: []NVLink{{0, new(50000)}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != `line 4: "soon" is no link rate` {
		t.Error(err)
	}
	if got, err := ParseNVLink(nil); got != nil || err != nil {
		t.Errorf("no output gave %v, %v", got, err) // what an H200 in a guest without NVLink prints
	}
	if _, err := ParseNVLink([]byte("Link 0: 50 GB/s")); err == nil || err.Error() != `line 1: "Link 0: 50 GB/s" before any GPU` {
		t.Error(err)
	}
}

func TestProc(t *testing.T) {
	m, err := ParseVersion(own(t, "h200_proc_version.txt"))
	if d := cmp.Diff(KernelModule{"580.159.04", true, "gcc version 15.3.0 (GCC)"}, m); d != "" || err != nil {
		t.Error(err, d)
	}
	m, err = ParseVersion([]byte("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.86.10  Wed Jul 26 23:20:03 UTC 2023\n"))
	if d := cmp.Diff(KernelModule{"535.86.10", false, ""}, m); d != "" || err != nil {
		t.Error(err, d)
	}
	if _, err = ParseVersion(nil); err == nil || err.Error() != "no NVRM version" {
		t.Error(err)
	}

	g, err := ParseInformation(own(t, "h200_proc_information.txt"))
	want := Information{
		BDF: "0000:00:06.0", Model: "NVIDIA H200", UUID: h200.UUID, VBIOS: "96.00.a5.00.1a",
		Firmware: "580.159.04", Minor: new(0), Excluded: new(false),
	}
	if d := cmp.Diff(want, g); d != "" || err != nil {
		t.Error(err, d)
	}
	g, err = ParseInformation([]byte("Model: \t GB10\nGPU UUID: \t GPU-????????-????\nBus Location: \t 000f:01:00.0\nDevice Minor: \t none\n"))
	if d := cmp.Diff(Information{BDF: "000f:01:00.0", Model: "GB10"}, g); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != `line 4: "none" is not a minor number` {
		t.Error(err)
	}
	if _, err := ParseInformation(nil); err == nil || err.Error() != "no bus location" {
		t.Error(err)
	}
}

func FuzzParseList(f *testing.F) {
	seed(f, "nvidia-smi_L_8gpu.txt")
	f.Add([]byte(listed))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := ParseList(b)
		for _, g := range all {
			if g.Index < 0 {
				t.Errorf("index %d", g.Index)
			}
		}
	})
}

func FuzzParseNVLink(f *testing.F) {
	seed(f, "nvlink_status_bad.txt")
	f.Add([]byte(linkStatus))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := ParseNVLink(b)
		for _, g := range all {
			for _, l := range g.Links {
				if l.Number < 0 || l.RateMBps != nil && *l.RateMBps < 0 {
					t.Errorf("link %d at %d MB/s", l.Number, *l.RateMBps)
				}
			}
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := ParseVersion(b); (m.Version == "") != (err != nil) {
			t.Errorf("version %q with error %v", m.Version, err)
		}
	})
}

func FuzzParseInformation(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParseInformation(b)
		if g.BDF == "" && err == nil {
			t.Error("no address and no error")
		}
	})
}
