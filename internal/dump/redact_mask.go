package dump

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"math/bits"
	"net/netip"
	"strings"
)

// mask makes stand-ins. Bit i of an address is turned or not by a keyed hash of the
// bits before it, so that two addresses which share their first k bits, and no more,
// do so afterwards. Where those bits lead to a range that must stay what it is
// (private, link-local, …), nothing is turned.
type mask struct {
	hash  hash.Hash
	addrs map[netip.Addr]netip.Addr
	guids map[[8]byte][8]byte
}

func newMask(key []byte) *mask {
	return &mask{hmac.New(sha256.New, key), map[netip.Addr]netip.Addr{}, map[[8]byte][8]byte{}}
}

func (m *mask) sum(kind byte, b []byte, n byte) []byte {
	m.hash.Reset()
	m.hash.Write([]byte{kind, n})
	m.hash.Write(b)
	return m.hash.Sum(nil)
}

// turn turns bits from up to (not including) to of b, each by the bits before it.
func (m *mask) turn(kind byte, b []byte, from, to int) {
	original := append([]byte(nil), b...)
	before := make([]byte, len(b))
	for i := range to {
		bit := original[i/8] & (0x80 >> (i % 8))
		if i >= from && m.sum(kind, before, byte(i))[0]&1 == 1 {
			b[i/8] ^= 0x80 >> (i % 8)
		}
		before[i/8] |= bit
	}
}

// Ranges that stay, by the IANA special-purpose address registries (RFC 6890).
// What lies in fixed stays as it is; what lies in kept stays there.
var (
	fixed = prefixes("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/127", "ff00::/8")
	kept  = append(prefixes("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
		"fe80::/64", "fe80::/10", "fc00::/8", "fd00::/8", "2000::/3", "::ffff:0.0.0.0/96"), fixed...)
	// The last 24 bits of a solicited-node group are those of a node's address (RFC 4291, 2.7.1).
	solicited = netip.MustParsePrefix("ff02::1:ff00:0/104")
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// free returns the first bit of an address that may be turned.
func free(a netip.Addr) int {
	from := 0
	for _, p := range kept {
		if p.Addr().BitLen() == a.BitLen() {
			from = max(from, min(common(a.AsSlice(), p.Addr().AsSlice())+1, p.Bits()))
		}
	}
	return from
}

// common counts the leading bits that a and b share.
func common(a, b []byte) int {
	for i := range a {
		if d := a[i] ^ b[i]; d != 0 {
			return i*8 + bits.LeadingZeros8(d)
		}
	}
	return len(a) * 8
}

// addr maps an IPv4 or IPv6 address or a GID.
func (m *mask) addr(a netip.Addr) netip.Addr {
	a = a.WithZone("")
	out, ok := m.addrs[a]
	if !ok {
		out = m.newAddr(a)
		m.addrs[a] = out
	}
	return out
}

func (m *mask) newAddr(a netip.Addr) netip.Addr {
	switch {
	case a.Is4In6():
		return netip.AddrFrom16(m.addr(a.Unmap()).As16())
	case solicited.Contains(a):
		b := a.As16()
		m.turn('s', b[:], solicited.Bits(), 128)
		return netip.AddrFrom16(b)
	case a.String() == "fe80::": // the default subnet prefix, written alone
		return a
	}
	for _, p := range fixed {
		if p.Contains(a) {
			return a
		}
	}
	if a.Is4() {
		b := a.As4()
		m.turn('4', b[:], free(a), 32)
		return netip.AddrFrom4(b)
	}
	b := a.As16()
	if [8]byte(b[:8]) == [8]byte{} { // no network part: not a host's address
		m.turn('6', b[:], free(a), 128)
		return netip.AddrFrom16(b)
	}
	// The host half does not depend on the network half, so that a GUID and a GID
	// that holds it still match.
	host := m.eui64([8]byte(b[8:]))
	m.turn('6', b[:], min(free(a), 64), 64)
	copy(b[8:], host[:])
	return netip.AddrFrom16(b)
}

// guid maps a GUID. The numbers that no maker has (OUI 000000, ffffff) are not
// GUIDs: masks, sizes, kernel addresses, and the default subnet prefix.
func (m *mask) guid(g [8]byte) [8]byte {
	oui := [3]byte(g[:3])
	if oui == [3]byte{} || oui == [3]byte{0xff, 0xff, 0xff} || g == [8]byte{0xfe, 0x80} {
		return g
	}
	return m.eui64(g)
}

// eui64 keeps the maker's 24 bits, and the two middle bytes where they say that the
// rest is a MAC: fffe (EUI-64) and 0300 (NVIDIA and Mellanox GUIDs).
func (m *mask) eui64(g [8]byte) [8]byte {
	if out, ok := m.guids[g]; ok {
		return out
	}
	out := g
	eui, nvidia := common(g[3:5], []byte{0xff, 0xfe}), common(g[3:5], []byte{0x03, 0x00})
	if eui == 16 || nvidia == 16 {
		tail := m.tail([3]byte(g[:3]), [3]byte(g[5:]))
		copy(out[5:], tail[:])
	} else {
		m.turn('g', out[:], 24+min(max(eui, nvidia)+1, 16), 64)
	}
	m.guids[g] = out
	return out
}

// mac keeps the maker's half. Groups that standards define stay.
func (m *mask) mac(a [6]byte) [6]byte {
	switch {
	case a == [6]byte{} || a == [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}:
		return a
	case [3]byte(a[:3]) == [3]byte{0x01, 0x80, 0xc2} || [3]byte(a[:3]) == [3]byte{0x01, 0x00, 0x5e}:
		return a
	case [4]byte(a[:4]) == [4]byte{0x33, 0x33, 0, 0}:
		return a
	}
	tail := m.tail([3]byte(a[:3]), [3]byte(a[3:]))
	copy(a[3:], tail[:])
	return a
}

// tail maps the 24 bits that a maker numbers. IPv6 turns the universal bit of the
// maker's half (RFC 4291, 2.5.1), so it does not count.
func (m *mask) tail(oui, tail [3]byte) [3]byte {
	b := []byte{oui[0] &^ 2, oui[1], oui[2], tail[0], tail[1], tail[2]}
	m.turn('m', b, 24, 48)
	return [3]byte(b[3:])
}

// uuid replaces all of a UUID but its form.
func (m *mask) uuid(u string) string {
	plain := strings.ToLower(strings.ReplaceAll(u, "-", ""))
	if strings.Trim(plain, "0") == "" {
		return u
	}
	s := hex.EncodeToString(m.sum('u', []byte(plain), 0)[:16])
	return likeCase(u, s[:8]+"-"+s[8:12]+"-"+s[12:16]+"-"+s[16:20]+"-"+s[20:])
}

// serial replaces every letter by a letter and every digit by a digit. What was hex
// stays hex, and a decimal number stays one that fits 64 bits.
func (m *mask) serial(v string) string {
	prefix := ""
	if strings.HasPrefix(v, "0x") || strings.HasPrefix(v, "0X") {
		prefix, v = v[:2], v[2:]
	}
	letters := byte(26)
	if allHex(v) {
		letters = 6
	}
	decimal := digits(v) && prefix == ""
	out := []byte(v)
	var noise []byte
	for i, c := range out {
		if len(noise) == 0 {
			noise = m.sum('n', []byte(v), byte(i/sha256.Size))
		}
		n := noise[0]
		noise = noise[1:]
		switch {
		case decimal && i == 0:
			out[i] = '1'
		case decimal && i == 1:
			out[i] = '0' + n%8
		case c >= '0' && c <= '9':
			out[i] = '0' + n%10
		case c >= 'a' && c <= 'z':
			out[i] = 'a' + n%letters
		case c >= 'A' && c <= 'Z':
			out[i] = 'A' + n%letters
		}
	}
	return prefix + string(out)
}
