package ibnet

import (
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// ErrorReport is what ibqueryerrors found.
type ErrorReport struct {
	Ports        []PortErrors
	NodesChecked *int // nil when the summary was not printed
	BadNodes     *int
	PortsChecked *int
	BadPorts     *int
	Suppressed   []string // counters that were asked to be left out
}

// PortErrors are one port's counters: those over the threshold, and with
// --data or --counters the traffic too.
type PortErrors struct {
	Name     string
	GUID     string // a switch's node GUID, a CA's port GUID (--counters: its node GUID)
	Port     int
	All      bool // the sum over all ports of a switch; Port is 0
	Counters map[string]uint64
	Link     *PortLink // -r only
}

// ParseQueryErrors reads ibqueryerrors.
func ParseQueryErrors(b []byte) (ErrorReport, error) {
	var (
		f    faults
		r    ErrorReport
		name string
	)
	known := false
	for num, line := range printed.Lines(b) {
		switch {
		case strings.HasPrefix(line, "Errors for "), strings.HasPrefix(line, "Data Counters for "):
			name, _, _ = quoted(line, '"')
			known = true
		case strings.HasPrefix(line, "GUID "):
			known = true
			p := PortErrors{Name: name}
			if p.counters(&f, num, line) {
				r.Ports = append(r.Ports, p)
			}
		case strings.HasPrefix(line, "Link info:"):
			left, right, ok := strings.Cut(strings.TrimPrefix(line, "Link info:"), "==(")
			if !ok || len(r.Ports) == 0 {
				f.Add(num, "link: %.60q belongs to no port", line)
				continue
			}
			last := &r.Ports[len(r.Ports)-1]
			l := PortLink{GUID: last.GUID, Name: last.Name}
			if l.linkLine(&f, num, left, right) {
				last.Link = &l
			}
		case strings.HasPrefix(line, "##"):
			known = r.summary(&f, num, strings.TrimSpace(line[2:])) || known
		default:
			f.other(num, line, "ibqueryerrors")
		}
	}
	return r, f.Err(known)
}

// counters reads "GUID 0x200001 port 3: [SymbolErrorCounter == 100] [PortXmitData == 4968 (19.406KB)]".
func (p *PortErrors) counters(f *faults, num int, line string) bool {
	head, rest, _ := strings.Cut(line, ":")
	words := strings.Fields(head)
	if len(words) != 4 || words[2] != "port" {
		f.Add(num, "port: %.60q has no GUID and port", head)
		return false
	}
	g, isGUID := guid(words[1])
	port, isNum := printed.Number(words[3])
	p.All = words[3] == "ALL"
	if !isGUID || !isNum && !p.All {
		f.Add(num, "port: %.60q has no GUID and port", head)
		return false
	}
	p.GUID, p.Port, p.Counters = guidText(g), port, map[string]uint64{}
	for piece := range strings.SplitSeq(rest, "[") {
		piece, _, ok := strings.Cut(piece, "]")
		if !ok {
			if strings.TrimSpace(piece) != "" {
				f.Add(num, "counter: %.60q is cut short", piece)
			}
			continue
		}
		name, val, _ := strings.Cut(piece, " == ")
		val, _ = word(val)
		n, err := strconv.ParseUint(val, 10, 64)
		if name = strings.TrimSpace(name); err != nil || name == "" {
			f.Add(num, "counter: %.60q is not a name and a number", piece)
			continue
		}
		p.Counters[name] = n
	}
	return true
}

// summary reads the lines after "##".
func (r *ErrorReport) summary(f *faults, num int, s string) bool {
	if rest, ok := strings.CutPrefix(s, "Suppressed:"); ok {
		r.Suppressed = strings.Fields(rest)
		return true
	}
	s = strings.TrimPrefix(s, "Summary: ")
	checked, bad, ok := strings.Cut(s, " checked, ")
	if !ok {
		return false
	}
	a, what := word(checked)
	b, _ := word(bad)
	n, ok1 := printed.Number(a)
	m, ok2 := printed.Number(b)
	if !ok1 || !ok2 {
		f.Add(num, "summary: %.60q has no two numbers", s)
		return false
	}
	switch strings.TrimSpace(what) {
	case "nodes":
		r.NodesChecked, r.BadNodes = &n, &m
	case "ports":
		r.PortsChecked, r.BadPorts = &n, &m
	}
	return true
}
