package platform

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
)

// KernelMin is the oldest kernel on which a GPU computes soundly.
type KernelMin struct {
	On          string // "gfx1151"
	Distro      string // os-release ID that the row is for; "" is any
	Flavour     string // last word of uname -r: "oem", "generic"; "" is any
	Min         string // "6.18.4"; with the build number where a distribution patched an older kernel
	Recommended string // "" none
	Why         string
	Source      string
}

const rdna35 = "ROCm documentation, RDNA 3.5 system optimization"

// KernelMins lists them, the most specific row first.
var KernelMins = []KernelMin{
	{On: "gfx1151", Distro: "ubuntu", Flavour: "oem", Min: "6.14.0-1018", Recommended: "6.19",
		Why: "older ones lack two amdkfd fixes: queues and the memory check go wrong, and big models hang", Source: rdna35},
	{On: "gfx1151", Distro: "ubuntu", Flavour: "generic", Min: "6.17.0-19", Recommended: "6.19",
		Why: "older ones lack two amdkfd fixes: queues and the memory check go wrong, and big models hang", Source: rdna35},
	{On: "gfx1151", Min: "6.18.4", Recommended: "6.19",
		Why: "older ones lack two amdkfd fixes: queues and the memory check go wrong, and big models hang", Source: rdna35 + "; seed 003; research/community.md item 23"},
}

// KernelMinOf returns the row for a GPU on a host.
func KernelMinOf(g *fact.GPU, h fact.Host) (KernelMin, bool) {
	known, _ := GPUOf(g)
	flavour := h.Kernel[strings.LastIndexByte(h.Kernel, '-')+1:]
	for _, k := range KernelMins {
		if k.On == known.Match && (k.Distro == "" || k.Distro == h.Distro) && (k.Flavour == "" || k.Flavour == flavour) {
			return k, true
		}
	}
	return KernelMin{}, false
}

// AtLeast reports whether a version reaches another: "6.18.9-200.fc43" reaches
// "6.18.4". Numbers compare up to the first word that is none; a number that is
// missing is 0. ok is false when version does not start with a number.
func AtLeast(version, least string) (reached, ok bool) {
	v := numbers(version)
	return slices.Compare(pad(v), pad(numbers(least))) >= 0, len(v) > 0
}

func numbers(version string) []int {
	var out []int
	for _, word := range strings.FieldsFunc(version, func(r rune) bool { return r == '.' || r == '-' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}

// pad makes versions of different lengths comparable: four numbers are a kernel
// and its build.
func pad(v []int) []int {
	const most = 4
	return append(slices.Clone(v[:min(len(v), most)]), make([]int, max(0, most-len(v)))...)
}

// Drop says that a family of distributions ships a driver no more.
type Drop struct {
	Module string // "mlx4_core"
	Like   string // os-release ID, or a word of ID_LIKE: "rhel"
	Major  int    // from this major version on
	Note   string
	Source string
}

// Drops lists them.
var Drops = []Drop{
	{Module: "mlx4_core", Like: "rhel", Major: 10, Note: "RHEL 10 dropped mlx4: a ConnectX-3 has no driver there; RHEL 9, Fedora and Debian have it", Source: "seed 002"},
}

// DropOf returns why a host has no driver module, where its distribution dropped it.
func DropOf(module string, h fact.Host) (Drop, bool) {
	major := numbers(h.Version)
	for _, d := range Drops {
		if d.Module == module && (h.Distro == d.Like || slices.Contains(strings.Fields(h.Like), d.Like)) && len(major) > 0 && major[0] >= d.Major {
			return d, true
		}
	}
	return Drop{}, false
}
