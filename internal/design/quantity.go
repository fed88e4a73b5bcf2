package design

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
	"weft/internal/unit"
)

// rates that ports are sold at, by the names that people give them. InfiniBand's
// names say the layer, too.
var rateNames = map[string]struct {
	rate  unit.Rate
	layer string
}{
	"qdr": {40 * unit.Gbps, "InfiniBand"},
	"fdr": {56 * unit.Gbps, "InfiniBand"},
	"edr": {100 * unit.Gbps, "InfiniBand"},
	"hdr": {200 * unit.Gbps, "InfiniBand"},
	"ndr": {400 * unit.Gbps, "InfiniBand"},
	"xdr": {800 * unit.Gbps, "InfiniBand"},
}

// portRates are what a data port can run at.
var portRates = []unit.Rate{10 * unit.Gbps, 25 * unit.Gbps, 40 * unit.Gbps, 50 * unit.Gbps, 56 * unit.Gbps, 100 * unit.Gbps, 200 * unit.Gbps, 400 * unit.Gbps, 800 * unit.Gbps}

var rateShape = regexp.MustCompile(`^(\d{1,4})\s*(?:g|gb|gbe|gbps|gbit|gb/s|gbit/s)?$`)

// portRate reads "100g", "100", "100GbE", "200 Gb/s", "hdr". layer is "" where the
// name does not say.
func portRate(s string) (rate unit.Rate, layer string, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if n, found := rateNames[s]; found {
		return n.rate, n.layer, true
	}
	m := rateShape.FindStringSubmatch(s)
	if m == nil {
		return 0, "", false
	}
	n, _ := strconv.Atoi(m[1])
	return unit.Rate(n) * unit.Gbps, "", true
}

var amount = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]*)$`)

// flow reads what one GPU takes: bits with a small b, bytes with a large one.
func flow(field, s string) (unit.Rate, error) {
	m := amount.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, bad(field, s, "not a rate: want a number with Mb/s, Gb/s (bits) or MB/s, GB/s (bytes)")
	}
	f, _ := strconv.ParseFloat(m[1], 64)
	scale, ok := map[string]float64{"kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9}[m[2]]
	switch r := f * scale; {
	case !ok:
		return 0, bad(field, s, "unit %q is not one of kb/s, Mb/s, Gb/s (bits), kB/s, MB/s, GB/s (bytes)", m[2])
	case r < 1e3:
		return 0, bad(field, s, "a GPU that reads nothing needs no uplink: want at least 1 kb/s")
	case r > 800e9:
		return 0, bad(field, s, "more than 800 Gb/s for one GPU: no port carries that")
	default:
		return unit.Rate(math.Round(r)), nil
	}
}

// bytes reads "70B" parameters of two bytes each, or a size: "140GB", "1.5TB".
// Decimal, as disks and networks count.
func bytes(field, s string) (float64, error) {
	m := amount.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, bad(field, s, `not a size: want parameters like 70B, or bytes like 140GB`)
	}
	f, _ := strconv.ParseFloat(m[1], 64)
	scale, ok := map[string]float64{"M": 2e6, "B": 2e9, "b": 2e9, "T": 2e12, "MB": 1e6, "GB": 1e9, "TB": 1e12}[m[2]]
	switch n := f * scale; {
	case !ok:
		return 0, bad(field, s, "unit %q is not one of M, B, T (parameters of two bytes) or MB, GB, TB", m[2])
	case n < 1e6:
		return 0, bad(field, s, "less than 1 MB")
	case n > 1e15:
		return 0, bad(field, s, "more than 1000 TB: no such model is known")
	default:
		return n, nil
	}
}

// A Slot is what a NIC is put into.
type Slot struct {
	Count int       `json:"count"` // PCIe links that feed one port: 2 on a DGX Spark
	Link  fact.Link `json:"link"`
}

var (
	slotShape   = regexp.MustCompile(`^(?:(\d{1,2})\s*[x×]\s+)?(?:pci-?e\s*)?(?:gen\s*)?([1-6])(?:\.0)?\s*,?\s*[x×]\s*(\d{1,2})$`)
	generations = []float64{2.5, 5, 8, 16, 32, 64} // GT/s of PCIe 1 to 6
)

// slotOf reads "pcie3 x4", "PCIe 4.0 x16", "gen5 x8", "2x pcie5 x4", or a machine.
func slotOf(s string) (Slot, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, n := range slots {
		if text == n.name {
			text = n.slot
		}
	}
	m := slotShape.FindStringSubmatch(text)
	if m == nil {
		var names []string
		for _, n := range slots {
			names = append(names, n.name)
		}
		return Slot{}, bad("slot", s, `not a slot: want "pcie3 x4", "pcie4 x16", "2x pcie5 x4", or one of %s`, strings.Join(names, ", "))
	}
	count := 1
	if m[1] != "" {
		count, _ = strconv.Atoi(m[1])
	}
	gen, _ := strconv.Atoi(m[2])
	width, _ := strconv.Atoi(m[3])
	switch {
	case !slices.Contains([]int{1, 2, 4, 8, 16}, width):
		return Slot{}, bad("slot", s, "no slot has %d lanes: 1, 2, 4, 8 or 16", width)
	case count < 1 || count > 4:
		return Slot{}, bad("slot", s, "%d links for one port: 1 to 4", count)
	}
	return Slot{count, fact.Link{GTs: generations[gen-1], Width: width}}, nil
}

func (s Slot) String() string {
	text := pcie(s.Link)
	if s.Count > 1 {
		return strconv.Itoa(s.Count) + " × " + text
	}
	return text
}

// pcie writes a link as slots are labelled: "PCIe 3.0 x4".
func pcie(l fact.Link) string {
	gen := slices.Index(generations, l.GTs) + 1
	return "PCIe " + strconv.Itoa(gen) + ".0 x" + strconv.Itoa(l.Width)
}

// nearest returns up to three of the names that are most like s.
func nearest(s string, names []string) []string {
	s = plain(s)
	type scored struct {
		name string
		far  int
	}
	var all []scored
	for _, n := range names {
		far := distance(s, plain(n))
		if far <= 2+len(s)/3 || s != "" && strings.Contains(plain(n), s) {
			all = append(all, scored{n, far})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return a.far - b.far })
	var out []string
	for _, x := range all[:min(3, len(all))] {
		out = append(out, x.name)
	}
	return out
}

// plain keeps letters and digits, in lower case: "ConnectX-6 Dx" is "connectx6dx".
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, s)
}

// distance counts the letters to change, add or drop.
func distance(a, b string) int {
	if len(a) > 64 {
		a = a[:64]
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j]+cost, prev[j+1]+1, cur[j]+1)
		}
		prev = cur
	}
	return prev[len(b)]
}
