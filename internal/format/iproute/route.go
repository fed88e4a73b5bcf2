package iproute

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Route is one route, or the answer of `ip route get`.
type Route struct {
	Type    string // "" for an ordinary (unicast) one; local, blackhole, unreachable, …
	Default bool
	Dst     netip.Prefix // invalid when Default
	Via     netip.Addr   // invalid when the destination is on the link
	Dev     string
	PrefSrc netip.Addr // invalid when not told
	Metric  *int
	MTU     *int // of the route, not of the device
	Proto   string
	Scope   string
	Table   string
	Flags   []string // onlink, linkdown, dead, …
	Hops    []Hop    // of a multipath route
	Again   string   // what `ip route add` is told to make it again; "" when that is not sure
}

// Hop is one way of a multipath route.
type Hop struct {
	Via    netip.Addr
	Dev    string
	Weight *int
	Flags  []string
}

var routeTypes = []string{"unicast", "local", "broadcast", "multicast", "anycast", "blackhole", "unreachable", "prohibit", "throw", "nat"}

// routeFlags are the words without a value that ip prints behind a route.
var routeFlags = []string{"onlink", "linkdown", "dead", "pervasive", "offload", "trap", "notify", "unresolved", "rt_offload", "rt_trap"}

// ParseRoutes reads `ip route` (-4 or -6), with or without -j.
func ParseRoutes(b []byte) ([]Route, error) {
	if isJSON(b) {
		return routesJSON(b)
	}
	return routesText(b)
}

// ParseRouteGet reads `ip route get ADDRESS`, with or without -j.
func ParseRouteGet(b []byte) (Route, error) {
	routes, err := ParseRoutes(b)
	if len(routes) == 0 {
		return Route{}, errors.Join(err, errors.New("no route in the answer"))
	}
	return routes[0], err
}

type jsonVia struct {
	Host string `json:"host"`
}

type jsonRoute struct {
	Type     string   `json:"type"`
	Dst      string   `json:"dst"`
	Gateway  string   `json:"gateway"`
	Via      jsonVia  `json:"via"` // a gateway of the other family: BGP unnumbered
	Dev      string   `json:"dev"`
	PrefSrc  string   `json:"prefsrc"`
	Metric   *int     `json:"metric"`
	Protocol string   `json:"protocol"`
	Scope    string   `json:"scope"`
	Table    string   `json:"table"`
	Flags    []string `json:"flags"`
	Metrics  []struct {
		MTU *int `json:"mtu"`
	} `json:"metrics"`
	NextHops []struct {
		Gateway string   `json:"gateway"`
		Via     jsonVia  `json:"via"`
		Dev     string   `json:"dev"`
		Weight  *int     `json:"weight"`
		Flags   []string `json:"flags"`
	} `json:"nexthops"`
}

func routesJSON(b []byte) ([]Route, error) {
	var routes []Route
	var errs []error
	err := elements(b, func(x told[jsonRoute]) {
		j := x.v
		if j.Dst == "" {
			return
		}
		r := Route{Again: routeAgain(x.raw), Dev: j.Dev, Metric: j.Metric, Proto: j.Protocol, Scope: j.Scope, Table: j.Table, Flags: j.Flags}
		if j.Type != "unicast" {
			r.Type = j.Type
		}
		for _, m := range j.Metrics {
			if m.MTU != nil {
				r.MTU = m.MTU
			}
		}
		e := newErrs()
		r.Default, r.Dst = e.dst(j.Dst)
		r.Via = e.addr(j.Gateway + j.Via.Host)
		r.PrefSrc = e.addr(j.PrefSrc)
		for _, n := range j.NextHops {
			r.Hops = append(r.Hops, Hop{Via: e.addr(n.Gateway + n.Via.Host), Dev: n.Dev, Weight: n.Weight, Flags: n.Flags})
		}
		if e.err != nil {
			errs = append(errs, fmt.Errorf("route %.60q: %w", j.Dst, e.err))
			if !r.Default && !r.Dst.IsValid() {
				return
			}
		}
		routes = append(routes, r)
	})
	return routes, errors.Join(err, errors.Join(errs...))
}

func routesText(b []byte) ([]Route, error) {
	var routes []Route
	var errs []error
	for _, ln := range lines(b) {
		if complaint(ln.text) {
			errs = append(errs, refused(ln))
			continue
		}
		f := strings.Fields(ln.text)
		if f[0] == "cache" { // the second line of `ip route get`
			continue
		}
		e := newErrs()
		if f[0] == "nexthop" {
			if len(routes) == 0 {
				errs = append(errs, fmt.Errorf("line %d: nexthop before any route", ln.num))
				continue
			}
			r := &routes[len(routes)-1]
			r.Hops = append(r.Hops, Hop{
				Via: e.addr(gateway(f)), Dev: after(f, "dev"), Weight: number(after(f, "weight")), Flags: flagsOf(f),
			})
			if e.err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", ln.num, e.err))
			}
			continue
		}
		var r Route
		if slices.Contains(routeTypes, f[0]) {
			if f[0] != "unicast" {
				r.Type = f[0]
			}
			f = f[1:]
		}
		if len(f) == 0 {
			errs = append(errs, fmt.Errorf("line %d: route without a destination", ln.num))
			continue
		}
		r.Default, r.Dst = e.dst(f[0])
		if e.err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", ln.num, e.err))
			continue
		}
		r.Via = e.addr(gateway(f))
		r.Dev = after(f, "dev")
		r.PrefSrc = e.addr(after(f, "src"))
		r.Metric = number(after(f, "metric"))
		r.MTU = number(after(f, "mtu"))
		r.Proto = after(f, "proto")
		r.Scope = after(f, "scope")
		r.Table = after(f, "table")
		r.Flags = flagsOf(f)
		if e.err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", ln.num, e.err))
		}
		routes = append(routes, r)
	}
	return routes, errors.Join(errs...)
}

// gateway returns the word behind via; "via inet6 fe80::1" names the family first.
func gateway(f []string) string {
	v := after(f, "via")
	if v == "inet" || v == "inet6" {
		return after(f, v)
	}
	return v
}

func flagsOf(f []string) []string {
	var flags []string
	for _, w := range f {
		if slices.Contains(routeFlags, w) {
			flags = append(flags, w)
		}
	}
	return flags
}

// addrErrs keeps the first address that could not be read, so that one bad
// field does not hide the others.
type addrErrs struct{ err error }

func newErrs() *addrErrs { return &addrErrs{} }

func (e *addrErrs) addr(s string) netip.Addr {
	if s == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(s)
	if err != nil && e.err == nil {
		e.err = err
	}
	return a
}

func (e *addrErrs) dst(s string) (isDefault bool, p netip.Prefix) {
	if s == "default" {
		return true, netip.Prefix{}
	}
	var err error
	if strings.Contains(s, "/") {
		p, err = netip.ParsePrefix(s)
	} else {
		var a netip.Addr
		if a, err = netip.ParseAddr(s); err == nil {
			p = netip.PrefixFrom(a.WithZone(""), a.BitLen())
		}
	}
	if err != nil && e.err == nil {
		e.err = err
	}
	return false, p
}
