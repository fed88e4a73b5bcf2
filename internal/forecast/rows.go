package forecast

import (
	_ "embed" // the table
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"weft/internal/unit"
)

//go:embed data/measured.csv
var measuredFile string

// Measured are the published measurements that weft brings along to fit its
// constants; none is from a source of ../shared/data/throughput.csv but seed 003.
func Measured() []Row {
	rows, err := ReadRows(strings.NewReader(measuredFile))
	if err != nil {
		panic("data/measured.csv: " + err.Error())
	}
	return rows
}

// Row is one published measurement. What is not told is zero or "".
type Row struct {
	Line      int     `json:"line"`
	ID        string  `json:"id"`
	Group     string  `json:"group,omitempty"`
	Platform  string  `json:"platform"`
	MemGBs    float64 `json:"mem_gbs,omitempty"`
	Nodes     int     `json:"nodes"`
	GPUs      int     `json:"gpus_per_node"`
	TP        int     `json:"tp"`
	PP        int     `json:"pp"`
	Transport string  `json:"transport,omitempty"`
	Gbps      float64 `json:"link_gbps,omitempty"`
	Model     string  `json:"model"`
	Layers    int     `json:"layers,omitempty"`
	Hidden    int     `json:"hidden,omitempty"`
	Total     float64 `json:"total_b,omitempty"`
	Active    float64 `json:"active_b,omitempty"`
	Bits      float64 `json:"bits,omitempty"`
	Quant     string  `json:"quant,omitempty"`
	Mode      string  `json:"mode,omitempty"`
	Engine    string  `json:"engine,omitempty"`
	Batch     int     `json:"batch,omitempty"`
	Context   int     `json:"context,omitempty"`
	Draft     int     `json:"draft,omitempty"`
	Accepted  float64 `json:"accepted,omitempty"`
	Tokens    float64 `json:"measured"` // tokens each second of one sequence
	Source    string  `json:"source,omitempty"`
}

// Bounds of a file of measurements.
const (
	MaxRows   = 100_000
	mostRanks = 1024 // of one row
	mostCell  = 4096
)

// ReadRows reads a CSV with the columns of ../shared/data/throughput.csv, in any
// order. Columns that are missing or not known are tolerated, and so are empty cells
// and those that say they are not known; a number that is none or absurd is an error
// with its line.
func ReadRows(r io.Reader) ([]Row, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = -1
	c.LazyQuotes = true
	head, err := c.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("empty: want a header line")
		}
		return nil, err
	}
	at := map[string]int{}
	for i, h := range head {
		name := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))
		if _, twice := at[name]; twice && name != "" {
			return nil, fmt.Errorf("line 1: column %s twice", quoted(name))
		}
		at[name] = i
	}
	if _, ok := at["model"]; !ok {
		return nil, errors.New("line 1: no column \"model\": want the columns of throughput.csv")
	}
	var out []Row
	for {
		cells, err := c.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := c.FieldPos(0)
		if len(out) == MaxRows {
			return nil, fmt.Errorf("line %d: more than %d rows", line, MaxRows)
		}
		row, err := readRow(line, at, cells)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, row)
	}
}

// cells reads the cells of one row by the names of their columns.
type cells struct {
	at  map[string]int
	row []string
	err error
}

func (c *cells) text(names ...string) string {
	for _, n := range names {
		i, ok := c.at[n]
		if !ok || i >= len(c.row) {
			continue
		}
		s := strings.TrimSpace(c.row[i])
		if len(s) > mostCell {
			s = s[:mostCell]
		}
		switch strings.ToLower(s) {
		case "", "?", "-", "na", "n/a", "none given", "unknown", "nan", "null":
		default:
			return s
		}
	}
	return ""
}

// num reads a number between 0 and most; a cell may say more after it ("125 (+51)"),
// or that it is about ("~59").
func (c *cells) num(most float64, names ...string) float64 {
	s := c.text(names...)
	if s == "" {
		return 0
	}
	number, _, _ := strings.Cut(strings.TrimLeft(s, "~≈<> "), " ")
	f, err := strconv.ParseFloat(strings.TrimRight(number, "%×x"), 64)
	switch {
	case c.err != nil:
	case err != nil || math.IsNaN(f):
		c.err = fmt.Errorf("%s: %s is not a number", names[0], quoted(s))
	case f < 0 || f > most:
		c.err = fmt.Errorf("%s: %s: want 0 to %g", names[0], quoted(s), most)
	}
	return f
}

func (c *cells) whole(most float64, names ...string) int { return int(c.num(most, names...)) }

func readRow(line int, at map[string]int, row []string) (Row, error) {
	c := &cells{at: at, row: row}
	r := Row{
		Line: line, ID: c.text("id"), Group: c.text("group"), Platform: c.text("platform", "hardware", "gpu"), MemGBs: c.num(1e6, "mem_gbs"),
		Nodes: c.whole(mostNodes, "nodes"), GPUs: c.whole(64, "gpus_per_node"), TP: c.whole(mostNodes, "tp"), PP: c.whole(mostNodes, "pp"),
		Transport: strings.ToLower(c.text("transport")), Gbps: c.num(1e5, "link_gbps"), Model: c.text("model"),
		Layers: c.whole(mostLayers, "layers"), Hidden: c.whole(mostWidth, "hidden"), Total: c.num(1e5, "total_b"), Active: c.num(1e5, "active_b"),
		Bits: c.num(64, "bits"), Quant: c.text("quant", "format"), Mode: strings.ToLower(c.text("mode")), Engine: c.text("engine"),
		Batch: c.whole(mostBatch, "batch", "concurrency"), Context: c.whole(mostContext, "context", "depth"),
		Draft: c.whole(64, "draft"), Accepted: c.num(65, "accepted"),
		Tokens: c.num(1e7, "decode_tok_s", "tok_s", "measured"), Source: c.text("source"),
	}
	return r, c.err
}

// benchContext is the context of a benchmark that does not say: a short prompt and a
// hundred tokens.
const benchContext = 512

// Case makes a row something to forecast. notes say what had to be assumed.
func (r Row) Case() (c Case, notes []string, err error) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	hw, err := r.hardware()
	if err != nil {
		return c, nil, err
	}
	nodes, gpus := max(r.Nodes, 1), max(r.GPUs, 1)
	c.Engine, err = EngineByName(r.Engine, r.Mode)
	if err != nil {
		c.Engine = usual(hw, r)
		note("engine assumed: %s", c.Engine.Name)
		err = nil
	}
	if c.Model, err = r.model(); err != nil {
		return c, nil, err
	}
	if c.Model.Rough != "" {
		note("%s", c.Model.Rough)
	}
	c.Layout = r.layout(nodes*gpus, c.Engine)
	if c.Layout.TP > mostRanks || c.Layout.Ranks() > mostRanks {
		return c, nil, fmt.Errorf("%d × %d ranks: want at most %d", c.Layout.TP, c.Layout.PP, mostRanks)
	}
	if short := c.Layout.Ranks() - nodes*gpus; short > 0 {
		note("%d ranks more than the row's nodes and GPUs", short)
	}
	for i := range c.Layout.Ranks() {
		c.Ranks = append(c.Ranks, Rank{Node: fmt.Sprintf("n%d", i/gpus+1), HW: hw})
	}
	c.Fabric = Fabric{Transport: transports[r.Transport], Gbps: r.Gbps, Source: "row"}
	for word, means := range transports { // "rdma over thunderbolt"
		if c.Fabric.Transport == "" && means == "rdma" && len(word) > 2 && strings.Contains(r.Transport, word) {
			c.Fabric.Transport = means
		}
	}
	if nodes > 1 && (c.Fabric.Transport == "" || c.Fabric.Transport == "none") {
		c.Fabric.Transport = "tcp"
		note("transport assumed: tcp")
	}
	bits := r.Bits
	if bits == 0 && r.Quant == "" {
		bits = Fitting(c.Model, c.Engine, float64(hw.Usable)*float64(c.Layout.Ranks()))
		note("%g bits assumed: the widest usual format that fits", bits)
	}
	c.bits = bits
	if bits > 0 {
		c.Format = Average(bits, c.Model, c.Engine)
	} else if c.Format, err = FormatOf(r.Quant, c.Model, c.Engine); err != nil {
		return c, nil, err
	}
	c.Batch, c.Context = max(r.Batch, 1), r.Context
	if c.Context == 0 {
		c.Context = benchContext
	}
	if r.Draft > 0 && r.Accepted > 0 {
		c.Spec = Spec{r.Draft, r.Accepted}
	}
	return c, notes, nil
}

// hardware is the platform, with the row's own bandwidth.
func (r Row) hardware() (Hardware, error) {
	hw, err := HardwareByName(r.Platform)
	if r.Platform == "" {
		err = errors.New("no platform")
	}
	if r.MemGBs > 0 {
		if err != nil {
			hw = Hardware{Name: r.Platform, Kind: kindOf(r.Platform), Usable: 1 << 40, Source: "row"}
		}
		hw.Stated = unit.Rate(r.MemGBs * 8 * float64(unit.Gbps))
		err = nil
	}
	return hw, err
}

// kindOf guesses whose kernels run on hardware that is in no table.
func kindOf(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' })
	for _, w := range words {
		switch {
		case w == "ultra":
			return "ultra"
		case w == "apple", w == "mac", w == "macbook", len(w) == 2 && w[0] == 'm' && w[1] >= '1' && w[1] <= '9':
			return "metal"
		case w == "radeon", w == "rx", strings.HasPrefix(w, "gfx1"):
			return "rdna"
		case w == "instinct", strings.HasPrefix(w, "mi2"), strings.HasPrefix(w, "mi3"):
			return "cdna"
		case w == "cpu", w == "epyc", w == "xeon", w == "ryzen", w == "raspberry", strings.HasPrefix(w, "rpi"), w == "n100", w == "n150":
			return "cpu"
		}
	}
	return "cuda"
}

// usual is the engine that people run where a row does not say.
func usual(hw Hardware, r Row) Engine {
	name := "vllm"
	switch {
	case hw.Kind == "metal", hw.Kind == "ultra":
		name = "mlx"
	case hw.Kind == "cpu", r.PP > 1 && r.TP <= 1:
		name = "llama.cpp"
	}
	e, _ := EngineByName(name, r.Mode)
	return e
}

// layout is as the row says, else all ranks as the engine splits first.
func (r Row) layout(ranks int, e Engine) Layout {
	l := Layout{TP: max(r.TP, 1), PP: max(r.PP, 1), Replicas: 1}
	if r.TP == 0 && r.PP == 0 {
		if e.Splits[0] == "pp" {
			l.PP = ranks
		} else {
			l.TP = ranks
		}
	}
	return l
}

// model is the named one, unless the row's own counts say that it is another.
func (r Row) model() (Model, error) {
	m, err := ModelByName(r.Model)
	if err == nil && (r.Total == 0 || near(m.Total()-m.Beside, r.Total*1e9, 0.25) || near(m.Total(), r.Total*1e9, 0.25)) && (r.Layers == 0 || near(float64(m.Layers), float64(r.Layers), 0.1)) {
		return m, nil
	}
	if r.Total == 0 && r.Active == 0 {
		if err == nil {
			err = fmt.Errorf("model %s: %d layers here, %d in the table, and no number of parameters", quoted(r.Model), r.Layers, m.Layers)
		}
		return Model{}, err
	}
	return Roughly(r.Model, r.Layers, r.Hidden, r.Total*1e9, r.Active*1e9)
}

func near(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Max(a, b) }
