package host

import (
	"errors"
	"fmt"
)

// A TimeDate is `timedatectl show`. Nil is not told.
type TimeDate struct {
	Timezone     string
	NTP          *bool // a time service is enabled
	Synchronized *bool // and has the clock in step
	LocalRTC     *bool
}

// ParseTimeDate reads `timedatectl show`.
func ParseTimeDate(b []byte) (TimeDate, error) {
	var t TimeDate
	units, err := ParseUnits(b)
	errs := []error{err}
	for _, u := range units {
		if v := u["Timezone"]; v != "" {
			t.Timezone = v
		}
		errs = append(errs,
			yesNo(u, "NTP", &t.NTP),
			yesNo(u, "NTPSynchronized", &t.Synchronized),
			yesNo(u, "LocalRTC", &t.LocalRTC))
	}
	if err := errors.Join(errs...); err != nil || t != (TimeDate{}) {
		return t, err
	}
	return t, errors.New("no time and date")
}

func yesNo(u Unit, key string, to **bool) error {
	v, told := u[key]
	if told && v != "yes" && v != "no" {
		return fmt.Errorf("%s is %.120q, neither yes nor no", key, v)
	}
	if told {
		on := v == "yes"
		*to = &on
	}
	return nil
}
