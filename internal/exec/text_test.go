package exec

import (
	"errors"
	"strings"
	"testing"
)

func TestSanitise(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain text, ünïcode ✓", "plain text, ünïcode ✓"},
		{"a\tb\nc\n", "a\tb\nc\n"},
		{"dos\r\nlines\r\n", "dos\nlines\n"},
		{"over\rwritten", `over\x0dwritten`},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\x1b]52;c;aGk=\x07", `\x1b]52;c;aGk=\x07`},
		{"nul\x00 del\x7f bell\a", `nul\x00 del\x7f bell\x07`},
		{"c1 \u009b31m", `c1 \x9b31m`},
		{"bad \xff\xc3(", "bad \uFFFD\uFFFD("},
		{"\uFFFD stays", "\uFFFD stays"},
		{"safe\u202etxt.exe", `safe\u202etxt.exe`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"line\u2028sep", `line\u2028sep`},
		{"tag\U000E0041", `tag\U000e0041`},
		{`literal \x1b`, `literal \x1b`},
	}
	for _, tt := range tests {
		if got := Sanitise(tt.in); got != tt.want {
			t.Errorf("Sanitise(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzSanitise(f *testing.F) {
	f.Add("a\x1b[2J\r\n\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Sanitise(s)
		for _, c := range got {
			if hidden(c) {
				t.Errorf("Sanitise(%q) = %q keeps %U", s, got, c)
			}
		}
		if again := Sanitise(got); again != got {
			t.Errorf("Sanitise(%q) = %q, and again %q", s, got, again)
		}
	})
}

func TestCapped(t *testing.T) {
	c := Capped{Max: 5}
	for _, s := range []string{"abc", "", "defg", "h"} {
		if n, err := c.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("Write(%q) = %d, %v", s, n, err)
		}
	}
	if c.String() != "abcde" || c.Dropped != 3 {
		t.Errorf("kept %q and dropped %d, want abcde and 3", c.String(), c.Dropped)
	}
}

func TestTail(t *testing.T) {
	tests := []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"abc"}, "abc"},
		{[]string{"abc", "de"}, "abcde"},
		{[]string{"abc", "def"}, "bcdef"},
		{[]string{"abc", "defghijk"}, "ghijk"},
		{[]string{"a", "b", "c", "d", "e", "f", "g"}, "cdefg"},
	}
	for _, tt := range tests {
		end := tail{max: 5}
		for _, s := range tt.writes {
			end.Write([]byte(s))
		}
		if end.String() != tt.want {
			t.Errorf("after %q kept %q, want %q", tt.writes, end.String(), tt.want)
		}
	}
}

// TestStderr splits what ssh says from what the script says, however the bytes
// are cut.
func TestStderr(t *testing.T) {
	const ssh, script = "ControlSocket already exists\n", "cat: x: Permission denied\n"
	all := ssh + mark + script
	for size := 1; size <= len(all); size++ {
		var got strings.Builder
		s := stderr{script: &got, tail: tail{max: 100}}
		for rest := all; rest != ""; {
			n := min(size, len(rest))
			if m, err := s.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatalf("Write of %d bytes = %d, %v", n, m, err)
			}
			rest = rest[n:]
		}
		if !s.started || got.String() != script || s.tail.String() != script {
			t.Errorf("by %d: started %v, passed %q, kept %q", size, s.started, got.String(), s.tail.String())
		}
	}

	s := stderr{script: writer(func([]byte) error { return errors.New("ssh's words were passed on") }), tail: tail{max: 100}}
	if _, err := s.Write([]byte(ssh)); err != nil || s.started || s.tail.String() != ssh {
		t.Errorf("before the mark: %v, started %v, kept %q", err, s.started, s.tail.String())
	}
}
