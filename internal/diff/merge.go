package diff

import (
	"slices"
	"strings"
)

// Conflict is a place that both sides changed, each in its own way.
type Conflict struct {
	Line               int    // in base, from 1
	Base, Ours, Theirs string // what stands there
}

// Merge takes what each side changed in base. Changes that overlap or touch are a
// conflict unless they are equal; merged then holds our side there. Where equal lines
// leave open which of them was changed, lines are matched once from the top and once
// from the bottom, and only what comes out of both is taken: a wrong guess would put
// a change in the wrong place.
func Merge(base, ours, theirs string) (merged string, conflicts []Conflict) {
	return merge(base, ours, theirs, work)
}

func merge(base, ours, theirs string, limit int) (string, []Conflict) {
	if ours == theirs || theirs == base {
		return ours, nil
	}
	if ours == base {
		return theirs, nil
	}
	w := weaving{base: lines(base), ours: lines(ours), theirs: lines(theirs)}
	n := numbers(w.base, w.ours, w.theirs)
	down, conflicts := w.weave(compare(n[0], n[1], limit), compare(n[0], n[2], limit))
	if len(conflicts) > 0 {
		return down, conflicts
	}
	for _, x := range n {
		slices.Reverse(x)
	}
	up, conflicts := w.weave(flip(compare(n[0], n[1], limit), n[0], n[1]), flip(compare(n[0], n[2], limit), n[0], n[2]))
	if len(conflicts) > 0 {
		return up, conflicts
	}
	if up != down {
		return ours, []Conflict{w.whole()}
	}
	return down, nil
}

// flip turns hunks of texts that were read backwards.
func flip(hs []hunk, a, b []int) []hunk {
	for i, h := range hs {
		hs[i] = hunk{len(a) - h.a1, len(a) - h.a0, len(b) - h.b1, len(b) - h.b0}
	}
	slices.Reverse(hs)
	return hs
}

type weaving struct{ base, ours, theirs []string }

// weave makes one text of the hunks of both sides.
func (w *weaving) weave(ours, theirs []hunk) (string, []Conflict) {
	var b strings.Builder
	var conflicts []Conflict
	at := 0                // in base
	shiftO, shiftT := 0, 0 // how far the sides have moved against base
	for len(ours)+len(theirs) > 0 {
		o, t, from, to := next(ours, theirs)
		moveO, moveT := shiftO+moved(ours[:o]), shiftT+moved(theirs[:t])
		put(&b, w.base[at:from])
		was := text(w.base[from:to])
		our, their := text(w.ours[from+shiftO:to+moveO]), text(w.theirs[from+shiftT:to+moveT])
		if o == 0 {
			b.WriteString(their)
		} else {
			b.WriteString(our)
		}
		if o > 0 && t > 0 && our != their {
			conflicts = append(conflicts, Conflict{from + 1, was, our, their})
		}
		ours, theirs, at, shiftO, shiftT = ours[o:], theirs[t:], to, moveO, moveT
	}
	put(&b, w.base[at:])
	return b.String(), conflicts
}

// next returns how many hunks of each side belong to the next change, and which lines
// of base they change: from the first hunk on, all that overlap or touch.
func next(ours, theirs []hunk) (o, t, from, to int) {
	switch {
	case len(ours) == 0:
		from = theirs[0].a0
	case len(theirs) == 0:
		from = ours[0].a0
	default:
		from = min(ours[0].a0, theirs[0].a0)
	}
	to = from
	for {
		switch {
		case o < len(ours) && ours[o].a0 <= to:
			to = max(to, ours[o].a1)
			o++
		case t < len(theirs) && theirs[t].a0 <= to:
			to = max(to, theirs[t].a1)
			t++
		default:
			return o, t, from, to
		}
	}
}

// moved is how many lines hunks add, less those that they take away.
func moved(hs []hunk) (n int) {
	for _, h := range hs {
		n += (h.b1 - h.b0) - (h.a1 - h.a0)
	}
	return n
}

// whole is the conflict of everything that is not the same in all three.
func (w *weaving) whole() Conflict {
	top, bottom := 0, 0
	least := min(len(w.base), len(w.ours), len(w.theirs))
	for top < least && w.base[top] == w.ours[top] && w.base[top] == w.theirs[top] {
		top++
	}
	end := func(x []string) string { return x[len(x)-1-bottom] }
	for top+bottom < least && end(w.base) == end(w.ours) && end(w.base) == end(w.theirs) {
		bottom++
	}
	mid := func(x []string) string { return text(x[top : len(x)-bottom]) }
	return Conflict{top + 1, mid(w.base), mid(w.ours), mid(w.theirs)}
}

func text(ls []string) string { return strings.Join(ls, "") }

func put(b *strings.Builder, ls []string) {
	for _, l := range ls {
		b.WriteString(l)
	}
}
