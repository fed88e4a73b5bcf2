package nccltests

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"weft/internal/format/printed"
	"weft/internal/unit"
)

// file is what nccl-tests writes with -J, since 2.17.
type file struct {
	Args        []string `json:"args"`
	NCCLVersion int      `json:"nccl_version"`
	Config      struct {
		Threads    int   `json:"nthreads"`
		GPUs       int   `json:"ngpus"`
		Min        int64 `json:"minimum_bytes"`
		Max        int64 `json:"maximum_bytes"`
		Warmup     int   `json:"warmup_iters"`
		Iterations int   `json:"iterations"`
		Validation *int  `json:"validation"`
		Devices    []struct {
			Rank, Group, PID int
			Hostname         string
			Device           int
			Hex              string `json:"device_hex"`
			Info             string `json:"device_info"`
		} `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size  int64     `json:"size"`
		Count int64     `json:"count"`
		Type  string    `json:"type"`
		RedOp string    `json:"redop"`
		Root  string    `json:"root"`
		Out   *measured `json:"out_of_place"`
		In    *measured `json:"in_place"`
		OutIt *spread   `json:"out_of_place_per_iter"`
		InIt  *spread   `json:"in_place_per_iter"`
	} `json:"results"`
	OutOfBounds *struct {
		Count int `json:"count"`
	} `json:"out_of_bounds"`
	Average *struct {
		Bandwidth number `json:"bandwidth"`
		Okay      string `json:"okay"`
	} `json:"average_bus_bandwidth"`
	Errors []string `json:"errors"`
}

type measured struct {
	Time    *number `json:"time"`
	CPUTime *number `json:"cpu_time"`
	Alg     number  `json:"alg_bw"`
	Bus     number  `json:"bus_bw"`
	Wrong   *number `json:"nwrong"`
}

type spread struct {
	Min number `json:"min_us"`
	Max number `json:"max_us"`
	P99 number `json:"p99_us"`
}

// number is a float that may be written "nan".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = number(v)
	return err
}

// text is a number as the readers of tables want it.
func (n number) text() string { return strconv.FormatFloat(float64(n), 'f', -1, 64) }

// ReadJSON reads the file that nccl-tests writes with -J.
func ReadJSON(b []byte) (Report, error) {
	var f file
	if err := printed.JSON(b, &f); err != nil {
		return Report{}, err
	}
	if f.Args == nil || f.Results == nil {
		return Report{}, errors.New("the document has no args and results of nccl-tests")
	}
	r := reader{found: true, op: ""}
	if len(f.Args) > 0 {
		if m := program.FindStringSubmatch(f.Args[0]); m != nil {
			r.starts(m[1])
		}
	}
	r.rep.NCCL = versionOf(strconv.Itoa(f.NCCLVersion))
	c := f.Config
	r.rep.Threads, r.rep.GPUsPerThread, r.rep.Min, r.rep.Max = max(c.Threads, 0), max(c.GPUs, 0), unit.Size(max(c.Min, 0)), unit.Size(max(c.Max, 0))
	r.rep.Warmup, r.rep.Iterations = c.Warmup, c.Iterations
	if c.Validation != nil {
		r.rep.Checked = new(*c.Validation != 0)
	}
	for i, d := range c.Devices {
		if i == maxDevices || d.Rank < 0 || d.Rank > 1<<24 {
			r.faults.Add(1, "device %d: rank %d", i, d.Rank)
			break
		}
		r.rep.Devices = append(r.rep.Devices, Device{d.Rank, d.Group, d.PID, clean(d.Hostname), d.Device, clean(d.Hex), clean(d.Info)})
		r.rep.GPU = r.rep.Devices[0].Name
	}
	for i, v := range f.Results {
		if v.Size < 0 || v.Count < 0 {
			r.faults.Add(1, "result %d: %d bytes, %d elements", i, v.Size, v.Count)
			continue
		}
		row := Row{Line: i + 1, Op: r.op, Size: unit.Size(v.Size), Count: v.Count, Type: clean(v.Type), RedOp: clean(v.RedOp)}
		if root, err := strconv.Atoi(strings.TrimSpace(v.Root)); err == nil && root >= 0 {
			row.Root = &root
		}
		var err1, err2 error
		row.Out, err1 = v.Out.result(v.OutIt)
		row.In, err2 = v.In.result(v.InIt)
		if err := errors.Join(err1, err2); err != nil {
			r.faults.Add(1, "result %d: %w", i, err)
			continue
		}
		r.add(i+1, row)
	}
	r.footer(f)
	r.settle()
	return r.rep, r.faults.Err(true)
}

func (r *reader) footer(f file) {
	if o := f.OutOfBounds; o != nil && o.Count >= 0 {
		r.rep.OutOfBounds = &o.Count
		if o.Count > 0 {
			r.problem(0, fmt.Sprintf("%d values are out of bounds", o.Count), corrupt)
		}
	}
	if a := f.Average; a != nil {
		if rate, err := rateOf(a.Bandwidth.text(), 8e9); err == nil {
			r.rep.AverageBus = &rate
		}
		if a.Okay == "false" {
			r.problem(0, "the average bus bandwidth is not okay", belowLimit)
		}
	}
	for _, e := range f.Errors {
		if e != "" && !r.said(0, e) {
			r.problem(0, e, failed)
		}
	}
}

func (m *measured) result(s *spread) (*Result, error) {
	if m == nil {
		return nil, nil
	}
	var v Result
	var errs [6]error
	if m.Time == nil {
		m.Time = m.CPUTime
	}
	if m.Time != nil {
		v.Time, errs[0] = timeOf(m.Time.text(), 1e3)
	}
	v.Alg, errs[1] = rateOf(m.Alg.text(), 8e9)
	v.Bus, errs[2] = rateOf(m.Bus.text(), 8e9)
	if m.Wrong != nil {
		w := float64(*m.Wrong)
		if !(w >= 0) || w > 1<<53 || w != math.Trunc(w) {
			return nil, fmt.Errorf("%g elements are wrong", w)
		}
		v.Wrong = new(int64(w))
	}
	if s != nil {
		v.Min, errs[3] = timeOf(s.Min.text(), 1e3)
		v.Max, errs[4] = timeOf(s.Max.text(), 1e3)
		v.P99, errs[5] = timeOf(s.P99.text(), 1e3)
	}
	return &v, errors.Join(errs[:]...)
}
