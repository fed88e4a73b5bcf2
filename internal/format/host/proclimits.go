package host

import (
	"errors"
	"fmt"
	"strings"
)

// A Limit is a line of /proc/PID/limits.
type Limit struct {
	Name       string // "Max locked memory"
	Soft, Hard Bound
	Unit       string // "bytes", "" for a count
}

// Limits are /proc/PID/limits.
type Limits []Limit

// ParseLimits reads /proc/PID/limits.
func ParseLimits(b []byte) (Limits, error) {
	var (
		all  Limits
		errs []error
	)
	lines(b, func(n int, line string) {
		name, rest, ok := strings.Cut(line, "  ") // names hold single spaces
		if !ok || name == "Limit" {
			return
		}
		f := strings.Fields(rest)
		if len(f) < 2 {
			errs = append(errs, fmt.Errorf("line %d: %.120q has no soft and hard limit", n, line))
			return
		}
		soft, ok1 := ParseBound(f[0])
		hard, ok2 := ParseBound(f[1])
		if !ok1 || !ok2 {
			errs = append(errs, fmt.Errorf("line %d: %.120q has no soft and hard limit", n, line))
			return
		}
		l := Limit{Name: name, Soft: soft, Hard: hard}
		if len(f) > 2 {
			l.Unit = f[2]
		}
		all = append(all, l)
	})
	if all == nil && len(errs) == 0 {
		errs = append(errs, errors.New("no limits"))
	}
	return all, errors.Join(errs...)
}

// Memlock is how many bytes the process may lock.
func (ls Limits) Memlock() (Limit, bool) {
	for _, l := range ls {
		if l.Name == "Max locked memory" {
			return l, true
		}
	}
	return Limit{}, false
}
