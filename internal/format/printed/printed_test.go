package printed

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	var got []string
	for num, line := range Lines([]byte("\n a \r\n\n\tb c\nd")) {
		got = append(got, fmt.Sprint(num, line))
	}
	if d := cmp.Diff([]string{"2a", "4b c", "5d"}, got); d != "" {
		t.Error(d)
	}
	for num, line := range Lines([]byte("a\nb\n")) {
		if num != 1 || line != "a" {
			t.Errorf("line %d %q after a break", num, line)
		}
		break
	}
}

func TestPrompt(t *testing.T) {
	for in, want := range map[string]bool{
		"$ lldpctl -f json":         true,
		"root@n1:~# dcb pfc show":   true,
		"[root@n1 ~]# ethtool eth0": true,
		`{"mail":"a@b"}`:            false,
		"rx: 7 of a@b":              false,
		"":                          false,
	} {
		if got := Prompt(in); got != want {
			t.Errorf("Prompt(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]int{
		"0": 0, "007": 7, "0x1f": 31, "0X1F": 31, "4294967295": 1<<32 - 1,
		"": -1, "0x": -1, "+1": -1, "-1": -1, "0x-1": -1, "1_0": -1, "1f": -1, "4294967296": -1,
	} {
		if got, ok := Number(in); ok != (want >= 0) || ok && got != want {
			t.Errorf("Number(%q) = %d, %v; want %d", in, got, ok, want)
		}
	}
}

func TestBDF(t *testing.T) {
	for in, want := range map[string]string{
		"0000000F:01:00.0": "000f:01:00.0",
		"00000000:06:00.0": "0000:06:00.0",
		"10000:E1:1F.7":    "10000:e1:1f.7",
		"06:00.0":          "",
		"0:06:00.0":        "",
		"0000:6:00.0":      "",
		"0000:06:0.0":      "",
		"0000:06:20.0":     "",
		"0000:06:00.8":     "",
		"0000:06:00.00":    "",
		"0000:06:00":       "",
		"":                 "",
	} {
		if got, ok := BDF(in); got != want || ok != (want != "") {
			t.Errorf("BDF(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		"{\n\"a\": 1}\nmore":  "<nil>",
		" \n":                 "EOF",
		"{\n\"a\":\n[1,\n\n":  "line 3: unexpected EOF",
		"{\n\"a\": x}":        "line 2: invalid character 'x' looking for beginning of value",
		"# no\n":              "line 1: invalid character '#' looking for beginning of value",
		"{\n\"a\": 1}\n}":     "<nil>",
		"\n\n[\n\"a\"\n]\n\n": "line 5: json: cannot unmarshal array into Go value of type map[string]interface {}",
	} {
		var v map[string]any
		err := JSON([]byte(in), &v)
		if got := fmt.Sprint(err); got != want {
			t.Errorf("JSON(%q) = %s, want %s", in, got, want)
		}
		if err == nil && fmt.Sprintf("%T %v", v["a"], v) != "json.Number map[a:1]" {
			t.Errorf("JSON(%q) read %v", in, v)
		}
	}
	if err := JSON(nil, new(any)); err != io.EOF {
		t.Errorf("JSON of nothing = %v, want io.EOF", err)
	}
}

func TestFaults(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tc := range []struct {
		name  string
		file  func(f *Faults)
		found bool
		want  string
	}{
		{"nothing", func(*Faults) {}, false, ""},
		{"the first unknown line", func(f *Faults) {
			f.Unknown(1, "# a", "ibstat")
			f.Unknown(2, "b", "ibstat")
			f.Unknown(3, "c", "ibstat")
		}, false, `line 2: "b" is not ibstat output`},
		{"an unknown line is cut", func(f *Faults) { f.Unknown(2, long, "ibstat") }, false, `line 2: "` + long[:60] + `" is not ibstat output`},
		{"an unknown line beside what is known", func(f *Faults) { f.Unknown(2, "b", "ibstat") }, true, ""},
		{"a fault counts more than an unknown line", func(f *Faults) { f.Unknown(1, "b", "ibstat"); f.Add(2, "%s is odd", "c") }, false, "line 2: c is odd"},
		{"a complaint is cut", func(f *Faults) { f.Complain(7, long) }, true, `line 7: tool says "` + long[:240] + `"`},
	} {
		var f Faults
		tc.file(&f)
		got := ""
		if err := f.Err(tc.found); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: error %q, want %q", tc.name, got, tc.want)
		}
	}
	var f Faults
	for i := range maxFaults + 2 {
		f.Add(i+1, "odd")
	}
	if got := strings.Split(f.Err(true).Error(), "\n"); len(got) != maxFaults+1 || got[0] != "line 1: odd" || got[maxFaults] != "and 2 more lines" {
		t.Errorf("%d faults became %q", maxFaults+2, got)
	}
}
