package ibnet

import (
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// Switch is what ibswinfo reads out of a switch, managed or not.
type Switch struct {
	Name            string // node description
	PartNumber      string
	SerialNumber    string
	ProductName     string
	Revision        string
	NumPorts        *int
	PSID            string
	GUID            string
	Firmware        string
	UptimeS         *int
	PSUs            []PSU
	TemperatureC    *int
	MaxTemperatureC *int
	FanStatus       string // "OK", "ERROR"
	Fans            []Fan
}

// PSU is a power supply.
type PSU struct {
	Number       int
	Status       string // "OK", "ERROR"
	PartNumber   string
	SerialNumber string
	DCPower      string
	FanStatus    string
	PowerW       *int
}

// Fan is one rotor.
type Fan struct {
	Number int
	RPM    *int
}

// ParseIbswinfo reads ibswinfo.
func ParseIbswinfo(b []byte) (Switch, error) {
	var (
		f     faults
		s     Switch
		psu   bool // keys belong to the last power supply
		known bool
	)
	for num, line := range printed.Lines(b) {
		if strings.Trim(line, "=-") == "" {
			psu = false
			known = known || line[0] == '=' // the frame around the name
			continue
		}
		key, val, ok := strings.Cut(line, "|")
		if !ok {
			if known && s.Name == "" {
				s.Name = line
			} else {
				f.other(num, line, "ibswinfo")
			}
			continue
		}
		known = true
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		if label, ok := strings.CutPrefix(key, "PSU"); ok {
			label, _ = word(label)
			n, isNum := printed.Number(label)
			if psu = isNum; !isNum {
				f.Add(num, "%.60s: %.60q is not a number", key, label)
				continue
			}
			s.PSUs = append(s.PSUs, PSU{Number: n, Status: val})
			continue
		}
		if psu {
			s.PSUs[len(s.PSUs)-1].field(&f, num, key, val)
		} else {
			s.field(&f, num, key, val)
		}
	}
	return s, f.Err(known)
}

func (p *PSU) field(f *faults, line int, key, val string) {
	switch key {
	case "P/N":
		p.PartNumber = val
	case "S/N":
		p.SerialNumber = val
	case "DC power":
		p.DCPower = val
	case "fan status":
		p.FanStatus = val
	case "power (W)":
		p.PowerW = f.maybe(line, key, val)
	}
}

func (s *Switch) field(f *faults, line int, key, val string) {
	switch key {
	case "part number":
		s.PartNumber = val
	case "serial number":
		s.SerialNumber = val
	case "product name":
		s.ProductName = val
	case "revision":
		s.Revision = val
	case "ports":
		s.NumPorts = f.maybe(line, key, val)
	case "PSID":
		s.PSID = val
	case "GUID":
		f.guidField(&s.GUID, line, key, val)
	case "firmware version":
		s.Firmware = val
	case "uptime (d-h:m:s)":
		n, ok := uptime(val)
		if !ok {
			f.Add(line, "uptime: %.60q is not days-h:m:s", val)
			return
		}
		s.UptimeS = &n
	case "temperature (C)":
		s.TemperatureC = f.maybe(line, key, val)
	case "max temp (C)":
		s.MaxTemperatureC = f.maybe(line, key, val)
	case "fan status":
		s.FanStatus = val
	default:
		if num, ok := strings.CutPrefix(key, "fan#"); ok {
			num, _ = word(num)
			n, isNum := printed.Number(num)
			if !isNum {
				f.Add(line, "fan: %.60q is not a number", num)
				return
			}
			s.Fans = append(s.Fans, Fan{Number: n, RPM: f.maybe(line, key, val)})
		}
	}
}

// maybe reads a number that a switch may not have.
func (f *faults) maybe(line int, key, val string) *int {
	switch strings.ToUpper(val) {
	case "", "N/A", "NA", "-":
		return nil
	}
	n, err := strconv.ParseInt(val, 10, 32)
	if err != nil {
		f.Add(line, "%s: %.60q is not a number", key, val)
		return nil
	}
	return new(int(n))
}

// uptime reads "160d-10:38:53" as seconds.
func uptime(s string) (int, bool) {
	days, clock, ok := strings.Cut(s, "d-")
	parts := strings.Split(clock, ":")
	if !ok || len(parts) != 3 {
		return 0, false
	}
	total, ok := printed.Number(days)
	if !ok {
		return 0, false
	}
	for i, most := range []int{24, 60, 60} {
		n, ok := printed.Number(parts[i])
		if !ok || n >= most {
			return 0, false
		}
		total = total*most + n
	}
	return total, true
}
