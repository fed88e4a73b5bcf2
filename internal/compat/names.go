package compat

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

// maxName is the longest name that is looked for.
const maxName = 200

// UnknownName is a name that no table has, with those that are most like it.
type UnknownName struct {
	Kind, Name string
	Near       []string
}

func (e *UnknownName) Error() string {
	s := fmt.Sprintf("%s %q is not known", e.Kind, e.Name)
	if len(e.Name) > 60 {
		s = fmt.Sprintf("%s %q… is not known", e.Kind, strings.ToValidUTF8(e.Name[:60], "�"))
	}
	if len(e.Near) > 0 {
		s += "; did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return s
}

// FindGPU returns the GPUs that a person means: one by its name or alias, as the
// driver spells it or shortly ("4090"), or all of an architecture or vendor.
func (d *Data) FindGPU(s string) ([]string, error) {
	key := plainKey(s)
	var names []string
	for _, g := range platform.GPUs {
		names = append(names, g.Match)
	}
	if key == "all" || key == "*" {
		return names, nil
	}
	key = strings.TrimSuffix(key, "*") // as the tables write a family
	best, length := "", 0
	for _, g := range d.GPUs {
		for _, alias := range append([]string{g.ID}, g.Also...) {
			if k, open := strings.CutSuffix(plainKey(alias), "*"); k == key || open && strings.HasPrefix(key, k) && isModel(key[len(k):]) {
				if len(k) > length {
					best, length = g.ID, len(k)
				}
			}
		}
	}
	if best != "" {
		return []string{best}, nil
	}
	var group []string
	for _, g := range platform.GPUs {
		if plainKey(g.Arch) == key || plainKey(g.Vendor) == key {
			group = append(group, g.Match)
		}
	}
	if len(group) > 0 {
		return group, nil
	}
	// As the driver spells it: "NVIDIA H100 80GB HBM3", "Tesla T4".
	if g, ok := platform.GPUOf(&fact.GPU{Name: s, Arch: strings.ToLower(s)}); ok && len(s) < maxName {
		return []string{g.Match}, nil
	}
	var candidates []string
	for _, g := range d.GPUs {
		candidates = append(append(candidates, g.ID), g.Also...)
	}
	return nil, &UnknownName{"GPU", s, nearest(s, candidates)}
}

// isModel reports whether s can follow "RTX 40": digits, then "Ti", "SUPER", "D" or
// nothing.
func isModel(s string) bool {
	tail := strings.TrimLeft(s, "0123456789")
	for _, word := range []string{"ti", "super", "d", "laptopgpu"} {
		tail = strings.TrimPrefix(tail, word)
	}
	return tail == "" && s != ""
}

// FindEngine, FindQuant and FindOS return the id of what a person means.
func (d *Data) FindEngine(s string) (string, error) { return find("engine", s, d.Engines) }

// FindQuant returns the id of a quantisation.
func (d *Data) FindQuant(s string) (string, error) { return find("quantisation", s, d.Quants) }

// FindOS returns the id of an operating system.
func (d *Data) FindOS(s string) (string, error) {
	names := make([]Name, len(d.OSes))
	for i, o := range d.OSes {
		names[i] = o.Name
	}
	return find("operating system", s, names)
}

// FindFeature returns the id of a feature.
func (d *Data) FindFeature(s string) (string, error) {
	names := make([]Name, len(d.Features))
	for i, f := range d.Features {
		names[i] = Name{ID: f.ID, Also: d.featureAlso[f.ID]}
	}
	return find("feature", s, names)
}

// FindNIC returns the NICs that a person means: one by its name, all of a driver,
// or all whose name begins so ("E810").
func (d *Data) FindNIC(s string) ([]string, error) {
	key := plainKey(s)
	var exact, begin, driver []string
	for _, name := range d.NICs {
		n, k := nicRow(name), plainKey(name)
		switch short, _, _ := strings.Cut(name, " ("); {
		case k == key || plainKey(short) == key || plainKey(strings.Replace(name, "ConnectX-", "CX", 1)) == key:
			exact = append(exact, name)
		case len(key) >= 3 && strings.HasPrefix(k, key) && !strings.HasPrefix(key, "connectx") && !strings.HasPrefix(key, "bluefield"):
			begin = append(begin, name)
		}
		if plainKey(n.Driver) == key || plainKey(strings.TrimSuffix(n.Driver, "_ib")) == key || slices.ContainsFunc(n.Modules, func(m string) bool { return plainKey(m) == key }) {
			driver = append(driver, name)
		}
	}
	for _, list := range [][]string{exact, begin, driver} {
		if len(list) > 0 {
			return list, nil
		}
	}
	if key == "all" {
		return d.NICs, nil
	}
	return nil, &UnknownName{"NIC", s, nearest(s, d.NICs)}
}

func find(kind, s string, names []Name) (string, error) {
	key := plainKey(s)
	var candidates []string
	for _, n := range names {
		for _, alias := range append([]string{n.ID}, n.Also...) {
			if plainKey(alias) == key {
				return n.ID, nil
			}
			candidates = append(candidates, alias)
		}
	}
	near := nearest(s, candidates)
	// Of several spellings of one thing, the first is enough.
	seen := map[string]bool{}
	near = slices.DeleteFunc(near, func(alias string) bool {
		i := slices.IndexFunc(names, func(n Name) bool { return n.ID == alias || slices.Contains(n.Also, alias) })
		again := seen[names[i].ID]
		seen[names[i].ID] = true
		return again
	})
	return "", &UnknownName{kind, s, near}
}

// plainKey makes spellings comparable: "Q4_K_M" is "q4km", "DGX Spark" is "dgxspark".
func plainKey(s string) string {
	if len(s) > maxName {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '*':
			return r
		}
		return -1
	}, s)
}

// nearest returns up to three names that are most like s, none when nothing is.
func nearest(s string, names []string) []string {
	key := plainKey(s)
	type near struct {
		name string
		far  int
	}
	var all []near
	for _, n := range names {
		k := strings.TrimSuffix(plainKey(n), "*")
		far := distance(key, k)
		if key != "" && (strings.Contains(k, key) || strings.Contains(key, k) && len(k) > 2) {
			far = min(far, 1)
		}
		if far <= 1+len(key)/3 {
			all = append(all, near{n, far})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.far - b.far })
	var out []string
	for _, n := range all {
		if len(out) < 3 && !slices.Contains(out, n.name) {
			out = append(out, n.name)
		}
	}
	return out
}

// distance is how many letters must be changed, added or dropped to make one of
// the other (Levenshtein).
func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := prev[0]
		prev[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, prev[j] = prev[j], min(prev[j]+1, prev[j-1]+1, diagonal+cost)
		}
	}
	return prev[len(b)]
}

// OSOf returns the id of a host's operating system; "" when the table has none.
func (d *Data) OSOf(h fact.Host) string {
	for _, o := range d.OSes {
		same := h.Distro == o.distro || o.distro == "rhel" && slices.Contains(strings.Fields(h.Like), "rhel")
		if same && (o.version == "" || h.Version == o.version || strings.HasPrefix(h.Version, o.version+".")) {
			return o.ID
		}
	}
	return ""
}
