package ibnet

import (
	"strconv"
	"strings"
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
	in := lines{rest: string(b)}
	for line, ok := in.next(); ok; line, ok = in.next() {
		switch {
		case strings.HasPrefix(line, "Errors for "), strings.HasPrefix(line, "Data Counters for "):
			name, _, _ = quoted(line, '"')
			known = true
		case strings.HasPrefix(line, "GUID "):
			known = true
			p := PortErrors{Name: name}
			if p.counters(&f, in.num, line) {
				r.Ports = append(r.Ports, p)
			}
		case strings.HasPrefix(line, "Link info:"):
			left, right, ok := strings.Cut(strings.TrimPrefix(line, "Link info:"), "==(")
			if !ok || len(r.Ports) == 0 {
				f.add(in.num, "link: %q belongs to no port", clip(line))
				continue
			}
			last := &r.Ports[len(r.Ports)-1]
			l := PortLink{GUID: last.GUID, Name: last.Name}
			if l.linkLine(&f, in.num, left, right) {
				last.Link = &l
			}
		case strings.HasPrefix(line, "##"):
			known = r.summary(&f, in.num, strings.TrimSpace(line[2:])) || known
		default:
			f.other(in.num, line, "ibqueryerrors")
		}
	}
	return r, f.err(known)
}

// counters reads "GUID 0x200001 port 3: [SymbolErrorCounter == 100] [PortXmitData == 4968 (19.406KB)]".
func (p *PortErrors) counters(f *faults, num int, line string) bool {
	head, rest, _ := strings.Cut(line, ":")
	words := strings.Fields(head)
	if len(words) != 4 || words[2] != "port" {
		f.add(num, "port: %q has no GUID and port", clip(head))
		return false
	}
	g, isGUID := guid(words[1])
	port, isNum := number(words[3])
	p.All = words[3] == "ALL"
	if !isGUID || !isNum && !p.All {
		f.add(num, "port: %q has no GUID and port", clip(head))
		return false
	}
	p.GUID, p.Port, p.Counters = guidText(g), port, map[string]uint64{}
	for piece := range strings.SplitSeq(rest, "[") {
		piece, _, ok := strings.Cut(piece, "]")
		if !ok {
			if strings.TrimSpace(piece) != "" {
				f.add(num, "counter: %q is cut short", clip(piece))
			}
			continue
		}
		name, val, _ := strings.Cut(piece, " == ")
		val, _ = word(val)
		n, err := strconv.ParseUint(val, 10, 64)
		if name = strings.TrimSpace(name); err != nil || name == "" {
			f.add(num, "counter: %q is not a name and a number", clip(piece))
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
	n, ok1 := number(a)
	m, ok2 := number(b)
	if !ok1 || !ok2 {
		f.add(num, "summary: %q has no two numbers", clip(s))
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
