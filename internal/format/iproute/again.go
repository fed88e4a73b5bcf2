package iproute

import (
	"cmp"
	"encoding/json"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// What is here writes answers of ip and tc as the words that would make the same thing
// again. Where a word is not known, or what it stands for is not told whole, there are
// no words at all: what is made again by half is not the same.

// told is a value and what it was read from.
type told[T any] struct {
	v   T
	raw json.RawMessage
}

func (t *told[T]) UnmarshalJSON(b []byte) error {
	t.raw = slices.Clone(b)
	return json.Unmarshal(b, &t.v)
}

// parts are the members of a JSON object of ip or tc.
type parts map[string]json.RawMessage

func (p parts) text(key string) (s string) {
	json.Unmarshal(p[key], &s)
	return s
}

func (p parts) number(key string) (f float64) {
	json.Unmarshal(p[key], &f)
	return f
}

func (p parts) true(key string) (b bool) {
	json.Unmarshal(p[key], &b)
	return b
}

// only reports whether there is no member but these.
func (p parts) only(keys ...string) bool {
	for k := range p {
		if !slices.Contains(keys, k) {
			return false
		}
	}
	return true
}

// forever is a lifetime that does not end: INFINITY_LIFE_TIME of ip/ipaddress.c.
const forever = math.MaxUint32

// addrAgain is what `ip address add … dev NETDEV` needs to be told: an address that
// was leased, or made by the kernel from an advertised prefix, nobody can make again.
func addrAgain(b json.RawMessage) string {
	var p parts
	json.Unmarshal(b, &p)
	if !p.only("family", "local", "address", "prefixlen", "broadcast", "scope", "label", "metric",
		"secondary", "noprefixroute", "nodad", "tentative", "protocol", "valid_life_time", "preferred_life_time") {
		return ""
	}
	ip, err := netip.ParseAddr(p.text("local"))
	bits := p.number("prefixlen")
	if err != nil || p["prefixlen"] == nil || p.number("valid_life_time") != forever || p.number("preferred_life_time") != forever {
		return ""
	}
	prefix := ip.String() + "/" + strconv.Itoa(int(bits))
	words := []string{prefix}
	if far, err := netip.ParseAddr(p.text("address")); err == nil {
		words = []string{ip.String(), "peer", far.String() + "/" + strconv.Itoa(int(bits))}
	} else if p["address"] != nil {
		return ""
	}
	if brd, err := netip.ParseAddr(p.text("broadcast")); err == nil {
		words = append(words, "brd", brd.String())
	}
	scope := p.text("scope")
	if !slices.Contains([]string{"global", "site", "link", "host"}, scope) {
		return ""
	}
	words = append(words, "scope", scope)
	if label := p.text("label"); strings.Contains(label, ":") { // else it is the netdev's own name
		words = append(words, "label", label)
	}
	if m := p.number("metric"); m > 0 {
		words = append(words, "metric", strconv.Itoa(int(m)))
	}
	for _, flag := range []string{"noprefixroute", "nodad"} {
		if p.true(flag) {
			words = append(words, flag)
		}
	}
	return joined(words)
}

// routeAgain is what `ip route add` needs to be told.
func routeAgain(b json.RawMessage) string {
	var p parts
	json.Unmarshal(b, &p)
	var flags []string
	json.Unmarshal(p["flags"], &flags)
	if !p.only("dst", "gateway", "dev", "protocol", "scope", "prefsrc", "metric", "flags", "pref") || p.text("pref") != "" && p.text("pref") != "medium" {
		return ""
	}
	dst := p.text("dst")
	if _, err := netip.ParsePrefix(dst); err != nil && dst != "default" {
		if _, err := netip.ParseAddr(dst); err != nil {
			return ""
		}
	}
	words := []string{dst}
	if p["gateway"] != nil {
		via, err := netip.ParseAddr(p.text("gateway"))
		if err != nil {
			return ""
		}
		words = append(words, "via", via.String())
	}
	// What ip does not write is what `ip route add` makes (print_route and
	// iproute_modify in ip/iproute.c).
	words = append(words, "dev", p.text("dev"), "proto", cmp.Or(p.text("protocol"), "boot"))
	if scope := p.text("scope"); scope != "" {
		if !slices.Contains([]string{"global", "site", "link", "host", "nowhere"}, scope) {
			return ""
		}
		words = append(words, "scope", scope)
	}
	if p["prefsrc"] != nil {
		src, err := netip.ParseAddr(p.text("prefsrc"))
		if err != nil {
			return ""
		}
		words = append(words, "src", src.String())
	}
	if p["metric"] != nil {
		words = append(words, "metric", strconv.Itoa(int(p.number("metric"))))
	}
	for _, f := range flags {
		switch f {
		case "onlink":
			words = append(words, f)
		case "linkdown", "dead", "offload", "rt_offload", "trap", "rt_trap": // the kernel's own notes
		default:
			return ""
		}
	}
	return joined(words)
}

// qdiscAgain is what `tc qdisc replace dev NETDEV` needs to be told. It knows netem at
// the root: of others tc tells less than it was told.
func qdiscAgain(b json.RawMessage) string {
	var p, o parts
	json.Unmarshal(b, &p)
	if p.text("kind") != "netem" || !p.true("root") || p.text("handle") == "" || !p.only("kind", "handle", "dev", "root", "refcnt", "options") || json.Unmarshal(p["options"], &o) != nil {
		return ""
	}
	if !o.only("limit", "delay", "loss-random", "duplicate", "corrupt", "reorder", "rate", "ecn", "gap", "seed") || o.true("ecn") || o.number("gap") != 0 || o["limit"] == nil {
		return ""
	}
	words := []string{"root", "handle", p.text("handle"), "netem", "limit", strconv.Itoa(int(o.number("limit")))}
	if o["delay"] != nil {
		var v parts
		json.Unmarshal(o["delay"], &v)
		// A jitter follows a distribution, which tc does not tell. The kernel counts in
		// ticks of 64 ns and tc cuts off at a microsecond: 2500us is told as 0.002499,
		// and only what is a multiple of both is told as it is.
		us, sure := round(v.number("delay")*1e6, v["delay"])
		if whole, err := strconv.Atoi(us); !sure || err != nil || whole%8 != 0 || v.number("jitter") != 0 || v.number("correlation") != 0 || !v.only("delay", "jitter", "correlation") {
			return ""
		}
		words = append(words, "delay", us+"us")
	}
	for _, s := range []struct{ key, word, share string }{{"loss-random", "loss", "loss"}, {"duplicate", "duplicate", "duplicate"}, {"corrupt", "corrupt", "corrupt"}, {"reorder", "reorder", "reorder"}} {
		if o[s.key] == nil {
			continue
		}
		var v parts
		json.Unmarshal(o[s.key], &v)
		percent, sure := round(v.number(s.share)*100, v[s.share])
		if !sure || v.number("correlation") != 0 || !v.only(s.share, "correlation") || s.word == "reorder" {
			return "" // reordering has a gap, which tc writes into no JSON
		}
		words = append(words, s.word, percent+"%")
	}
	if o["rate"] != nil {
		var v parts
		json.Unmarshal(o["rate"], &v)
		rate := v.number("rate")
		if !v.only("rate", "packetoverhead", "cellsize", "celloverhead") || v.number("packetoverhead") != 0 || v.number("cellsize") != 0 || v.number("celloverhead") != 0 || rate != math.Trunc(rate) || rate <= 0 || rate >= 1e15 {
			return ""
		}
		words = append(words, "rate", strconv.FormatFloat(rate*8, 'f', 0, 64)+"bit")
	}
	if o["seed"] != nil {
		words = append(words, "seed", string(o["seed"]))
	}
	return joined(words)
}

// joined makes one line of words, none of which may be two or nothing.
func joined(words []string) string {
	for _, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return ""
		}
	}
	return strings.Join(words, " ")
}

// round writes a number that tc told with all its digits: it writes six that count.
func round(f float64, told json.RawMessage) (s string, sure bool) {
	digits := strings.TrimLeft(strings.NewReplacer(".", "", "-", "").Replace(strings.SplitN(strings.ToLower(string(told)), "e", 2)[0]), "0")
	s = strconv.FormatFloat(f, 'f', 6, 64)
	s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	return s, f > 0 && f < 1e12 && len(strings.TrimRight(digits, "0")) < 6
}
