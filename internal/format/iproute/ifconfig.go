package iproute

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strings"
)

// ParseIfconfig reads net-tools' `ifconfig` (the form of 2.x, which has
// "flags=…<…>") into the same links.
func ParseIfconfig(b []byte) ([]Link, error) {
	var links []Link
	var errs []error
	for _, ln := range lines(b) {
		f := strings.Fields(ln.text)
		if name, ok := strings.CutSuffix(f[0], ":"); ok && name != "" && len(f) > 1 && strings.HasPrefix(f[1], "flags=") {
			l := Link{Host: ln.host, Name: name, MTU: number(after(f, "mtu"))}
			_, flags, _ := strings.Cut(strings.TrimSuffix(f[1], ">"), "<")
			if flags != "" {
				l.Flags = strings.Split(flags, ",")
			}
			links = append(links, l)
			continue
		}
		if len(links) == 0 {
			errs = append(errs, fmt.Errorf("line %d: %.60q before any interface", ln.num, ln.text))
			continue
		}
		l := &links[len(links)-1]
		switch f[0] {
		case "ether", "infiniband", "unspec":
			l.Type, l.TxQueueLen = f[0], number(after(f, "txqueuelen"))
			if len(f) > 1 {
				l.MAC = f[1]
			}
		case "loop":
			l.Type, l.TxQueueLen = "loopback", number(after(f, "txqueuelen"))
		case "inet", "inet6":
			a, err := ifconfigAddr(f)
			if err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", ln.num, err))
				continue
			}
			l.Addrs = append(l.Addrs, a)
		}
	}
	return links, errors.Join(errs...)
}

func ifconfigAddr(f []string) (Addr, error) {
	if len(f) < 2 {
		return Addr{}, fmt.Errorf("%s without an address", f[0])
	}
	ip, err := netip.ParseAddr(f[1])
	if err != nil {
		return Addr{}, err
	}
	a := Addr{IP: ip, PrefixLen: within(number(after(f, "prefixlen")), ip)}
	if mask, err := netip.ParseAddr(after(f, "netmask")); err == nil && mask.Is4() {
		m := mask.As4()
		n := 0
		for _, x := range m {
			n += bits.OnesCount8(x)
		}
		a.PrefixLen = &n
	}
	if _, scope, ok := strings.Cut(after(f, "scopeid"), "<"); ok {
		a.Scope = strings.TrimSuffix(scope, ">")
	}
	return a, nil
}
