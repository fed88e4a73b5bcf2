package rocmsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Pair names two GPUs by the words rocm-smi uses: "GPU0", "GPU1".
type Pair [2]string

// A Topo is what `rocm-smi --showtopo` and its parts say.
type Topo struct {
	Names  []string
	Weight map[Pair]int    // the driver's distance; 0 to itself
	Hops   map[Pair]int    // links between them
	Link   map[Pair]string // "XGMI", "PCIE"
	NUMA   map[string]int  // NUMA node of each GPU
}

// ParseTopo reads `rocm-smi --showtopo`, --showtopoweight, --showtopohops and
// --showtopotype.
func ParseTopo(b []byte) (Topo, error) {
	var (
		t       Topo
		section string
		header  []string
		errs    []error
	)
	lines(b, func(n int, line string) {
		body := strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(body, "==="); ok {
			section, header = strings.Trim(title, "= "), nil
			return
		}
		f := strings.Fields(body)
		switch {
		case len(f) == 0:
		case strings.HasPrefix(f[0], "GPU["):
			gpu, v, ok := strings.Cut(body, ": (Topology) Numa Node: ")
			if !ok {
				return
			}
			node, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil {
				errs = append(errs, fmt.Errorf("line %d: %.120q is not a NUMA node", n, v))
				return
			}
			if t.NUMA == nil {
				t.NUMA = map[string]int{}
			}
			t.NUMA["GPU"+strings.Trim(strings.TrimSpace(gpu)[len("GPU"):], "[]")] = node
		case !strings.HasPrefix(f[0], "GPU"):
		case header == nil:
			header = f
			if t.Names == nil {
				t.Names = f
			}
		default:
			if err := t.row(section, header, f); err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			}
		}
	})
	if t.Names == nil && t.NUMA == nil && len(errs) == 0 {
		errs = append(errs, errors.New("no topology"))
	}
	return t, errors.Join(errs...)
}

func (t *Topo) row(section string, header, f []string) error {
	if len(f) != len(header)+1 {
		return fmt.Errorf("%d values for %d GPUs", len(f)-1, len(header))
	}
	for i, v := range f[1:] {
		if err := t.set(section, Pair{f[0], header[i]}, v); err != nil {
			return err
		}
	}
	return nil
}

// between reads "(Topology) Weight between DRM devices 0 and 1" of the JSON,
// which tells each pair once.
func (t *Topo) between(key, v string) error {
	key, ok := strings.CutPrefix(key, "(Topology) ")
	section, pair, ok1 := strings.Cut(key, " between DRM devices ")
	a, b, ok2 := strings.Cut(pair, " and ")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	a, b = "GPU"+a, "GPU"+b
	if err := t.set(section, Pair{a, b}, v); err != nil {
		return err
	}
	return t.set(section, Pair{b, a}, v)
}

func (t *Topo) set(section string, p Pair, v string) error {
	if absent(v) {
		return nil
	}
	if strings.HasPrefix(strings.ToLower(section), "link type") {
		if p[0] != p[1] { // printed as 0
			add(&t.Link, p, v)
		}
		return nil
	}
	into := map[string]*map[Pair]int{"Weight": &t.Weight, "Hops": &t.Hops}[strings.TrimSuffix(section, " between two GPUs")]
	if into == nil {
		return nil
	}
	k, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("%.120q is not a number", v)
	}
	add(into, p, k)
	return nil
}

func add[V any](m *map[Pair]V, p Pair, v V) {
	if *m == nil {
		*m = map[Pair]V{}
	}
	(*m)[p] = v
}
