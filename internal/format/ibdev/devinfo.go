package ibdev

import (
	"strings"

	"weft/internal/format/printed"
)

// ParseDevinfo reads ibv_devinfo, plain or with -v, and the names of -l.
func ParseDevinfo(b []byte) ([]Device, error) {
	var (
		f      faults
		devs   []Device
		port   bool // keys belong to the last port of the last device
		listed bool // below "2 HCAs found:" every line is a name
	)
	for num, line := range printed.Lines(b) {
		key, val, hasVal := strings.Cut(line, ":")
		val = strings.TrimSpace(val)
		switch {
		case key == "hca_id" && val != "":
			devs, port, listed = append(devs, Device{Name: val}), false, false
			continue
		case strings.HasSuffix(key, " found") && strings.Contains(key, " HCA") && val == "":
			listed = true
			continue
		case listed && !hasVal && !strings.ContainsAny(line, " \t"):
			devs = append(devs, Device{Name: line})
			continue
		case strings.HasPrefix(line, "No IB devices found"):
			continue
		case strings.HasPrefix(line, "Failed to "), strings.HasSuffix(line, "wasn't found"):
			f.Complain(num, line)
			continue
		case len(devs) == 0:
			f.Unknown(num, line, "ibv_devinfo")
			continue
		case !hasVal:
			continue // flag names of -v
		}
		d := &devs[len(devs)-1]
		if key == "port" {
			n, ok := printed.Number(val)
			if port = ok; !ok {
				f.Add(num, "port: %.60q is not a number", val)
				continue
			}
			d.Ports = append(d.Ports, Port{Number: n})
			continue
		}
		if port {
			d.Ports[len(d.Ports)-1].devinfoField(&f, num, key, val)
		} else {
			d.devinfoField(&f, num, key, val)
		}
	}
	return devs, f.Err(len(devs) > 0)
}

func (d *Device) devinfoField(f *faults, line int, key, val string) {
	switch key {
	case "transport":
		d.Transport = bareWord(val)
	case "fw_ver":
		d.Firmware = val
	case "node_guid":
		f.guidField(&d.NodeGUID, line, key, val)
	case "sys_image_guid":
		f.guidField(&d.SysImageGUID, line, key, val)
	case "vendor_id":
		d.VendorID = val
	case "vendor_part_id":
		f.intField(&d.VendorPartID, line, key, val)
	case "hw_ver":
		d.HWVersion = val
	case "board_id":
		d.BoardID = val
	case "phys_port_cnt":
		f.intField(&d.NumPorts, line, key, val)
	}
}

func (p *Port) devinfoField(f *faults, line int, key, val string) {
	switch key {
	case "state":
		f.stateField(&p.State, line, key, val)
	case "max_mtu":
		p.MaxMTUBytes = f.mtu(line, key, val)
	case "active_mtu":
		p.ActiveMTUBytes = f.mtu(line, key, val)
	case "sm_lid":
		f.intField(&p.SMLID, line, key, val)
	case "port_lid":
		f.intField(&p.BaseLID, line, key, val)
	case "port_lmc":
		f.intField(&p.LMC, line, key, val)
	case "link_layer":
		p.LinkLayer = layerWord(val)
	case "port_cap_flags":
		p.CapMask = val
	case "active_width":
		n, ok := lanes(val)
		if !ok {
			f.Add(line, "%s: %.60q is not a width", key, val)
		}
		p.WidthLanes = n
	case "active_speed":
		s, ok := speedWord(val)
		if !ok {
			f.Add(line, "%s: %.60q is not a speed", key, val)
		}
		p.Speed = s
	case "phys_state":
		f.physField(&p.PhysState, line, key, val)
	default:
		if index, ok := strings.CutPrefix(key, "GID["); ok {
			p.devinfoGID(f, line, strings.TrimSuffix(index, "]"), val)
		}
	}
}

// devinfoGID reads what follows "GID[" : "  1]: fe80::1, RoCE v2".
func (p *Port) devinfoGID(f *faults, line int, index, val string) {
	n, isNum := printed.Number(strings.TrimSpace(index))
	text, typ, _ := strings.Cut(val, ",")
	a, isGID := gidAddr(strings.TrimSpace(text))
	if !isNum || !isGID {
		f.Add(line, "GID[%.60s]: %.60q is not a GID", index, val)
		return
	}
	p.GIDs = append(p.GIDs, GID{Index: n, Addr: a, Type: gidType(typ)})
}

// gidType keeps the two words that make a difference.
func gidType(s string) string {
	switch strings.TrimSpace(s) {
	case "RoCE v1", "IB/RoCE v1", "v1":
		return "RoCE v1"
	case "RoCE v2", "v2":
		return "RoCE v2"
	}
	return ""
}

// mtu reads "4096 (5)".
func (f *faults) mtu(line int, key, val string) int {
	n, ok := printed.Number(bareWord(val))
	if !ok {
		f.Add(line, "%s: %.60q is not an MTU", key, val)
	}
	return n
}
