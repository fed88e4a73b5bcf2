package ibnet

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// guid reads hex with or without 0x and leading zeros.
func guid(s string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 64)
	return n, err == nil
}

func guidText(n uint64) string { return fmt.Sprintf("0x%016x", n) }

func (f *faults) guidField(dst *string, line int, key, val string) {
	n, ok := guid(val)
	if !ok {
		f.Add(line, "%s: %.60q is not a GUID", key, val)
		return
	}
	*dst = guidText(n)
}

func (f *faults) intField(dst *int, line int, key, val string) {
	n, ok := printed.Number(val)
	if !ok {
		f.Add(line, "%s: %.60q is not a number", key, val)
		return
	}
	*dst = n
}

// lanes reads "4x" and "4X".
func lanes(s string) (int, bool) {
	switch n, _ := printed.Number(strings.TrimRight(s, "Xx")); n { // the widths of ib_port_width in include/rdma/ib_verbs.h
	case 1, 2, 4, 8, 12:
		return n, true
	}
	return 0, false
}

// generation checks a word like "NDR". A newer tool may know a newer one.
func generation(s string) (string, bool) {
	if s == "???" {
		return "", true
	}
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return "", false
		}
	}
	return s, s != ""
}

// laneSpeed names the generation of libibmad's signalling rates
// (mad_dump_linkspeed and mad_dump_linkspeedext).
func laneSpeed(s string) (string, bool) {
	switch strings.TrimSpace(strings.TrimSuffix(s, "Gbps")) {
	case "2.5":
		return "SDR", true
	case "5.0":
		return "DDR", true
	case "10.0":
		return "QDR", true
	case "FDR10":
		return "FDR10", true
	case "14.0625":
		return "FDR", true
	case "25.78125":
		return "EDR", true
	case "53.125":
		return "HDR", true
	case "106.25":
		return "NDR", true
	case "212.5":
		return "XDR", true
	}
	return "", false
}

// linkState turns libibmad's words (mad_dump_linkstate) into the kernel's.
func linkState(s string) (string, bool) {
	switch s {
	case "Down":
		return "DOWN", true
	case "Initialize":
		return "INIT", true
	case "Armed":
		return "ARMED", true
	case "Active":
		return "ACTIVE", true
	}
	return "", false
}

// physState: libibmad's words (mad_dump_physportstate) are the kernel's but for one.
func physState(s string) (string, bool) {
	switch s {
	case "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery":
		return s, true
	case "PhyTest":
		return "Phy Test", true
	}
	return "", false
}

// quoted returns the text between the first and the last q, and what follows.
// A node description is free text and may hold the quote itself.
func quoted(s string, q byte) (name, after string, ok bool) {
	i, j := strings.IndexByte(s, q), strings.LastIndexByte(s, q)
	if i < 0 || j == i {
		return "", s, false
	}
	return s[i+1 : j], s[j+1:], true
}

// after returns the number that follows the word key in s.
func after(s, key string) (int, bool) {
	i := strings.Index(s, key+" ")
	if i < 0 || i > 0 && s[i-1] != ' ' {
		return 0, false
	}
	s = strings.TrimLeft(s[i+len(key)+1:], " ")
	if j := strings.IndexAny(s, " \t"); j >= 0 {
		s = s[:j]
	}
	return printed.Number(s)
}
