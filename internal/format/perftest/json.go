package perftest

import (
	"math"
	"strings"
)

// names are the keys of results in a file of --out_json, as columns.
var names = map[string]column{
	"MsgSize":         {"#bytes", 1},
	"n_iterations":    {"#iterations", 1},
	"MsgRate":         {"msgrate", 1e6},
	"t_min":           {"t_min", 1e3},
	"t_max":           {"t_max", 1e3},
	"t_typical":       {"t_typical", 1e3},
	"t_avg":           {"t_avg", 1e3},
	"avg_lat":         {"t_avg", 1e3}, // with --output=latency
	"t_stdev":         {"t_stdev", 1e3},
	"percentile_99":   {"99% percentile", 1e3},
	"percentile_99.9": {"99.9% percentile", 1e3},
	"tps_average":     {"tps average", 1},
	"CPU_util":        {"cpu_util", 1},
}

// ReadJSON reads a file of --out_json. Version 6.06 quotes neither keys nor strings and
// ends every object with a comma, and some results of 6.24 still are so; all of it is
// read. A bandwidth comes without its unit: the message rate beside it tells whether it
// is MiB/s or Gb/s. Of a run over many sizes the file holds the last.
func ReadJSON(b []byte) (Report, error) {
	r := reader{}
	sections, err := loose(b)
	if err != nil {
		return Report{}, err
	}
	for _, s := range sections {
		switch {
		case s.name == "test_info":
			r.found = true
			r.info(s)
		case s.name == "results", strings.HasPrefix(s.name, "results_"):
			r.found = true
			r.results(s)
		default:
			r.faults.Unknown(s.line, s.name, "perftest")
		}
	}
	r.settle()
	return r.rep, r.faults.Err(r.found)
}

// info reads the header, whose keys are those of the text with underscores.
func (r *reader) info(s section) {
	for _, p := range s.pairs {
		switch {
		case p.key == "test":
			r.title(p.value)
		case p.key == "Test with events":
			r.rep.Events = true
		case p.key == "cuda_device":
			word(&r.rep.Memory, "cuda")
		case strings.HasPrefix(p.key, "WARNING"):
			r.said(p.line, p.value)
		case p.key == "Data_ex_method":
			word(&r.rep.Exchange, p.value)
		case p.key == "rdma_cm_QPs":
			r.rep.RDMACM = new(p.value == "ON")
		default:
			if i := keyIndex(strings.ReplaceAll(p.key, "_", " ")); i >= 0 {
				keys[i].set(&r.rep, p.value)
			}
		}
	}
}

func (r *reader) results(s section) {
	row := Row{Line: s.line, Side: strings.TrimPrefix(strings.TrimPrefix(s.name, "results"), "_")}
	var rates []pair
	var average string
	for _, p := range s.pairs {
		c, ok := names[p.key]
		switch {
		case ok && !r.set(&row, p.line, c, p.value):
			return
		case p.key == "BW_average":
			average = p.value
			rates = append(rates, p)
		case p.key == "BW_peak":
			rates = append(rates, p)
		case p.key == "bw_avg", p.key == "msgRate_avg":
			r.faults.Add(p.line, "%s alone tells no unit: run without --output", p.key)
			return
		}
	}
	scale, ok := scaleOf(average, row)
	if len(rates) > 0 && !ok {
		r.faults.Add(s.line, "%d messages of %d bytes a second do not tell the unit of BW_average %q", row.MsgRate, row.Size, average)
		return
	}
	for _, p := range rates {
		if !r.set(&row, p.line, column{strings.ToLower(strings.Replace(p.key, "_", " ", 1)), scale}, p.value) {
			return
		}
	}
	r.add(s.line, row)
}

// scaleOf finds the unit of an average: the one in which it is the row's messages of the
// row's size. The two units differ by 119, and only a handful of messages a second, or
// none, leave it open.
func scaleOf(average string, row Row) (scale float64, ok bool) {
	v, err := number(average)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || v <= 0 {
		return 1e9, true // nothing was moved, or set will say what is wrong
	}
	_, decimals, _ := strings.Cut(average, ".")
	half := 0.5 * math.Pow10(-len(decimals))
	fits := func(scale float64) bool {
		// Half of the last printed digit, and three in a hundred.
		least := max(0, v-half) * scale / 8 / float64(row.Size)
		most := (v + half) * scale / 8 / float64(row.Size)
		n := float64(row.MsgRate)
		return most*1.03 >= n-0.5 && least*0.97 <= n+0.5
	}
	mebi, giga := fits(rateScale["mib/sec"]), fits(rateScale["gb/sec"])
	switch {
	case row.Size <= 0, mebi == giga:
		return 0, false
	case giga:
		return rateScale["gb/sec"], true
	}
	return rateScale["mib/sec"], true
}
