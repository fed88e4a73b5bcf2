package design

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPrintedArithmeticIsTrue computes every "a × b + c / d = e" that a design
// prints, from the printed numbers alone, and wants the printed result.
func TestPrintedArithmeticIsTrue(t *testing.T) {
	asks := []Ask{
		{Nodes: 2, GPUs: 1, Workload: "inference", Slot: "spark"},
		{Nodes: 3, GPUs: 2, Workload: "finetune", NIC: "ConnectX-3", Slot: "pcie4 x4", Accept: []string{"slot"}},
		{Nodes: 4, GPUs: 4, Workload: "vision"},
		{Nodes: 16, GPUs: 8, Workload: "inference", Fabric: "ndr", Rails: 2},
		{Nodes: 300, GPUs: 8, Workload: "pretrain", Oversubscription: 3, Ports: 64, SpineLength: 40},
		{Nodes: 700, GPUs: 8, Workload: "pretrain", Ports: 64, InferenceNodes: 20},
		{Nodes: 2, GPUs: 1, Workload: "pretrain", InferenceNodes: 1},
	}
	for _, n := range []int{1, 2, 3, 4, 8, 9, 12, 16, 33, 64, 100, 500, 1024} {
		for _, w := range Workloads() {
			asks = append(asks, Ask{Nodes: n, GPUs: 1 << (n % 4), Workload: w, PerGPU: map[bool]string{true: "7.3Mb/s"}[n%3 == 0]})
		}
	}
	checked := 0
	for _, a := range asks {
		d := must(t, a)
		lines := append(append(append(append([]Line{}, d.Card.Lines...), d.Net.Lines...), d.Manage.Lines...), d.Lossless.Lines...)
		for _, f := range d.Fabrics {
			lines = append(append(append(lines, f.Lines...), f.Flows...), f.Uplink.Lines...)
		}
		for _, l := range lines {
			checked += compute(t, l.How)
		}
	}
	if checked < 1000 {
		t.Errorf("only %d equations were found", checked)
	}
}

var (
	pieces = regexp.MustCompile(`[;:,] |; |: `)
	number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?`)
	dotted = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(/[0-9]+)?`)
	names  = regexp.MustCompile(`PCIe [0-9.]+ x[0-9]+|[a-z-]+\[[0-9,-]+\]|[a-z-]+[0-9]+|/[0-9]+|RFC [0-9]+`)
)

// compute checks the equations of a line and returns how many there were.
func compute(t *testing.T, how string) int {
	t.Helper()
	n := 0
	for _, piece := range pieces.Split(how, -1) {
		left, right, ok := strings.Cut(piece, " = ")
		if !ok || dotted.MatchString(piece) {
			continue
		}
		for { // a = b = c
			this, more, again := strings.Cut(right, " = ")
			want, _, found := first(this)
			got, err := evaluate(left)
			if err != nil || !found {
				t.Errorf("%q of %q: %v", left, how, err)
			} else if off := math.Abs(got - want); off > 0.0051*max(1, math.Abs(want)) {
				t.Errorf("%q gives %v, printed %v, in %q", left, got, want, how)
			}
			n++
			if !again {
				break
			}
			left, right = this, more
		}
	}
	return n
}

// first reads the first number of a text, in Gb/s where it has a unit of rate.
func first(s string) (float64, string, bool) {
	for i := range s {
		if m := number.FindString(s[i:]); m != "" {
			f, _ := strconv.ParseFloat(m, 64)
			rest := s[i+len(m):]
			if strings.HasPrefix(rest, " Mb/s") {
				f /= 1000
			}
			return f, rest, true
		}
	}
	return 0, "", false
}

// evaluate computes × and / before +, ⌈⌉ around all of it, and skips words.
func evaluate(s string) (float64, error) {
	s = names.ReplaceAllString(s, "")
	if open := strings.Index(s, "⌈"); open >= 0 {
		inner, rest, _ := strings.Cut(s[open+len("⌈"):], "⌉")
		f, err := evaluate(inner)
		if err != nil {
			return 0, err
		}
		return evaluate(fmt.Sprintf("%v %s", math.Ceil(f-1e-9), rest))
	}
	sum := 0.0
	for _, term := range strings.Split(s, " + ") {
		product, op := 1.0, byte('*')
		found := false
		for {
			f, rest, ok := first(term)
			if !ok {
				break
			}
			found = true
			if op == '/' {
				product /= f
			} else {
				product *= f
			}
			times, over := strings.Index(rest, " × "), strings.Index(rest, " / ")
			switch {
			case times < 0 && over < 0:
				rest = ""
			case over < 0 || times >= 0 && times < over:
				op, rest = '*', rest[times:]
			default:
				op, rest = '/', rest[over:]
			}
			term = rest
		}
		if !found {
			return 0, fmt.Errorf("no number in %q", term)
		}
		sum += product
	}
	return sum, nil
}
