package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Meminfo is what weft asks of /proc/meminfo. Nil is not told.
type Meminfo struct {
	TotalBytes     *uint64
	AvailableBytes *uint64
	SwapTotalBytes *uint64
	MlockedBytes   *uint64
	HugePages      *uint64
	HugePageBytes  *uint64
}

// ParseMeminfo reads /proc/meminfo.
func ParseMeminfo(b []byte) (Meminfo, error) {
	var (
		m    Meminfo
		errs []error
	)
	at := map[string]**uint64{
		"MemTotal": &m.TotalBytes, "MemAvailable": &m.AvailableBytes, "SwapTotal": &m.SwapTotalBytes,
		"Mlocked": &m.MlockedBytes, "HugePages_Total": &m.HugePages, "Hugepagesize": &m.HugePageBytes,
	}
	lines(b, func(n int, line string) {
		key, v, ok := strings.Cut(line, ":")
		to := at[key]
		if !ok || to == nil {
			return
		}
		num, kb := strings.CutSuffix(strings.TrimSpace(v), " kB")
		k, err := strconv.ParseUint(num, 10, 64)
		if err != nil || k > 1<<52 {
			errs = append(errs, fmt.Errorf("line %d: %s %.120q is not a size", n, key, v))
			return
		}
		if kb {
			k *= 1024
		}
		*to = &k
	})
	if m.TotalBytes == nil && len(errs) == 0 {
		errs = append(errs, errors.New("no MemTotal"))
	}
	return m, errors.Join(errs...)
}
