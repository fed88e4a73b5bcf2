package design

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"

	"weft/internal/fact"
	"weft/internal/unit"
)

// The tables: each row with its source.
//
//go:embed data/*.csv
var files embed.FS

type workload struct {
	name, title string
	perGPU      unit.Rate
	burst       string // checkpoint, weights: in seconds; ahead: percent of sustained
	seconds     float64
	percent     float64
	why, source string
}

type card struct {
	name   string
	link   fact.Link
	source string
}

type box struct {
	layer           string
	rate            unit.Rate
	ports           int
	example, source string
}

type medium struct {
	rate         unit.Rate
	name         string
	metres       float64
	transceivers int
	source       string
}

type named struct{ name, slot, note, source string }

var (
	workloads = read("workloads", func(r row) workload {
		return workload{r.s("name"), r.s("title"), unit.Rate(r.f("per_gpu_mbps") * float64(unit.Mbps)), r.s("burst"), r.f("burst_seconds"), r.f("burst_percent"), r.s("why"), r.s("source")}
	})
	cards = read("cards", func(r row) card {
		return card{r.s("name"), fact.Link{GTs: r.f("gts"), Width: int(r.f("width"))}, r.s("source")}
	})
	boxes = read("switches", func(r row) box {
		return box{r.s("layer"), unit.Rate(r.f("gbps")) * unit.Gbps, int(r.f("ports")), r.s("example"), r.s("source")}
	})
	media = read("media", func(r row) medium {
		return medium{unit.Rate(r.f("gbps")) * unit.Gbps, r.s("medium"), r.f("metres"), int(r.f("transceivers")), r.s("source")}
	})
	slots = read("slots", func(r row) named { return named{r.s("name"), r.s("slot"), r.s("note"), r.s("source")} })
)

// row is a line of a table, by column.
type row map[string]string

func (r row) s(column string) string {
	v, ok := r[column]
	if !ok {
		panic("no column " + column)
	}
	return v
}

func (r row) f(column string) float64 {
	s := r.s(column)
	if s == "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return f
}

// read returns the rows of an embedded table. A table that cannot be read is a
// mistake of the build, so it panics where every test sees it.
func read[T any](name string, make func(row) T) []T {
	f, err := files.Open("data/" + name + ".csv")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("data/%s.csv: %v", name, err))
	}
	var out []T
	for _, line := range lines[1:] {
		r := row{}
		for i, column := range lines[0] {
			r[column] = line[i]
		}
		out = append(out, make(r))
	}
	return out
}
