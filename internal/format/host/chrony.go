package host

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Tracking is `chronyc tracking`.
type Tracking struct {
	Source  string // name or address of the reference, "" for none
	Stratum int
	// OffsetSeconds is how far the clock is from NTP's time, without its
	// direction, which the two forms of output tell differently.
	OffsetSeconds *float64
	Leap          string // "Normal", "Not synchronised"
}

// Synchronised reports whether chrony follows a source.
func (t Tracking) Synchronised() bool { return t.Leap != "" && t.Leap != "Not synchronised" }

// ParseTracking reads `chronyc tracking` and `chronyc -c tracking`.
func ParseTracking(b []byte) (Tracking, error) {
	var (
		t    Tracking
		errs []error
	)
	fail := func(n int, what, v string) {
		errs = append(errs, fmt.Errorf("line %d: %s %.120q is not a number", n, what, v))
	}
	stratum := func(n int, v string) {
		k, err := strconv.ParseUint(v, 10, 8)
		if err != nil {
			fail(n, "stratum", v)
		}
		t.Stratum = int(k)
	}
	offset := func(n int, v string) {
		s, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(s) || math.IsInf(s, 0) {
			fail(n, "system time", v)
			return
		}
		s = math.Abs(s)
		t.OffsetSeconds = &s
	}
	lines(b, func(n int, line string) {
		// Reference, name, stratum, reference time, system time, …, leap.
		if f := strings.Split(line, ","); len(f) == 14 {
			t.Source, t.Leap = f[1], f[13]
			stratum(n, f[2])
			offset(n, f[4])
			return
		}
		key, v, ok := strings.Cut(line, " : ")
		if !ok {
			return
		}
		switch v = strings.TrimSpace(v); strings.TrimSpace(key) {
		case "Reference ID":
			_, name, _ := strings.Cut(v, "(")
			t.Source = strings.TrimSuffix(name, ")")
		case "Stratum":
			stratum(n, v)
		case "System time":
			num, _, _ := strings.Cut(v, " ")
			offset(n, num)
		case "Leap status":
			t.Leap = v
		}
	})
	if t.Leap == "" && len(errs) == 0 {
		errs = append(errs, errors.New("no tracking of chrony"))
	}
	return t, errors.Join(errs...)
}
