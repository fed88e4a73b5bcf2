package dump

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// scanner finds addresses in one text.
type scanner struct {
	redactor
	text     string
	limit    int    // do not read past this: a labelled value starts here
	lead     string // the member's path: a word that stands before the text
	versions bool   // four numbers are a version here
}

// maxRun is the longest address there is, and some: 20 bytes with colons are 59
// characters, 16 decimal bytes 63.
const maxRun = 80

// token reads what starts at i: how long it is, and its stand-in or "".
func (s *scanner) token(i int) (n int, by string) {
	if n, by := s.named(i); n > 0 {
		return n, by
	}
	literal := i >= 2 && s.text[i-1]|0x20 == 'x' && s.text[i-2] == '0' && (i < 3 || !isWord(s.text[i-3]))
	if !literal && i > 0 && isWord(s.text[i-1]) {
		return s.skip(i), "" // the tail of a word
	}
	if n, by := s.dashed(i); n > 0 {
		return n, by
	}
	if n, by := s.machineID(i); n > 0 {
		return n, by
	}
	end := i
	for end < s.limit && end < i+maxRun && (isHex(s.text[end]) || s.text[end] == ':' || s.text[end] == '.') {
		end++
	}
	run := s.text[i:end]
	if end < s.limit && isWord(s.text[end]) {
		run = beforeWord(run)
	}
	run = strings.TrimRight(run, ".")
	if strings.HasSuffix(run, ":") && !strings.HasSuffix(run, "::") {
		run = run[:len(run)-1]
	}
	if by := s.address(i, run, literal); by != "" {
		return len(run), by
	}
	// Not as a whole: the part before the first colon, and go on behind it.
	first, _, colon := strings.Cut(run, ":")
	if colon {
		return max(len(first), 1), s.address(i, first, literal)
	}
	return max(s.skip(i), 1), ""
}

// beforeWord cuts off what belongs to the word behind a run: "10.0.0.1:e" + "th0",
// "10.0.0.1.c" + "onf". What is left of a number that a word is glued to ("2.0rc1")
// is nothing.
func beforeWord(run string) string {
	at := strings.LastIndexAny(run, ":.")
	if at < 0 || run[at] == '.' && digits(run[at+1:at+1+min(1, len(run)-at-1)]) {
		at = max(strings.LastIndexByte(run, ':'), 0)
	}
	return run[:at]
}

// skip is the length up to the next colon or the end of hex digits and dots.
func (s *scanner) skip(i int) int {
	n := 0
	for i+n < s.limit && (isHex(s.text[i+n]) || s.text[i+n] == '.') {
		n++
	}
	return max(n, 1)
}

// nameOf are the beginnings of device names that are followed by the address
// itself: udev's MAC names and rdma-core's GUID names.
var nameOf = []string{"enx", "wlx", "wwx", "ibx", "rocex", "iwx", "opax"}

func (s *scanner) named(i int) (int, string) {
	if i < 3 || s.text[i-1] != 'x' {
		return 0, ""
	}
	for _, prefix := range nameOf {
		before, ok := strings.CutSuffix(s.text[max(0, i-len(prefix)):i], prefix)
		if !ok || before != "" || i > len(prefix) && isWord(s.text[i-len(prefix)-1]) {
			continue
		}
		n := 0
		for i+n < s.limit && n <= 16 && isHex(s.text[i+n]) {
			n++
		}
		switch n {
		case 12, 16:
			return n, s.bytes(s.text[i : i+n])
		}
	}
	return 0, ""
}

// dashed reads UUIDs, and the EUI-64 and MACs that lspci and some switches write
// with hyphens. Six pairs of decimal digits may be a time and are left alone.
func (s *scanner) dashed(i int) (int, string) {
	part := func(n int) string {
		if i+n > s.limit || i+n < len(s.text) && (isWord(s.text[i+n]) || s.text[i+n] == '-') {
			return ""
		}
		return s.text[i : i+n]
	}
	if u := part(36); isUUID(u) {
		return len(u), s.uuid(u)
	}
	if i > 0 && s.text[i-1] == '-' {
		return 0, ""
	}
	for _, n := range []int{8, 6} {
		t := part(3*n - 1)
		pairs := strings.Split(t, "-")
		plain := strings.Join(pairs, "")
		if len(pairs) != n || !pairsOf(pairs, 2) || n == 6 && digits(plain) {
			continue
		}
		return len(t), grouped(s.bytes(plain), 2, "-")
	}
	return 0, ""
}

// machineID reads the 32 digits by which the entries of a boot loader name a machine:
// in their names, and in the paths of the kernels that they start.
func (s *scanner) machineID(i int) (int, string) {
	const n = 32
	const entries = "/loader/entries/"
	if i+n > s.limit || !allHex(s.text[i:i+n]) || i+n < len(s.text) && isWord(s.text[i+n]) || !strings.Contains(s.lead, entries) && !strings.HasSuffix(s.text[:i], entries) {
		return 0, ""
	}
	return n, strings.ReplaceAll(s.uuid(s.text[i:i+n]), "-", "")
}

// isUUID reports whether s has the form of a UUID.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

func pairsOf(groups []string, n int) bool {
	return !slices.ContainsFunc(groups, func(g string) bool { return len(g) != n || !allHex(g) })
}

// grouped writes "aabbcc" as "aa:bb:cc".
func grouped(plain string, n int, sep string) string {
	var parts []string
	for i := 0; i < len(plain); i += n {
		parts = append(parts, plain[i:i+n])
	}
	return strings.Join(parts, sep)
}

// address returns the stand-in of a whole token that starts at i, or "".
func (s *scanner) address(i int, t string, literal bool) string {
	groups := strings.Split(t, ":")
	plain := strings.Join(groups, "")
	switch n := len(groups); {
	case n == 1 && strings.Contains(t, "."):
		return s.ipv4(i, t)
	case n == 1:
		return s.bare(i, t, literal)
	case n == 16 && decimalBytes(groups) != nil:
		return s.decimal(decimalBytes(groups))
	case (n == 6 || n == 8 || n == 16 || n == 20) && pairsOf(groups, 2):
		return grouped(s.bytes(plain), 2, ":")
	case n == 4 && pairsOf(groups, 4):
		if s.prefixWord(i) {
			return grouped(s.prefix64(plain), 4, ":")
		}
		return grouped(s.bytes(plain), 4, ":")
	}
	a, err := netip.ParseAddr(t)
	if err != nil || !a.Is6() {
		return ""
	}
	a = s.prefixed(a, i+len(t))
	if len(groups) == 8 && pairsOf(groups, 4) {
		return likeCase(t, a.StringExpanded())
	}
	return likeCase(t, a.String())
}

// prefixed maps an address. The network address of a prefix ("10.1.0.0/16")
// becomes a network address.
func (s *scanner) prefixed(a netip.Addr, end int) netip.Addr {
	out := s.addr(a)
	rest := s.text[end:min(end+4, len(s.text))]
	if !strings.HasPrefix(rest, "/") {
		return out
	}
	n := 1
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	bits, err := strconv.Atoi(rest[1:n])
	if err != nil || bits > a.BitLen() || netip.PrefixFrom(a, bits).Masked().Addr() != a {
		return out
	}
	return netip.PrefixFrom(out, bits).Masked().Addr()
}

// versionWords stand before four numbers that are no address.
var versionWords = []string{"version", "versions", "ver", "fw", "firmware", "pkg", "package", "vbios", "bios", "rom", "driver", "release", "osrelease", "rev", "revision", "build", "rocm", "cuda", "nccl", "rccl", "ofed", "kernel", "microcode"}

func (s *scanner) ipv4(i int, t string) string {
	a, err := netip.ParseAddr(t)
	if err != nil || !a.Is4() || s.versions || slices.Contains(versionWords, s.wordBefore(i)) {
		return ""
	}
	// "7.2.0.0-43" and "5.8-1.1.2.1" are versions, "10.0.0.1-10.0.0.9" is a range.
	if end := i + len(t); end < len(s.text) && s.text[end] == '-' && !startsIPv4(s.text[end+1:]) {
		return ""
	}
	if i > 0 && s.text[i-1] == '-' && !endsIPv4(s.text[max(0, i-17):i-1]) {
		return ""
	}
	return s.prefixed(a, i+len(t)).String()
}

func startsIPv4(s string) bool {
	s = s[:min(len(s), 16)]
	if i := strings.IndexFunc(s, func(c rune) bool { return c != '.' && (c < '0' || c > '9') }); i >= 0 {
		s = s[:i]
	}
	_, err := netip.ParseAddr(strings.TrimRight(s, "."))
	return err == nil
}

func endsIPv4(s string) bool {
	s = s[strings.LastIndexFunc(s, func(c rune) bool { return c != '.' && (c < '0' || c > '9') })+1:]
	_, err := netip.ParseAddr(s)
	return err == nil
}

// bare maps hex digits without separators: a GUID with 0x or as the fabric tools
// name nodes ("H-…", "S-…"), a GID, a MAC after the word.
func (s *scanner) bare(i int, t string, literal bool) string {
	if !allHex(t) {
		return ""
	}
	before := s.text[max(0, i-4):i]
	switch len(t) {
	case 16:
		node := len(before) >= 2 && before[len(before)-1] == '-' && strings.IndexByte("HSR", before[len(before)-2]) >= 0
		switch {
		case before == "GPU-":
			return s.serial(t) // rocminfo's UUID
		case digits(t) && !literal && !node && !strings.HasPrefix(t, "00"):
			return ""
		case s.prefixWord(i):
			return s.prefix64(t)
		}
		return s.bytes(t)
	case 32:
		if literal || strings.HasPrefix(t, "fe80000000000000") {
			return s.bytes(t)
		}
	case 12:
		if s.wordBefore(i) == "mac" {
			return s.bytes(t)
		}
	}
	return ""
}

// wordBefore returns the letters before i on the same line, past punctuation.
func (s *scanner) wordBefore(i int) string {
	text := s.text
	if i >= 2 && text[i-1]|0x20 == 'x' && text[i-2] == '0' {
		i -= 2
	}
	for i > 0 && strings.IndexByte(" \t\"'=:(<>|[/", text[i-1]) >= 0 {
		i--
	}
	if i == 0 {
		text, i = s.lead, len(s.lead)
	}
	end := i
	for i > 0 && isLetter(text[i-1]) {
		i--
	}
	return strings.ToLower(text[i:end])
}

// prefixWord reports whether a 64-bit number is a subnet prefix, not a GUID.
func (s *scanner) prefixWord(i int) bool {
	word := s.wordBefore(i)
	return word == "prefix" || word == "subnet"
}

// bytes maps 6, 8, 16 or 20 bytes in hex.
func (s *scanner) bytes(plain string) string {
	b, err := hex.DecodeString(plain)
	if err != nil {
		return ""
	}
	switch len(b) {
	case 6:
		m := s.mac([6]byte(b))
		b = m[:]
	case 8:
		g := s.guid([8]byte(b))
		b = g[:]
	case 16, 20: // IPoIB: four bytes of flags and queue pair, then the GID
		a := s.addr(netip.AddrFrom16([16]byte(b[len(b)-16:]))).As16()
		copy(b[len(b)-16:], a[:])
	}
	return likeCase(plain, hex.EncodeToString(b))
}

// prefix64 maps a subnet prefix in hex.
func (s *scanner) prefix64(plain string) string {
	b, err := hex.DecodeString(plain)
	if err != nil {
		return ""
	}
	var whole [16]byte
	copy(whole[:], b)
	out := s.addr(netip.AddrFrom16(whole)).As16()
	return likeCase(plain, hex.EncodeToString(out[:8]))
}

// decimalBytes reads perftest's GIDs: sixteen decimal bytes.
func decimalBytes(groups []string) []byte {
	var out []byte
	for _, g := range groups {
		v, err := strconv.ParseUint(g, 10, 8)
		if err != nil || len(g) < 2 {
			return nil
		}
		out = append(out, byte(v))
	}
	return out
}

func (s *scanner) decimal(b []byte) string {
	a := s.addr(netip.AddrFrom16([16]byte(b))).As16()
	var parts []string
	for _, v := range a {
		part := strconv.Itoa(int(v))
		if len(part) < 2 {
			part = "0" + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ":")
}

// likeCase writes hex digits in capitals where the original did.
func likeCase(original, s string) string {
	if strings.ToLower(original) != original {
		return strings.ToUpper(s)
	}
	return s
}
