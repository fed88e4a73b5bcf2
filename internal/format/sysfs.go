package format

import (
	"math"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
)

// number reads a file that holds one decimal number.
func number(d *dump.Node, file string) fact.Val[int] {
	s, ok := d.Get(file)
	if !ok {
		return fact.Val[int]{}
	}
	i, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return fact.Val[int]{}
	}
	return fact.Some(i)
}

// hex reads a file that holds one number like 0x15b3.
func hex(d *dump.Node, file string, bits int) uint64 {
	s, _ := d.Get(file)
	v, _ := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(s), "0x"), 16, bits)
	return v
}

// word reads a file that holds one line of text, "" when there is none.
func word(d *dump.Node, file string) string {
	s, _ := d.Get(file)
	return strings.TrimSpace(s)
}

// milli reads a file that holds thousandths, as hwmon does.
func milli(d *dump.Node, file string) fact.Val[float64] {
	if i, ok := number(d, file).Get(); ok {
		return fact.Some(float64(i) / 1000)
	}
	return fact.Val[float64]{}
}

// clock reads a time in seconds, like 1763192356.25. NaN and the infinities, which
// strconv takes for numbers and JSON does not, are none, nor is what a sum of two
// would make one: no clock shows more than 64 bits of nanoseconds.
func clock(s string) fact.Val[float64] {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(math.Abs(f) < 1<<64/1e9) {
		return fact.Val[float64]{}
	}
	return fact.Some(f)
}

// target returns the last element of where a link points.
func target(d *dump.Node, link string) string {
	to, ok := d.Link[link]
	if !ok {
		return ""
	}
	return path.Base(to)
}

// isBDF reports whether a name is a PCI address like 0000:c1:00.0.
func isBDF(s string) bool {
	return len(s) >= 12 && strings.Count(s, ":") == 2 && s[len(s)-2] == '.'
}

// longGID writes an address the way the kernel's GID table does: all digits.
func longGID(a netip.Addr) string {
	if a.Is4() {
		a = netip.AddrFrom16(a.As16())
	}
	return a.StringExpanded()
}

func sortNetdevs(n *fact.Node) {
	slices.SortFunc(n.Netdevs, func(a, b *fact.Netdev) int { return strings.Compare(a.Name, b.Name) })
}
