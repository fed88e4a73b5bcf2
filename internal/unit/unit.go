// Package unit gives rates and sizes types with their units, so that no number
// travels without one. Pure.
package unit

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is bits per second.
type Rate int64

// Rates people speak of.
const (
	Mbps Rate = 1e6
	Gbps Rate = 1e9
)

// String writes a rate the way cards and cables are sold: "100 Gb/s", "31.5 Gb/s".
func (r Rate) String() string {
	switch {
	case r >= Gbps || r <= -Gbps:
		return short(float64(r)/float64(Gbps)) + " Gb/s"
	case r >= Mbps:
		return short(float64(r)/float64(Mbps)) + " Mb/s"
	}
	return strconv.FormatInt(int64(r), 10) + " b/s"
}

// ParseRate reads "200 Gb/s", "100g", "25Gb/sec (1X EDR)", "1000Mb/s", "2.5 Gb/sec".
func ParseRate(s string) (Rate, error) {
	number, word := split(s)
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 || f > 1e9 {
		return 0, fmt.Errorf("%q is not a rate: want a number and Gb/s or Mb/s", s)
	}
	switch {
	case strings.HasPrefix(word, "g"):
		return Rate(f * float64(Gbps)), nil
	case strings.HasPrefix(word, "m"):
		return Rate(f * float64(Mbps)), nil
	}
	return 0, fmt.Errorf("%q is not a rate: want Gb/s or Mb/s after the number", s)
}

// Size is bytes.
type Size int64

// Sizes in powers of two, as memory is counted.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// String writes the largest binary unit that keeps the number readable.
func (s Size) String() string {
	switch {
	case s >= GiB:
		return short(float64(s)/float64(GiB)) + " GiB"
	case s >= MiB:
		return short(float64(s)/float64(MiB)) + " MiB"
	case s >= KiB:
		return short(float64(s)/float64(KiB)) + " KiB"
	}
	return strconv.FormatInt(int64(s), 10) + " B"
}

// split cuts a quantity into its number and its lower-case unit word.
func split(s string) (number, word string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.ToLower(strings.TrimSpace(s[i:]))
}

// short prints one decimal and drops a trailing ".0".
func short(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}
