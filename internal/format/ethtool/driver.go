package ethtool

import "strings"

// Driver is what `ethtool -i DEV` says.
type Driver struct {
	Driver       string
	Version      string
	Firmware     string // "" when the driver tells none, as are the others
	ExpansionROM string
	BusInfo      string // 0000:c2:00.0
}

// ParseDriver reads `ethtool -i DEV`.
func ParseDriver(b []byte) (Driver, error) {
	var d Driver
	set := func(key, val string) error {
		if val == "N/A" {
			val = ""
		}
		switch key {
		case "driver":
			d.Driver = val
		case "version":
			d.Version = val
		case "firmware-version":
			d.Firmware = val
		case "expansion-rom-version":
			d.ExpansionROM = val
		case "bus-info":
			d.BusInfo = val
		default:
			return errSkip
		}
		return nil
	}
	var dev string
	if isJSON(b) {
		err := walk(b, &dev, func(path []string, _ int, v any) error {
			return set(strings.ReplaceAll(path[0], "_", "-"), text(v))
		})
		return d, err
	}
	err := pairs(b, &dev, set)
	return d, err
}
