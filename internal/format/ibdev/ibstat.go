package ibdev

import (
	"strings"

	"weft/internal/format/printed"
)

// nodeTypes are the words ibstat puts before the quoted device name.
var nodeTypes = []string{"CA", "Switch", "Router", "iWARP RNIC", "???"}

// ParseIbstat reads ibstat.
func ParseIbstat(b []byte) ([]Device, error) {
	var (
		f    faults
		devs []Device
		port bool // keys belong to the last port of the last device
	)
	for num, line := range printed.Lines(b) {
		if typ, name, ok := ibstatHead(line); ok {
			devs, port = append(devs, Device{Name: name, NodeType: typ}), false
			continue
		}
		if len(devs) == 0 {
			f.Unknown(num, line, "ibstat")
			continue
		}
		d := &devs[len(devs)-1]
		key, val, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		val = strings.TrimSpace(val)
		if label, isPort := strings.CutPrefix(key, "Port "); isPort && val == "" {
			n, ok := printed.Number(label)
			if port = ok; !ok {
				f.Add(num, "port: %.60q is not a number", label)
				continue
			}
			d.Ports = append(d.Ports, Port{Number: n})
			continue
		}
		if port {
			d.Ports[len(d.Ports)-1].ibstatField(&f, num, key, val)
		} else {
			d.ibstatField(&f, num, key, val)
		}
	}
	return devs, f.Err(len(devs) > 0)
}

// ibstatHead reads "CA 'mlx5_0'".
func ibstatHead(line string) (typ, name string, ok bool) {
	head, rest, ok := strings.Cut(line, " '")
	name, ok2 := strings.CutSuffix(rest, "'")
	if !ok || !ok2 || name == "" {
		return "", "", false
	}
	for _, t := range nodeTypes {
		if head == t {
			return strings.Trim(t, "?"), name, true
		}
	}
	return "", "", false
}

func (d *Device) ibstatField(f *faults, line int, key, val string) {
	switch key {
	case "CA type":
		d.CAType = val
	case "Number of ports":
		f.intField(&d.NumPorts, line, key, val)
	case "Firmware version":
		d.Firmware = val
	case "Hardware version":
		d.HWVersion = val
	case "Node GUID":
		f.guidField(&d.NodeGUID, line, key, val)
	case "System image GUID":
		f.guidField(&d.SysImageGUID, line, key, val)
	}
}

func (p *Port) ibstatField(f *faults, line int, key, val string) {
	switch key {
	case "State":
		f.stateField(&p.State, line, key, val)
	case "Physical state":
		f.physField(&p.PhysState, line, key, val)
	case "Rate":
		p.rateField(f, line, val)
	case "Base lid":
		f.intField(&p.BaseLID, line, key, val)
	case "LMC":
		f.intField(&p.LMC, line, key, val)
	case "SM lid":
		f.intField(&p.SMLID, line, key, val)
	case "Capability mask":
		p.CapMask = val
	case "Port GUID":
		f.guidField(&p.PortGUID, line, key, val)
	case "Link layer":
		p.LinkLayer = layerWord(val)
	}
}
