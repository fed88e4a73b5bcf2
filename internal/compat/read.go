package compat

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weft/internal/platform"
)

// Bounds of a table: those that come with weft are far below.
const (
	maxTable = 1 << 20
	maxRows  = 10_000
	maxField = 600
	maxWords = 64 // of one list
)

// Read reads the tables of a folder. A cell without source or date, a name that no
// table defines, two rows that say the same cell: all are errors with file and line.
func Read(folder fs.FS) (*Data, error) {
	d := &Data{sources: map[string]Source{}, newest: map[string]string{}, featureAlso: map[string][]string{}}
	for _, n := range platform.NICs {
		if !n.VF && !slices.Contains(d.NICs, n.Name) {
			d.NICs = append(d.NICs, n.Name)
		}
	}
	for _, t := range []struct {
		file   string
		header string
		row    func(r row) error
	}{
		{"source.csv", "id,title,where", d.readSource},
		{"feature.csv", "id,of,also,what,instead", d.readFeature},
		{"engine.csv", "id,also,title", d.readName(&d.Engines)},
		{"quant.csv", "id,also,what", d.readName(&d.Quants)},
		{"os.csv", "id,also,distro,version,title", d.readOS},
		{"gpu.csv", "gpu,also", d.readGPU},
		{"model.csv", "match,kind,quant,source,date", d.readModel},
		{"gpu-feature.csv", "feature,on,answer,how,source,date", d.readGPUFeature},
		{"gpu-quant.csv", "engine,quant,on,model,answer,how,instead,source,date", d.readQuant},
		{"kernel-rocm.csv", "on,rocm,kernel,answer,how,source,date", d.readKernel},
		{"nic-os.csv", "on,os,answer,how,source,date", d.readSystem},
		{"nic-feature.csv", "feature,on,answer,how,source,date", d.readCard},
	} {
		if err := readTable(folder, t.file, strings.Split(t.header, ","), t.row); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// row is one line of a table, by the names of its columns.
type row map[string]string

// list is a field that holds several words.
func (r row) list(column string) []string {
	if r[column] == "" {
		return nil
	}
	return strings.Split(r[column], "|")
}

func readTable(folder fs.FS, file string, header []string, each func(row) error) error {
	f, err := folder.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTable+1))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(b) > maxTable {
		return fmt.Errorf("%s: larger than %d bytes", file, maxTable)
	}
	if !utf8.Valid(b) {
		return fmt.Errorf("%s: not UTF-8", file)
	}
	rows := csv.NewReader(bytes.NewReader(b))
	rows.FieldsPerRecord = len(header)
	rows.ReuseRecord = true
	seen := map[string]int{}
	for n := 0; ; n++ {
		fields, err := rows.Read()
		if errors.Is(err, io.EOF) && n > 0 {
			return nil
		}
		var bad *csv.ParseError
		switch {
		case errors.As(err, &bad):
			return fmt.Errorf("%s:%d:%d: %w", file, bad.Line, bad.Column, bad.Err)
		case err != nil:
			return fmt.Errorf("%s: %w", file, err)
		}
		line, _ := rows.FieldPos(0)
		switch {
		case n == 0 && !slices.Equal(fields, header):
			return fmt.Errorf("%s:%d: columns are %q, want %q", file, line, fields, header)
		case n == 0:
			continue
		case n > maxRows:
			return fmt.Errorf("%s:%d: more than %d rows", file, line, maxRows)
		}
		r := make(row, len(header))
		for i, name := range header {
			if err := plainField(fields[i]); err != nil {
				return fmt.Errorf("%s:%d: %s: %w", file, line, name, err)
			}
			r[name] = fields[i]
		}
		if first, again := seen[strings.Join(fields, "\x00")]; again {
			return fmt.Errorf("%s:%d: the row of line %d again", file, line, first)
		}
		seen[strings.Join(fields, "\x00")] = line
		if err := each(r); err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
}

// plainField refuses what could play tricks on a terminal, and what no row needs.
func plainField(s string) error {
	switch {
	case len(s) > maxField:
		return fmt.Errorf("longer than %d bytes", maxField)
	case strings.TrimSpace(s) != s:
		return errors.New("blanks at its ends")
	case strings.Count(s, "|") >= maxWords:
		return fmt.Errorf("more than %d words", maxWords)
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return errors.New("a control character")
	}
	return nil
}

// saidOf reads what every cell must have: an answer, its source and its date.
func (d *Data) saidOf(r row) (said, error) {
	s := said{r["answer"], r["how"], r["instead"], r["source"], r["date"]}
	switch {
	case !slices.Contains(Answers, s.answer):
		return s, fmt.Errorf("answer %q is not one of %s", s.answer, strings.Join(Answers, ", "))
	case s.answer == Partly && s.how == "":
		return s, errors.New("partly does not say how")
	}
	return s, d.cited(r)
}

// cited wants the source and the date of a row.
func (d *Data) cited(r row) error {
	if r["source"] == "" || r["date"] == "" {
		return errors.New("a row needs a source and a date")
	}
	if _, ok := d.sources[r["source"]]; !ok {
		return fmt.Errorf("source %q is not in source.csv", r["source"])
	}
	if _, err := time.Parse(time.DateOnly, r["date"]); err != nil {
		return fmt.Errorf("date %q is not a day like 2026-01-31", r["date"])
	}
	d.newest[r["source"]] = max(d.newest[r["source"]], r["date"])
	return nil
}

func (d *Data) readSource(r row) error {
	if r["id"] == "" || r["title"] == "" || r["where"] == "" {
		return errors.New("a source needs an id, a title and where it is")
	}
	if _, twice := d.sources[r["id"]]; twice {
		return fmt.Errorf("source %q is there twice", r["id"])
	}
	d.sources[r["id"]] = Source{r["id"], r["title"], r["where"]}
	return nil
}

func (d *Data) readFeature(r row) error {
	of := r.list("of")
	f := Feature{ID: r["id"], GPU: slices.Contains(of, "gpu"), NIC: slices.Contains(of, "nic"), What: r["what"], Instead: r["instead"]}
	if f.ID == "" || f.What == "" || len(of) == 0 || slices.ContainsFunc(of, func(s string) bool { return s != "gpu" && s != "nic" }) {
		return errors.New("a feature needs an id, what it is, and gpu or nic")
	}
	if d.Feature(f.ID) != nil {
		return fmt.Errorf("feature %q is there twice", f.ID)
	}
	d.Features = append(d.Features, f)
	d.featureAlso[f.ID] = r.list("also")
	return nil
}

// readName reads engines and quantisations.
func (d *Data) readName(into *[]Name) func(row) error {
	return func(r row) error {
		n := Name{r["id"], r.list("also"), r["title"] + r["what"]}
		if n.ID == "" || n.Title == "" {
			return errors.New("a name needs an id and what it is")
		}
		if known(*into, n.ID) {
			return fmt.Errorf("%q is there twice", n.ID)
		}
		*into = append(*into, n)
		return nil
	}
}

func (d *Data) readOS(r row) error {
	o := OS{Name{r["id"], r.list("also"), r["title"]}, r["distro"], r["version"]}
	if o.ID == "" || o.Title == "" || o.distro == "" {
		return errors.New("a system needs an id, a title and a distro")
	}
	if slices.ContainsFunc(d.OSes, func(x OS) bool { return x.ID == o.ID }) {
		return fmt.Errorf("%q is there twice", o.ID)
	}
	d.OSes = append(d.OSes, o)
	return nil
}

func (d *Data) readGPU(r row) error {
	if !slices.ContainsFunc(platform.GPUs, func(g platform.GPU) bool { return g.Match == r["gpu"] }) {
		return fmt.Errorf("GPU %q is not in internal/platform", r["gpu"])
	}
	if known(d.GPUs, r["gpu"]) {
		return fmt.Errorf("%q is there twice", r["gpu"])
	}
	d.GPUs = append(d.GPUs, Name{ID: r["gpu"], Also: r.list("also")})
	return nil
}

func (d *Data) readModel(r row) error {
	m := modelRule{r["match"], r["kind"], r["quant"]}
	switch {
	case m.match == "" || m.match != squash(m.match):
		return fmt.Errorf("match %q is not in lower case with - . and digits alone", m.match)
	case m.kind != "dense" && m.kind != "moe":
		return fmt.Errorf("kind %q is not one of dense, moe", m.kind)
	case m.quant != "" && !known(d.Quants, m.quant):
		return fmt.Errorf("quant %q is not in quant.csv", m.quant)
	case slices.ContainsFunc(d.models, func(o modelRule) bool { return o.match == m.match }):
		return fmt.Errorf("%q is there twice", m.match)
	}
	d.models = append(d.models, m)
	return d.cited(r)
}

func (d *Data) readGPUFeature(r row) error {
	return d.readRule(r, &d.features, func(f *Feature) bool { return f.GPU }, gpuWord)
}

func (d *Data) readCard(r row) error {
	return d.readRule(r, &d.cards, func(f *Feature) bool { return f.NIC }, d.nicWord)
}

func (d *Data) readRule(r row, into *[]featureRule, of func(*Feature) bool, word func(string) bool) error {
	s, err := d.saidOf(r)
	if err != nil {
		return err
	}
	if f := d.Feature(r["feature"]); f == nil || !of(f) {
		return fmt.Errorf("feature %q is not in feature.csv for this table", r["feature"])
	}
	rule := featureRule{s, r["feature"], r.list("on")}
	if err := words("on", rule.on, word); err != nil {
		return err
	}
	for _, o := range *into {
		if w := shared(o.on, rule.on); w != "" && o.feature == rule.feature {
			return fmt.Errorf("%s of %s was said before", rule.feature, w)
		}
	}
	*into = append(*into, rule)
	return nil
}

func (d *Data) readQuant(r row) error {
	s, err := d.saidOf(r)
	if err != nil {
		return err
	}
	rule := quantRule{s, r.list("engine"), r.list("quant"), r.list("on"), r["model"]}
	if err := words("engine", rule.engines, func(w string) bool { return known(d.Engines, w) }); err != nil {
		return err
	}
	if err := words("quant", rule.quants, func(w string) bool { return w == "*" || known(d.Quants, w) }); err != nil {
		return err
	}
	if err := words("on", rule.on, gpuWord); err != nil {
		return err
	}
	if rule.model != "dense" && rule.model != "moe" && rule.model != "any" {
		return fmt.Errorf("model %q is not one of dense, moe, any", rule.model)
	}
	if s.instead != "" && !known(d.Quants, s.instead) {
		return fmt.Errorf("instead %q is not in quant.csv", s.instead)
	}
	for _, o := range d.quants {
		if e, q, w := shared(o.engines, rule.engines), shared(o.quants, rule.quants), shared(o.on, rule.on); e != "" && q != "" && w != "" && o.model == rule.model {
			return fmt.Errorf("%s of %s on %s was said before", q, e, w)
		}
	}
	d.quants = append(d.quants, rule)
	return nil
}

func (d *Data) readKernel(r row) error {
	s, err := d.saidOf(r)
	if err != nil {
		return err
	}
	rule := kernelRule{said: s, on: r.list("on"), kernel: r["kernel"]}
	if err := words("on", rule.on, gpuWord); err != nil {
		return err
	}
	if !slices.Contains([]string{"fixed", "older", "ubuntu-older"}, rule.kernel) {
		return fmt.Errorf("kernel %q is not one of fixed, older, ubuntu-older", rule.kernel)
	}
	if r["rocm"] != "*" {
		var ok bool
		if rule.from, rule.to, ok = strings.Cut(r["rocm"], "-"); !ok || !isVersion(rule.from) || !isVersion(rule.to) {
			return fmt.Errorf("rocm %q is not a range like 7.2.1-7.2.4", r["rocm"])
		}
		if reached, _ := platform.AtLeast(rule.to, rule.from); !reached {
			return fmt.Errorf("rocm %q ends before it begins", r["rocm"])
		}
	}
	d.kernels = append(d.kernels, rule)
	return nil
}

func (d *Data) readSystem(r row) error {
	s, err := d.saidOf(r)
	if err != nil {
		return err
	}
	rule := systemRule{s, r.list("on"), r.list("os")}
	if err := words("on", rule.on, d.nicWord); err != nil {
		return err
	}
	if err := words("os", rule.oses, func(w string) bool { return slices.ContainsFunc(d.OSes, func(o OS) bool { return o.ID == w }) }); err != nil {
		return err
	}
	for _, o := range d.systems {
		if w, on := shared(o.on, rule.on), shared(o.oses, rule.oses); w != "" && on != "" {
			return fmt.Errorf("%s on %s was said before", w, on)
		}
	}
	d.systems = append(d.systems, rule)
	return nil
}

// words wants a list of known words, none twice.
func words(column string, list []string, ok func(string) bool) error {
	if len(list) == 0 {
		return fmt.Errorf("%s is empty", column)
	}
	for i, w := range list {
		if !ok(w) {
			return fmt.Errorf("%s: %q is not known", column, w)
		}
		if slices.Contains(list[:i], w) {
			return fmt.Errorf("%s: %q is there twice", column, w)
		}
	}
	return nil
}

// shared is a word that two lists have in common.
func shared(a, b []string) string {
	for _, w := range a {
		if slices.Contains(b, w) {
			return w
		}
	}
	return ""
}

// gpuWord: a GPU of platform, an architecture, a vendor, or * for all.
func gpuWord(w string) bool {
	return w == "*" || slices.ContainsFunc(platform.GPUs, func(g platform.GPU) bool { return g.Match == w || g.Arch == w || g.Vendor == w })
}

// nicWord: a NIC of platform by its name, or by its driver.
func (d *Data) nicWord(w string) bool {
	return slices.Contains(d.NICs, w) || slices.ContainsFunc(platform.NICs, func(n platform.NIC) bool { return n.Driver == w })
}

func known(names []Name, id string) bool {
	return slices.ContainsFunc(names, func(n Name) bool { return n.ID == id })
}

// isVersion: numbers with dots between, few and short.
func isVersion(s string) bool {
	parts := strings.Split(s, ".")
	if len(parts) > 4 || len(s) > 24 {
		return false
	}
	for _, p := range parts {
		if p == "" || len(p) > 6 || strings.ContainsFunc(p, func(r rune) bool { return r < '0' || r > '9' }) {
			return false
		}
	}
	return true
}

// Feature returns a feature by its id, or nil.
func (d *Data) Feature(id string) *Feature {
	for i := range d.Features {
		if d.Features[i].ID == id {
			return &d.Features[i]
		}
	}
	return nil
}
