package ibnet

import (
	"strconv"
	"strings"
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
	in := lines{rest: string(b)}
	for line, ok := in.next(); ok; line, ok = in.next() {
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
				f.other(in.num, line, "ibswinfo")
			}
			continue
		}
		known = true
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		if num, ok := strings.CutPrefix(key, "PSU"); ok {
			num, _ = word(num)
			n, isNum := number(num)
			if psu = isNum; !isNum {
				f.add(in.num, "%s: %q is not a number", clip(key), clip(num))
				continue
			}
			s.PSUs = append(s.PSUs, PSU{Number: n, Status: val})
			continue
		}
		if psu {
			s.PSUs[len(s.PSUs)-1].field(&f, in.num, key, val)
		} else {
			s.field(&f, in.num, key, val)
		}
	}
	return s, f.err(known)
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
			f.add(line, "uptime: %q is not days-h:m:s", clip(val))
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
			n, isNum := number(num)
			if !isNum {
				f.add(line, "fan: %q is not a number", clip(num))
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
		f.add(line, "%s: %q is not a number", key, clip(val))
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
	total, ok := number(days)
	if !ok {
		return 0, false
	}
	for i, most := range []int{24, 60, 60} {
		n, ok := number(parts[i])
		if !ok || n >= most {
			return 0, false
		}
		total = total*most + n
	}
	return total, true
}
