// Package cmdline changes what the kernel is told when it boots: a command line itself,
// the variables of grub's defaults and the entries of the Boot Loader Specification.
// Pure: text in, text out.
package cmdline

import (
	"fmt"
	"regexp"
	"strings"
)

// Change is what a command line should have and what it should lose.
type Change struct {
	Add  []string // arguments: "iommu=pt"
	Drop []string // arguments that contradict them: "pcie_aspm=off", or "amdgpu.gttsize=*" whatever its value
}

// argument is what weft adds: nothing that a shell, grub or the kernel reads otherwise.
var argument = regexp.MustCompile(`^[A-Za-z0-9_.,:=+-]+$`)

// word is where an argument stands in a text, and what it says.
type word struct {
	from, to int
	text     string
}

// words splits as the kernel does: at white space outside of double quotes (next_arg in
// lib/cmdline.c). quote is \" where a shell reads the text first. open is whether a quote
// has no end: then it takes in all that would be added.
func words(s, quote string) (out []word, open bool) {
	in, from := false, -1
	for i := 0; i < len(s); {
		step := 1
		if strings.HasPrefix(s[i:], quote) {
			in, step = !in, len(quote)
		}
		if space(s[i]) && !in {
			if from >= 0 {
				out = append(out, word{from, i, s[from:i]})
			}
			from = -1
		} else if from < 0 {
			from = i
		}
		i += step
	}
	if from >= 0 {
		out = append(out, word{from, len(s), s[from:]})
	}
	return out, in
}

func space(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// Has reports whether a command line has an argument.
func Has(line, arg string) bool {
	all, _ := words(line, `"`)
	for _, w := range all {
		if w.text == "--" {
			return false // what follows is for init
		}
		if w.text == arg {
			return true
		}
	}
	return false
}

// Set changes a command line. What it does not touch stays byte for byte.
func Set(line string, c Change) (string, error) { return set(line, c, `"`) }

func set(line string, c Change, quote string) (string, error) {
	for _, arg := range c.Add {
		if !argument.MatchString(arg) {
			return "", fmt.Errorf("%q: no kernel argument that weft would write", arg)
		}
	}
	all, open := words(line, quote)
	if open {
		return "", fmt.Errorf("%.60q: a quote without an end", line)
	}
	end := len(strings.TrimRight(line, " \t\r\n\v\f"))
	has := map[string]bool{}
	var cut []word
	for _, w := range all {
		if w.text == "--" { // what follows is for init
			end = w.from
			break
		}
		if has[w.text] = true; dropped(w.text, c) {
			cut = append(cut, w)
		}
	}
	var add []string
	for _, arg := range c.Add {
		if !has[arg] {
			add = append(add, arg)
		}
	}
	var b strings.Builder
	at := 0
	for _, w := range cut {
		from, to := w.from, w.to
		for from > at && space(line[from-1]) { // with the space before it,
			from--
		}
		if from == 0 { // or, at the start, after it
			for to < end && space(line[to]) {
				to++
			}
		}
		b.WriteString(line[at:from])
		at = to
	}
	end = max(end, at)
	b.WriteString(line[at:end])
	rest := line[end:]
	if out := b.String(); len(add) > 0 {
		if out != "" && !space(out[len(out)-1]) {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Join(add, " "))
		if rest != "" && !space(rest[0]) {
			b.WriteByte(' ')
		}
	}
	return b.String() + rest, nil
}

func dropped(arg string, c Change) bool {
	for _, keep := range c.Add {
		if arg == keep {
			return false
		}
	}
	for _, d := range c.Drop {
		if key, any := strings.CutSuffix(d, "*"); arg == d || any && strings.HasPrefix(arg, key) {
			return true
		}
	}
	return false
}
