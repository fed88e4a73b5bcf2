package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Module is a line of /proc/modules.
type Module struct {
	Name      string
	SizeBytes uint64
	UsedBy    []string
	State     string // "Live", "Loading", "Unloading"
	Taint     string // "OE": out of tree, unsigned; "" for a module of this kernel's tree
}

// ParseModules reads /proc/modules.
func ParseModules(b []byte) ([]Module, error) {
	var (
		all  []Module
		errs []error
	)
	lines(b, func(n int, line string) {
		f := strings.Fields(line)
		if len(f) < 5 {
			errs = append(errs, fmt.Errorf("line %d: %.120q is no module", n, line))
			return
		}
		size, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: size %.120q is not a number", n, f[1]))
			return
		}
		m := Module{Name: f[0], SizeBytes: size, State: f[4]}
		for _, user := range strings.Split(f[3], ",") {
			if user != "" && user != "-" && user != "[permanent]" {
				m.UsedBy = append(m.UsedBy, user)
			}
		}
		if last := f[len(f)-1]; strings.HasPrefix(last, "(") {
			m.Taint = strings.Trim(last, "()")
		}
		all = append(all, m)
	})
	return all, errors.Join(errs...)
}
