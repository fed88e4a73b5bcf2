package firewall

import (
	"errors"
	"fmt"
	"strings"

	"weft/internal/format/printed"
)

// A UFW is what `ufw status verbose` says.
type UFW struct {
	Active   bool
	Incoming string // the default: "deny", "reject", "allow"; "" when not told
	Rules    []UFWRule
}

// A UFWRule is one line of the list, in its order, which decides.
type UFWRule struct {
	Action    string // "ALLOW", "DENY", "REJECT", "LIMIT"
	Direction string // "IN", "OUT", "FWD"
	V6        bool
	To        string // address, "" for anywhere
	Ports     string // "22", "6379,8000:8010"; "" for any
	Proto     string // "" for any
	Interface string // "" for any
	App       string // a profile's name whose ports are not told
	From      string // "" for anywhere
	Comment   string
}

// ParseUFW reads `ufw status verbose`, and `ufw status`, which does not tell
// the default.
func ParseUFW(b []byte) (UFW, error) {
	var (
		u      UFW
		status bool
		errs   []error
	)
	for n, line := range printed.Lines(b) {
		if line[0] == '#' || strings.HasPrefix(line, "--") {
			continue
		}
		if v, ok := strings.CutPrefix(line, "Status: "); ok {
			status, u.Active = true, v == "active"
			continue
		}
		if v, ok := strings.CutPrefix(line, "Default: "); ok {
			u.Incoming, _, _ = strings.Cut(v, " (incoming)")
			continue
		}
		if strings.HasPrefix(line, "To ") || strings.HasPrefix(line, "Logging: ") || strings.HasPrefix(line, "New profiles: ") {
			continue
		}
		r, ok := ufwRule(line)
		if !ok {
			errs = append(errs, fmt.Errorf("line %d: %.120q is no rule", n, line))
			continue
		}
		u.Rules = append(u.Rules, r)
	}
	if !status {
		errs = append(errs, errors.New("no status of ufw"))
	}
	return u, errors.Join(errs...)
}

func ufwRule(line string) (UFWRule, bool) {
	line, comment, _ := strings.Cut(line, " # ")
	f := strings.Fields(line)
	for i, word := range f {
		switch word {
		case "ALLOW", "DENY", "REJECT", "LIMIT":
		default:
			continue
		}
		r := UFWRule{Action: word, Direction: "IN", Comment: comment}
		rest := f[i+1:]
		if len(rest) > 0 && (rest[0] == "IN" || rest[0] == "OUT" || rest[0] == "FWD") {
			r.Direction, rest = rest[0], rest[1:]
		}
		r.to(f[:i])
		from := strings.Join(rest, " ")
		from = strings.TrimSpace(strings.Replace(from, "(v6)", "", 1))
		if from != "Anywhere" {
			r.From = from
		}
		return r, i > 0
	}
	return UFWRule{}, false
}

// to reads "10.0.0.1 443/tcp (v6) on eth0" in all its shorter forms.
func (r *UFWRule) to(f []string) {
	for i := 0; i < len(f); i++ {
		word := f[i]
		ports, proto, slashed := strings.Cut(word, "/")
		switch {
		case word == "(v6)":
			r.V6 = true
		case word == "on" && i+1 < len(f):
			i++
			r.Interface = f[i]
		case word == "Anywhere" || strings.HasPrefix(word, "("): // "(OpenSSH)" beside its ports
		case strings.Trim(ports, "0123456789,:") == "" && (!slashed || strings.Trim(proto, "0123456789") != ""):
			r.Ports, r.Proto = ports, proto
		case strings.ContainsAny(word, ".:"):
			r.To = word
		default:
			r.App = strings.TrimSpace(r.App + " " + word)
		}
	}
}

// Inbound answers for one packet. A limited rule drops the seventh connection
// within 30 seconds, so that it may do either.
func (u UFW) Inbound(q Query) Answer {
	if !u.Active {
		return Answer{Verdict: Allowed}
	}
	var j judge
	for _, r := range u.Rules {
		if r.V6 || r.Direction != "IN" {
			continue
		}
		does := drop
		switch r.Action {
		case "ALLOW":
			does = accept
		case "LIMIT":
			does = accept | drop
		}
		if !j.rule(r.matches(q), does, fmt.Sprintf("ufw: %s %s", strings.ToLower(r.Action), r)) {
			return j.answer()
		}
	}
	switch u.Incoming {
	case "allow":
		j.rule(yes, accept, "")
	case "deny", "reject":
		j.rule(yes, drop, "ufw: default "+u.Incoming+" (incoming)")
	default:
		j.rule(yes, accept|drop, "ufw: the default was not told")
	}
	return j.answer()
}

func (r UFWRule) matches(q Query) tri {
	m := yes
	if r.Interface != "" {
		m = min(m, q.on(r.Interface))
	}
	if r.Proto != "" {
		m = min(m, is(r.Proto == q.Proto))
	}
	if r.Ports != "" {
		m = min(m, q.ports(r.Ports, ":"))
	}
	if r.From != "" {
		m = min(m, q.from(r.From))
	}
	if r.To != "" || r.App != "" {
		m = min(m, maybe)
	}
	return m
}

// String is the rule for people: "6379/tcp on ib0 from 10.0.0.0/8".
func (r UFWRule) String() string {
	s := r.Ports
	if s == "" {
		s = "any port"
	}
	if r.App != "" {
		s = r.App
	}
	if r.Proto != "" {
		s += "/" + r.Proto
	}
	if r.Interface != "" {
		s += " on " + r.Interface
	}
	if r.From != "" {
		s += " from " + r.From
	}
	return s
}
