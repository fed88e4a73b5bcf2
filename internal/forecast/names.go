package forecast

import (
	"slices"
	"strings"
	"unicode"
)

// fold makes names comparable: "Qwen3.6 27B", "qwen3.6-27b" and "Qwen_Qwen3.6-27B"
// are written differently by different people.
func fold(s string) string {
	if i := strings.LastIndexByte(s, '/'); i >= 0 { // "openai/gpt-oss-120b"
		s = s[i+1:]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// nearest returns up to three of the names that are written most like s.
func nearest(s string, names []string) []string {
	type near struct {
		name string
		d    int
	}
	want := fold(s)
	if len(want) > 64 {
		want = want[:64]
	}
	var all []near
	for _, n := range names {
		have := fold(n)
		d := distance(want, have)
		if want != "" && (strings.Contains(have, want) || strings.Contains(want, have)) {
			d = min(d, 2)
		}
		if d <= max(3, len(want)/2) {
			all = append(all, near{n, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.d - b.d })
	var out []string
	for _, n := range all {
		if len(out) < 3 && !slices.Contains(out, n.name) {
			out = append(out, n.name)
		}
	}
	return out
}

// distance is the number of letters to insert, drop or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		last := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last
			if a[i-1] != b[j-1] {
				cost++
			}
			last = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// Unknown is a name that is in no table.
type Unknown struct {
	What string   // "model", "hardware", "engine", "quantisation"
	Name string   // as it was written
	Near []string // names like it
}

func (u *Unknown) Error() string {
	s := u.What + " " + quoted(u.Name) + " is not known"
	if len(u.Near) > 0 {
		s += "; like it are " + strings.Join(u.Near, ", ")
	}
	return s
}

func quoted(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return `"` + s + `"`
}
