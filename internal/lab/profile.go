package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Profile is a cluster that the lab can look like: how many machines, what they are
// called, and how their networks are configured.
type Profile struct {
	Name  string
	Like  string // whose cluster it is like
	Nodes int
	Host  string // name of a machine, before its number
	Rails int
	MTU   int
	Net   string // networkd, netplan or networkmanager
}

// Profiles lists every profile; the first is the one of a plain weft lab up.
var Profiles = []Profile{
	{"pair", "two machines and a cable", 2, "node", 1, 9000, "networkd"},
	{"spark2", "two DGX Sparks: two rails, netplan", 2, "spark", 2, 9000, "netplan"},
	{"strix4", "four Strix Halo mini PCs: one rail, NetworkManager", 4, "strix", 1, 9000, "networkmanager"},
	{"rack8", "eight servers of a rack: two rails, systemd-networkd", 8, "gpu", 2, 9000, "networkd"},
}

// Options is what a person can ask of up; zero is what the profile says.
type Options struct {
	Profile string
	Nodes   int
	Rails   int
	MTU     int
	Net     string
	Weft    string // the weft binary, which is the switch between the machines too
	YAML    string // where weft.yaml is written
}

// Jumbo frames end at 9216 in the switches that people buy; 1280 is the least that
// IPv6 allows.
const minMTU, maxMTU = 1280, 9216

// profile finds the profile and fits it to the options.
func (o Options) profile() (Profile, error) {
	i := slices.IndexFunc(Profiles, func(p Profile) bool { return p.Name == o.Profile || o.Profile == "" })
	if i < 0 {
		var names []string
		for _, p := range Profiles {
			names = append(names, p.Name)
		}
		return Profile{}, stop("weft lab up --help", "no profile is called %q: there are %s", o.Profile, strings.Join(names, ", "))
	}
	p := Profiles[i]
	set := func(v *int, to int) {
		if to != 0 {
			*v = to
		}
	}
	set(&p.Nodes, o.Nodes)
	set(&p.Rails, o.Rails)
	set(&p.MTU, o.MTU)
	if o.Net != "" {
		p.Net = o.Net
	}
	_, known := nets[p.Net]
	switch {
	case p.Nodes < 2 || p.Nodes > 8:
		return p, stop("weft lab up --help", "a lab has 2 to 8 machines, not %d", p.Nodes)
	case p.Rails < 1 || p.Rails > 2:
		return p, stop("weft lab up --help", "a machine has 1 or 2 rails, not %d", p.Rails)
	case p.MTU < minMTU || p.MTU > maxMTU:
		return p, stop("weft lab up --help", "an MTU is %d to %d, not %d", minMTU, maxMTU, p.MTU)
	case !known:
		return p, stop("weft lab up --help", "a network is configured by %s, not by %q", strings.Join(slices.Sorted(maps.Keys(nets)), ", "), p.Net)
	}
	return p, nil
}

// nodes names the machines and gives each its number.
func (p Profile) nodes() (nodes []Node) {
	for i := range p.Nodes {
		nodes = append(nodes, Node{Name: fmt.Sprintf("%s%d", p.Host, i+1), ID: i + 1})
	}
	return nodes
}

func railName(r int) string            { return fmt.Sprintf("rail%d", r) }
func railAddress(r int, n Node) string { return fmt.Sprintf("10.20.%d.%d", r, n.ID) }
