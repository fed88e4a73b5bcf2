package firewall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Firewalld is what firewall-cmd says about its zones.
type Firewalld struct {
	Running bool
	Default string // name of the zone for interfaces in no other, "" when not told
	Zones   []Zone
}

// A Zone is one level of trust and who has it.
type Zone struct {
	Name       string
	Target     string // "default" rejects, "ACCEPT", "DROP", "%%REJECT%%"; "" when not told
	Interfaces []string
	Sources    []string
	Services   []string
	Ports      []string // "6379/tcp", "10000-10010/udp"
	Protocols  []string
	RichRules  []string
}

// ParseFirewalld reads `firewall-cmd --list-all-zones`, `--list-all` and
// `--get-active-zones`. The last tells no targets, only who is in which zone.
func ParseFirewalld(b []byte) (Firewalld, error) {
	var (
		fw   Firewalld
		zone *Zone
		rich bool // inside the list of rich rules
		errs []error
		n    int
	)
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		body := strings.TrimLeft(line, " \t")
		if strings.Contains(body, "not running") {
			return Firewalld{}, nil
		}
		if body == "" || line[0] == '#' {
			continue
		}
		if body == line {
			name, flags, _ := strings.Cut(line, " ")
			if strings.HasPrefix(name, "Error") || strings.Contains(name, ":") {
				errs = append(errs, fmt.Errorf("line %d: %.120q", n, line))
				continue
			}
			fw.Zones = append(fw.Zones, Zone{Name: name})
			zone, rich = &fw.Zones[len(fw.Zones)-1], false
			if strings.Contains(flags, "default") {
				fw.Default = name
			}
			continue
		}
		if zone == nil {
			errs = append(errs, fmt.Errorf("line %d: %.120q before any zone", n, body))
			continue
		}
		if rich && strings.HasPrefix(body, "rule ") {
			zone.RichRules = append(zone.RichRules, body)
			continue
		}
		name, v, _ := strings.Cut(body, ":")
		values := strings.Fields(v)
		rich = name == "rich rules"
		switch name {
		case "target":
			zone.Target = strings.TrimSpace(v)
		case "interfaces":
			zone.Interfaces = values
		case "sources":
			zone.Sources = values
		case "services":
			zone.Services = values
		case "ports":
			zone.Ports = values
		case "protocols":
			zone.Protocols = values
		}
	}
	fw.Running = len(fw.Zones) > 0
	if !fw.Running && len(errs) == 0 {
		errs = append(errs, errors.New("no zones"))
	}
	return fw, errors.Join(errs...)
}

// services that firewalld's own zones open, and those a cluster's people do;
// from /usr/lib/firewalld/services of firewalld 1.3. Others may open anything.
var services = map[string][]string{
	"ssh":           {"22/tcp"},
	"dhcpv6-client": {"546/udp"},
	"mdns":          {"5353/udp"},
	"samba-client":  {"137/udp", "138/udp"},
	"cockpit":       {"9090/tcp"},
	"nfs":           {"2049/tcp"},
	"http":          {"80/tcp"},
	"https":         {"443/tcp"},
	"dns":           {"53/tcp", "53/udp"},
	"ipp-client":    {"631/udp"},
	"rpc-bind":      {"111/tcp", "111/udp"},
	"mountd":        {"20048/tcp", "20048/udp"},
	"ntp":           {"123/udp"},
}

// Inbound answers for one packet: first zones of its source, then the zone of
// its interface, then the default zone.
func (fw Firewalld) Inbound(q Query) Answer {
	if !fw.Running {
		return Answer{Verdict: Allowed}
	}
	var j judge
	for _, z := range fw.Zones {
		if in := anyOf(len(z.Sources), func(i int) tri { return q.from(z.Sources[i]) }); in != no {
			may, why := z.judge(q)
			if !j.rule(in, may, why) {
				return j.answer()
			}
		}
	}
	for _, z := range fw.Zones {
		if q.Interface != "" && slices.Contains(z.Interfaces, q.Interface) {
			may, why := z.judge(q)
			j.rule(yes, may, why)
			return j.answer()
		}
	}
	for _, z := range fw.Zones {
		if q.Interface != "" && z.Name == fw.Default {
			may, why := z.judge(q)
			j.rule(yes, may, why)
			return j.answer()
		}
	}
	j.rule(yes, accept|drop, fmt.Sprintf("firewalld: no zone was told for interface %q", q.Interface))
	return j.answer()
}

// judge is what a zone does with a packet, and in whose name. Rich rules are
// not evaluated: what they could change is not known.
func (z Zone) judge(q Query) (fate, string) {
	why := fmt.Sprintf("firewalld: zone %s", z.Name)
	open := max(
		anyOf(len(z.Ports), func(i int) tri { return q.open(z.Ports[i]) }),
		is(slices.Contains(z.Protocols, q.Proto)),
		anyOf(len(z.Services), func(i int) tri {
			ports, ok := services[z.Services[i]]
			if !ok {
				return maybe
			}
			return anyOf(len(ports), func(k int) tri { return q.open(ports[k]) })
		}),
	)
	var may fate
	switch {
	case z.Target == "":
		return accept | drop, why + " tells no target"
	case z.Target == "ACCEPT" || open == yes:
		may = accept
	case open == maybe:
		may = accept | drop
	default:
		may = drop
	}
	for _, r := range z.RichRules {
		switch {
		case strings.HasSuffix(r, " accept"):
			may |= accept
		case strings.HasSuffix(r, " drop"), strings.Contains(r, " reject"):
			may |= drop
		default:
			may |= accept | drop
		}
	}
	return may, why
}

// open reports whether "10000-10010/udp" holds the port.
func (q Query) open(spec string) tri {
	ports, proto, _ := strings.Cut(spec, "/")
	if proto != q.Proto {
		return no
	}
	return q.ports(ports, "-")
}
