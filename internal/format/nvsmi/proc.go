package nvsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// A KernelModule is what /proc/driver/nvidia/version says is loaded.
type KernelModule struct {
	Version string // "580.159.04"
	Open    bool   // the open kernel module: the one that speaks dma-buf
	GCC     string // the compiler line, "" when not told
}

// ParseVersion reads /proc/driver/nvidia/version.
func ParseVersion(b []byte) (KernelModule, error) {
	var m KernelModule
	lines(b, func(n int, line string) {
		key, v, ok := strings.Cut(line, ":")
		if !ok {
			return
		}
		switch v = strings.TrimSpace(v); key {
		case "NVRM version":
			m.Open = strings.Contains(v, "Open Kernel Module")
			for _, f := range strings.Fields(v) {
				// The one word that is a version: "x86_64" is none.
				if f[0] >= '0' && f[0] <= '9' && strings.Contains(f, ".") {
					m.Version = f
					break
				}
			}
		case "GCC version":
			m.GCC = v
		}
	})
	if m.Version == "" {
		return m, errors.New("no NVRM version")
	}
	return m, nil
}

// Information is /proc/driver/nvidia/gpus/*/information.
type Information struct {
	BDF      string
	Model    string
	UUID     string // "" while the driver has not woken the GPU: "GPU-????…"
	VBIOS    string
	Firmware string // of the GSP; "" when the GPU runs without
	Minor    *int   // N of /dev/nvidiaN
	Excluded *bool
}

// ParseInformation reads /proc/driver/nvidia/gpus/*/information.
func ParseInformation(b []byte) (Information, error) {
	var (
		g    Information
		errs []error
	)
	lines(b, func(n int, line string) {
		key, v, ok := strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		if !ok || absent(v) || strings.Contains(v, "??") {
			return
		}
		switch key {
		case "Model":
			g.Model = v
		case "GPU UUID":
			g.UUID = v
		case "Video BIOS":
			g.VBIOS = v
		case "GPU Firmware":
			g.Firmware = v
		case "Bus Location":
			if bdf, ok := printed.BDF(v); ok {
				g.BDF = bdf
			} else {
				errs = append(errs, fmt.Errorf("line %d: %q is not a PCI address", n, firstLine([]byte(v))))
			}
		case "Device Minor":
			if k, err := strconv.Atoi(v); err == nil {
				g.Minor = &k
			} else {
				errs = append(errs, fmt.Errorf("line %d: %q is not a minor number", n, firstLine([]byte(v))))
			}
		case "GPU Excluded", "Blacklisted":
			yes := v == "Yes"
			g.Excluded = &yes
		}
	})
	if g.BDF == "" && len(errs) == 0 {
		errs = append(errs, errors.New("no bus location"))
	}
	return g, errors.Join(errs...)
}
