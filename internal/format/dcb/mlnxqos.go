package dcb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// QoS is what `mlnx_qos -i DEV` says. A nil pointer, list or map was not told.
type QoS struct {
	Device      string // from the command line above the answer
	DCBX        string // "OS controlled", "Firmware controlled"
	Trust       string // dscp or pcp
	DSCPPrio    map[int]int
	CableM      *int
	PFC         []bool // by priority
	PFCBuffer   []int  // buffer, by priority
	BufferBytes []int
	Classes     []Class
}

// Class is one traffic class.
type Class struct {
	TC         int
	RateLimit  string // "unlimited", "25.0 Gbps"
	TSA        string // ets, strict, vendor
	BWPercent  *int   // with ets only
	Priorities []int
}

// PrioTC is the traffic class of each priority; nil where the classes do not name all
// of them, each once.
func (q QoS) PrioTC() []int {
	tcs, named := make([]int, priorities), 0
	for _, c := range q.Classes {
		for _, prio := range c.Priorities {
			tcs[prio] = c.TC
			named |= 1 << prio
		}
	}
	if named != 1<<priorities-1 {
		return nil
	}
	return tcs
}

// ParseMlnxQoS reads `mlnx_qos -i DEV`.
func ParseMlnxQoS(b []byte) (QoS, error) {
	var q QoS
	var errs []error
	var inPFC, known bool
	var odd string
	for num, s := range printed.Lines(b) {
		if _, args, ok := strings.Cut(s, "mlnx_qos "); ok {
			if _, dev, ok := strings.Cut(args, "-i "); ok {
				q.Device, _, _ = strings.Cut(strings.TrimSpace(dev), " ")
			}
			continue
		}
		if s[0] == '#' {
			continue
		}
		if err := complaint(s); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", num, err))
			continue
		}
		key, val, colon := strings.Cut(s, ":")
		val = strings.TrimSpace(val)
		f := strings.Fields(strings.ReplaceAll(s, ":", " "))
		if len(f) == 0 {
			continue
		}
		var err error
		switch {
		case s == "PFC configuration:":
			inPFC = true
		case inPFC && f[0] == "priority": // the heading of the columns
		case inPFC && f[0] == "enabled":
			q.PFC, err = columns(f[1:], flag)
		case inPFC && f[0] == "buffer":
			q.PFCBuffer, err = columns(f[1:], class)
		case key == "DCBX mode":
			q.DCBX = val
		case key == "Priority trust state":
			q.Trust = val
		case key == "Cable len":
			var n int
			if n, err = bounded(val, 10, 1<<20); err == nil {
				q.CableM = &n
			}
		case strings.HasPrefix(key, "Receive buffer size"):
			q.BufferBytes, err = buffers(val)
		case key == "prio" && colon:
			err = q.dscpLine(val)
		case key == "tc" && colon:
			inPFC = false
			err = q.classLine(val)
		case key == "priority" && len(q.Classes) > 0:
			var p int
			if p, err = class(val); err == nil {
				c := &q.Classes[len(q.Classes)-1]
				c.Priorities = append(c.Priorities, p)
			}
		default:
			if odd == "" {
				odd = fmt.Sprintf("line %d: %.60q", num, s)
			}
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", num, err))
			continue
		}
		known = true
	}
	if !known && len(errs) == 0 {
		if odd == "" {
			return q, ErrNothing
		}
		return q, fmt.Errorf("%s: %w", odd, ErrNothing)
	}
	return q, errors.Join(errs...)
}

func flag(s string) (bool, error) {
	if s != "0" && s != "1" {
		return false, fmt.Errorf("%.40q is neither 0 nor 1", s)
	}
	return s == "1", nil
}

// columns reads one row of the PFC table, which has a column for each priority.
func columns[T any](f []string, one func(string) (T, error)) ([]T, error) {
	if len(f) != priorities {
		return nil, fmt.Errorf("row has %d columns, want %d", len(f), priorities)
	}
	out := make([]T, priorities)
	for i, w := range f {
		v, err := one(w)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// buffers reads "20016,156096,0,0,0,0,0,0,max_buffer_size=262144".
func buffers(val string) ([]int, error) {
	var out []int
	for w := range strings.SplitSeq(val, ",") {
		w = strings.TrimSpace(w)
		if w == "" || strings.ContainsAny(w, "=:") {
			continue
		}
		n, err := bounded(w, 10, 1<<31-1)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// dscpLine reads "3 dscp:31,30,29,", what follows "prio:".
func (q *QoS) dscpLine(val string) error {
	num, codes, ok := strings.Cut(val, "dscp:")
	prio, err := class(strings.TrimSpace(num))
	if !ok || err != nil {
		return fmt.Errorf("%.60q is no priority with its DSCP values", val)
	}
	if q.DSCPPrio == nil {
		q.DSCPPrio = map[int]int{}
	}
	for w := range strings.SplitSeq(codes, ",") {
		if w = strings.TrimSpace(w); w == "" {
			continue
		}
		code, err := bounded(w, 10, 63)
		if err != nil {
			return err
		}
		q.DSCPPrio[code] = prio
	}
	return nil
}

// classLine reads "0 ratelimit: unlimited, tsa: ets, bw: 10%", what follows "tc:".
func (q *QoS) classLine(val string) error {
	num, rest, _ := strings.Cut(val, " ")
	tc, err := strconv.Atoi(num)
	if err != nil || tc < 0 || tc >= priorities {
		return fmt.Errorf("%.60q is no traffic class", val)
	}
	c := Class{TC: tc}
	for part := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(part), ":")
		v = strings.TrimSpace(v)
		switch k {
		case "ratelimit":
			c.RateLimit = v
		case "tsa":
			c.TSA = v
		case "bw":
			n, err := percent(strings.TrimSuffix(v, "%"))
			if err != nil {
				return err
			}
			c.BWPercent = &n
		}
	}
	q.Classes = append(q.Classes, c)
	return nil
}
