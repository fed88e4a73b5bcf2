package perftest

import (
	"fmt"
	"strings"
)

// section is an object within the document, with its plain values.
type section struct {
	name  string
	line  int
	pairs []pair
}

type pair struct {
	key, value string
	line       int
}

// maxSections bounds a document: perftest writes two objects in one.
const maxSections = 1 << 12

// loose reads objects of plain values, two deep, that may lack quotes and have a comma
// too many. Documents that follow each other are read as one.
func loose(b []byte) ([]section, error) {
	s := scanner{text: string(b), line: 1}
	var sections []section
	depth, key, keyLine := 0, "", 0
	for {
		tok, word := s.next()
		switch tok {
		case 0:
			if depth > 0 {
				return nil, fmt.Errorf("line %d: the document ends inside an object", s.line)
			}
			return sections, nil
		case '{':
			if depth++; depth > 2 {
				return nil, fmt.Errorf("line %d: an object within an object within an object", s.line)
			}
			if depth == 2 {
				if len(sections) == maxSections {
					return nil, fmt.Errorf("line %d: more than %d objects", s.line, maxSections)
				}
				sections = append(sections, section{name: key, line: keyLine})
			}
			key = ""
		case '}':
			if depth--; depth < 0 {
				return nil, fmt.Errorf("line %d: a bracket too many", s.line)
			}
			key = ""
		case ':', ',':
			// A key is followed by its value; that a comma is missing is forgiven.
		case 'w':
			switch {
			case depth == 0:
				return nil, fmt.Errorf("line %d: %.60q is not a file of --out_json", s.line, word)
			case key == "":
				key, keyLine = word, s.line
			default:
				if depth == 2 {
					last := &sections[len(sections)-1]
					last.pairs = append(last.pairs, pair{key, word, keyLine})
				}
				key = ""
			}
		default:
			return nil, fmt.Errorf("line %d: unexpected %q", s.line, tok)
		}
	}
}

type scanner struct {
	text string
	line int
}

// next returns a mark, or 'w' and a word without its quotes, or 0 at the end. A bare word
// ends at a mark or at the end of its line.
func (s *scanner) next() (tok byte, word string) {
	for s.text != "" {
		c := s.text[0]
		switch {
		case c == '\n':
			s.line++
			s.text = s.text[1:]
		case c == ' ' || c == '\t' || c == '\r':
			s.text = s.text[1:]
		case c == '#':
			_, rest, _ := strings.Cut(s.text, "\n")
			s.text, s.line = rest, s.line+1
		case strings.IndexByte("{}[]:,", c) >= 0:
			s.text = s.text[1:]
			return c, ""
		case c == '"':
			word, rest, ok := strings.Cut(s.text[1:], `"`)
			if !ok || strings.Contains(word, "\n") {
				s.text = s.text[1:]
				return '"', ""
			}
			s.text = rest
			return 'w', word
		default:
			i := strings.IndexAny(s.text, "{}[]:,\"\n")
			if i < 0 {
				i = len(s.text)
			}
			word, s.text = s.text[:i], s.text[i:]
			return 'w', strings.TrimSpace(word)
		}
	}
	return 0, ""
}
