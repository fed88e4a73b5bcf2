package keyfile

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/edit"
)

// family is ipv4 or ipv6: what the connection says about it, and what it should say.
type family struct {
	section string
	four    bool
	f       *edit.INI
	want    edit.Netdev
	method  string // in the end
	addrs   []entry
	routes  []entry
}

// NetworkManager takes both words, with and without a number, and sorts by it.
var (
	addressKey = regexp.MustCompile(`^address(?:es)?([0-9]{0,6})$`)
	routeKey   = regexp.MustCompile(`^routes?([0-9]{0,6})$`)
)

// entry is one address or route: "10.20.0.1/24,10.20.0.254", with a gateway and, of a
// route, a metric after it.
type entry struct {
	key    edit.Key
	prefix netip.Prefix
	via    string
	main   bool // of a route: of the main table
}

func setFamily(f *edit.INI, want edit.Netdev, section string, four bool) (err error) {
	fam := family{section: section, four: four, f: f, want: want}
	fam.method, _ = f.Value(section, "method")
	if fam.addrs, err = fam.entries(addressKey); err != nil {
		return err
	}
	if fam.routes, err = fam.entries(routeKey); err != nil {
		return err
	}
	for _, do := range []func() error{fam.setAddrs, fam.setNoDefault, fam.setRoutes} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the addresses or routes. Of a key that stands twice the last counts:
// weft does not change such a file.
func (fam *family) entries(is *regexp.Regexp) (out []entry, err error) {
	seen := map[string]bool{}
	for _, s := range fam.f.All(fam.section) {
		for _, k := range s.Keys {
			if !is.MatchString(k.Name) {
				continue
			}
			if seen[k.Name] {
				return nil, fmt.Errorf("line %d: %s= for the second time", k.Line+1, k.Name)
			}
			seen[k.Name] = true
			parts := strings.Split(k.Value, ",")
			e := entry{key: k, main: true}
			e.prefix, err = netip.ParsePrefix(parts[0])
			if a, notAddr := netip.ParseAddr(parts[0]); notAddr == nil && is == routeKey {
				e.prefix, err = netip.PrefixFrom(a, a.BitLen()), nil // one host
			}
			if err != nil || e.prefix.Addr().Is4() != fam.four || is == addressKey && len(parts) > 2 {
				return nil, fmt.Errorf("line %d: %s=%s is not understood", k.Line+1, k.Name, k.Value)
			}
			if len(parts) > 1 {
				if e.via = parts[1]; e.via == "0.0.0.0" || e.via == "::" {
					e.via = ""
				}
			}
			if options, ok := fam.f.Value(fam.section, k.Name+"_options"); ok && is == routeKey {
				e.main = !elsewhere(options)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// elsewhere tells whether a route's options put it into another table than main, or make
// it no way out at all.
func elsewhere(options string) bool {
	for o := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(o, "=")
		if key == "table" && value != "0" && value != "254" || key == "type" && value != "unicast" {
			return true
		}
	}
	return false
}

// wanted returns the addresses of this family that are wished for.
func (fam *family) wanted() (out []netip.Prefix) {
	all, _ := fam.want.Prefixes() // checked
	for _, p := range all {
		if p.Addr().Is4() == fam.four {
			out = append(out, p)
		}
	}
	return out
}

func (fam *family) setAddrs() error {
	there := make([]netip.Prefix, len(fam.addrs))
	for i, e := range fam.addrs {
		there[i] = e.prefix
	}
	wanted, becomes, add := there, there, []netip.Prefix(nil)
	if fam.want.Addrs != nil {
		wanted = fam.wanted()
		becomes, add = edit.Align(there, wanted, func(int) bool { return true })
	}
	for i, e := range fam.addrs {
		if err := fam.becomes(e, becomes[i], len(wanted) == 0); err != nil {
			return err
		}
	}
	if fam.want.Addrs == nil {
		return nil
	}
	if err := fam.setMethod(len(wanted) > 0); err != nil {
		return err
	}
	for i, p := range add {
		fam.f.Add(fam.section, "address"+strconv.Itoa(next(fam.addrs, addressKey)+i), p.String())
	}
	if len(wanted) == 0 {
		return fam.dropGateway()
	}
	return nil
}

// becomes gives one address its new value, which may be none.
func (fam *family) becomes(e entry, now netip.Prefix, all bool) error {
	via := e.via
	if fam.want.NoDefault {
		via = ""
	}
	switch {
	case now == e.prefix && via == e.via:
		return nil
	case !now.IsValid() && via != "" && !all:
		return fmt.Errorf("line %d: %s=%s is not wanted, but holds the gateway", e.key.Line+1, e.key.Name, e.key.Value)
	case !now.IsValid():
		return fam.f.Drop(e.key)
	case via == "":
		return fam.f.Change(e.key, now.String())
	}
	if a, err := netip.ParseAddr(via); err != nil || !now.Contains(a) {
		return fmt.Errorf("line %d: the gateway %s of %s=%s cannot be reached from %s", e.key.Line+1, via, e.key.Name, e.key.Value, now)
	}
	return fam.f.Change(e.key, now.String()+","+via)
}

// setMethod makes the method one that takes addresses, or one that needs none.
// NetworkManager refuses a connection whose section has no method; without the section
// it is auto. DHCP beside static addresses ends: a connection whose DHCP finds no server
// may be taken down, and its static addresses with it.
func (fam *family) setMethod(addrs bool) error {
	taking := []string{"manual", "shared"}
	if !fam.four {
		taking = append(taking, "auto", "dhcp") // no router is no failure
	}
	switch {
	case addrs && !slices.Contains(taking, fam.method):
		fam.method = "manual"
	case !addrs && fam.method == "manual" && fam.four:
		fam.method = "disabled"
	case !addrs && fam.method == "manual":
		fam.method = "link-local"
	default:
		return nil
	}
	return put(fam.f, fam.section, "method", fam.method)
}

// next is the first number after those of the keys.
func next(all []entry, is *regexp.Regexp) int {
	n := 0
	for _, e := range all {
		i, _ := strconv.Atoi(is.FindStringSubmatch(e.key.Name)[1])
		n = max(n, i)
	}
	return n + 1
}

func (fam *family) dropGateway() error {
	for _, k := range fam.f.Keys(fam.section, "gateway") {
		if err := fam.f.Drop(k); err != nil {
			return err
		}
	}
	return nil
}

// setNoDefault: never-default= also covers DHCP and router advertisements. A connection
// without an [ipv6] section stays without: with one, NetworkManager would make its
// link-local address in another way.
func (fam *family) setNoDefault() error {
	if !fam.want.NoDefault {
		return nil
	}
	if err := fam.dropGateway(); err != nil {
		return err
	}
	for _, r := range fam.routes {
		if r.prefix.Bits() != 0 || !r.main {
			continue
		}
		for _, k := range append(fam.f.Keys(fam.section, r.key.Name+"_options"), r.key) {
			if err := fam.f.Drop(k); err != nil {
				return err
			}
		}
	}
	switch {
	case fam.method == "" && fam.four && len(fam.f.All(fam.section)) == 0:
		fam.method = "auto"
		fam.f.Add(fam.section, "method", fam.method)
	case slices.Contains([]string{"", "disabled", "ignore", "link-local"}, fam.method):
		return nil
	}
	if v, _ := fam.f.Value(fam.section, "never-default"); yes(v) {
		return nil
	}
	return fam.f.Put(fam.section, "never-default", "true")
}

func (fam *family) setRoutes() error {
	there := fam.routes
	for _, e := range fam.addrs {
		if e.via != "" {
			there = append(there, entry{key: e.key, prefix: fam.everything(), via: e.via, main: true})
		}
	}
	for _, k := range fam.f.Keys(fam.section, "gateway") {
		there = append(there, entry{key: k, prefix: fam.everything(), via: k.Value, main: true})
	}
	number := next(fam.routes, routeKey)
wishes:
	for _, w := range fam.want.Routes {
		to, via, _ := w.Parse() // checked
		if via.Is4() != fam.four {
			continue
		}
		for _, e := range there {
			if !e.main || e.prefix.Masked() != to {
				continue
			}
			if a, err := netip.ParseAddr(e.via); err != nil || a != via {
				return fmt.Errorf("line %d: there is a route to %s already, by %q", e.key.Line+1, w.To, e.via)
			}
			continue wishes
		}
		if v, _ := fam.f.Value(fam.section, "never-default"); to.Bits() == 0 && yes(v) {
			return fmt.Errorf("[%s] never-default=%s: no default route may be added", fam.section, v)
		}
		if !slices.Contains([]string{"manual", "auto", "dhcp", "shared"}, fam.method) {
			return fmt.Errorf("[%s] method=%s: no route can be added", fam.section, fam.method)
		}
		fam.f.Add(fam.section, "route"+strconv.Itoa(number), to.String()+","+via.String())
		number++
	}
	return nil
}

// everything is the destination of a default route.
func (fam *family) everything() netip.Prefix {
	if fam.four {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}
