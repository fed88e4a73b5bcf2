package networkd

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/edit"
)

// route is a route of the main table: a Gateway= in [Network], or a [Route] section.
type route struct {
	to      netip.Prefix // invalid when not understood
	isDef   bool
	via     string
	key     edit.Key
	section *edit.Section
}

func routes(f *edit.INI) (out []route) {
	for _, s := range f.Sections {
		if s.Name == "Network" {
			for _, k := range s.Get("Gateway") {
				if k.Value != "" {
					out = append(out, route{isDef: true, to: everything(k.Value), via: k.Value, key: k})
				}
			}
			for _, k := range s.Get("DefaultRouteOnDevice") {
				if yes(k.Value) {
					out = append(out, route{isDef: true, to: everything(""), key: k})
				}
			}
		}
		if s.Name != "Route" || elsewhere(s) {
			continue
		}
		s := s
		r := route{section: &s, key: edit.Key{Line: s.Line}}
		to, _ := s.Value("Destination")
		r.via, _ = s.Value("Gateway")
		_, multi := s.Value("MultiPathRoute")
		switch p, err := netip.ParsePrefix(to); {
		case to == "" && (r.via != "" || multi):
			r.to, r.isDef = everything(r.via), true
		case err == nil:
			r.to, r.isDef = p.Masked(), p.Bits() == 0
		default:
			if a, err := netip.ParseAddr(to); err == nil {
				r.to = netip.PrefixFrom(a, a.BitLen())
			}
		}
		out = append(out, r)
	}
	return out
}

// everything is the default route of a gateway's family.
func everything(via string) netip.Prefix {
	if strings.Contains(via, ":") || via == "_ipv6ra" {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// elsewhere tells whether a route is of another table than main, or no way out at all
// (blackhole, prohibit): it does not take packets out through the interface by itself.
func elsewhere(s edit.Section) bool {
	table, _ := s.Value("Table")
	kind, _ := s.Value("Type")
	return !slices.Contains([]string{"", "main", "254"}, table) || kind != "" && kind != "unicast"
}

func setNoDefault(f *edit.INI, want edit.Netdev) error {
	if !want.NoDefault {
		return nil
	}
	if v, _ := f.Value("Network", "DHCP"); slices.Contains([]string{"both", "ipv4", "v4"}, v) || yes(v) {
		if !noGateway(f) {
			return fmt.Errorf("[Network] DHCP=%s brings a default route: give %s a static address, or set UseGateway=no in [DHCPv4], by hand", v, want.Name)
		}
	}
	for _, r := range routes(f) {
		var err error
		switch {
		case !r.isDef:
		case r.section != nil:
			err = f.DropSection(*r.section)
		default:
			err = f.Drop(r.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noGateway tells whether what DHCP says about gateways is not used. Before systemd 246
// the section was called [DHCP]; UseGateway= follows UseRoutes= where it is not set.
func noGateway(f *edit.INI) bool {
	for _, key := range []string{"UseGateway", "UseRoutes"} {
		for _, section := range []string{"DHCPv4", "DHCP"} {
			if v, ok := f.Value(section, key); ok {
				return no(v)
			}
		}
	}
	return false
}

func setRoutes(f *edit.INI, want edit.Netdev) error {
	there := routes(f)
wishes:
	for _, w := range want.Routes {
		to, via, _ := w.Parse() // checked
		for _, r := range there {
			if r.to != to {
				continue
			}
			if a, err := netip.ParseAddr(r.via); err != nil || a != via {
				return fmt.Errorf("line %d: there is a route to %s already, by %q", r.key.Line+1, w.To, r.via)
			}
			continue wishes
		}
		f.AddSection("Route", "Destination", to.String(), "Gateway", via.String())
	}
	return nil
}
