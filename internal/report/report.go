// Package report writes what weft knows and concludes: text for people, JSON for
// programs. Pure: one value, two renderings; nothing is computed while printing.
package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Schema is the version of every JSON document. Fields are only added.
const Schema = 1

// JSON writes one document: schema and kind first, then the fields of body.
func JSON(w io.Writer, kind string, body any) error {
	b, err := join(kind, body)
	if err != nil {
		return err
	}
	var indented strings.Builder
	enc := json.NewEncoder(&indented)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(json.RawMessage(b)); err != nil {
		return err
	}
	_, err = io.WriteString(w, indented.String())
	return err
}

// Event writes one line of a JSON stream.
func Event(w io.Writer, kind string, body any) error {
	b, err := join(kind, body)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// join puts schema and kind before the fields of a JSON object.
func join(kind string, body any) ([]byte, error) {
	head, err := json.Marshal(struct {
		Schema int    `json:"schema"`
		Kind   string `json:"kind"`
	}{Schema, kind})
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // commands are read by people, too
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	rest := bytes.TrimRight(text.Bytes(), "\n")
	if string(rest) == "{}" || rest[0] != '{' {
		return head, nil
	}
	return append(append(head[:len(head)-1], ','), rest[1:]...), nil
}

// Table writes rows in columns; the first row is the heading. Columns are as wide
// as their widest cell, the last one is not padded.
func Table(w io.Writer, rows [][]string) error {
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			r[i] = clean(cell)
			cell = r[i]
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			if i > 0 {
				line += "  "
			}
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// dash stands for what is not known or not there.
func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// clean neutralises what a node may have put into a text to play tricks on a
// terminal: control characters and the ones that change writing direction.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
