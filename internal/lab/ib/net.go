package ib

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// healthy is what every link runs at. ibsim says of every port that it could do
// HDR, so a slower fabric would be a broken one; it knows no NDR.
const healthy = "4xHDR"

// netText writes a fabric as ibsim reads it. slow gives links another width and
// speed, by the end that a fault names.
func netText(s shape, slow map[end]string) string {
	ports := map[string]map[int]string{}
	put := func(at, to end, rate string) {
		if ports[at.name] == nil {
			ports[at.name] = map[int]string{}
		}
		ports[at.name][at.port] = fmt.Sprintf("[%d]\t%q[%d]\t\t# %q lid 0 %s\n", at.port, to.name, to.port, to.name, rate)
	}
	for _, l := range s.cables() {
		rate := healthy
		for _, e := range []end{l.a, l.b} {
			if r, ok := slow[e]; ok {
				rate = r
			}
		}
		put(l.a, l.b, rate)
		put(l.b, l.a, rate)
	}
	var b strings.Builder
	write := func(kind string, count int, name string) {
		fmt.Fprintf(&b, "%s\t%d %q\t\t# %q\n", kind, count, name, name)
		for _, port := range slices.Sorted(maps.Keys(ports[name])) {
			b.WriteString(ports[name][port])
		}
		b.WriteByte('\n')
	}
	for i := range s.leaves {
		write("Switch", s.radix, leafName(i))
	}
	for i := range s.spines {
		write("Switch", s.radix, spineName(i))
	}
	for i := range s.hosts {
		write("Hca", 1, hostName(i))
	}
	return b.String()
}
