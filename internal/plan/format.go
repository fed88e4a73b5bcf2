package plan

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxBytes is the largest plan that is written or read.
const MaxBytes = 64 << 20

const (
	docSchema = 1 // as report.Schema
	docKind   = "plan"
)

// document is a plan as it stands in a file.
type document struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	planFields
}

type planFields Plan // without its methods

// Format writes the document that Parse reads. The same plan gives the same bytes.
func Format(p Plan) ([]byte, error) {
	body, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	head := fmt.Sprintf(`{"schema":%d,"kind":%q,`, docSchema, docKind)
	if err := json.Indent(&b, append([]byte(head), body[1:]...), "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	if b.Len() > MaxBytes {
		return nil, fmt.Errorf("plan %s: larger than %d MiB: plan fewer nodes at a time", p.ID, MaxBytes>>20)
	}
	return b.Bytes(), nil
}

// MarshalJSON writes lists that are empty as such, and refuses what JSON would change.
func (p Plan) MarshalJSON() ([]byte, error) {
	if at := notText(reflect.ValueOf(p)); at != "" {
		return nil, fmt.Errorf("plan %s: %s is not UTF-8", p.ID, strings.TrimPrefix(at, "."))
	}
	if p.Nodes == nil {
		p.Nodes = []Node{}
	}
	if p.Steps == nil {
		p.Steps = []Step{}
	}
	if p.Hand == nil {
		p.Hand = []Hand{}
	}
	if p.After == nil {
		p.After = map[string]int{}
	}
	p.Nodes, p.Steps, p.Hand = slices.Clone(p.Nodes), slices.Clone(p.Steps), slices.Clone(p.Hand)
	for i := range p.Nodes {
		if p.Nodes[i].Facts == nil {
			p.Nodes[i].Facts = map[string]string{}
		}
	}
	for i := range p.Steps {
		if p.Steps[i].Then == nil {
			p.Steps[i].Then = []string{}
		}
	}
	for i := range p.Hand {
		if p.Hand[i].Do == nil {
			p.Hand[i].Do = []string{}
		}
	}
	return plainJSON(planFields(p))
}

// plainJSON writes JSON in which < > and & stand as they are: plans are read by people.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// notText says where a text is not UTF-8, which a JSON string must be. Texts of files
// are apart: see File.MarshalJSON.
func notText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return " " + strconv.Quote(v.String())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if at := notText(v.Index(i)); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if at := notText(k) + notText(v.MapIndex(k)); at != "" {
				return at
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if at := notText(v.Field(i)); at != "" {
				return "." + strings.ToLower(v.Type().Field(i).Name) + at
			}
		}
	}
	return ""
}

// fileWire is a file as it stands in a plan.
type fileWire struct {
	fileFields
	Base64 bool `json:"base64,omitempty"` // the texts are, because one of them is not UTF-8
}

type fileFields File

// MarshalJSON keeps texts exact, whatever they hold.
func (f File) MarshalJSON() ([]byte, error) {
	w := fileWire{fileFields: fileFields(f)}
	for _, text := range []**string{&w.Old, &w.New} {
		w.Base64 = w.Base64 || *text != nil && !utf8.ValidString(**text)
	}
	for _, text := range []**string{&w.Old, &w.New} {
		if w.Base64 && *text != nil {
			coded := base64.StdEncoding.EncodeToString([]byte(**text))
			*text = &coded
		}
	}
	return plainJSON(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *File) UnmarshalJSON(b []byte) error {
	var w fileWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	for _, text := range []**string{&w.Old, &w.New} {
		if !w.Base64 || *text == nil {
			continue
		}
		raw, err := base64.StdEncoding.Strict().DecodeString(**text)
		if err != nil {
			return fmt.Errorf("file %s: %w", w.Path, err)
		}
		plain := string(raw)
		*text = &plain
	}
	*f = File(w.fileFields)
	return nil
}
