package nvsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Listed is one GPU of `nvidia-smi -L`.
type Listed struct {
	Index int
	Name  string
	UUID  string
	MIG   []MIGDevice
}

// A MIGDevice is a part of a GPU that acts as one.
type MIGDevice struct {
	Profile string // "1g.5gb"
	Device  int
	UUID    string
}

// ParseList reads `nvidia-smi -L`. Lines about GPUs that the driver lost are
// errors beside the GPUs that it has.
func ParseList(b []byte) ([]Listed, error) {
	var (
		all  []Listed
		errs []error
	)
	lines(b, func(n int, line string) {
		body := strings.TrimSpace(line)
		if body == "" {
			return
		}
		if g, ok := gpuLine(body); ok {
			all = append(all, g)
			return
		}
		if m, ok := migLine(body); ok && len(all) > 0 {
			g := &all[len(all)-1]
			g.MIG = append(g.MIG, m)
			return
		}
		errs = append(errs, fmt.Errorf("line %d: %q", n, firstLine([]byte(body))))
	})
	return all, errors.Join(errs...)
}

// gpuLine reads "GPU 0: NVIDIA H200 (UUID: GPU-…)".
func gpuLine(body string) (Listed, bool) {
	rest, ok := strings.CutPrefix(body, "GPU ")
	num, rest, ok1 := strings.Cut(rest, ": ")
	index, err := strconv.Atoi(num)
	if !ok || !ok1 || err != nil || index < 0 {
		return Listed{}, false
	}
	i := strings.LastIndex(rest, " (UUID: ")
	if i < 0 {
		return Listed{}, false
	}
	uuid := strings.TrimSuffix(rest[i+len(" (UUID: "):], ")")
	return Listed{Index: index, Name: strings.TrimSpace(rest[:i]), UUID: uuid}, true
}

// migLine reads "MIG 1g.5gb     Device  0: (UUID: MIG-…)".
func migLine(body string) (MIGDevice, bool) {
	f := strings.Fields(body)
	if len(f) != 6 || f[0] != "MIG" || f[2] != "Device" || f[4] != "(UUID:" {
		return MIGDevice{}, false
	}
	dev, err := strconv.Atoi(strings.TrimSuffix(f[3], ":"))
	if err != nil || dev < 0 {
		return MIGDevice{}, false
	}
	return MIGDevice{Profile: f[1], Device: dev, UUID: strings.TrimSuffix(f[5], ")")}, true
}

// NVLinks is what `nvidia-smi nvlink --status` says about one GPU.
type NVLinks struct {
	GPU   Listed
	Links []NVLink
	// Problem is what NVML said instead of a list, "" when it gave one.
	Problem string
}

// An NVLink is one link of a GPU.
type NVLink struct {
	Number   int
	RateMBps *int // one direction; nil when inactive
}

// ParseNVLink reads `nvidia-smi nvlink --status`. GPUs without NVLink print
// nothing, so that no output is no error.
func ParseNVLink(b []byte) ([]NVLinks, error) {
	var (
		all  []NVLinks
		errs []error
	)
	lines(b, func(n int, line string) {
		body := strings.TrimSpace(line)
		if body == "" {
			return
		}
		if g, ok := gpuLine(body); ok {
			all = append(all, NVLinks{GPU: g})
			return
		}
		if len(all) == 0 {
			errs = append(errs, fmt.Errorf("line %d: %q before any GPU", n, firstLine([]byte(body))))
			return
		}
		g := &all[len(all)-1]
		if why, ok := strings.CutPrefix(body, "NVML: "); ok {
			g.Problem = why
			return
		}
		l, err := linkLine(body)
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			return
		}
		g.Links = append(g.Links, l)
	})
	return all, errors.Join(errs...)
}

// linkLine reads "Link 0: 26.562 GB/s" and "Link 1: <inactive>".
func linkLine(body string) (NVLink, error) {
	rest, ok := strings.CutPrefix(body, "Link ")
	num, v, ok1 := strings.Cut(rest, ":")
	k, err := strconv.Atoi(num)
	if !ok || !ok1 || err != nil || k < 0 {
		return NVLink{}, fmt.Errorf("%q is no link", firstLine([]byte(body)))
	}
	v = strings.TrimSpace(v)
	if strings.Contains(v, "inactive") {
		return NVLink{Number: k}, nil
	}
	gb, ok := strings.CutSuffix(v, " GB/s")
	rate, err := strconv.ParseFloat(gb, 64)
	if !ok || err != nil || !(rate >= 0 && rate < 1e6) {
		return NVLink{}, fmt.Errorf("%q is no link rate", firstLine([]byte(v)))
	}
	mbps := int(rate*1000 + 0.5)
	return NVLink{Number: k, RateMBps: &mbps}, nil
}
