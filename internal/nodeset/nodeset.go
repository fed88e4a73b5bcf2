// Package nodeset expands and folds node names: gpu[001-128]. Pure.
package nodeset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Max is the most names one set may expand to: a typing error like n[1-999999999]
// must not fill the memory.
const Max = 100_000

// Expand reads "spark1,gpu[001-003,7]" into its names, in the order written and
// without repeats. One bracket group per name.
func Expand(set string) ([]string, error) {
	var names []string
	seen := map[string]bool{}
	for _, part := range splitTop(set) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		some, err := expandOne(part)
		if err != nil {
			return nil, err
		}
		if len(names)+len(some) > Max {
			return nil, fmt.Errorf("%q: more than %d names", set, Max)
		}
		for _, n := range some {
			if !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	return names, nil
}

// splitTop splits at commas outside brackets.
func splitTop(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, s[start:])
}

func expandOne(part string) ([]string, error) {
	head, rest, ok := strings.Cut(part, "[")
	if !ok {
		if strings.Contains(part, "]") {
			return nil, fmt.Errorf("%q: ] without [", part)
		}
		return []string{part}, nil
	}
	ranges, tail, ok := strings.Cut(rest, "]")
	if !ok || strings.ContainsAny(head+ranges+tail, "[]") {
		return nil, fmt.Errorf("%q: want one group like [1-4]", part)
	}
	var names []string
	for r := range strings.SplitSeq(ranges, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(r), "-")
		if !isRange {
			hi = lo
		}
		a, errA := strconv.Atoi(lo)
		b, errB := strconv.Atoi(hi)
		if errA != nil || errB != nil || a < 0 || b < a || len(lo) > len(hi) {
			return nil, fmt.Errorf("%q: %q is not a range like 1-4 or 001-128", part, r)
		}
		if b-a >= Max-len(names) {
			return nil, fmt.Errorf("%q: more than %d names", part, Max)
		}
		width := 0
		if strings.HasPrefix(lo, "0") {
			width = len(lo)
		}
		for i := a; i <= b; i++ {
			names = append(names, fmt.Sprintf("%s%0*d%s", head, width, i, tail))
		}
	}
	return names, nil
}

// Fold writes names the short way, sorted: spark[1-2],ws. It is the inverse of
// Expand for any set of names without brackets and commas.
func Fold(names []string) string {
	type group struct{ head, tail string }
	numbers := map[group][]string{}
	var plain []string
	for _, n := range names {
		head, digits, tail := cutDigits(n)
		if digits == "" {
			plain = append(plain, n)
			continue
		}
		g := group{head, tail}
		numbers[g] = append(numbers[g], digits)
	}
	var parts []string
	for g, digits := range numbers {
		parts = append(parts, foldGroup(g.head, digits, g.tail)...)
	}
	parts = append(parts, plain...)
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), ",")
}

// cutDigits cuts a name around its last run of digits that fits an int.
func cutDigits(n string) (head, digits, tail string) {
	end := strings.LastIndexFunc(n, isDigit) + 1
	start := end
	for start > 0 && isDigit(rune(n[start-1])) {
		start--
	}
	if end == 0 || end-start > 9 {
		return n, "", ""
	}
	return n[:start], n[start:end], n[end:]
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// foldGroup folds numbers that share a head and a tail; numbers written with
// leading zeros fold only with others of the same width.
func foldGroup(head string, digits []string, tail string) []string {
	byWidth := map[int][]int{}
	for _, d := range digits {
		width := 0
		if d[0] == '0' {
			width = len(d)
		}
		i, _ := strconv.Atoi(d) // at most nine digits, by cutDigits
		byWidth[width] = append(byWidth[width], i)
	}
	// 001…009 and 010 belong together: a zero-padded group takes the plain
	// numbers of its own width.
	for width, padded := range byWidth {
		if width == 0 {
			continue
		}
		var rest []int
		for _, i := range byWidth[0] {
			if len(strconv.Itoa(i)) == width {
				padded = append(padded, i)
			} else {
				rest = append(rest, i)
			}
		}
		byWidth[width] = padded
		byWidth[0] = rest
	}
	var parts []string
	for width, ns := range byWidth {
		if len(ns) == 0 {
			continue
		}
		slices.Sort(ns)
		ns = slices.Compact(ns)
		var ranges []string
		for i := 0; i < len(ns); {
			j := i
			for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
				j++
			}
			lo, hi := fmt.Sprintf("%0*d", width, ns[i]), fmt.Sprintf("%0*d", width, ns[j])
			if i == j {
				ranges = append(ranges, lo)
			} else {
				ranges = append(ranges, lo+"-"+hi)
			}
			i = j + 1
		}
		if len(ns) == 1 {
			parts = append(parts, head+ranges[0]+tail)
		} else {
			parts = append(parts, head+"["+strings.Join(ranges, ",")+"]"+tail)
		}
	}
	return parts
}

// ValidName reports whether a node may have this name: letters, digits, "." "_" "-".
func ValidName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
}
