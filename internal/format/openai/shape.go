package openai

import "bytes"

// shape is a chunk without its text. The chunks of a stream differ in their text alone,
// so one that was understood tells of those like it: what is left to read is one JSON
// string.
type shape struct {
	head string // up to and with the quote that opens the text
	tail string // from the quote that closes it
}

// known is one, and the same with what is around it in the stream: the name of the field,
// and how the line of data and the blank one end.
type known struct{ data, whole shape }

// match returns how long the chunk at the beginning of b is, 0 when it is not like this
// one, and whether it has text.
func (k *shape) match(b []byte) (n int, text bool) {
	if k.head == "" || len(b) < len(k.head) || string(b[:len(k.head)]) != k.head {
		return 0, false
	}
	size, inside := 0, b[len(k.head):]
	for size < len(inside) && plain[inside[size]] {
		size++
	}
	if size == len(inside) {
		return 0, false
	}
	if inside[size] != '"' {
		if size = quoted(inside); size < 0 {
			return 0, false
		}
	}
	n = len(k.head) + size
	if len(b)-n < len(k.tail) || string(b[n:n+len(k.tail)]) != k.tail {
		return 0, false
	}
	return n + len(k.tail), size > 0
}

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// quoted returns how long the inside of a JSON string is that ends in b, -1 when it does
// not, or is not JSON.
func quoted(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i
		case c < 0x20:
			return -1
		case c == '\\':
			i++
			if i == len(b) {
				return -1
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if len(b)-i < 5 || !hex(b[i+1:i+5]) {
					return -1
				}
				i += 4
			default:
				return -1
			}
		}
	}
	return -1
}

func hex(b []byte) bool {
	for _, c := range b {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

// keys are the names under which engines put text.
var keys = []string{`"content"`, `"text"`, `"reasoning_content"`, `"reasoning"`}

// learn finds where in a chunk the text is. It is where it says that it is when the
// chunk has no text once that string is empty: a key that is written twice, or in
// another place, is not taken for it.
func learn(data []byte) (k shape, ok bool) {
	for _, key := range keys {
		for at := 0; ; {
			i := bytes.Index(data[at:], []byte(key))
			if i < 0 {
				break
			}
			at += i + len(key)
			open := at
			for open < len(data) && (data[open] == ' ' || data[open] == ':') {
				open++
			}
			if open == at || open == len(data) || data[open] != '"' {
				continue
			}
			open++
			size := quoted(data[open:])
			if size <= 0 {
				continue
			}
			k = shape{head: string(data[:open]), tail: string(data[open+size:])}
			if c, err := parseChunk([]byte(k.head + k.tail)); err == nil && !c.text() && c.learns() {
				return k, true
			}
		}
	}
	return shape{}, false
}
