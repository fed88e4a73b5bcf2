package ibdev

import (
	"strings"

	"weft/internal/format/printed"
)

// PortState is one port as ibportstate and smpquery portinfo show it: what it
// supports, what it may use, what it uses.
type PortState struct {
	Of             string // "Switch", "CA/RT" or "Peer"; empty when the heading was cut
	At             string // "Lid 3" or "DR path slid …": how the port was reached
	Number         *int
	State          string // as Port.State
	PhysState      string // as Port.PhysState
	BaseLID        *int
	SMLID          *int
	LMC            *int
	WidthSupported []int // lanes
	WidthEnabled   []int
	WidthActive    int      // 0 when not printed
	SpeedSupported []string // as Port.Speed, slowest first, extended speeds included
	SpeedEnabled   []string
	SpeedActive    string
	MTUSupported   int // bytes; smpquery alone prints these
	MTUActive      int
}

// ParseIbportstate reads ibportstate: the port, then its peer where it was asked.
func ParseIbportstate(b []byte) ([]PortState, error) {
	var (
		f       faults
		ports   []PortState
		of      string
		open    bool // the last of ports still takes keys
		mlnxExt bool // below "# MLNX ext Port info" the same keys are bit masks
	)
	for num, line := range printed.Lines(b) {
		if head, ok := strings.CutSuffix(line, " PortInfo:"); ok {
			of, open, mlnxExt = strings.TrimPrefix(head, "Initial "), false, false
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# MLNX ext Port info:"); ok && rest != "" {
			mlnxExt = true
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# Port info:"); ok {
			p := PortState{Of: of, At: strings.TrimSpace(rest)}
			if at := strings.LastIndex(rest, " port "); at >= 0 {
				p.At = strings.TrimSpace(rest[:at])
				f.intField(&p.Number, num, "port", rest[at+len(" port "):])
			}
			ports, of, open, mlnxExt = append(ports, p), "", true, false
			continue
		}
		key, val, ok := dotted(line)
		if !ok {
			if strings.Contains(line, "iberror:") {
				f.Complain(num, line)
			} else {
				f.Unknown(num, line, "ibportstate")
			}
			continue
		}
		if !open {
			ports, of, open = append(ports, PortState{Of: of}), "", true
		}
		p := &ports[len(ports)-1]
		switch {
		case !mlnxExt:
			p.field(&f, num, key, val)
		case key == "LinkSpeedActive":
			if n, ok := printed.Number(val); ok && n == 1 {
				p.SpeedActive = "FDR10" // the only bit of MLNX ExtendedPortInfo's speeds
			}
		}
	}
	return ports, f.Err(len(ports) > 0)
}

// dotted reads libibmad's "LinkState:.......................Active".
func dotted(line string) (key, val string, ok bool) {
	key, val, ok = strings.Cut(line, ":.")
	if !ok || key == "" || strings.ContainsAny(key, " \t") {
		return "", "", false
	}
	return key, strings.TrimSpace(strings.TrimLeft(val, ".")), true
}

func (p *PortState) field(f *faults, line int, key, val string) {
	switch key {
	case "LinkState":
		f.stateField(&p.State, line, key, val)
	case "PhysLinkState":
		f.physField(&p.PhysState, line, key, val)
	case "Lid":
		f.intField(&p.BaseLID, line, key, val)
	case "SMLid":
		f.intField(&p.SMLID, line, key, val)
	case "LMC":
		f.intField(&p.LMC, line, key, val)
	case "LinkWidthSupported":
		p.WidthSupported = f.widths(line, key, val)
	case "LinkWidthEnabled":
		p.WidthEnabled = f.widths(line, key, val)
	case "LinkWidthActive":
		n, ok := lanes(val)
		if !ok {
			f.Add(line, "%s: %.60q is not a width", key, val)
		}
		p.WidthActive = n
	case "MtuCap":
		p.MTUSupported = f.mtu(line, key, val)
	case "NeighborMTU":
		p.MTUActive = f.mtu(line, key, val)
	default:
		if rest, ok := strings.CutPrefix(key, "LinkSpeed"); ok {
			p.speeds(f, line, key, strings.TrimRight(strings.TrimPrefix(rest, "Ext"), "2"), val)
		}
	}
}

// speeds merges LinkSpeed… and LinkSpeedExt… . The extended active speed is
// printed after the base one and is the true one when there is any.
func (p *PortState) speeds(f *faults, line int, key, what, val string) {
	var words []string
	switch val {
	case "0", "Extended speed", "No Extended Speed", "Extended link speeds disabled":
		return
	}
	for s := range strings.SplitSeq(val, " or ") {
		w, ok := speedWord(strings.TrimSpace(s))
		if !ok {
			f.Add(line, "%s: %.60q is not a speed", key, s)
			continue
		}
		words = append(words, w)
	}
	switch what {
	case "Supported":
		p.SpeedSupported = append(p.SpeedSupported, words...)
	case "Enabled":
		p.SpeedEnabled = append(p.SpeedEnabled, words...)
	case "Active":
		if len(words) == 1 {
			p.SpeedActive = words[0]
		}
	}
}

func (f *faults) widths(line int, key, val string) []int {
	var list []int
	for s := range strings.SplitSeq(val, " or ") {
		n, ok := lanes(s)
		if !ok {
			f.Add(line, "%s: %.60q is not a width", key, s)
			continue
		}
		list = append(list, n)
	}
	return list
}
