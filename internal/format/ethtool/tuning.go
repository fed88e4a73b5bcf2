package ethtool

import (
	"fmt"
	"slices"
	"strings"
)

// Rings is what `ethtool -g DEV` says. nil is not told.
type Rings struct {
	Device string
	Max    Ring
	Now    Ring
}

// Ring is a set of ring sizes in descriptors.
type Ring struct{ RX, RXMini, RXJumbo, TX *uint64 }

// ParseRings reads `ethtool -g DEV`.
func ParseRings(b []byte) (Rings, error) {
	var r Rings
	set := func(ring *Ring, key string, v any) error {
		switch key {
		case "rx":
			ring.RX = count(v)
		case "rx-mini":
			ring.RXMini = count(v)
		case "rx-jumbo":
			ring.RXJumbo = count(v)
		case "tx":
			ring.TX = count(v)
		default:
			return errSkip
		}
		return nil
	}
	if isJSON(b) {
		err := walk(b, &r.Device, func(path []string, _ int, v any) error {
			if key, ok := strings.CutSuffix(path[0], "-max"); ok {
				return set(&r.Max, key, v)
			}
			return set(&r.Now, path[0], v)
		})
		return r, err
	}
	ring := &r.Max
	err := pairs(b, &r.Device, func(key, val string) error {
		if strings.HasPrefix(key, "Current") {
			ring = &r.Now
		}
		return set(ring, strings.ToLower(strings.ReplaceAll(key, " ", "-")), val)
	})
	return r, err
}

// Coalesce is what `ethtool -c DEV` says. What is n/a is absent.
type Coalesce struct {
	Device     string
	AdaptiveRX *bool
	AdaptiveTX *bool
	CQEModeRX  *bool
	CQEModeTX  *bool
	Values     map[string]uint64 // rx-usecs, tx-frames, …
}

// ParseCoalesce reads `ethtool -c DEV`.
func ParseCoalesce(b []byte) (Coalesce, error) {
	c := Coalesce{Values: map[string]uint64{}}
	set := func(key string, v any) error {
		switch key {
		case "adaptive-rx":
			c.AdaptiveRX = onOff(v)
		case "adaptive-tx":
			c.AdaptiveTX = onOff(v)
		case "cqe-mode-rx":
			c.CQEModeRX = onOff(v)
		case "cqe-mode-tx":
			c.CQEModeTX = onOff(v)
		default:
			n := count(v)
			if n == nil {
				return errSkip
			}
			c.Values[key] = *n
		}
		return nil
	}
	if isJSON(b) {
		err := walk(b, &c.Device, func(path []string, _ int, v any) error {
			return set(path[0], v)
		})
		return c, err
	}
	err := pairs(b, &c.Device, func(key, val string) error {
		// "Adaptive RX: off  TX: on" holds two values.
		if what, ok := strings.CutSuffix(key, " RX"); ok {
			what = strings.ToLower(strings.ReplaceAll(what, " ", "-"))
			rx, tx, _ := strings.Cut(val, "TX:")
			set(what+"-rx", strings.TrimSpace(rx))
			return set(what+"-tx", strings.TrimSpace(tx))
		}
		return set(key, val)
	})
	return c, err
}

// Features is what `ethtool -k DEV` says, in its order.
type Features struct {
	Device string
	List   []Feature
}

// Feature is one offload.
type Feature struct {
	Name      string
	On        bool
	Fixed     *bool // nil when not told, as for a group of features
	Requested *bool // the wish, where it is told and where it differs from On in text
}

// Get returns the feature of that name.
func (f Features) Get(name string) (Feature, bool) {
	i := slices.IndexFunc(f.List, func(x Feature) bool { return x.Name == name })
	if i < 0 {
		return Feature{}, false
	}
	return f.List[i], true
}

// ParseFeatures reads `ethtool -k DEV`.
func ParseFeatures(b []byte) (Features, error) {
	var f Features
	if isJSON(b) {
		err := walk(b, &f.Device, func(path []string, _ int, v any) error {
			if len(path) != 2 {
				return errSkip
			}
			if n := len(f.List); n == 0 || f.List[n-1].Name != path[0] {
				f.List = append(f.List, Feature{Name: path[0]})
			}
			x := &f.List[len(f.List)-1]
			switch path[1] {
			case "active":
				x.On = v == true
			case "fixed":
				x.Fixed = onOff(v)
			case "requested":
				x.Requested = onOff(v)
			}
			return nil
		})
		return f, err
	}
	err := pairs(b, &f.Device, func(key, val string) error {
		on := onOff(val)
		if on == nil {
			return fmt.Errorf("%.60q is neither on nor off", val)
		}
		x := Feature{Name: key, On: *on}
		switch {
		case strings.Contains(val, "[fixed]"):
			x.Fixed = new(true)
		case strings.Contains(val, "[requested on]"):
			x.Requested = new(true)
		case strings.Contains(val, "[requested off]"), strings.Contains(val, "[not requested]"):
			x.Requested = new(false)
		}
		f.List = append(f.List, x)
		return nil
	})
	return f, err
}

// PrivFlags is what `ethtool --show-priv-flags DEV` says.
type PrivFlags struct {
	Device string
	Flags  map[string]bool
}

// ParsePrivFlags reads `ethtool --show-priv-flags DEV`.
func ParsePrivFlags(b []byte) (PrivFlags, error) {
	p := PrivFlags{Flags: map[string]bool{}}
	if isJSON(b) {
		err := walk(b, &p.Device, func(path []string, _ int, v any) error {
			on := onOff(v)
			if on == nil {
				return errSkip
			}
			p.Flags[path[len(path)-1]] = *on
			return nil
		})
		return p, err
	}
	err := pairs(b, &p.Device, func(key, val string) error {
		on := onOff(val)
		if on == nil {
			return fmt.Errorf("%.60q is neither on nor off", val)
		}
		p.Flags[key] = *on
		return nil
	})
	return p, err
}

// FEC is what `ethtool --show-fec DEV` says, in its words (RS, BaseR, Off, None, Auto).
type FEC struct {
	Device        string
	Configured    []string
	Active        []string
	Corrected     *uint64 // blocks, with ethtool -I
	Uncorrectable *uint64 // blocks
}

// ParseFEC reads `ethtool --show-fec DEV`.
func ParseFEC(b []byte) (FEC, error) {
	var f FEC
	if isJSON(b) {
		err := walk(b, &f.Device, func(path []string, _ int, v any) error {
			switch strings.Join(path, " ") {
			case "config":
				f.Configured = append(f.Configured, text(v))
			case "active":
				f.Active = append(f.Active, text(v))
			case "statistics corrected_blocks total":
				f.Corrected = count(v)
			case "statistics uncorrectable_blocks total":
				f.Uncorrectable = count(v)
			default:
				return errSkip
			}
			return nil
		})
		return f, err
	}
	err := pairs(b, &f.Device, func(key, val string) error {
		switch key {
		case "Supported/Configured FEC encodings", "Configured FEC encodings":
			f.Configured = strings.Fields(val)
		case "Active FEC encoding", "Active FEC encodings":
			f.Active = strings.Fields(val)
		case "corrected_blocks":
			f.Corrected = count(val)
		case "uncorrectable_blocks":
			f.Uncorrectable = count(val)
		default:
			return errSkip
		}
		return nil
	})
	return f, err
}
