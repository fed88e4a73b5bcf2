package trial

import (
	"strconv"
	"strings"

	"weft/internal/unit"
)

// Text writes an amount the way people say it: "97.4 Gb/s", "1.5 µs", "9000 bytes".
func (u Unit) Text(a Amount) string {
	switch u {
	case BitsPerSecond:
		return unit.Rate(a).String()
	case Bytes:
		return strconv.FormatInt(int64(a), 10) + " bytes"
	}
	switch ns := float64(a); {
	case ns >= 1e6:
		return digits(ns/1e6) + " ms"
	case ns >= 1e3:
		return digits(ns/1e3) + " µs"
	}
	return strconv.FormatInt(int64(a), 10) + " ns"
}

// digits keeps three digits, for latencies differ in the second one.
func digits(f float64) string {
	places := 2
	if f >= 10 {
		places = 1
	}
	if f >= 100 {
		places = 0
	}
	s := strconv.FormatFloat(f, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// unitOf is the unit of a trial; bits per second where the trial is not known.
func unitOf(id string) Unit {
	if t, ok := ByID(id); ok {
		return t.Unit
	}
	return BitsPerSecond
}

func itoa(n int) string { return strconv.Itoa(n) }
