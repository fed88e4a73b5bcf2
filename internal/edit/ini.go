package edit

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// INI is a text of sections and keys that is changed line by line: what is not asked
// for stays byte for byte. Changes name lines of the text as it was read, and show in
// Text alone.
type INI struct {
	Sections []Section

	lines   []string // with their ends
	changed map[int]string
	after   map[int][]string // lines, without ends, that come after a line
	added   []section        // and after all
	eol     string
}

// section is one that is new, with its lines.
type section struct {
	name  string
	lines []string
}

// Section is a section and its keys.
type Section struct {
	Name string
	Line int // from 0
	Keys []Key
}

// Key is a key and its value.
type Key struct {
	Name, Value string
	Line, Last  int // a value may continue on further lines
	sep         string
	from, to    int // where the value is in its line
}

// Dialect is how a family of files differs from others.
type Dialect struct {
	Comments  string // the characters that begin one
	Continues bool   // a backslash at the end of a line
	Spaces    bool   // those at the end of a value count
}

// The dialects.
var (
	Systemd = Dialect{Comments: "#;", Continues: true} // systemd.syntax(7)
	GKey    = Dialect{Comments: "#", Spaces: true}     // GLib's GKeyFile
)

// Read reads a text.
func (d Dialect) Read(text string) (*INI, error) {
	f := &INI{lines: strings.SplitAfter(text, "\n"), changed: map[int]string{}, after: map[int][]string{}, eol: "\n"}
	if f.lines[len(f.lines)-1] == "" {
		f.lines = f.lines[:len(f.lines)-1]
	}
	if len(f.lines) > 0 && strings.HasSuffix(f.lines[0], "\r\n") {
		f.eol = "\r\n"
	}
	for i, line := range f.lines {
		if !plain(body(line)) {
			return nil, fmt.Errorf("line %d: not plain text", i+1)
		}
	}
	for i := 0; i < len(f.lines); i++ {
		line := body(f.lines[i])
		trimmed := strings.Trim(line, " \t")
		switch {
		case trimmed == "" || strings.ContainsRune(d.Comments, rune(trimmed[0])):
		case trimmed[0] == '[':
			name, ok := strings.CutSuffix(trimmed[1:], "]")
			if !ok || name == "" || strings.ContainsAny(name, "[]") {
				return nil, fmt.Errorf("line %d: %q is not a section", i+1, trimmed)
			}
			f.Sections = append(f.Sections, Section{Name: name, Line: i})
		default:
			k, err := f.key(d, line, i)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			s := &f.Sections[len(f.Sections)-1]
			s.Keys = append(s.Keys, k)
			i = k.Last
		}
	}
	return f, nil
}

func (f *INI) key(d Dialect, line string, at int) (Key, error) {
	eq := strings.IndexByte(line, '=')
	name := strings.Trim(line[:max(eq, 0)], " \t")
	if eq < 0 || name == "" {
		return Key{}, fmt.Errorf("%q is neither a section nor a key", strings.Trim(line, " \t"))
	}
	if len(f.Sections) == 0 {
		return Key{}, fmt.Errorf("%s= stands before any section", name)
	}
	value := line[eq+1:]
	k := Key{Name: name, Line: at, Last: at, Value: strings.TrimLeft(value, " \t")}
	k.from = len(line) - len(k.Value)
	if !d.Spaces {
		k.Value = strings.TrimRight(k.Value, " \t")
	}
	k.to = k.from + len(k.Value)
	k.sep = line[len(strings.TrimRight(line[:eq], " \t")):k.from]
	for d.Continues && strings.HasSuffix(k.Value, `\`) {
		if k.Last+1 == len(f.lines) {
			return k, fmt.Errorf("%s= continues beyond the end", name)
		}
		k.Last++
		next := strings.Trim(body(f.lines[k.Last]), " \t")
		if next != "" && strings.ContainsRune(d.Comments, rune(next[0])) {
			continue // a comment among them is none of the value
		}
		k.Value = strings.TrimSuffix(k.Value, `\`) + " " + next
	}
	return k, nil
}

// body is a line without its end.
func body(line string) string {
	if s, ok := strings.CutSuffix(line, "\r\n"); ok {
		return s
	}
	return strings.TrimSuffix(line, "\n")
}

// plain tells whether a line is text that every reader reads alike.
func plain(line string) bool {
	return utf8.ValidString(line) && !strings.ContainsFunc(line, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f || r == '\ufeff'
	})
}

// All returns the sections of a name.
func (f *INI) All(name string) (out []Section) {
	for _, s := range f.Sections {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// Keys returns the keys of a name in all sections of a name, as they stand.
func (f *INI) Keys(section, name string) (out []Key) {
	for _, s := range f.All(section) {
		out = append(out, s.Get(name)...)
	}
	return out
}

// Value returns the value of the last such key, which is the one that counts.
func (f *INI) Value(section, name string) (string, bool) {
	keys := f.Keys(section, name)
	if len(keys) == 0 {
		return "", false
	}
	return keys[len(keys)-1].Value, true
}

// Get returns the keys of a name.
func (s Section) Get(name string) (out []Key) {
	for _, k := range s.Keys {
		if k.Name == name {
			out = append(out, k)
		}
	}
	return out
}

// Value returns the value of the last key of a name.
func (s Section) Value(name string) (string, bool) {
	keys := s.Get(name)
	if len(keys) == 0 {
		return "", false
	}
	return keys[len(keys)-1].Value, true
}

// Change gives a key another value.
func (f *INI) Change(k Key, value string) error {
	if k.Last != k.Line {
		return fmt.Errorf("line %d: %s= goes on on the next line, which weft does not change", k.Line+1, k.Name)
	}
	line := f.lines[k.Line]
	f.changed[k.Line] = line[:k.from] + value + line[k.to:]
	return nil
}

// Drop removes a key.
func (f *INI) Drop(k Key) error {
	if k.Last != k.Line {
		return fmt.Errorf("line %d: %s= goes on on the next line, which weft does not change", k.Line+1, k.Name)
	}
	f.changed[k.Line] = ""
	return nil
}

// DropSection removes a section and its keys, and the empty line before it. Comments stay.
func (f *INI) DropSection(s Section) error {
	for _, k := range s.Keys {
		if err := f.Drop(k); err != nil {
			return err
		}
	}
	f.changed[s.Line] = ""
	if s.Line > 0 && strings.Trim(body(f.lines[s.Line-1]), " \t") == "" {
		f.changed[s.Line-1] = ""
	}
	return nil
}

// Put gives the last such key the value, or adds it to the last section of that name,
// or adds the section.
func (f *INI) Put(section, name, value string) error {
	if keys := f.Keys(section, name); len(keys) > 0 {
		return f.Change(keys[len(keys)-1], value)
	}
	f.Add(section, name, value)
	return nil
}

// Add adds a key to the last section of that name, or that section.
func (f *INI) Add(name, key, value string) {
	for i := range f.added {
		if f.added[i].name == name {
			f.added[i].lines = append(f.added[i].lines, key+"="+value)
			return
		}
	}
	all := f.All(name)
	if len(all) == 0 {
		f.AddSection(name, key, value)
		return
	}
	s := all[len(all)-1]
	line, indent, sep := s.Line, "", "="
	if n := len(s.Keys); n > 0 {
		last := s.Keys[n-1]
		text := f.lines[last.Line]
		line, indent, sep = last.Last, text[:len(text)-len(strings.TrimLeft(text, " \t"))], last.sep
	}
	f.after[line] = append(f.after[line], indent+key+sep+value)
}

// AddSection adds one more section at the end: key, value, key, value.
func (f *INI) AddSection(name string, keys ...string) {
	s := section{name: name}
	for i := 0; i+1 < len(keys); i += 2 {
		s.lines = append(s.lines, keys[i]+"="+keys[i+1])
	}
	f.added = append(f.added, s)
}

// Text is the text with its changes. A last line without an end stays without one.
func (f *INI) Text() string {
	var b strings.Builder
	add := func(line string) {
		if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteString(f.eol)
		}
		b.WriteString(line)
	}
	for i, line := range f.lines {
		if now, ok := f.changed[i]; ok {
			line = now
		}
		if line != "" {
			add(line)
		}
		for _, l := range f.after[i] {
			add(l + f.eol)
		}
	}
	for _, s := range f.added {
		if out := strings.TrimRight(b.String(), " \t\r"); out != "" && !strings.HasSuffix(out, "\n\n") && !strings.HasSuffix(out, "\n\r\n") {
			add(f.eol)
		}
		add("[" + s.name + "]" + f.eol)
		for _, l := range s.lines {
			add(l + f.eol)
		}
	}
	out := b.String()
	if n := len(f.lines); n > 0 && !strings.HasSuffix(f.lines[n-1], "\n") {
		out = body(out)
	}
	return out
}
