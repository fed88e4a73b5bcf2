package ethtool

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Settings is what `ethtool DEV` says of a link. A nil pointer or list was not
// told: "Unknown!" and "Not reported" leave one.
type Settings struct {
	Device          string
	SupportedPorts  []string
	SupportedModes  []string // 100000baseCR4/Full
	AdvertisedModes []string
	PartnerModes    []string
	SupportedFEC    []string
	AdvertisedFEC   []string
	SupportedPause  string
	AdvertisedPause string
	SupportsAutoneg *bool
	Autoneg         *bool
	SpeedMbps       *int
	Lanes           *int
	Duplex          string // Full or Half; "" when unknown
	Port            string // FIBRE, Direct Attach Copper, Twisted Pair, …
	Transceiver     string
	LinkDetected    *bool
	LinkDownReason  string // "No cable", when ethtool says why
}

// MaxSupportedMbps is the fastest of the supported modes; nil when none was told.
func (s Settings) MaxSupportedMbps() *int {
	var most *int
	for _, m := range s.SupportedModes {
		digits, _, ok := strings.Cut(m, "base")
		n, err := strconv.Atoi(digits)
		if ok && err == nil && (most == nil || n > *most) {
			most = &n
		}
	}
	return most
}

// speedUnknown is what the kernel reports as SPEED_UNKNOWN (-1) and ethtool's
// JSON prints without a sign.
const speedUnknown = 1<<32 - 1

// ParseSettings reads `ethtool DEV`. Complaints that come with an answer, as
// for a user who is not root, are returned beside it.
func ParseSettings(b []byte) (Settings, error) {
	var s Settings
	if isJSON(b) {
		err := walk(b, &s.Device, func(path []string, _ int, v any) error {
			return s.set(strings.ReplaceAll(path[0], "-", " "), v)
		})
		return s, err
	}
	var last string
	err := pairs(b, &s.Device, func(key, val string) error {
		key = strings.ToLower(strings.ReplaceAll(key, "-", " "))
		if key == "" { // a line of modes that continues the one above
			key = last
			if !isList(key) {
				return errSkip
			}
		}
		last = key
		if isList(key) {
			if val == "Not reported" {
				return nil
			}
			for w := range strings.FieldsSeq(strings.Trim(val, "[]")) {
				s.set(key, w)
			}
			return nil
		}
		return s.set(key, val)
	})
	return s, err
}

func isList(key string) bool {
	return strings.HasSuffix(key, "link modes") || strings.HasSuffix(key, "fec modes") || key == "supported ports"
}

// set stores one value under a key in lower case with spaces, from text or JSON.
func (s *Settings) set(key string, v any) error {
	switch key {
	case "supported ports":
		s.SupportedPorts = append(s.SupportedPorts, text(v))
	case "supported link modes":
		s.SupportedModes = append(s.SupportedModes, text(v))
	case "advertised link modes":
		s.AdvertisedModes = append(s.AdvertisedModes, text(v))
	case "link partner advertised link modes":
		s.PartnerModes = append(s.PartnerModes, text(v))
	case "supported fec modes":
		s.SupportedFEC = append(s.SupportedFEC, text(v))
	case "advertised fec modes":
		s.AdvertisedFEC = append(s.AdvertisedFEC, text(v))
	case "supported pause frame use":
		s.SupportedPause = text(v)
	case "advertised pause frame use":
		s.AdvertisedPause = text(v)
	case "supports auto negotiation":
		s.SupportsAutoneg = onOff(v)
	case "auto negotiation":
		s.Autoneg = onOff(v)
	case "speed":
		return s.setSpeed(v)
	case "lanes":
		if n := count(v); n != nil && *n < 1<<16 {
			s.Lanes = new(int(*n))
		}
	case "duplex":
		if d := text(v); d == "Full" || d == "Half" {
			s.Duplex = d
		}
	case "port":
		s.Port = text(v)
	case "transceiver":
		s.Transceiver = text(v)
	case "link detected":
		s.LinkDetected = onOff(v)
		if _, why, ok := strings.Cut(text(v), "("); ok {
			s.LinkDownReason = strings.TrimSuffix(why, ")")
		}
	default:
		return errSkip
	}
	return nil
}

func (s *Settings) setSpeed(v any) error {
	if n, ok := v.(json.Number); ok {
		if c := count(n); c != nil && *c < speedUnknown {
			s.SpeedMbps = new(int(*c))
		}
		return nil
	}
	val := text(v)
	if strings.HasPrefix(val, "Unknown") {
		return nil
	}
	digits, ok := strings.CutSuffix(val, "Mb/s")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return fmt.Errorf("speed %.40q is not in Mb/s", val)
	}
	s.SpeedMbps = &n
	return nil
}
