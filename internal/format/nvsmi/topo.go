package nvsmi

import (
	"errors"
	"fmt"
	"strings"
)

// A Topo is the matrix of `nvidia-smi topo -m` (how far apart things are) or
// `topo -p2p r` (whether one GPU may read another).
type Topo struct {
	Names []string          // columns in their order: GPU0, GPU1, NIC0 or mlx5_0
	Rows  []TopoRow         // rows in their order
	NICs  map[string]string // "NIC0" is "mlx5_0"; nil when no legend names them
}

// A TopoRow is one row. Affinities are as printed, "" when not told.
type TopoRow struct {
	Name         string
	Words        map[string]string // column to "X", "PIX", "NODE", "SYS", "NV18", "OK"
	CPUAffinity  string            // "0-31,64-95"
	NUMAAffinity string
	GPUNUMA      string // the NUMA node of the GPU's own memory
}

// Word is how a and b are connected, looked up either way: long outputs lose
// their last rows.
func (t Topo) Word(a, b string) (string, bool) {
	for _, r := range t.Rows {
		if w := r.Words[b]; r.Name == a && w != "" {
			return w, true
		}
	}
	for _, r := range t.Rows {
		if w := r.Words[a]; r.Name == b && w != "" {
			return w, true
		}
	}
	return "", false
}

// ParseTopo reads `nvidia-smi topo -m` and `nvidia-smi topo -p2p …`.
func ParseTopo(b []byte) (Topo, error) {
	var (
		t       Topo
		isName  map[string]bool
		columns []string // affinity columns after the names
		errs    []error
	)
	lines(b, func(n int, line string) {
		f := strings.Fields(line)
		if len(f) == 0 {
			return
		}
		if isName == nil {
			names, extra := topoHeader(f)
			if names == nil {
				return
			}
			isName = make(map[string]bool, len(names))
			for _, name := range names {
				if isName[name] || name == "X" {
					errs = append(errs, fmt.Errorf("line %d: a row before the header", n))
					isName = nil
					return
				}
				isName[name] = true
			}
			t.Names, columns = names, extra
			return
		}
		if nic, dev, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(nic, "NIC") && isName[nic] {
			if t.NICs == nil {
				t.NICs = map[string]string{}
			}
			t.NICs[nic] = strings.TrimSpace(dev)
			return
		}
		if isName[f[0]] {
			row := TopoRow{Name: f[0], Words: make(map[string]string, min(len(f), len(t.Names)))}
			cells := f[1:]
			for i, w := range cells[:min(len(cells), len(t.Names))] {
				row.Words[t.Names[i]] = w
			}
			if len(cells) < len(t.Names) {
				errs = append(errs, fmt.Errorf("line %d: %d words for %d columns", n, len(cells), len(t.Names)))
			} else {
				row.affinity(columns, cells[len(t.Names):])
			}
			t.Rows = append(t.Rows, row)
		}
	})
	if isName == nil && len(errs) == 0 {
		errs = append(errs, errors.New("no topology matrix"))
	}
	return t, errors.Join(errs...)
}

// topoHeader splits a header into the names and the affinity columns.
func topoHeader(f []string) (names, extra []string) {
	if num, ok := strings.CutPrefix(f[0], "GPU"); !ok || num == "" || strings.Trim(num, "0123456789") != "" {
		return nil, nil
	}
	for i := 0; i < len(f); i++ {
		two := strings.Join(f[i:min(i+2, len(f))], " ")
		switch {
		case two == "CPU Affinity" || two == "NUMA Affinity":
			extra = append(extra, two)
			i++
		case two == "GPU NUMA":
			extra = append(extra, "GPU NUMA ID")
			i += 2
		case len(extra) == 0:
			names = append(names, f[i])
		}
	}
	return names, extra
}

// affinity reads the values after the matrix. Blank cells leave no trace in
// the text, so that fewer values than columns cannot be told apart: unknown
// is better than the CPU list of another column.
func (r *TopoRow) affinity(columns, values []string) {
	if len(values) != len(columns) {
		return
	}
	for i, v := range values {
		if v == "N/A" {
			continue
		}
		switch columns[i] {
		case "CPU Affinity":
			r.CPUAffinity = v
		case "NUMA Affinity":
			r.NUMAAffinity = v
		case "GPU NUMA ID":
			r.GPUNUMA = v
		}
	}
}
