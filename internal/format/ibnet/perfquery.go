package ibnet

import (
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// PortCounters is one port's counters as perfquery prints them. PortXmitData
// and PortRcvData count 4-byte words, not bytes: see perfquery(8).
type PortCounters struct {
	LID      int // 0 when the port was reached by a direct route
	Port     int
	All      bool // port 255: the sum over all ports
	Extended bool // 64-bit counters of -x
	Counters map[string]uint64
}

// ParsePerfquery reads perfquery, one port or many, plain or extended.
func ParsePerfquery(b []byte) ([]PortCounters, error) {
	var (
		f     faults
		ports []PortCounters
		open  bool // the last of ports takes counters
	)
	for num, line := range printed.Lines(b) {
		if p, ok := perfHead(line); ok {
			ports, open = append(ports, p), true
			continue
		}
		key, val, ok := dotted(line)
		if !ok {
			f.other(num, line, "perfquery")
			continue
		}
		if !open { // the heading was cut off
			ports, open = append(ports, PortCounters{Counters: map[string]uint64{}}), true
		}
		p := &ports[len(ports)-1]
		switch {
		case key == "PortSelect":
			f.intField(&p.Port, num, key, val)
			p.All = p.Port == 255 // every port: see perfquery(8)
		case strings.HasPrefix(key, "CounterSelect"):
		default:
			n, err := strconv.ParseUint(val, 10, 64)
			if err != nil {
				f.Add(num, "%.60s: %.60q is not a number", key, val)
				continue
			}
			p.Counters[key] = n
		}
	}
	return ports, f.Err(len(ports) > 0)
}

// perfHead reads "# Port extended counters: Lid 2052 port 1 (CapMask: 0x5300 CapMask2: 0x0000002)".
func perfHead(line string) (PortCounters, bool) {
	rest, ok := strings.CutPrefix(line, "# Port ")
	what, rest, ok2 := strings.Cut(rest, "counters:")
	if !ok || !ok2 {
		return PortCounters{}, false
	}
	p := PortCounters{Extended: strings.Contains(what, "extended"), Counters: map[string]uint64{}}
	p.LID, _ = after(rest, "Lid")
	p.Port, _ = after(rest, "port")
	p.All = p.Port == 255
	return p, true
}

// dotted reads libibmad's "PortRcvErrors:...................0" and saquery's
// "EndPortLid..............1".
func dotted(line string) (key, val string, ok bool) {
	i := strings.IndexAny(line, ".:")
	if i <= 0 {
		return "", "", false
	}
	val, ok = strings.CutPrefix(strings.TrimPrefix(line[i:], ":"), ".")
	return line[:i], strings.TrimSpace(strings.TrimLeft(val, ".")), ok
}
