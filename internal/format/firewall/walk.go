package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A walker follows one packet through a ruleset.
type walker struct {
	q      Query
	sets   map[key][]any
	chains map[key]*Chain
	seen   map[key]fate // chains already walked; the fate does not depend on who jumped
	drops  []string
}

func (w *walker) base(c *Chain) Answer {
	w.drops = nil
	clear(w.seen)
	may := w.chain(c)
	if may&leave != 0 {
		may &^= leave
		if c.Policy == "drop" {
			may |= drop
			w.drops = append(w.drops, fmt.Sprintf(chainWord+"%s %s %s: policy drop", c.Family, c.Table, c.Name))
		} else {
			may |= accept
		}
	}
	if c.Family == "netdev" {
		// The chain is about one device, which nft 1.0.6 does not tell.
		here := maybe
		if c.Device != "" {
			here = w.q.on(c.Device)
		}
		if here == no {
			return Answer{Verdict: Allowed}
		}
		if here == maybe {
			may |= accept
		}
	}
	return (&judge{may, w.drops}).answer()
}

// chain walks the rules: accept, drop, or leave at the end. Chains that jump
// in a circle, which the kernel refuses, may do anything.
func (w *walker) chain(c *Chain) fate {
	k := key{c.Family, c.Table, c.Name}
	if may, ok := w.seen[k]; ok {
		return may
	}
	w.seen[k] = accept | drop | leave
	var may fate
	alive := true
	for i := range c.Rules {
		does := w.rule(c, &c.Rules[i])
		if does&drop != 0 {
			w.drops = append(w.drops, fmt.Sprintf(chainWord+"%s %s %s: rule with handle %d", c.Family, c.Table, c.Name, c.Rules[i].Handle))
		}
		may |= does &^ next
		if does&next == 0 {
			alive = false
			break
		}
	}
	if alive {
		may |= leave
	}
	w.seen[k] = may
	return may
}

// rule walks the statements of a rule: conditions, then what it does.
func (w *walker) rule(c *Chain, r *Rule) fate {
	applies := yes
	for _, statement := range r.Expr {
		if len(statement) != 1 {
			return anything // no statement that nft writes
		}
		for name, arg := range statement {
			switch name {
			case "match":
				applies = min(applies, w.match(c, arg))
			case "limit", "quota", "ct count", "meter", "xt":
				if name == "xt" && field(arg, "type") != "match" {
					return anything // a target of iptables that nft cannot spell out
				}
				applies = min(applies, maybe)
			case "counter", "log", "mangle", "notrack", "set", "map", "ct helper", "ct timeout", "last", "secmark", "comment":
			case "vmap":
				return w.perhaps(applies, w.vmap(c, arg))
			default:
				return w.perhaps(applies, w.verdict(c, name, arg))
			}
			if applies == no {
				return next
			}
		}
	}
	return next
}

func (w *walker) perhaps(applies tri, does fate) fate {
	switch applies {
	case no:
		return next
	case maybe:
		return does | next
	}
	return does
}

func (w *walker) verdict(c *Chain, name string, arg any) fate {
	switch name {
	case "accept":
		return accept
	case "drop", "reject":
		return drop
	case "return":
		return leave
	case "continue":
		return next
	case "jump", "goto":
		target, _ := field(arg, "target").(string)
		to, ok := w.chains[key{c.Family, c.Table, target}]
		if !ok {
			return anything
		}
		may := w.chain(to)
		if name == "jump" && may&leave != 0 {
			may = may&^leave | next
		}
		return may
	}
	return anything
}

func (w *walker) vmap(c *Chain, arg any) fate {
	v := w.left(field(arg, "key"))
	if v.has == no {
		return next
	}
	var pairs []any
	switch data := field(arg, "data").(type) {
	case string:
		set, ok := w.sets[key{c.Family, c.Table, strings.TrimPrefix(data, "@")}]
		if !ok {
			return anything
		}
		pairs = set
	default:
		pairs, _ = field(data, "set").([]any)
	}
	var may fate
	for _, p := range pairs {
		pair, _ := p.([]any)
		if len(pair) != 2 {
			return anything
		}
		hit := w.in(c, v, pair[0])
		if hit == no {
			continue
		}
		verdict, _ := pair[1].(map[string]any)
		if len(verdict) != 1 {
			return anything
		}
		for name, arg := range verdict {
			may |= w.verdict(c, name, arg)
		}
		if hit == yes {
			return may
		}
	}
	return may | next
}

// match evaluates {"op": …, "left": …, "right": …}.
func (w *walker) match(c *Chain, arg any) tri {
	v := w.left(field(arg, "left"))
	if v.has == no {
		return no
	}
	right := field(arg, "right")
	if _, one := right.(string); v.flags && !one {
		return maybe // two flags at once, or any of two: the spelling differs between releases
	}
	switch field(arg, "op") {
	case "==", "in":
		return min(v.has, w.in(c, v, right))
	case "!=":
		return min(v.has, w.in(c, v, right).not())
	}
	if n, ok := right.(float64); ok && v.known {
		if p, ok := v.is.(float64); ok {
			switch field(arg, "op") {
			case "<":
				return is(p < n)
			case ">":
				return is(p > n)
			case "<=":
				return is(p <= n)
			case ">=":
				return is(p >= n)
			}
		}
	}
	return maybe
}

// A value is what a packet holds where a rule looks. has is no when such a
// packet cannot hold it: a TCP packet has no UDP port.
type value struct {
	has   tri
	known bool
	is    any  // string, float64 or netip.Addr
	flags bool // TCP's flags, of which a first packet has SYN alone
}

var opaque = value{has: yes}

func known(v any) value { return value{has: yes, known: true, is: v} }

// left finds the value that a rule asks about.
func (w *walker) left(left any) value {
	if m, ok := field(left, "meta").(map[string]any); ok {
		switch m["key"] {
		case "iifname", "iif":
			if w.q.Interface == "" {
				return opaque
			}
			return known(w.q.Interface)
		case "l4proto":
			return known(w.q.Proto)
		case "nfproto":
			return known("ipv4")
		case "protocol":
			return known("ip")
		case "pkttype":
			return known("host")
		}
		return opaque
	}
	if m, ok := field(left, "ct").(map[string]any); ok {
		switch m["key"] {
		case "state":
			return known("new")
		case "status":
			return known("none") // a connection to the host itself was not translated
		}
		return opaque
	}
	if masked, ok := field(left, "&").([]any); ok && len(masked) == 2 {
		v := w.left(masked[0])
		if mask, _ := masked[1].([]any); v.flags && slices.Contains(mask, any("syn")) {
			return v
		}
		return value{has: v.has}
	}
	m, ok := field(left, "payload").(map[string]any)
	if !ok {
		return opaque
	}
	switch protocol, _ := m["protocol"].(string); protocol {
	case "tcp", "udp", "th":
		if protocol != "th" && protocol != w.q.Proto {
			return value{}
		}
		switch m["field"] {
		case "dport":
			return known(float64(w.q.Port))
		case "flags":
			return value{has: yes, known: true, is: "syn", flags: true}
		}
		return opaque
	case "ip":
		switch m["field"] {
		case "protocol":
			return known(w.q.Proto)
		case "saddr":
			if w.q.Source.IsValid() {
				return known(w.q.Source)
			}
		}
		return opaque
	case "ip6", "icmp", "icmpv6", "igmp", "sctp", "dccp", "udplite", "esp", "ah", "arp":
		return value{}
	}
	return opaque
}

// numbers of the protocols a Query may name, as nft -n writes them.
var protocols = map[string]float64{"tcp": 6, "udp": 17}

// in reports whether v is, or is among, what the right side says.
func (w *walker) in(c *Chain, v value, right any) tri {
	if !v.known {
		if right == "*" {
			return yes
		}
		return maybe
	}
	switch r := right.(type) {
	case string:
		if name, ok := strings.CutPrefix(r, "@"); ok {
			set, ok := w.sets[key{c.Family, c.Table, name}]
			if !ok {
				return maybe
			}
			return w.in(c, v, set)
		}
		switch have := v.is.(type) {
		case netip.Addr:
			return w.q.from(r)
		case string:
			if head, ok := strings.CutSuffix(r, "*"); ok {
				return is(strings.HasPrefix(have, head))
			}
			return is(have == r)
		}
		return maybe // a service by its name
	case float64:
		switch have := v.is.(type) {
		case float64:
			return is(have == r)
		case string:
			if n, ok := protocols[have]; ok {
				return is(n == r)
			}
		}
		return maybe
	case []any:
		return anyOf(len(r), func(i int) tri { return w.in(c, v, r[i]) })
	case map[string]any:
		switch {
		case r["set"] != nil:
			return w.in(c, v, r["set"])
		case r["elem"] != nil:
			return w.in(c, v, field(r["elem"], "val"))
		case r["range"] != nil:
			return inRange(v.is, r["range"])
		case r["prefix"] != nil:
			addr, _ := field(r["prefix"], "addr").(string)
			bits, _ := field(r["prefix"], "len").(float64)
			return w.q.from(fmt.Sprintf("%s/%d", addr, int(bits)))
		}
	}
	return maybe
}

func inRange(v, r any) tri {
	ends, _ := r.([]any)
	if len(ends) != 2 {
		return maybe
	}
	switch v := v.(type) {
	case float64:
		lo, ok := ends[0].(float64)
		hi, ok1 := ends[1].(float64)
		if ok && ok1 {
			return is(v >= lo && v <= hi)
		}
	case netip.Addr:
		first, _ := ends[0].(string)
		last, _ := ends[1].(string)
		lo, err := netip.ParseAddr(first)
		hi, err1 := netip.ParseAddr(last)
		if err == nil && err1 == nil {
			return is(lo.Compare(v) <= 0 && v.Compare(hi) <= 0)
		}
	}
	return maybe
}

// field is m[name] where m is an object, nil elsewhere.
func field(m any, name string) any {
	o, _ := m.(map[string]any)
	return o[name]
}
