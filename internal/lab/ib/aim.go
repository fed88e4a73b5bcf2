package ib

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// aim finds what a person means by a fault and a target, and what weft should say.
func (l *lab) aim(fault, target string) (Broken, error) {
	i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == fault })
	if i < 0 {
		return Broken{}, fmt.Errorf("%w: %q", ErrFault, fault)
	}
	f := Faults[i]
	switch {
	case f.Whole != "" && target != "":
		return Broken{}, fmt.Errorf("%s is about the whole fabric: it takes no target", fault)
	case f.Whole != "":
		return Broken{fault, "", f.Whole}, nil
	case target == "":
		target = hostName(1) // the first asks the fabric and has the subnet manager
	}
	e, host, err := l.locate(target)
	switch {
	case err != nil:
		return Broken{}, err
	case !host && f.Trunk == "":
		return Broken{}, fmt.Errorf("%s: %s is a switch, want a host", fault, e.name)
	case !host:
		return Broken{fault, e.name + "/" + strconv.Itoa(e.port), f.Trunk}, nil
	case !l.shape.names(e.name) && fault == "host-gone":
		return Broken{fault, e.name, ""}, nil
	case !l.shape.names(e.name):
		return Broken{fault, e.name, f.Trunk}, nil
	}
	return Broken{fault, e.name, f.Host}, nil
}

// locate finds the cable that a target names: a host, a switch (its first cable to
// another) or a port of a switch. A switch's port to a host is that host.
func (l *lab) locate(target string) (e end, host bool, err error) {
	if e, err = parseEnd(target); err != nil {
		return e, false, err
	}
	for i, c := range l.shape.cables() {
		host := i < l.shape.hosts
		for _, at := range []end{c.a, c.b} {
			if at.name != e.name || e.port != 0 && at.port != e.port || e.port == 0 && host && at != c.a {
				continue
			}
			if host {
				return c.a, true, nil
			}
			return at, false, nil
		}
	}
	return e, false, fmt.Errorf("%q is no host, switch or cabled port: want node0002, leaf001 or leaf001/%d", target, l.shape.perLeaf+1)
}

// names reports whether weft.yaml names a host.
func (s shape) names(host string) bool {
	for i := range s.listed() {
		if hostName(i) == host {
			return true
		}
	}
	return false
}

// parseEnd reads leaf001/21; without a port it is 0.
func parseEnd(s string) (end, error) {
	name, port, ok := strings.Cut(s, "/")
	if !ok {
		return end{name: name}, nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 {
		return end{}, fmt.Errorf("%q is no port: want NAME/PORT like leaf001/21", s)
	}
	return end{name, n}, nil
}
