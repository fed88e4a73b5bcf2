package iproute

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Neigh is one entry of the neighbour (ARP or ND) table.
type Neigh struct {
	Host   string // from a shell prompt, "" when there was none
	IP     netip.Addr
	Dev    string
	MAC    string   // "" when it is not resolved
	States []string // REACHABLE, STALE, FAILED, …
	Router bool
}

// Resolved reports whether the entry has a hardware address that may be used.
func (n Neigh) Resolved() bool {
	return n.MAC != "" && !slices.Contains(n.States, "FAILED") && !slices.Contains(n.States, "INCOMPLETE")
}

var neighStates = []string{"PERMANENT", "NOARP", "REACHABLE", "STALE", "NONE", "INCOMPLETE", "DELAY", "PROBE", "FAILED"}

// ParseNeigh reads `ip neigh`, with or without -j.
func ParseNeigh(b []byte) ([]Neigh, error) {
	if isJSON(b) {
		return neighJSON(b)
	}
	var out []Neigh
	var errs []error
	for _, ln := range lines(b) {
		if complaint(ln.text) {
			errs = append(errs, refused(ln))
			continue
		}
		f := strings.Fields(ln.text)
		ip, err := netip.ParseAddr(f[0])
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", ln.num, err))
			continue
		}
		n := Neigh{Host: ln.host, IP: ip, Dev: after(f, "dev"), MAC: after(f, "lladdr"), Router: slices.Contains(f[1:], "router")}
		for _, w := range f[1:] {
			if slices.Contains(neighStates, w) {
				n.States = append(n.States, w)
			}
		}
		out = append(out, n)
	}
	return out, errors.Join(errs...)
}

func neighJSON(b []byte) ([]Neigh, error) {
	var out []Neigh
	var errs []error
	err := elements(b, func(j struct {
		Dst    string   `json:"dst"`
		Dev    string   `json:"dev"`
		LLAddr string   `json:"lladdr"`
		State  []string `json:"state"`
		// ip prints null for a flag that is set (print_null), so presence counts.
		Router jsonPresent `json:"router"`
	}) {
		if j.Dst == "" {
			return
		}
		ip, err := netip.ParseAddr(j.Dst)
		if err != nil {
			errs = append(errs, fmt.Errorf("neighbour: %w", err))
			return
		}
		out = append(out, Neigh{IP: ip, Dev: j.Dev, MAC: j.LLAddr, States: j.State, Router: bool(j.Router)})
	})
	return out, errors.Join(err, errors.Join(errs...))
}

// jsonPresent is true for any value but false, null included.
type jsonPresent bool

func (p *jsonPresent) UnmarshalJSON(b []byte) error {
	*p = string(b) != "false"
	return nil
}
