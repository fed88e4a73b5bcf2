// Package diff compares texts line by line: what changed, and what two people changed.
// Pure.
package diff

import (
	"slices"
	"strings"
)

// work bounds how long two texts are compared, in lines looked at: about a second. What
// is left then counts as changed, which is always true enough.
const work = 200 << 20

// hunk says that lines a0 to a1 of the old text became lines b0 to b1 of the new one.
type hunk struct{ a0, a1, b0, b1 int }

func (h hunk) pure() bool { return h.a0 == h.a1 || h.b0 == h.b1 }

// lines cuts a text after each newline; the last line may have none.
func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// numbers gives equal lines equal numbers, because those are faster to compare.
func numbers(texts ...[]string) [][]int {
	seen := map[string]int{}
	all := make([][]int, len(texts))
	for i, text := range texts {
		all[i] = make([]int, len(text))
		for j, line := range text {
			n, ok := seen[line]
			if !ok {
				n = len(seen)
				seen[line] = n
			}
			all[i][j] = n
		}
	}
	return all
}

// search is one comparison: the shortest edit after E. Myers, "An O(ND) Difference
// Algorithm and Its Variations" (1986), with the refinement of its section 4b, which
// needs memory for the lines and no more.
type search struct {
	a, b     []int
	gone     []bool // lines of a that are not in b
	come     []bool // lines of b that are not in a
	fwd, bwd []int  // how far each diagonal was followed, from either end
	left     int    // of the work
}

// compare returns the hunks that make b of a, in order, each as far down as it can be.
func compare(a, b []int, limit int) []hunk {
	diagonals := len(a) + len(b) + 3
	s := &search{a: a, b: b, gone: make([]bool, len(a)), come: make([]bool, len(b)),
		fwd: make([]int, diagonals), bwd: make([]int, diagonals), left: limit}
	s.box(0, len(a), 0, len(b))
	return s.settle(s.hunks())
}

// box compares a[a0:a1] with b[b0:b1].
func (s *search) box(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && s.a[a0] == s.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && s.a[a1-1] == s.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	if a0 < a1 && b0 < b1 {
		if x, y, ok := s.middle(a0, a1, b0, b1); ok {
			s.box(a0, x, b0, y)
			s.box(x, a1, y, b1)
			return
		}
	}
	for i := a0; i < a1; i++ {
		s.gone[i] = true
	}
	for i := b0; i < b1; i++ {
		s.come[i] = true
	}
}

// none is a diagonal that no path has reached.
const none = -1

// middle finds a point in the middle of a shortest path through a box: at least one
// edit lies on either side of it, since the first lines differ and the last ones too.
// Two searches, from the start and from the end, widen by an edit in turn until they
// meet. Diagonal k holds the points where x-y is k; the search from the end counts
// from there. ok is false when the work is used up.
func (s *search) middle(a0, a1, b0, b1 int) (x, y int, ok bool) {
	n, m := a1-a0, b1-b0
	fwd, bwd, at := s.fwd[:n+m+3], s.bwd[:n+m+3], m+1 // at is where diagonal 0 stands
	for i := range fwd {
		fwd[i], bwd[i] = none, none
	}
	fwd[at], bwd[at] = 0, 0
	odd := (n-m)%2 != 0
	s.left -= n + m
	for d := 1; s.left > 0; d++ {
		from, to := -d+2*max(0, d-m), d-2*max(0, d-n) // inside the box
		for k := from; k <= to; k += 2 {
			x := further(fwd[at+k-1:], k, n, m)
			for s.left--; x < n && x-k < m && x != none && s.a[a0+x] == s.b[b0+x-k]; s.left-- {
				x++
			}
			fwd[at+k] = max(x, fwd[at+k])
			if u := bwd[at+n-m-k]; odd && x != none && u != none && x+u >= n {
				return a0 + x, b0 + x - k, true
			}
		}
		for k := from; k <= to; k += 2 {
			x := further(bwd[at+k-1:], k, n, m)
			for s.left--; x < n && x-k < m && x != none && s.a[a1-x-1] == s.b[b1-x+k-1]; s.left-- {
				x++
			}
			bwd[at+k] = max(x, bwd[at+k])
			if u := fwd[at+n-m-k]; !odd && x != none && u != none && x+u >= n {
				return a1 - x, b1 - x + k, true
			}
		}
	}
	return 0, 0, false
}

// further is how far one more edit leads on diagonal k: a line of a goes, or a line of
// b comes. near are the diagonals k-1, k and k+1.
func further(near []int, k, n, m int) int {
	x := none
	if near[0] != none && near[0] < n {
		x = near[0] + 1
	}
	if near[2] > x && near[2]-k <= m {
		x = near[2]
	}
	return x
}

// hunks gathers the changed lines.
func (s *search) hunks() (out []hunk) {
	for i, j := 0, 0; i < len(s.a) || j < len(s.b); {
		h := hunk{i, i, j, j}
		for ; h.a1 < len(s.a) && s.gone[h.a1]; h.a1++ {
		}
		for ; h.b1 < len(s.b) && s.come[h.b1]; h.b1++ {
		}
		i, j = h.a1, h.b1
		if h.a0 == h.a1 && h.b0 == h.b1 {
			i, j = i+1, j+1
			continue
		}
		out = append(out, h)
	}
	return out
}

// settle moves every hunk that only adds or only takes away as far down as it says the
// same, and joins those that meet: so what was added to the end of a list reads as
// such, and equal changes are equal hunks.
func (s *search) settle(hs []hunk) []hunk {
	var out []hunk // in reverse
	for _, h := range slices.Backward(hs) {
		for {
			end := len(s.a)
			if len(out) > 0 {
				end = out[len(out)-1].a0
			}
			for ; s.left > 0 && h.pure() && h.a1 < end && s.repeats(h); s.left-- {
				h = hunk{h.a0 + 1, h.a1 + 1, h.b0 + 1, h.b1 + 1}
			}
			if len(out) == 0 || h.a1 < end {
				break
			}
			h.a1, h.b1 = out[len(out)-1].a1, out[len(out)-1].b1
			out = out[:len(out)-1]
		}
		out = append(out, h)
	}
	slices.Reverse(out)
	return out
}

// repeats reports whether the line after a hunk is the hunk's first line again.
func (s *search) repeats(h hunk) bool {
	if h.a0 < h.a1 {
		return s.a[h.a0] == s.a[h.a1]
	}
	return s.b[h.b0] == s.b[h.b1]
}
