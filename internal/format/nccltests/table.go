package nccltests

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weft/internal/unit"
)

// columns is the layout of a table: what stands before the times, and the names of one
// group of values, of which a row has two.
type columns struct {
	lead  int
	group []string
}

// header reads "size count type redop root time algbw busbw #wrong time algbw …". The
// oldest says bytes, N and res; some tests have no redop or no root.
func (r *reader) header(line string) bool {
	names := strings.Fields(line)
	if names[0] != "size" && names[0] != "bytes" {
		return false
	}
	var starts []int
	for i, n := range names {
		if n == "time" || n == "cputime" {
			starts = append(starts, i)
		}
	}
	if len(starts) != 2 || starts[0] < 3 || starts[0] > 5 {
		return false
	}
	group := names[starts[0]:starts[1]]
	if len(names) < starts[1]+len(group) || len(group) < 4 {
		return false
	}
	r.cols = &columns{lead: starts[0], group: group}
	return true
}

// row reads a line of a table, if it is one: a size, a count and a type, and one or two
// groups of values at the end. Before them are an operation and a root, which can be
// blank, and after them in newer versions a date.
func (r *reader) row(num int, f []string) bool {
	if len(f) < 3+len(r.cols.group) || !letters(f[2]) {
		return false
	}
	size, err1 := strconv.ParseInt(f[0], 10, 64)
	count, err2 := strconv.ParseInt(f[1], 10, 64)
	if err1 != nil || err2 != nil || size < 0 || count < 0 {
		return false
	}
	row := Row{Line: num, Op: r.op, Size: unit.Size(size), Count: count, Type: f[2]}
	g := len(r.cols.group)
	for lead := min(r.cols.lead, len(f)-g); lead >= 3; lead-- {
		if !row.middle(f[3:lead]) || !r.values(f[lead:lead+g]) {
			continue
		}
		rest := f[lead+g:]
		switch {
		case len(rest) >= g && r.values(rest[:g]):
			row.Out, row.In = r.result(num, f[lead:lead+g]), r.result(num, rest[:g])
		case len(rest) == 0 || len(rest) == 2 && strings.Count(rest[0], "-") == 2:
			row.Out = r.result(num, f[lead:lead+g]) // the run ended before the other
		default:
			continue
		}
		r.add(num, row)
		return true
	}
	return false
}

func (r *reader) add(num int, row Row) {
	r.heads = 0
	if len(r.rep.Rows) == maxRows {
		r.faults.Add(num, "more than %d rows", maxRows)
		return
	}
	if row.Out != nil && wrong(row.Out) || row.In != nil && wrong(row.In) {
		r.problem(num, fmt.Sprintf("%d bytes: wrong results", row.Size), corrupt)
	}
	r.rep.Rows = append(r.rep.Rows, row)
}

func wrong(v *Result) bool { return v.Wrong != nil && *v.Wrong > 0 }

func letters(s string) bool {
	return s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// middle takes the operation and the root, in that order, either of which may be missing.
func (row *Row) middle(f []string) bool {
	row.RedOp, row.Root = "", nil
	if len(f) > 0 && letters(f[0]) {
		row.RedOp, f = f[0], f[1:]
	}
	if len(f) > 0 {
		root, err := strconv.Atoi(f[0])
		if err != nil {
			return false
		}
		if root >= 0 {
			row.Root = &root
		}
		f = f[1:]
	}
	return len(f) == 0
}

// values reports whether the words can be a group: numbers, but for N/A where the data was
// not looked at.
func (r *reader) values(f []string) bool {
	for i, w := range f {
		if _, err := strconv.ParseFloat(strings.TrimSuffix(w, "*"), 64); err != nil && (w != "N/A" || !check(r.cols.group[i])) {
			return false
		}
	}
	return true
}

// check tells the column that says whether the data was right.
func check(name string) bool { return name == "#wrong" || name == "error" || name == "res" }

// result reads one group. Times are microseconds, rates 10^9 bytes a second.
func (r *reader) result(num int, f []string) *Result {
	var v Result
	fault := func(name, text string, err error) {
		if err != nil {
			r.faults.Add(num, "%s %.20q: %w", name, text, err)
		}
	}
	for i, name := range r.cols.group {
		var err error
		switch text := f[i]; {
		case name == "time", name == "cputime":
			v.Time, err = timeOf(text, 1e3)
			fault(name, text, err)
		case name == "algbw":
			v.Alg, err = rateOf(text, 8e9)
			fault(name, text, err)
		case name == "busbw":
			v.Bus, err = rateOf(text, 8e9)
			fault(name, text, err)
		case name == "i_min":
			v.Min, err = timeOf(text, 1e3)
			fault(name, text, err)
		case name == "i_max":
			v.Max, err = timeOf(text, 1e3)
			fault(name, text, err)
		case name == "i_p99":
			v.P99, err = timeOf(text, 1e3)
			fault(name, text, err)
		case check(name) && text != "N/A":
			n, bad := strings.CutSuffix(text, "*") // rccl-tests marks what is out of bounds
			d, err := strconv.ParseFloat(n, 64)
			switch {
			case err != nil || !(d >= 0) || d > 1<<53:
				r.faults.Add(num, "%s %.20q is not a number", name, text)
			case name == "#wrong":
				v.Wrong = new(int64(d))
			default:
				v.Delta = &d
				if bad {
					r.problem(num, name+" "+text, corrupt)
				}
			}
		}
	}
	return &v
}

// maxTime is longer than any operation takes.
const maxTime = 1e15 // nanoseconds: eleven days

// timeOf reads a time in units of so many nanoseconds.
func timeOf(s string, scale float64) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || v*scale > maxTime {
		return 0, fmt.Errorf("%.20q is not a time", s)
	}
	return time.Duration(math.Round(v * scale)), nil
}

// rateOf reads a rate in units of so many bits a second.
func rateOf(s string, scale float64) (unit.Rate, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || v*scale > maxRate {
		return 0, fmt.Errorf("%.20q is not a rate", s)
	}
	return unit.Rate(math.Round(v * scale)), nil
}
