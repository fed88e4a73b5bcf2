package forecast

import (
	"math"
	"slices"
)

// Knob is one constant that is fitted: where it starts and how far it may go before
// that costs as much as a wrong row.
type Knob struct {
	Name  string  `json:"name"`
	Prior float64 `json:"prior"`
	Slack float64 `json:"slack"` // of its logarithm
	Why   string  `json:"why"`   // where the prior is from
	at    func(*Constants) *float64
}

// Knobs lists them. A narrow slack is a constant that was measured by itself.
var Knobs = []Knob{
	{"achieved", 0.81, 0.05, "qwen2 7B Q8_0 on a Spark: 220 of 273 GB/s (ggml-org/llama.cpp benches/dgx-spark.md)", func(c *Constants) *float64 { return &c.Achieved }},
	{"achieved_ultra", 0.65, 0.10, "70B on an M2 Ultra: 530 of 800 GB/s (XiongjieDai)", func(c *Constants) *float64 { return &c.AchievedUltra }},
	{"achieved_cpu", 0.67, 0.10, "counters of a Pi 5 while decoding: 11.4 of 17 GB/s (hellomatik.com)", func(c *Constants) *float64 { return &c.AchievedCPU }},
	{"fused_cuda", 0.55, 0.30, "no measurement of it alone", func(c *Constants) *float64 { return &c.FusedCUDA }},
	{"fused_rdna", 0.10, 0.50, "no measurement of it alone", func(c *Constants) *float64 { return &c.FusedRDNA }},
	{"layer_llama", 30, 0.40, "no measurement of it alone", func(c *Constants) *float64 { return &c.LayerLlama }},
	{"layer_graph", 30, 0.50, "no measurement of it alone", func(c *Constants) *float64 { return &c.LayerGraph }},
	{"layer_metal", 80, 0.40, "no measurement of it alone", func(c *Constants) *float64 { return &c.LayerMetal }},
	{"layer_mlx", 60, 0.50, "no measurement of it alone", func(c *Constants) *float64 { return &c.LayerMLX }},
	{"eager", 350, 0.50, "graphs against eager of one model: 600 on two clusters, none on a third", func(c *Constants) *float64 { return &c.Eager }},
	{"sync_rdma", 70, 0.15, "NCCL, 10 KiB, two Sparks: 67 to 77 µs (christopherowen/dgx-spark-networking)", func(c *Constants) *float64 { return &c.RDMA }},
	{"sync_rdma_more", 20, 0.40, "four Sparks: 91 µs; RCCL on four Strix Halo: 85 (maikzz32)", func(c *Constants) *float64 { return &c.RDMAMore }},
	{"sync_tcp", 200, 0.25, "RCCL over TCP, 24 KB: 286 µs (wkljohn); ping 68 to 74 µs (kyuz0)", func(c *Constants) *float64 { return &c.TCP }},
	{"sync_tcp_more", 150, 0.50, "no measurement of it alone", func(c *Constants) *float64 { return &c.TCPMore }},
	{"sync_thunderbolt", 60, 0.25, "67 to 101 µs among two, T(1)/N taken off (data/sync-cost.csv), a part of it is the layers", func(c *Constants) *float64 { return &c.Thunder }},
	{"sync_thunderbolt_more", 35, 0.30, "99 to 155 µs among four (data/sync-cost.csv)", func(c *Constants) *float64 { return &c.ThunderMore }},
	{"sync_socket", 1200, 0.50, "no measurement of it alone", func(c *Constants) *float64 { return &c.Socket }},
	{"sync_socket_more", 300, 0.50, "no measurement of it alone", func(c *Constants) *float64 { return &c.SocketMore }},
	{"hop_tcp", 5500, 0.40, "no measurement of it alone", func(c *Constants) *float64 { return &c.HopTCP }},
	{"hop_rdma", 3900, 0.40, "no measurement of it alone", func(c *Constants) *float64 { return &c.HopRDMA }},
}

// Prior is what the knobs start from.
func Prior() Constants {
	var c Constants
	for _, k := range Knobs {
		*k.at(&c) = k.Prior
	}
	return c
}

// Fit finds the constants that are least wrong about rows.
func Fit(rows []Row) Constants { return fit(prepare(rows)) }

func fit(rows []ready) Constants {
	weigh := weights(rows)
	best := Prior()
	lost := loss(best, rows, weigh)
	for step := 0.3; step > 0.002; step /= 2 {
		for moved := true; moved; {
			moved = false
			for _, k := range Knobs {
				for _, way := range []float64{math.Exp(step), math.Exp(-step)} {
					try := best
					*k.at(&try) *= way
					if l := loss(try, rows, weigh); l < lost-1e-9 {
						best, lost, moved = try, l, true
					}
				}
			}
		}
	}
	for _, k := range Knobs {
		*k.at(&best) = round3(*k.at(&best))
	}
	return best
}

// round3 keeps three digits: more would pretend.
func round3(f float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(f))-2)
	return math.Round(f/unit) * unit
}

// weights make an origin with many rows count as the root of their number.
func weights(rows []ready) []float64 {
	count := map[string]int{}
	for _, r := range rows {
		count[Origin(r.row.Source)]++
	}
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = 1 / math.Sqrt(float64(count[Origin(r.row.Source)]))
	}
	return out
}

// loss is the sum of errors of rows and of ratios, on a logarithmic scale and less
// than squared, so that one odd row does not bend everything; and how far the knobs
// went.
func loss(k Constants, rows []ready, weigh []float64) float64 {
	sum := 0.0
	each := make([]Waterfall, len(rows))
	for i, r := range rows {
		if r.err != nil || r.row.Tokens == 0 {
			continue
		}
		each[i], _ = k.Token(r.c)
		sum += weigh[i] * soft(math.Log(each[i].Each()/r.row.Tokens))
		if r.first >= 0 {
			first := Judged{Row: rows[r.first].row, Waterfall: each[r.first]}
			sum += weigh[i] * soft(math.Log(k.given(r.c, &first)/r.row.Tokens))
		}
	}
	const stiff = 0.05
	for _, kn := range Knobs {
		d := math.Log(*kn.at(&k)/kn.Prior) / kn.Slack
		sum += stiff * d * d
	}
	return sum
}

// soft is the size of an error, rounded off below 5 %.
func soft(e float64) float64 {
	const knee = 0.05
	return math.Sqrt(e*e+knee*knee) - knee
}

// Left is the rows of one origin, forecast with constants that were fitted without
// them.
type Left struct {
	Origin  string     `json:"origin"`
	Eval    Evaluation `json:"evaluation"`
	Fitted  Constants  `json:"constants"`
	InFile  bool       `json:"in_file"` // of the file that was asked about
	Strayed string     `json:"strayed"` // the knob that moved most without it
	Moved   float64    `json:"moved"`   // by this factor
}

// LeaveOut fits once for each origin without its rows, and forecasts them. asked are
// the rows of the person's file, more those that weft brings along.
func LeaveOut(asked, more []Row, all Constants) (each []Left, together Evaluation) {
	every := append(slices.Clone(asked), more...)
	var origins []string
	for _, r := range every {
		if o := Origin(r.Source); !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	for _, o := range origins {
		rest := slices.DeleteFunc(slices.Clone(every), func(r Row) bool { return Origin(r.Source) == o })
		k := Fit(rest)
		l := Left{Origin: o, Fitted: k}
		mine := slices.DeleteFunc(slices.Clone(asked), func(r Row) bool { return Origin(r.Source) != o })
		l.InFile = len(mine) > 0
		if !l.InFile {
			mine = slices.DeleteFunc(slices.Clone(more), func(r Row) bool { return Origin(r.Source) != o })
		}
		l.Eval = k.Evaluate(mine)
		l.Strayed, l.Moved = strayed(k, all)
		each = append(each, l)
		if l.InFile {
			together.Rows = append(together.Rows, l.Eval.Rows...)
		}
	}
	together.sum()
	return each, together
}

// strayed is the knob that differs most.
func strayed(a, b Constants) (string, float64) {
	name, most := "", 0.0
	factor := 1.0
	for _, k := range Knobs {
		if d := math.Log(*k.at(&a) / *k.at(&b)); math.Abs(d) > math.Abs(most) {
			name, most, factor = k.Name, d, math.Exp(d)
		}
	}
	return name, factor
}

// Value reads a knob of constants.
func (k Knob) Value(c Constants) float64 { return *k.at(&c) }

// Spreads is between which factors the middle eight of ten measurements lay from the
// forecasts of left-out rows.
func Spreads(left []Left) (low, high float64) {
	var all []float64
	for _, l := range left {
		for _, r := range l.Eval.Rows {
			if r.Error != nil {
				all = append(all, 1/(1+*r.Error))
			}
		}
	}
	slices.Sort(all)
	return quantile(all, 0.1), quantile(all, 0.9)
}
