package format

import (
	"maps"
	"slices"

	"weft/internal/dump"
	"weft/internal/fact"
)

// Readers lists every source of facts, in the order they build on each other.
var Readers = []Reader{hostReader, pciReader, rdmaReader, netReader, qosReader, settingsReader, firewallReader, gpuReader, softwareReader, configReader, fabricReader}

// DateKey holds the node's own time when it began to answer.
const DateKey = "$ date +%s.%N"

// CutKey is the gap of a node whose answers broke off: what it had not told by then
// is not known, even where silence would be an answer.
const CutKey = "$ sh"

// ClockKey holds the times of the machine that asked, in seconds: before the
// question and when the answer began.
const ClockKey = "/weft/clock"

// gaps lists what could not be read, in order.
func gaps(d *dump.Node) []fact.Gap {
	var out []fact.Gap
	for _, path := range slices.Sorted(maps.Keys(d.Gap)) {
		if path != Reach {
			out = append(out, fact.Gap{Path: path, Why: d.Gap[path]})
		}
	}
	return out
}

// SpecKey holds, at the first node, the weft.yaml that the cluster was asked with, so
// that a replay is judged by the same wishes.
const SpecKey = "/weft/weft.yaml"

// Spec returns the weft.yaml in a dump.
func Spec(d *dump.Dump) (text string, ok bool) {
	for _, n := range d.Nodes {
		if text, ok = n.Text[SpecKey]; ok {
			return text, true
		}
	}
	return "", false
}
