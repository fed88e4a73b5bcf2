package nccltests

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/unit"
)

// collective is a line of weft's own script: one operation of one size.
type collective struct {
	Weft    string    `json:"weft"`
	Op      string    `json:"op"`
	Bytes   int64     `json:"bytes"`
	Seconds []float64 `json:"seconds"` // of each iteration
	Ranks   int       `json:"ranks"`
	Nodes   int       `json:"nodes"`
	NCCL    string    `json:"nccl"`
	Torch   string    `json:"torch"`
	GPU     string    `json:"gpu"`
	Correct *bool     `json:"correct"` // a sum over all ranks was what it must be
}

// weft reads a line of weft's own script. The time of the row is the median: one
// iteration that waited for somebody does not count.
func (r *reader) weft(num int, line string) bool {
	var c collective
	if err := json.Unmarshal([]byte(line), &c); err != nil || c.Weft != "collective" {
		if strings.HasPrefix(line, `{"weft":"collective"`) || strings.HasPrefix(line, `{"weft": "collective"`) {
			r.faults.Add(num, "a line of weft's script: %v", err)
			return true
		}
		return false
	}
	switch {
	case c.Bytes <= 0 || c.Ranks < 1 || c.Ranks > 1<<24 || c.Nodes < 0 || c.Nodes > c.Ranks:
		r.faults.Add(num, "%d bytes over %d ranks on %d nodes", c.Bytes, c.Ranks, c.Nodes)
		return true
	case len(c.Seconds) == 0 || len(c.Seconds) > maxSamples:
		r.faults.Add(num, "%d samples", len(c.Seconds))
		return true
	}
	row := Row{Line: num, Op: clean(c.Op), Size: unit.Size(c.Bytes)}
	for _, s := range c.Seconds {
		if !(s > 0) || s*1e9 > maxTime {
			r.faults.Add(num, "%g seconds is not a time", s)
			return true
		}
		row.Samples = append(row.Samples, time.Duration(math.Round(s*1e9)))
	}
	middle := median(c.Seconds)
	alg, bus, err := BusBW(c.Op, c.Bytes, middle, c.Ranks)
	if err != nil {
		r.faults.Add(num, "%w", err)
		return true
	}
	row.Out = &Result{Time: time.Duration(math.Round(middle * 1e9)), Alg: alg, Bus: bus}
	r.starts(row.Op)
	r.rep.Ranks, r.rep.Nodes = c.Ranks, c.Nodes
	for _, f := range []struct {
		to   *string
		from string
	}{{&r.rep.NCCL, c.NCCL}, {&r.rep.Torch, c.Torch}, {&r.rep.GPU, c.GPU}} {
		if *f.to == "" {
			*f.to = clean(f.from)
		}
	}
	if c.Correct != nil && !*c.Correct {
		r.problem(num, line, corrupt)
	}
	r.add(num, row)
	return true
}

func median(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

var (
	// The sentences over the numbers of all_reduce_bench.py and torch-dist-bench.py.
	torchOver    = regexp.MustCompile(`^The (?:average bandwidth|latency|([0-9.]+)GiB payload bandwidth) of ([a-z_]{4,32}) over (\d{1,7}) ranks`)
	torchPayload = regexp.MustCompile(`^The average bandwidth of ([a-z_]{4,32}) with a ([0-9.]+)(GB|GiB) payload \((?:[^)]*, )?(\d{1,7}) ranks\)`)
	torchRate    = regexp.MustCompile(`^(algbw|busbw): ([0-9.]+) GBps`)
	torchNCCL    = regexp.MustCompile(`\bnccl=\(?(\d{1,3})[.,] ?(\d{1,3})[.,] ?(\d{1,3})`)
	torchVersion = regexp.MustCompile(`\btorch=([0-9A-Za-z.+_-]{1,40})`)
)

// torch reads the sentences of PyTorch scripts.
func (r *reader) torch(num int, line string) bool {
	if !strings.HasPrefix(line, "The ") && !strings.HasPrefix(line, "- software:") && !strings.Contains(line, "bw: ") {
		return false
	}
	line = strings.ReplaceAll(line, "`", "")
	if m := torchOver.FindStringSubmatch(line); m != nil {
		r.starts(m[2])
		r.rep.Ranks, _ = strconv.Atoi(m[3])
		r.payload, r.pipes = 0, nil
		if gib, err := strconv.ParseFloat(m[1], 64); err == nil && gib > 0 && gib < 1<<20 {
			r.payload = int64(gib * (1 << 30))
		}
		return true
	}
	if m := torchPayload.FindStringSubmatch(line); m != nil {
		r.starts(m[1])
		r.rep.Ranks, _ = strconv.Atoi(m[4])
		scale := map[string]float64{"GB": 1e9, "GiB": 1 << 30}[m[3]]
		if v, err := strconv.ParseFloat(m[2], 64); err == nil && v > 0 && v < 1<<20 {
			r.add(num, Row{Line: num, Op: m[1], Size: unit.Size(v * scale), Out: &Result{}})
		}
		return true
	}
	if m := torchRate.FindStringSubmatch(line); m != nil && len(r.rep.Rows) > 0 && r.rep.Rows[len(r.rep.Rows)-1].Out != nil {
		out := r.rep.Rows[len(r.rep.Rows)-1].Out
		rate, err := rateOf(m[2], 8e9)
		switch {
		case err != nil:
			r.faults.Add(num, "%s: %w", m[1], err)
		case m[1] == "algbw":
			out.Alg = rate
		default:
			out.Bus = rate
		}
		return true
	}
	if strings.HasPrefix(line, "- software:") {
		if m := torchNCCL.FindStringSubmatch(line); m != nil {
			r.rep.NCCL = m[1] + "." + m[2] + "." + m[3]
		}
		if m := torchVersion.FindStringSubmatch(line); m != nil {
			r.rep.Torch = m[1]
		}
		return true
	}
	return false
}

// pipe reads "| 32KiB | 0.92GBps | 0.48GBps |", under names in any order.
func (r *reader) pipe(num int, line string) bool {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if strings.Trim(line, "|-: ") == "" {
		return r.pipes != nil
	}
	if slices.Contains(cells, "busbw") && slices.Contains(cells, "algbw") {
		r.pipes = cells
		return true
	}
	if len(cells) != len(r.pipes) {
		return false
	}
	row := Row{Line: num, Op: r.op, Size: unit.Size(r.payload), Out: &Result{}}
	for i, name := range r.pipes {
		var err error
		switch name {
		case "payload":
			row.Size, err = sizeOf(cells[i])
		case "busbw":
			row.Out.Bus, err = rateOf(strings.TrimSuffix(cells[i], "GBps"), 8e9)
		case "algbw":
			row.Out.Alg, err = rateOf(strings.TrimSuffix(cells[i], "GBps"), 8e9)
		}
		if err != nil {
			r.faults.Add(num, "%s: %w", name, err)
			return true
		}
	}
	if row.Out.Alg > 0 && row.Size > 0 {
		row.Out.Time = time.Duration(math.Round(float64(row.Size) * 8e9 / float64(row.Out.Alg)))
	}
	r.add(num, row)
	return true
}

var sizeWord = regexp.MustCompile(`^([0-9]{1,7}(?:\.[0-9]{1,6})?) ?(|K|M|G|T)i?B$`)

// sizeOf reads "32KiB"; small ones were once written "512iB".
func sizeOf(s string) (unit.Size, error) {
	m := sizeWord.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%.20q is not a size", s)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if m[2] != "" {
		v *= math.Pow(1024, float64(1+strings.Index("KMGT", m[2])))
	}
	return unit.Size(math.Round(v)), err
}
