package ibdev

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// faults also knows the fields of these tools.
type faults struct{ printed.Faults }

// intField stores a number at *dst, or says why not; "unknown" stays unknown.
func (f *faults) intField(dst **int, line int, key, val string) {
	if absent(val) {
		return
	}
	n, ok := printed.Number(val)
	if !ok {
		f.Add(line, "%s: %.60q is not a number", key, val)
		return
	}
	*dst = &n
}

// absent is how the tools say that there is no value.
func absent(val string) bool {
	switch strings.ToLower(val) {
	case "", "unknown", "<unknown>", "n/a", "???", "invalid state", "invalid physical state":
		return true
	}
	return false
}

// guidField brings 0x9c63c003005548ae and 9c63:c003:0055:48ae to one form, so
// that the same GUID compares equal whichever tool printed it.
func (f *faults) guidField(dst *string, line int, key, val string) {
	if absent(val) {
		return
	}
	digits, hex := strings.CutPrefix(strings.ToLower(val), "0x")
	if !hex && strings.Contains(val, ":") {
		parts := strings.Split(val, ":")
		for _, p := range parts {
			if len(p) != 4 {
				parts = nil
			}
		}
		digits = strings.Join(parts, "")
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || !hex && len(digits) != 16 {
		f.Add(line, "%s: %.60q is not a GUID", key, val)
		return
	}
	*dst = fmt.Sprintf("0x%016x", n)
}

// bareWord takes the word out of "4: ACTIVE", "PORT_ACTIVE (4)" and "Active".
func bareWord(val string) string {
	if n, w, ok := strings.Cut(val, ":"); ok {
		if _, isNum := printed.Number(n); isNum {
			val = w
		}
	}
	val, _, _ = strings.Cut(val, "(")
	return strings.TrimSpace(val)
}

// portStates: every spelling of drivers/infiniband/core/sysfs.c, libibumad's
// ibstat, libibmad and ibv_devinfo, in lower case.
var portStates = map[string]string{
	"nop": "NOP", "down": "DOWN", "init": "INIT", "initialize": "INIT", "initializing": "INIT",
	"armed": "ARMED", "active": "ACTIVE", "active_defer": "ACTIVE_DEFER", "activedefer": "ACTIVE_DEFER",
}

func (f *faults) stateField(dst *string, line int, key, val string) {
	w := bareWord(val)
	if absent(w) {
		return
	}
	s, ok := portStates[strings.TrimPrefix(strings.ToLower(w), "port_")]
	if !ok {
		f.Add(line, "%s: %.60q is not a port state", key, val)
		return
	}
	*dst = s
}

// physStates maps letters only, so LINK_UP and LinkUp meet; ibv_devinfo
// spells "TRAINNING" with two n.
var physStates = map[string]string{
	"sleep": "Sleep", "polling": "Polling", "disabled": "Disabled",
	"portconfigurationtraining": "PortConfigurationTraining", "portconfigurationtrainning": "PortConfigurationTraining",
	"linkup": "LinkUp", "linkerrorrecovery": "LinkErrorRecovery", "phytest": "Phy Test",
}

var lettersOnly = strings.NewReplacer("_", "", " ", "")

func (f *faults) physField(dst *string, line int, key, val string) {
	w := bareWord(val)
	if absent(w) || strings.HasPrefix(strings.ToLower(w), "no ") { // "No state change"
		return
	}
	s, ok := physStates[lettersOnly.Replace(strings.ToLower(w))]
	if !ok {
		f.Add(line, "%s: %.60q is not a physical state", key, val)
		return
	}
	*dst = s
}

// layerWord: libibumad and ibstatus say "IB" where the kernel has no
// link_layer file, which only InfiniBand-only kernels lack.
func layerWord(val string) string {
	switch strings.ToLower(val) {
	case "ib":
		return "InfiniBand"
	case "unspecified", "unknown":
		return ""
	}
	return val
}

// laneGbps names the generation of a lane by its rate: the kernel's rounded
// numbers (ib_port_speed in include/rdma/ib_verbs.h as ibv_devinfo prints
// them) and libibmad's signalling rates. 10 is QDR; FDR10 is told apart by its
// code or its name.
var laneGbps = map[string]string{
	"2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "14.0": "FDR", "14.0625": "FDR", "25.0": "EDR", "25.78125": "EDR",
	"50.0": "HDR", "53.125": "HDR", "100.0": "NDR", "106.25": "NDR", "200.0": "XDR", "212.5": "XDR",
}

// speedCodes is enum ib_port_speed in include/rdma/ib_verbs.h.
var speedCodes = map[int]string{
	1: "SDR", 2: "DDR", 4: "QDR", 8: "FDR10", 16: "FDR", 32: "EDR", 64: "HDR", 128: "NDR", 256: "XDR",
}

// speedWord reads "25.0 Gbps (32)", "53.125 Gbps", "FDR10" and "EDR". The code
// wins: an old ibv_devinfo prints "invalid speed (128)" for NDR.
func speedWord(val string) (string, bool) {
	text, rest, coded := strings.Cut(val, "(")
	if coded {
		if n, ok := printed.Number(strings.TrimSuffix(rest, ")")); ok && speedCodes[n] != "" {
			return speedCodes[n], true
		}
	}
	text = strings.TrimSpace(text)
	if w, ok := laneGbps[strings.TrimSpace(strings.TrimSuffix(text, "Gbps"))]; ok {
		return w, true
	}
	for _, w := range speedCodes {
		if w == text {
			return w, true
		}
	}
	return "", false
}

// lanes reads "4X" and "4X (2)".
func lanes(val string) (int, bool) {
	val, _, _ = strings.Cut(val, "(")
	switch n, _ := printed.Number(strings.TrimRight(val, " Xx")); n { // the widths of ib_port_width in include/rdma/ib_verbs.h
	case 1, 2, 4, 8, 12:
		return n, true
	}
	return 0, false
}

// rateField reads "400", "40 (FDR10)" and "25 Gb/sec (1X EDR)".
func (p *Port) rateField(f *faults, line int, val string) {
	if absent(val) {
		return
	}
	num, rest, _ := strings.Cut(val, " ")
	if !decimal(num) {
		f.Add(line, "rate: %.60q is not a rate", val)
		return
	}
	p.RateGbps = num
	_, paren, ok := strings.Cut(rest, "(")
	if !ok {
		return
	}
	for _, w := range strings.Fields(strings.TrimSuffix(paren, ")")) {
		if n, ok := lanes(w); ok {
			p.WidthLanes = n
		} else if s, ok := speedWord(w); ok {
			p.Speed = s
		} else {
			f.Add(line, "rate: %.60q is neither a width nor a speed", w)
		}
	}
}

// decimal: digits with at most one dot between them.
func decimal(s string) bool {
	whole, frac, dot := strings.Cut(s, ".")
	return digits(whole) && (!dot || digits(frac))
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// gidAddr reads a GID in full or in short form. A zone cannot be part of it.
func gidAddr(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Is6() && a.Zone() == ""
}
