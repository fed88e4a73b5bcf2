package ethtool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Stats is what `ethtool -S DEV` counts.
type Stats struct {
	Device   string            // told with --groups only
	Counters map[string]uint64 // under the driver's names; of groups as "eth-mac-FramesTransmittedOK"
}

// ParseStats reads `ethtool -S DEV`, with --groups or without.
func ParseStats(b []byte) (Stats, error) {
	s := Stats{Counters: map[string]uint64{}}
	if isJSON(b) {
		err := s.groups(b)
		if err == nil && len(s.Counters) == 0 {
			err = ErrNothing
		}
		return s, err
	}
	ls, errs := lines(b)
	for _, l := range ls {
		if dev, ok := device(l.text); ok {
			s.Device = dev
			continue
		}
		// Some drivers have colons in their names ("[0]: rx_packets: 5").
		i := strings.LastIndexByte(l.text, ':')
		if i == len(l.text)-1 && i >= 0 {
			continue // "NIC statistics:"
		}
		if i < 0 {
			errs = append(errs, fmt.Errorf("line %d: %.60q is no counter", l.num, l.text))
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(l.text[i+1:]), 10, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %.60q is no counter", l.num, l.text))
			continue
		}
		s.Counters[strings.TrimSpace(l.text[:i])] = n
	}
	if len(s.Counters) == 0 && len(errs) == 0 {
		errs = append(errs, ErrNothing)
	}
	return s, errors.Join(errs...)
}

// groups reads the JSON of --groups. Histograms get the names that the text
// form has: "rx-rmon-etherStatsPkts65to127Octets".
func (s *Stats) groups(b []byte) error {
	var low, high uint64
	return walk(b, &s.Device, func(path []string, _ int, v any) error {
		n := count(v)
		if n == nil {
			return fmt.Errorf("%v is no counter", v)
		}
		dir, isHist := "", false
		if len(path) == 3 {
			dir, isHist = strings.CutSuffix(path[1], "-pktsNtoM")
		}
		if !isHist {
			s.Counters[strings.Join(path, "-")] = *n
			return nil
		}
		switch path[2] {
		case "low":
			low = *n
		case "high":
			high = *n
		case "val":
			bucket := fmt.Sprintf("%dto%d", low, high)
			if low == 0 {
				bucket = strconv.FormatUint(high, 10)
			} else if high == 0 {
				bucket = fmt.Sprintf("%dtoMax", low)
			}
			s.Counters[fmt.Sprintf("%s-%s-etherStatsPkts%sOctets", dir, path[0], bucket)] = *n
			low, high = 0, 0
		}
		return nil
	})
}
