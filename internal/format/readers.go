package format

import (
	"weft/internal/dump"
	"weft/internal/fact"
)

// Readers lists every source of facts, in the order they build on each other.
var Readers = []Reader{pciReader, rdmaReader}

func gaps(d *dump.Node) (out []fact.Gap) { return nil }

// DateKey x
const DateKey = "$ date +%s.%N"

// ClockKey x
const ClockKey = "/weft/clock"
