package ethtool

import "strings"

// Pause is what `ethtool -a DEV` says of global pause. nil is not told.
type Pause struct {
	Device       string
	Autoneg      *bool
	RX, TX       *bool
	NegotiatedRX *bool
	NegotiatedTX *bool
	RXFrames     *uint64 // with ethtool -I
	TXFrames     *uint64
}

// ParsePause reads `ethtool -a DEV`.
func ParsePause(b []byte) (Pause, error) {
	var p Pause
	set := func(key string, v any) error {
		switch key {
		case "autonegotiate":
			p.Autoneg = onOff(v)
		case "rx":
			p.RX = onOff(v)
		case "tx":
			p.TX = onOff(v)
		case "rx negotiated", "negotiated rx":
			p.NegotiatedRX = onOff(v)
		case "tx negotiated", "negotiated tx":
			p.NegotiatedTX = onOff(v)
		case "rx_pause_frames", "statistics rx_pause_frames":
			p.RXFrames = count(v)
		case "tx_pause_frames", "statistics tx_pause_frames":
			p.TXFrames = count(v)
		default:
			return errSkip
		}
		return nil
	}
	if isJSON(b) {
		err := walk(b, &p.Device, func(path []string, _ int, v any) error {
			return set(strings.Join(path, " "), v)
		})
		return p, err
	}
	err := pairs(b, &p.Device, func(key, val string) error {
		return set(strings.ToLower(key), val)
	})
	return p, err
}
