package dump

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Redact returns a copy of the dump in which serial numbers, GUIDs, GIDs, MAC and
// IP addresses and UUIDs are replaced by stand-ins, in contents, links, gaps and
// member names alike. One key always gives the same stand-in for the same input;
// another key gives others, and without the key there is no way back.
//
// What judging needs stays: who shares a subnet with whom, which GID is made of
// which address, which MAC belongs to which GUID, makers (the first 24 bits of a
// MAC or GUID), LIDs, PCI addresses, digests, times and node names. A node that is
// named by its address gets a stand-in, since there the name is the address.
//
// Three things are approximate. Four numbers with dots are an address unless a word
// like "version" stands before them or they are glued to a hyphen. Sixteen bare
// decimal digits are a counter, not a GUID, unless a mark of one stands before them.
// A broadcast address stays in its subnet but is no longer its last address.
func Redact(d *Dump, key []byte) *Dump {
	r := redactor{newMask(key)}
	out := &Dump{Note: r.text("", d.Note)}
	for _, n := range d.Nodes {
		name := n.Name
		if a, err := netip.ParseAddr(name); err == nil {
			name = r.addr(a).String()
		}
		c := NewNode(name)
		r.members(c.Text, n.Text)
		r.members(c.Link, n.Link)
		r.members(c.Gap, n.Gap)
		out.Nodes = append(out.Nodes, c)
	}
	return out
}

type redactor struct{ *mask }

func (r redactor) members(into, from map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		name := r.text("", key)
		// Two spellings of one IPv6 address become one: both members stay.
		for _, taken := into[name]; taken; _, taken = into[name] {
			name += "~"
		}
		into[name] = r.content(key, from[key])
	}
}

func (r redactor) content(key, text string) string {
	switch {
	case strings.HasSuffix(key, "/config") && strings.ContainsRune(text, 0):
		return withoutSerial(text)
	case strings.HasSuffix(key, "serial") || strings.HasSuffix(key, "/unique_id"):
		value := strings.TrimSpace(text)
		return strings.Replace(text, value, r.serialField(value), 1)
	}
	return r.text(key, text)
}

// withoutSerial zeroes the Device Serial Number in a PCI configuration space
// (PCI Express Base 5.0, 7.9.3: extended capability 0003h, two registers after the
// header).
func withoutSerial(config string) string {
	b := []byte(config)
	at := 0x100
	// Each capability is at least one register long: the walk ends however the
	// pointers run.
	for range (0x1000 - 0x100) / 4 {
		if at < 0x100 || at+4 > len(b) {
			break
		}
		if b[at] == 0x03 && b[at+1] == 0x00 {
			clear(b[at+4 : min(at+12, len(b))])
		}
		at = int(b[at+3])<<4 | int(b[at+2])>>4&^3
	}
	return string(b)
}

// span is a labelled value in a text.
type span struct{ start, end int }

// label finds the fields that hold serial numbers: XML tags, JSON names and the
// words of lspci (the VPD of ConnectX cards repeats the serial number in V3 and
// VU), ethtool -m, nvidia-smi, ibswinfo and amdgpu.
var label = regexp.MustCompile(`(?i)(?:\[(?:SN|V3|VU)\][^:\n]*|(?:\b|_)serial(?:[ _-]?(?:number|num|no))?|\b(?:vendor[ _]sn|s/n)|\bunique[ _]id|\bpdi|\basset[ _]tag)(["']?[ \t]*[:=|>][ \t]*(?:\[?\{"value":[ \t]*)?|[ \t]+)`)

// fields returns the serial numbers of a text, in order.
func fields(text string) []span {
	var out []span
	for _, m := range label.FindAllStringSubmatchIndex(text, -1) {
		name, sep, start := strings.ToLower(text[m[0]:m[1]]), text[m[2]:m[3]], m[1]
		stop := "\n\r\"<|"
		switch {
		case strings.TrimSpace(sep) == "":
			if !strings.HasPrefix(name, "unique") {
				continue // "Device Serial Number b8-ce-…" is an EUI-64: see dashed
			}
			stop = " \t\r\n"
		case start < len(text) && (text[start] == '"' || text[start] == '\''):
			stop = text[start:start+1] + "\n"
			start++
		case strings.ContainsAny(sep, `"'`):
			stop = ",}] \t\r\n"
		case strings.Contains(sep, "="):
			stop = " \t\r\n,;\"'<>"
		}
		n := strings.IndexAny(text[start:], stop)
		if n < 0 {
			n = len(text) - start
		}
		n = len(strings.TrimRight(text[start:start+n], " \t\r"))
		if n > 0 {
			out = append(out, span{start, start + n})
		}
	}
	if column := csvSerials(text); len(column) > 0 {
		out = append(out, column...)
		slices.SortFunc(out, func(a, b span) int { return a.start - b.start })
	}
	return out
}

// csvSerials returns the column of nvidia-smi --query-gpu=serial,… --format=csv.
func csvSerials(text string) []span {
	var out []span
	column, at, number := -1, 0, 0
	for line := range strings.Lines(text) {
		// The header is the first line, after at most a prompt and a comment.
		if number++; number > 3 && column < 0 {
			break
		}
		cells := strings.Split(line, ",")
		if column < 0 {
			column = slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "serial" })
			if len(cells) < 2 {
				column = -1
			}
		} else if column < len(cells) {
			start := at
			for _, c := range cells[:column] {
				start += len(c) + 1
			}
			cell := cells[column]
			start += len(cell) - len(strings.TrimLeft(cell, " "))
			if cell = strings.TrimSpace(cell); cell != "" {
				out = append(out, span{start, start + len(cell)})
			}
		}
		at += len(line)
	}
	return out
}

// placeholders stand where a maker wrote no serial number.
var placeholders = []string{"n/a", "[n/a]", "na", "null", "true", "false", "none", "unknown", "unspecified", "not specified", "not available", "[not supported]", "redacted", "default string", "to be filled by o.e.m.", "system serial number"}

func (r redactor) serialField(value string) string {
	switch {
	case slices.Contains(placeholders, strings.ToLower(value)) || strings.Trim(value, "0xX .-") == "":
		return value
	case isUUID(value):
		return r.uuid(value)
	}
	return r.serial(value)
}

// versions are members that hold versions of four numbers and no address.
var versions = []string{"$ packages", "$ dkms status", "$ ofed_info -s", "$ nccl libraries", "$ cdi"}

// text replaces what identifies in the text of a member.
func (r redactor) text(key, text string) string {
	s := scanner{redactor: r, text: text, versions: slices.Contains(versions, key)}
	if strings.HasPrefix(key, "/") {
		s.lead = key
	}
	var b strings.Builder
	copied := 0
	replace := func(start, end int, by string) {
		b.WriteString(text[copied:start])
		b.WriteString(by)
		copied = end
	}
	labelled := fields(text)
	for i := 0; i < len(text); {
		for len(labelled) > 0 && labelled[0].start < i {
			labelled = labelled[1:]
		}
		s.limit = len(text)
		if len(labelled) > 0 {
			f := labelled[0]
			if f.start == i {
				replace(f.start, f.end, r.serialField(text[f.start:f.end]))
				i = f.end
				continue
			}
			s.limit = f.start
		}
		if !isHex(text[i]) && text[i] != ':' {
			i++
			continue
		}
		n, by := s.token(i)
		if by != "" {
			replace(i, i+n, by)
		}
		i += n
	}
	if copied == 0 {
		return text
	}
	b.WriteString(text[copied:])
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWord(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '_' }

func allHex(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return c > 0x7f || !isHex(byte(c)) }) < 0
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
