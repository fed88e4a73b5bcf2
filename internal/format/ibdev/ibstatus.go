package ibdev

import (
	"strings"

	"weft/internal/format/printed"
)

// ParseIbstatus reads ibstatus. The default GID becomes entry 0 of the port's
// GIDs, which is the file the script reads it from.
func ParseIbstatus(b []byte) ([]Device, error) {
	var (
		f    faults
		devs []Device
		port *Port
	)
	for num, line := range printed.Lines(b) {
		if rest, ok := strings.CutPrefix(line, "Infiniband device '"); ok {
			port = nil
			name, rest, _ := strings.Cut(rest, "' port ")
			label, _, ok := strings.Cut(rest, " status")
			n, isNum := printed.Number(label)
			if !ok || !isNum || name == "" {
				f.Add(num, "device: %.60q has no name and port", line)
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
			f.Unknown(num, line, "ibstatus")
			continue
		}
		key, val, _ := strings.Cut(line, ":")
		port.ibstatusField(&f, num, key, strings.TrimSpace(val))
	}
	return devs, f.Err(len(devs) > 0)
}

func (p *Port) ibstatusField(f *faults, line int, key, val string) {
	switch key {
	case "default gid":
		if absent(val) {
			return
		}
		a, ok := gidAddr(val)
		if !ok {
			f.Add(line, "%s: %.60q is not a GID", key, val)
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
