// Package rocmsmi reads what AMD's driver and tools say about GPUs and NICs:
// rocm-smi, amd-smi, rocminfo and the KFD topology. Pure: bytes in, structs out.
package rocmsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Report is one answer of rocm-smi or amd-smi.
type Report struct {
	Driver string // version of amdgpu, "" when not told
	GPUs   []GPU
	Topo   Topo // told by rocm-smi -a --json; zero otherwise
}

// A GPU is what was said about one GPU. Empty strings and nil pointers were
// not said, or said as "N/A".
type GPU struct {
	Index        *int
	BDF          string // "0000:c4:00.0", as the kernel spells it
	Name         string
	GFX          string // "gfx1151"
	VendorID     *uint16
	DeviceID     *uint16
	UniqueID     string
	Serial       string
	VBIOS        string
	ComputeUnits *int
	NUMANode     *int // nil when the firmware names none

	VRAMTotalBytes *uint64
	VRAMUsedBytes  *uint64
	GTTTotalBytes  *uint64 // host memory that the GPU may use as its own
	GTTUsedBytes   *uint64

	PowerW      *float64
	PowerLimitW *float64
	PowerMaxW   *float64
	Throttle    string // "UNTHROTTLED", "THROTTLED"

	ClockGFXMHz    *int
	ClockGFXMaxMHz *int
	ClockMemMHz    *int
	ClockMemMaxMHz *int
	TempEdgeC      *int
	TempHotspotC   *int // rocm-smi: junction
	TempMemC       *int

	PCIeSpeedMTps     *int // 16000 is 16.0 GT/s
	PCIeWidthLanes    *int
	PCIeSpeedMaxMTps  *int
	PCIeWidthMaxLanes *int
	PCIeReplays       *uint64

	ECCCorrectable   *uint64
	ECCUncorrectable *uint64
}

// BDF spells a PCI address as the kernel does. nvsmi has the same function: packages
// that read one format each import none of the others.
func BDF(s string) (string, bool) {
	domain, rest, ok := strings.Cut(s, ":")
	bus, rest, ok1 := strings.Cut(rest, ":")
	dev, fn, ok2 := strings.Cut(rest, ".")
	if !ok || !ok1 || !ok2 {
		return "", false
	}
	d, err0 := strconv.ParseUint(domain, 16, 32)
	b, err1 := strconv.ParseUint(bus, 16, 8)
	v, err2 := strconv.ParseUint(dev, 16, 8)
	f, err3 := strconv.ParseUint(fn, 16, 8)
	if errors.Join(err0, err1, err2, err3) != nil || v > 0x1f || f > 7 {
		return "", false
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", d, b, v, f), true
}

// absent reports whether a tool gave words where a value would be.
func absent(v string) bool {
	switch v {
	case "", "N/A", "null", "None", "unknown", "Unknown", "Not supported", "0xffffffffffffffff":
		return true
	}
	return false
}

// lines calls f with each line of b, its number from 1, without line end,
// comments and the shell prompts that outputs are pasted with.
func lines(b []byte, f func(n int, line string)) {
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "$ ") {
			f(n, line)
		}
	}
}

// shown is text for an error message: never longer than a line of it helps.
func shown(s string) string { return s[:min(len(s), 120)] }
