package design

import (
	"math"
	"strconv"
	"strings"

	"weft/internal/unit"
)

// gb is a rate in Gb/s.
func gb(r unit.Rate) float64 { return float64(r) / float64(unit.Gbps) }

// v writes a rate with its unit: "25 Gb/s", "62.5 Mb/s".
func v(r unit.Rate) string {
	if r >= unit.Gbps {
		return num(gb(r)) + " Gb/s"
	}
	return num(float64(r)/float64(unit.Mbps)) + " Mb/s"
}

// num writes a number with at most two decimals, so that a reader who computes the
// same from the numbers beside it finds it.
func num(f float64) string {
	digits := 2
	if math.Abs(f) >= 100 {
		digits = 1
	}
	s := strconv.FormatFloat(f, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func ceil(a, b int) int { return (a + b - 1) / b }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// num3 writes a number with three decimals, as the kernel prints PCIe's.
func num3(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
