package host

import (
	"errors"
	"fmt"
	"strings"
)

// A Package is one asked about.
type Package struct {
	Name      string
	Version   string // "" when not installed
	Installed bool
}

// ParseDpkg reads dpkg-query -W -f '${Package}\t${Version}\t${db:Status-Status}\n'
// with its complaints about packages it never saw.
func ParseDpkg(b []byte) ([]Package, error) {
	var (
		all  []Package
		errs []error
	)
	lines(b, func(n int, line string) {
		if name, ok := strings.CutPrefix(line, "dpkg-query: no packages found matching "); ok {
			all = append(all, Package{Name: name})
			return
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			errs = append(errs, fmt.Errorf("line %d: %.120q is no package", n, line))
			return
		}
		p := Package{Name: f[0], Installed: f[2] == "installed"}
		if p.Installed {
			p.Version = f[1]
		}
		all = append(all, p)
	})
	return all, errors.Join(errs...)
}

// ParseRPM reads rpm -q --qf '%{NAME}\t%{VERSION}-%{RELEASE}\n' with its
// lines about packages that are not installed.
func ParseRPM(b []byte) ([]Package, error) {
	var (
		all  []Package
		errs []error
	)
	lines(b, func(n int, line string) {
		if rest, ok := strings.CutPrefix(line, "package "); ok {
			if name, ok := strings.CutSuffix(rest, " is not installed"); ok {
				all = append(all, Package{Name: name})
				return
			}
		}
		name, version, ok := strings.Cut(line, "\t")
		if !ok {
			errs = append(errs, fmt.Errorf("line %d: %.120q is no package", n, line))
			return
		}
		all = append(all, Package{name, version, true})
	})
	return all, errors.Join(errs...)
}
