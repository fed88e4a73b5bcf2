package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// cursor reads the fixed pieces at the front of a topology line; once a piece
// is missing it stays bad.
type cursor struct {
	rest string
	bad  bool
}

// between takes open … shut off the front.
func (c *cursor) between(open, shut string) (string, bool) {
	s, ok := strings.CutPrefix(strings.TrimLeft(c.rest, " \t"), open)
	if !ok {
		return "", false
	}
	in, rest, ok := strings.Cut(s, shut)
	if ok {
		c.rest = rest
	}
	return in, ok
}

// port takes "[3]" and the chassis' own number of that port, "[ext 4]".
func (c *cursor) port() int {
	s, ok := c.between("[", "]")
	n, isNum := printed.Number(s)
	if !ok || !isNum {
		c.bad = true
	}
	c.between("[ext", "]")
	return n
}

// portGUID takes "(10000f)", which only CA ports have.
func (c *cursor) portGUID() string {
	s, ok := c.between("(", ")")
	if !ok {
		return ""
	}
	n, isGUID := guid(s)
	if !isGUID {
		c.bad = true
		return ""
	}
	return guidText(n)
}

// id takes a quoted node id: "S-0000000000200001".
func (c *cursor) id() (kind string, id uint64) {
	s, ok := c.between(`"`, `"`)
	letter, hex, dash := strings.Cut(s, "-")
	id, isGUID := guid(hex)
	switch letter {
	case "S":
		kind = "SW"
	case "H":
		kind = "CA"
	case "R":
		kind = "RT"
	}
	if !ok || !dash || !isGUID || kind == "" {
		c.bad = true
	}
	return kind, id
}

// comment is what follows the #.
func (c *cursor) comment() string {
	s, ok := strings.CutPrefix(strings.TrimLeft(c.rest, " \t"), "#")
	if !ok {
		return ""
	}
	return s
}
