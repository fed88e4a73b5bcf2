package sample

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

func itoa(i int) string { return strconv.Itoa(i) }

// mac is the address of a machine's k-th interface. It is locally administered, so
// that it is no card's own.
func (m *Machine) mac(k int) string { return fmt.Sprintf("02:57:ef:00:%02x:%02x", m.ID, k) }

// guidOf makes a GUID of a MAC the way mlx5 does: 03:00 in the middle.
func guidOf(mac string) string {
	b := strings.Split(mac, ":")
	return fmt.Sprintf("%s%s:%s03:00%s:%s%s", b[0], b[1], b[2], b[3], b[4], b[5])
}

// linkLocal is the IPv6 link-local address of a MAC: EUI-64 with the local bit
// turned (RFC 4291, appendix A).
func linkLocal(mac string) netip.Addr {
	var b [6]byte
	for i, s := range strings.Split(mac, ":") {
		v, _ := strconv.ParseUint(s, 16, 8)
		b[i%6] = byte(v)
	}
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: b[0] ^ 2, 9: b[1], 10: b[2], 11: 0xff, 12: 0xfe, 13: b[3], 14: b[4], 15: b[5]})
}

// ibMAC is IPoIB's address: queue pair, subnet prefix, port GUID.
func ibMAC(guid string) string {
	var pairs []string
	digits := strings.ReplaceAll(guid, ":", "")
	for i := 0; i+1 < len(digits); i += 2 {
		pairs = append(pairs, digits[i:i+2])
	}
	return "80:00:02:08:fe:80:00:00:00:00:00:00:" + strings.Join(pairs, ":")
}

// portGUID is a port's GUID: mlx5 repeats the node's, mlx4 counts on from it.
func portGUID(driver, guid string, port int) string {
	if driver == "mlx5_core" {
		return guid
	}
	v, _ := strconv.ParseUint(strings.ReplaceAll(guid, ":", ""), 16, 64)
	s := fmt.Sprintf("%016x", v+uint64(port))
	return s[:4] + ":" + s[4:8] + ":" + s[8:12] + ":" + s[12:]
}

// hexGUID writes a GUID as fabric tools do: 0x0257ef0300000101.
func hexGUID(guid string) string { return "0x" + strings.ReplaceAll(guid, ":", "") }

// prefixes reads addresses like 10.0.0.1/24; what is none is left out.
func prefixes(addrs []string) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// broadcast is the last address of an IPv4 subnet, where a manager's broadcasts go.
func broadcast(p netip.Prefix) netip.Addr {
	a := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		a[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(a)
}
