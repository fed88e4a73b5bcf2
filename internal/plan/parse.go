package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is what is wrong in a plan, and where.
type Error struct {
	Line, Column int
	What         string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.What) }

// Parse reads a plan strictly: what is unknown, twice, missing or makes no sense is an
// error with line and column. A plan is commands for root, so nothing in it may be
// read otherwise than a person reads it.
func Parse(b []byte) (Plan, error) {
	if len(b) > MaxBytes {
		return Plan{}, &Error{1, 1, fmt.Sprintf("larger than %d MiB", MaxBytes>>20)}
	}
	r := &docReader{text: b, at: map[string]int64{}}
	var d document
	if err := r.read(&d); err != nil {
		return Plan{}, err
	}
	switch {
	case d.Kind != docKind:
		return Plan{}, r.wrong("kind", "%q is not a plan", d.Kind)
	case d.Schema != docSchema:
		return Plan{}, r.wrong("schema", "%d is not known to this weft, which writes %d", d.Schema, docSchema)
	}
	p := Plan(d.planFields)
	v := &docValidator{docReader: r, plan: &p}
	v.judge()
	if v.err != nil {
		return Plan{}, v.err
	}
	return p, nil
}

// docReader walks a document along the type that it should have.
type docReader struct {
	text []byte
	dec  *json.Decoder
	from int64            // where the token begins that was read last
	at   map[string]int64 // where values begin: "steps[2].files[0]"
}

// read decodes the document, after a walk through it.
func (r *docReader) read(into any) error {
	if !utf8.Valid(r.text) {
		return r.here(int64(len(r.text)-len(firstInvalid(r.text))), "not UTF-8")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(r.text, &raw); err != nil {
		var se *json.SyntaxError
		if errors.As(err, &se) {
			return r.here(se.Offset-1, "%s", se.Error())
		}
		return r.here(0, "%v", err)
	}
	r.dec = json.NewDecoder(bytes.NewReader(r.text))
	r.dec.UseNumber()
	if err := r.walk(reflect.TypeOf(into).Elem(), ""); err != nil {
		return err
	}
	if err := json.Unmarshal(r.text, into); err != nil {
		return r.here(0, "%v", err)
	}
	return nil
}

// firstInvalid returns a text from its first byte on that is not UTF-8.
func firstInvalid(b []byte) []byte {
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			return b
		}
		b = b[n:]
	}
	return b
}

// token reads the next token and where it begins. The document is JSON: see read.
func (r *docReader) token() json.Token {
	r.from = r.dec.InputOffset()
	for r.from < int64(len(r.text)) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[r.from]) >= 0 {
		r.from++
	}
	t, _ := r.dec.Token()
	return t
}

// walk reads one value and wants it to be of a type.
func (r *docReader) walk(t reflect.Type, path string) error {
	if t == reflect.TypeFor[File]() {
		t = reflect.TypeFor[fileWire]()
	}
	tok := r.token()
	if _, known := r.at[path]; !known {
		r.at[path] = r.from
	}
	switch t.Kind() {
	case reflect.Pointer:
		if tok == nil { // null: not there
			return nil
		}
		return r.scalar(tok, t.Elem(), path)
	case reflect.Struct:
		if tok != json.Delim('{') {
			return r.here(r.from, "%s: want an object", pathName(path))
		}
		return r.object(t, path)
	case reflect.Map:
		if tok != json.Delim('{') {
			return r.here(r.from, "%s: want an object", pathName(path))
		}
		return r.members(path, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case reflect.Slice:
		if tok != json.Delim('[') {
			return r.here(r.from, "%s: want a list", pathName(path))
		}
		for i := 0; r.dec.More(); i++ {
			if err := r.walk(t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		r.token() // the end
		return nil
	}
	return r.scalar(tok, t, path)
}

// object reads the members of a struct: those it must have, those it may have.
func (r *docReader) object(t reflect.Type, path string) error {
	begin := r.from
	types, must := map[string]reflect.Type{}, []string{}
	jsonFields(t, types, &must)
	if err := r.members(path, func(key string) (reflect.Type, bool) { t, ok := types[key]; return t, ok }); err != nil {
		return err
	}
	for _, key := range must {
		if _, ok := r.at[keyPath(path, key)]; !ok {
			return r.here(begin, "%s is missing", keyPath(path, key))
		}
	}
	return nil
}

// jsonFields lists the JSON fields of a struct, and those that are always written.
func jsonFields(t reflect.Type, types map[string]reflect.Type, must *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			jsonFields(f.Type, types, must)
			continue
		}
		types[key] = f.Type
		if rest != "omitempty" {
			*must = append(*must, key)
		}
	}
}

// members reads an object. of gives the type of what a key holds.
func (r *docReader) members(path string, of func(key string) (reflect.Type, bool)) error {
	for r.dec.More() {
		key, _ := r.token().(string)
		t, known := of(key)
		at := keyPath(path, key)
		if !known {
			return r.here(r.from, "%s: unknown field %q", pathName(path), key)
		}
		if _, twice := r.at[at]; twice {
			return r.here(r.from, "%s is there twice", at)
		}
		if err := r.walk(t, at); err != nil {
			return err
		}
	}
	r.token() // the end
	return nil
}

// scalar wants a token to be of a type.
func (r *docReader) scalar(tok json.Token, t reflect.Type, path string) error {
	ok, want := false, ""
	switch t.Kind() {
	case reflect.String:
		_, ok = tok.(string)
		want = "a text"
	case reflect.Bool:
		_, ok = tok.(bool)
		want = "true or false"
	default:
		n, isNumber := tok.(json.Number)
		_, err := strconv.ParseUint(string(n), 10, 31)
		ok = isNumber && err == nil
		want = "a whole number from 0 to 2147483647"
	}
	if !ok {
		return r.here(r.from, "%s: want %s", pathName(path), want)
	}
	return nil
}

// keyPath and pathName write the path of a value.
func keyPath(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

func pathName(path string) string {
	if path == "" {
		return "a plan"
	}
	return path
}

// wrong is an error about the value at a path.
func (r *docReader) wrong(path, format string, args ...any) error {
	return r.here(r.at[path], "%s: %s", path, fmt.Sprintf(format, args...))
}

// here is an error at an offset.
func (r *docReader) here(offset int64, format string, args ...any) error {
	before := r.text[:min(max(offset, 0), int64(len(r.text)))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return &Error{1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[line:]), fmt.Sprintf(format, args...)}
}
