package host

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A HostEntry is an address and the names it answers to.
type HostEntry struct {
	Addr  netip.Addr
	Names []string
}

// ParseGetent reads `getent hosts`, `getent ahosts` and /etc/hosts. Each
// address comes once for each line that names it; ahosts repeats an address
// for every socket type, which is dropped.
func ParseGetent(b []byte) ([]HostEntry, error) {
	var (
		all  []HostEntry
		errs []error
	)
	lines(b, func(n int, line string) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			return
		}
		addr, err := netip.ParseAddr(f[0])
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %.120q is not an address", n, f[0]))
			return
		}
		names := f[1:]
		if len(names) > 0 && slices.Contains([]string{"STREAM", "DGRAM", "RAW", "SEQPACKET"}, names[0]) {
			if last := len(all) - 1; names[0] != "STREAM" && last >= 0 && all[last].Addr == addr {
				return
			}
			names = names[1:]
		}
		all = append(all, HostEntry{addr, names})
	})
	return all, errors.Join(errs...)
}
