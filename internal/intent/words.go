package intent

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"weft/internal/fact"
)

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func portList(ports []*fact.Port) string {
	var names []string
	for _, p := range ports {
		names = append(names, p.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

func joined(nets []netip.Prefix) string {
	var words []string
	for _, p := range nets {
		words = append(words, p.String())
	}
	return strings.Join(words, ",")
}

// natural compares names as people count: mlx5_2 before mlx5_10.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, _ := strconv.ParseUint(a[:da], 10, 64)
			y, _ := strconv.ParseUint(b[:db], 10, 64)
			if d := cmp.Or(cmp.Compare(x, y), cmp.Compare(da, db)); d != 0 {
				return d
			}
			a, b = a[da:], b[db:]
			continue
		}
		if d := cmp.Compare(a[0], b[0]); d != 0 {
			return d
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(a, b)
}

// digits is how many digits a text begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
