package ib

import "fmt"

// The smallest and largest fabric. ibsim holds more; a person does not need it.
const (
	MinHosts = 2
	MaxHosts = 2000
)

// shape is a fat tree of two levels, or two switches joined by cables: every leaf
// has at least as many links upwards as it has hosts.
type shape struct {
	hosts   int
	perLeaf int // hosts at one leaf; the last may have fewer
	leaves  int
	spines  int // 0: two leaves joined by cables
	uplinks int // links from one leaf to one spine, or between the two leaves
	radix   int // ports of a switch
}

// Ports of a switch: 40 as HDR switches have. Two levels of them carry 800 hosts
// without blocking, so larger fabrics have 64, as NDR switches do.
const (
	smallRadix = 40
	largeRadix = 64
)

func shapeOf(hosts int) (shape, error) {
	if hosts < MinHosts || hosts > MaxHosts {
		return shape{}, fmt.Errorf("%d hosts: want %d to %d", hosts, MinHosts, MaxHosts)
	}
	if hosts <= smallRadix {
		half := (hosts + 1) / 2
		return shape{hosts: hosts, perLeaf: half, leaves: 2, uplinks: half, radix: smallRadix}, nil
	}
	s := shape{hosts: hosts, radix: smallRadix}
	if hosts > smallRadix*smallRadix/2 {
		s.radix = largeRadix
	}
	s.leaves = (hosts + s.radix/2 - 1) / (s.radix / 2)
	s.perLeaf = (hosts + s.leaves - 1) / s.leaves
	for s.spines = 1; ; s.spines++ { // ends at the latest with one link to each of perLeaf spines
		s.uplinks = (s.perLeaf + s.spines - 1) / s.spines
		if s.uplinks*s.leaves <= s.radix && s.perLeaf+s.uplinks*s.spines <= s.radix {
			return s, nil
		}
	}
}

func (s shape) switches() int { return s.leaves + s.spines }

// links is how many cables there are: to hosts and between switches.
func (s shape) links() int { return s.hosts + s.trunks() }

func (s shape) trunks() int {
	if s.spines == 0 {
		return s.uplinks
	}
	return s.leaves * s.spines * s.uplinks
}

// words says what the fabric is made of.
func (s shape) words() string {
	return fmt.Sprintf("%d hosts, %d switches of %d ports, %d links at 4x HDR, no leaf oversubscribed", s.hosts, s.switches(), s.radix, s.links())
}

func hostName(i int) string  { return fmt.Sprintf("node%04d", i+1) }
func leafName(i int) string  { return fmt.Sprintf("leaf%03d", i+1) }
func spineName(i int) string { return fmt.Sprintf("spine%03d", i+1) }

// end is one end of a cable.
type end struct {
	name string
	port int
}

// link is one cable.
type link struct{ a, b end }

// cables lists every cable, hosts first, in a fixed order.
func (s shape) cables() []link {
	links := make([]link, 0, s.links())
	for h := range s.hosts {
		links = append(links, link{end{hostName(h), 1}, end{leafName(h / s.perLeaf), h%s.perLeaf + 1}})
	}
	if s.spines == 0 {
		for u := range s.uplinks {
			port := s.perLeaf + u + 1
			links = append(links, link{end{leafName(0), port}, end{leafName(1), port}})
		}
		return links
	}
	for l := range s.leaves {
		for sp := range s.spines {
			for u := range s.uplinks {
				links = append(links, link{end{leafName(l), s.perLeaf + sp*s.uplinks + u + 1}, end{spineName(sp), l*s.uplinks + u + 1}})
			}
		}
	}
	return links
}
