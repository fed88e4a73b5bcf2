// Package ethtool reads what ethtool prints, as text and as --json. Pure: bytes in, structs out.
//
// ethtool 6.1 was run to check the text of the plain command, -i, -S, -g, -c and
// -k, and the JSON of -k. To -m, -a, --show-fec and --show-priv-flags no device at
// hand said more than "not supported": their text follows ethtool's sources and
// outputs that others published. ethtool 6.1 refuses --json for the plain command,
// -i, -S without groups, -m, -g, -c and --show-priv-flags; the JSON of those, of -a
// and of --show-fec follows the sources of later releases.
package ethtool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// What ethtool may say instead of an answer. The error that wraps one of these
// names the line.
var (
	ErrNotSupported = errors.New("not supported by the device")
	ErrNotPermitted = errors.New("not permitted")
	ErrNoDevice     = errors.New("no such device")
	ErrNoTool       = errors.New("ethtool is not installed")
	ErrTool         = errors.New("ethtool reported an error")
	ErrNothing      = errors.New("nothing of this command in the text")
)

// line is one line worth reading.
type line struct {
	num  int
	text string // trimmed
}

// lines drops comments, prompts and blank lines, and takes out what ethtool
// complained of.
func lines(b []byte) ([]line, []error) {
	var out []line
	var errs []error
	for num, s := range printed.Lines(b) {
		if s[0] == '#' || printed.Prompt(s) {
			continue
		}
		if err := complaint(s); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", num, err))
			continue
		}
		out = append(out, line{num, s})
	}
	return out, errs
}

// errSkip is what a reader returns for a line or value that means nothing to it.
var errSkip = errors.New("not of interest")

// complaint turns an error message of ethtool into an error, and returns nil
// for anything else.
func complaint(s string) error {
	isError := strings.HasPrefix(s, "netlink error:") || strings.HasPrefix(s, "Cannot ") ||
		strings.HasPrefix(s, "ethtool: ") || s == "no stats available" || s == "No data available" ||
		strings.HasPrefix(s, "For more information run ethtool") ||
		strings.HasSuffix(s, "not found") && strings.Contains(s, "ethtool")
	if !isError {
		return nil
	}
	kind := ErrTool
	switch low := strings.ToLower(s); {
	case strings.HasSuffix(low, "not found"):
		kind = ErrNoTool
	case strings.Contains(low, "not supported"), low == "no stats available":
		kind = ErrNotSupported
	case strings.Contains(low, "not permitted"), strings.Contains(low, "permission denied"):
		kind = ErrNotPermitted
	case strings.Contains(low, "no such device"), strings.Contains(low, "no device matches"):
		kind = ErrNoDevice
	}
	return fmt.Errorf("%w: %.160q", kind, s)
}

// device returns eth0 of a heading such as "Pause parameters for eth0:".
func device(s string) (string, bool) {
	for _, h := range []string{
		"Settings for ", "Pause parameters for ", "Ring parameters for ", "Coalesce parameters for ",
		"Features for ", "Private flags for ", "FEC parameters for ", "Standard stats for ",
	} {
		if rest, ok := strings.CutPrefix(s, h); ok && strings.HasSuffix(rest, ":") {
			return strings.TrimSuffix(rest, ":"), true
		}
	}
	return "", false
}

// pairs calls each for every "key: value" of a text. A heading sets dev.
func pairs(b []byte, dev *string, each func(key, val string) error) error {
	ls, errs := lines(b)
	seen := false
	for _, l := range ls {
		if d, ok := device(l.text); ok {
			*dev = d
			continue
		}
		key, val, ok := strings.Cut(l.text, ":")
		if !ok {
			key, val = "", l.text
		}
		switch err := each(strings.Join(strings.Fields(key), " "), strings.TrimSpace(val)); err {
		case nil:
			seen = true
		case errSkip:
		default:
			errs = append(errs, fmt.Errorf("line %d: %w", l.num, err))
		}
	}
	if !seen && len(errs) == 0 {
		errs = append(errs, ErrNothing)
	}
	return errors.Join(errs...)
}

// isJSON reports whether the first line that is neither comment nor complaint
// opens a JSON array.
func isJSON(b []byte) bool {
	ls, _ := lines(b)
	return len(ls) > 0 && ls[0].text[0] == '['
}

// maxDepth bounds the nesting that walk follows; ethtool's own is 4.
const maxDepth = 16

// walk calls each for every scalar of a JSON document about one device, with
// the keys that lead to it and its place in a list (-1 outside one), in order.
// Order and repetition matter: ethtool -m writes "module_temperature" twice,
// once as a number and once as an object with thresholds.
func walk(b []byte, dev *string, each func(path []string, index int, v any) error) error {
	ls, errs := lines(b)
	var clean bytes.Buffer
	for _, l := range ls {
		clean.WriteString(l.text + "\n")
	}
	doc := clean.Bytes()
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	seen := false
	var value func(path []string, index, depth int) error
	value = func(path []string, index, depth int) error {
		if depth > maxDepth {
			return errors.New("JSON is nested too deeply")
		}
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('{'):
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				name, _ := key.(string)
				if err := value(append(path, name), -1, depth+1); err != nil {
					return err
				}
			}
			_, err = dec.Token()
			return err
		case json.Delim('['):
			for i := 0; dec.More(); i++ {
				if err := value(path, i, depth+1); err != nil {
					return err
				}
			}
			_, err = dec.Token()
			return err
		}
		if len(path) == 0 {
			return nil
		}
		if len(path) == 1 && path[0] == "ifname" {
			*dev, _ = tok.(string)
			return nil
		}
		switch err := each(path, index, tok); err {
		case nil:
			seen = true
		case errSkip:
		default:
			errs = append(errs, fmt.Errorf("%s: %w", strings.Join(path, "."), err))
		}
		return nil
	}
	if err := value(nil, -1, 0); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		at := bytes.Count(doc[:min(int(dec.InputOffset()), len(doc))], []byte("\n"))
		errs = append(errs, fmt.Errorf("line %d: %w", ls[min(at, len(ls)-1)].num, err))
	}
	if !seen && len(errs) == 0 {
		errs = append(errs, ErrNothing)
	}
	return errors.Join(errs...)
}

// onOff reads a switch from JSON or text; nil is not told.
func onOff(v any) *bool {
	switch v := v.(type) {
	case bool:
		return &v
	case string:
		word, _, _ := strings.Cut(strings.ToLower(v), " ")
		switch word {
		case "on", "yes":
			return new(true)
		case "off", "no":
			return new(false)
		}
	}
	return nil
}

// count reads a non-negative number; nil for n/a and the like.
func count(v any) *uint64 {
	s, ok := v.(string)
	if n, isNum := v.(json.Number); isNum {
		s, ok = n.String(), true
	}
	if !ok {
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// decimal reads a number with a unit behind it, such as "35.27 degrees C" or "1m".
func decimal(v any) *float64 {
	s, _ := v.(string)
	if n, ok := v.(json.Number); ok {
		s = n.String()
	}
	end := strings.IndexFunc(s, func(r rune) bool { return !(r >= '0' && r <= '9' || r == '.' || r == '-' || r == '+') })
	if end >= 0 {
		s = s[:end]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return &f
}

// text returns the string in v, "" when it holds none.
func text(v any) string {
	s, _ := v.(string)
	return s
}
