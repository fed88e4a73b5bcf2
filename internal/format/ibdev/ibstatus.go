package ibdev

import "strings"

// ParseIbstatus reads ibstatus. The default GID becomes entry 0 of the port's
// GIDs, which is the file the script reads it from.
func ParseIbstatus(b []byte) ([]Device, error) {
	var (
		f    faults
		devs []Device
		port *Port
	)
	in := lines{rest: string(b)}
	for line, ok := in.next(); ok; line, ok = in.next() {
		if rest, ok := strings.CutPrefix(line, "Infiniband device '"); ok {
			port = nil
			name, rest, _ := strings.Cut(rest, "' port ")
			num, _, ok := strings.Cut(rest, " status")
			n, isNum := number(num)
			if !ok || !isNum || name == "" {
				f.add(in.num, "device: %q has no name and port", clip(line))
				continue
			}
			// The script prints the ports of one device together.
			if len(devs) == 0 || devs[len(devs)-1].Name != name {
				devs = append(devs, Device{Name: name})
			}
			d := &devs[len(devs)-1]
			d.Ports = append(d.Ports, Port{Number: n})
			port = &d.Ports[len(d.Ports)-1]
			continue
		}
		if port == nil {
			f.unknown(in.num, line, "ibstatus")
			continue
		}
		key, val, _ := strings.Cut(line, ":")
		port.ibstatusField(&f, in.num, key, strings.TrimSpace(val))
	}
	return devs, f.err(len(devs) > 0)
}

func (p *Port) ibstatusField(f *faults, line int, key, val string) {
	switch key {
	case "default gid":
		if absent(val) {
			return
		}
		a, ok := gidAddr(val)
		if !ok {
			f.add(line, "%s: %q is not a GID", key, clip(val))
			return
		}
		p.GIDs = []GID{{Addr: a}}
	case "base lid":
		f.intField(&p.BaseLID, line, key, val)
	case "sm lid":
		f.intField(&p.SMLID, line, key, val)
	case "state":
		f.stateField(&p.State, line, key, val)
	case "phys state":
		f.physField(&p.PhysState, line, key, val)
	case "rate":
		p.rateField(f, line, val)
	case "link_layer":
		p.LinkLayer = layerWord(val)
	}
}
