package host

import (
	"errors"
	"fmt"
	"strings"
)

// A Unit holds the properties of one systemd unit: "Id", "ActiveState",
// "UnitFileState", "LimitMEMLOCK".
type Unit map[string]string

// ParseUnits reads `systemctl show -p … UNIT…`: one block for each unit, with
// an empty line between.
func ParseUnits(b []byte) ([]Unit, error) {
	var (
		all  []Unit
		u    Unit
		n    int
		errs []error
	)
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			u = nil
			continue
		}
		if line[0] == '#' {
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if !ok || !isName(key) {
			errs = append(errs, fmt.Errorf("line %d: %.120q is no property", n, line))
			continue
		}
		if u == nil {
			u = Unit{}
			all = append(all, u)
		}
		if old, again := u[key]; again {
			v = old + "\n" + v // Environment files and the like come in several lines
		}
		u[key] = v
	}
	return all, errors.Join(errs...)
}
