package host

import (
	"errors"
	"strings"
)

// An OFED is the driver stack that ofed_info names.
type OFED struct {
	Name    string // "MLNX_OFED_LINUX", "OFED-internal"
	Version string // "24.10-0.7.0.0"
}

// ParseOFED reads `ofed_info -s`: "MLNX_OFED_LINUX-24.10-0.7.0.0:".
func ParseOFED(b []byte) (OFED, error) {
	var o OFED
	lines(b, func(_ int, line string) {
		line = strings.TrimSuffix(line, ":")
		for i := range len(line) - 1 {
			if line[i] == '-' && line[i+1] >= '0' && line[i+1] <= '9' && strings.Contains(line[:i], "OFED") && o.Name == "" {
				o = OFED{line[:i], line[i+1:]}
			}
		}
	})
	if o.Name == "" {
		return o, errors.New("no OFED version")
	}
	return o, nil
}
