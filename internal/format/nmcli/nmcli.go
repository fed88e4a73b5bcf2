// Package nmcli reads NetworkManager's list of connections: `nmcli connection show`, terse and as a table. Pure: bytes in, structs out.
package nmcli

import (
	"errors"
	"fmt"
	"strings"

	"weft/internal/format/printed"
)

// Connection is one stored connection.
type Connection struct {
	Name   string
	UUID   string
	Type   string // ethernet, infiniband, vlan, …; 802-3-ethernet in old releases
	Device string // "" while it is not active
}

// ErrTool is wrapped by an error that repeats what nmcli complained about.
var ErrTool = errors.New("nmcli reported an error")

// Parse reads `nmcli -t -f NAME,UUID,TYPE,DEVICE connection show` and the table
// of `nmcli connection show`. Both have the UUID between name and type, which
// tells names with spaces or colons, in any language, from the other columns.
func Parse(b []byte) ([]Connection, error) {
	var out []Connection
	var errs []error
	for num, s := range printed.Lines(b) {
		first, _, _ := strings.Cut(s, " ")
		if s[0] == '#' || first == "$" || first == "NAME" || strings.Contains(first, "@") && strings.ContainsAny(s, "#$") {
			continue
		}
		if c, ok := terse(s); ok {
			out = append(out, c)
			continue
		}
		if c, ok := row(s); ok {
			out = append(out, c)
			continue
		}
		if strings.HasPrefix(s, "Error:") || strings.HasSuffix(s, "not found") {
			errs = append(errs, fmt.Errorf("line %d: %w: %.120q", num, ErrTool, s))
			continue
		}
		if len(out) == 0 && len(errs) == 0 && len(strings.Fields(s)) == 4 {
			continue // the heading, in a language whose word for NAME is another
		}
		errs = append(errs, fmt.Errorf("line %d: %.60q has no UUID", num, s))
	}
	return out, errors.Join(errs...)
}

// terse reads one line of the four columns.
func terse(s string) (Connection, bool) {
	fields := split(s)
	if len(fields) != 4 || !isUUID(fields[1]) {
		return Connection{}, false
	}
	return Connection{fields[0], fields[1], fields[2], none(fields[3])}, true
}

// split parts a terse line at colons, of which nmcli escapes those inside a value.
func split(s string) (fields []string) {
	var field []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			field = append(field, s[i])
		case s[i] == ':':
			fields, field = append(fields, string(field)), field[:0]
		default:
			field = append(field, s[i])
		}
	}
	return append(fields, string(field))
}

// Active is a connection in use and the file that it comes from.
type Active struct {
	UUID   string
	Device string
	File   string // "" when NetworkManager does not say
	Type   string
}

// ParseActive reads `nmcli -t -f UUID,DEVICE,FILENAME,TYPE connection show --active`.
func ParseActive(b []byte) ([]Active, error) {
	var out []Active
	var errs []error
	for num, s := range printed.Lines(b) {
		f := split(s)
		switch {
		case len(f) == 4 && isUUID(f[0]):
			out = append(out, Active{f[0], none(f[1]), none(f[2]), f[3]})
		case strings.HasPrefix(s, "Error:"):
			errs = append(errs, fmt.Errorf("line %d: %w: %.120q", num, ErrTool, s))
		default:
			errs = append(errs, fmt.Errorf("line %d: %.60q does not begin with a UUID", num, s))
		}
	}
	return out, errors.Join(errs...)
}

// row reads one line of the table.
func row(s string) (Connection, bool) {
	rest := s
	for at := 0; rest != ""; {
		word, after, _ := strings.Cut(rest, " ")
		if isUUID(word) && at > 0 {
			f := strings.Fields(after)
			if len(f) == 0 || len(f) > 2 {
				return Connection{}, false
			}
			c := Connection{Name: strings.TrimSpace(s[:at]), UUID: word, Type: f[0]}
			if len(f) == 2 {
				c.Device = none(f[1])
			}
			return c, c.Name != ""
		}
		at, rest = at+len(word)+1, after
	}
	return Connection{}, false
}

// none turns the table's -- into nothing.
func none(s string) string {
	if s == "--" {
		return ""
	}
	return s
}

// isUUID recognises 8-4-4-4-12 hexadecimal digits.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}
