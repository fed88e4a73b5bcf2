// Package nvsmi reads what the NVIDIA driver says about its GPUs: nvidia-smi
// in its forms and /proc/driver/nvidia. Pure: bytes in, structs out.
package nvsmi

import (
	"strings"
)

// A Log is one answer of nvidia-smi: the driver and its GPUs, in the order
// nvidia-smi lists them, which is the order of their indexes.
type Log struct {
	Driver   string // "580.159.04"
	CUDA     string // the newest CUDA the driver serves: "13.0"
	Attached *int   // how many GPUs the driver says it has
	GPUs     []GPU
}

// A GPU is what was said about one GPU. Empty strings and nil pointers were
// not said, or said as "N/A": GB10 reports no memory of its own.
type GPU struct {
	BDF          string // "0000:06:00.0", as the kernel spells it
	Index        *int
	Name         string
	Brand        string
	Architecture string
	UUID         string
	Serial       string
	VBIOS        string
	Addressing   string // "HMM", "ATS", "None"
	Recovery     string // "None", "Reset", "Reboot": what the driver asks for
	ComputeCap   string // "9.0"; told by --query-gpu alone

	VendorID          *uint16
	DeviceID          *uint16
	SubsystemVendorID *uint16
	SubsystemDeviceID *uint16

	// The link may idle at generation 1 to save power, so the current
	// generation says something only under load; the width always does.
	PCIeGen           *int
	PCIeGenMax        *int // the lower of the next two, where both are told
	PCIeGenDeviceMax  *int
	PCIeGenHostMax    *int
	PCIeWidthLanes    *int
	PCIeWidthMaxLanes *int
	PCIeReplays       *uint64

	MemoryTotalBytes *uint64
	MemoryUsedBytes  *uint64
	BAR1TotalBytes   *uint64

	PowerDrawW         *float64
	PowerLimitW        *float64
	PowerDefaultLimitW *float64
	PowerMaxLimitW     *float64

	ClockSMMHz     *int
	ClockMemMHz    *int
	ClockSMMaxMHz  *int
	ClockMemMaxMHz *int
	PState         string // "P0"
	// ClockReasons names what holds the clocks down now, in XML's words:
	// "gpu_idle", "sw_power_cap", "hw_thermal_slowdown". Nil means not told,
	// empty means nothing does.
	ClockReasons []string

	UtilPercent *int // of the last sample period, 1/6 s to 1 s

	TempC    *int
	MemTempC *int

	Persistence *bool
	MIG         *bool
	ECC         *bool

	Volatile  ECCCounts // since the driver was loaded
	Aggregate ECCCounts // over the life of the GPU

	RetiredSingle  *uint64 // pages
	RetiredDouble  *uint64
	RetiredPending *bool
	RemappedCorr   *uint64 // rows
	RemappedUncorr *uint64
	RemapPending   *bool
	RemapFailed    *bool

	FabricState  string // "Completed", "In Progress"; "" without NVSwitch
	FabricStatus string // "Success"

	Processes *int
}

// ECCCounts are memory errors found by ECC.
type ECCCounts struct {
	SRAMCorrectable   *uint64
	SRAMUncorrectable *uint64 // parity and SEC-DED together where they are told apart
	DRAMCorrectable   *uint64
	DRAMUncorrectable *uint64
}

// absent reports whether nvidia-smi gave words where a value would be. Every
// bracketed value is such a word: [N/A], [Not Supported], [Unknown Error].
func absent(v string) bool {
	switch v {
	case "", "N/A", "Not Supported", "Unknown Error", "ERR!", "Not Found",
		"Insufficient Permissions", "GPU is lost", "GPU requires reset",
		"Requested functionality has been deprecated":
		return true
	}
	return v[0] == '['
}

// lines calls f with each line of b, its number from 1, without line end,
// terminal escapes, comments and shell prompts that outputs are pasted with.
func lines(b []byte, f func(n int, line string)) {
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(plain(line), " \t\r\n")
		if !pasted(line) {
			f(n, line)
		}
	}
}

// pasted reports whether a line is a comment or a shell prompt.
func pasted(line string) bool {
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "$ ") {
		return true
	}
	before, after, ok := strings.Cut(line, "# ")
	return ok && strings.Contains(before, "@") && strings.HasPrefix(after, "nvidia-smi")
}

// plain removes terminal escapes: topo underlines its header even in a pipe.
func plain(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		s = strings.TrimLeft(after, "0123456789;")
		if s != "" {
			s = s[1:] // the letter that ends the escape
		}
	}
}
