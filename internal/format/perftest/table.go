package perftest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"weft/internal/unit"
)

// A column is one of a table, by the name that its header gives it without its unit.
type column struct {
	name  string
	scale float64 // to bits a second, messages a second, nanoseconds
}

// rateScale is what one of a printed unit is in bits a second. MB is 2^20 bytes, in every
// version: print_report divides by 0x100000, and newer headers say MiB.
var rateScale = map[string]float64{
	"mb/sec":  8 << 20,
	"mib/sec": 8 << 20,
	"gb/sec":  1e9,
}

var timeScale = map[string]float64{"nsec": 1, "usec": 1e3, "msec": 1e6}

// header reads the names over a table: "#bytes #iterations BW peak[MB/sec] …". Names may
// hold a space, and end with a unit in brackets.
func (r *reader) header(num int, line string) {
	r.cols, r.side = nil, ""
	name := ""
	end := func() {
		if name != "" {
			r.cols = append(r.cols, r.columnOf(num, name))
		}
		name = ""
	}
	for _, w := range strings.Fields(line) {
		if name == "" {
			name = w
		} else {
			name += " " + w
		}
		if w[0] == '#' || strings.HasSuffix(w, "]") || name == "tps average" {
			end()
		}
	}
	end()
}

func (r *reader) columnOf(num int, text string) column {
	name, u, _ := strings.Cut(strings.ToLower(strings.TrimSuffix(text, "]")), "[")
	c := column{name: name, scale: 1}
	ok := true
	switch {
	case strings.HasPrefix(name, "bw "):
		c.scale, ok = rateScale[u]
	case strings.HasPrefix(name, "msgrate"):
		c.scale, ok = 1e6, u == "mpps"
	case strings.HasPrefix(name, "t_"), strings.HasSuffix(name, "percentile"):
		c.scale, ok = timeScale[u]
	}
	if !ok {
		r.faults.Add(num, "column %q has a unit that is not known", text)
	}
	return c
}

// numbers reports whether a line is nothing but numbers, at least three.
func numbers(line string) bool {
	fields := strings.Fields(line)
	for _, f := range fields {
		if _, err := number(f); err != nil {
			return false
		}
	}
	return len(fields) >= 3
}

// number reads what C prints: a nan can have a sign.
func number(s string) (float64, error) {
	if s == "-nan" {
		s = "nan"
	}
	return strconv.ParseFloat(s, 64)
}

func (r *reader) row(num int, fields []string) {
	if len(fields) != len(r.cols) {
		r.faults.Add(num, "%d numbers under %d columns", len(fields), len(r.cols))
		return
	}
	row := Row{Line: num, Side: r.side}
	for i, c := range r.cols {
		if !r.set(&row, num, c, fields[i]) {
			return
		}
	}
	r.add(num, row)
}

func (r *reader) add(num int, row Row) {
	if len(r.rep.Rows) == maxRows {
		r.faults.Add(num, "more than %d rows", maxRows)
		return
	}
	r.rep.Rows = append(r.rep.Rows, row)
}

// The most that a number may be: more is a broken clock, not a network.
const (
	maxRate    = 1e15 // bits a second
	maxTime    = 1e15 // nanoseconds: eleven days
	maxMessage = 1e15
	maxCount   = 1 << 62
)

// set writes one value. A run whose clock could not be read prints inf and nan.
func (r *reader) set(row *Row, num int, c column, text string) bool {
	v, err := number(text)
	switch {
	case err != nil:
		r.faults.Add(num, "%s %q is not a number", c.name, text)
		return false
	case math.IsInf(v, 0) || math.IsNaN(v):
		r.problem(num, c.name+" "+text, clockBroken)
		return false
	case v < 0:
		// A counter of a long run that has gone round (perftest's issue 82).
		r.faults.Add(num, "%s %s is less than nothing", c.name, text)
		return false
	}
	var limit float64
	n := math.Round(v * c.scale)
	switch c.name {
	case "#bytes":
		limit, row.Size = maxCount, unit.Size(n)
	case "#iterations":
		limit, row.Iterations = maxCount, int64(n)
	case "bw peak":
		limit, row.Peak = maxRate, unit.Rate(n)
	case "bw average":
		limit, row.Average = maxRate, unit.Rate(n)
	case "msgrate":
		limit, row.MsgRate = maxMessage, int64(n)
	case "t_min":
		limit, row.Min = maxTime, time.Duration(n)
	case "t_max":
		limit, row.Max = maxTime, time.Duration(n)
	case "t_typical":
		limit, row.Typical = maxTime, time.Duration(n)
	case "t_avg":
		limit, row.Avg = maxTime, time.Duration(n)
	case "t_stdev":
		limit, row.Stdev = maxTime, time.Duration(n)
	case "99% percentile":
		limit, row.P99 = maxTime, time.Duration(n)
	case "99.9% percentile":
		limit, row.P999 = maxTime, time.Duration(n)
	case "tps average":
		limit, row.PerSecond = math.MaxFloat64, v
	case "cpu_util":
		limit, row.CPUPercent = math.MaxFloat64, v
	default:
		return true // of one port, of a service level, of a newer version
	}
	if n > limit {
		r.faults.Add(num, "%s %s is more than can be", c.name, text)
		return false
	}
	return true
}
