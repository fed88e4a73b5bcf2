package host

import (
	"errors"
	"fmt"
	"strings"
)

// A DKMS is a module that is built on the host, and for which kernel.
type DKMS struct {
	Module  string
	Version string
	Kernel  string // "" while only added
	Arch    string
	State   string // "added", "built", "installed", "broken"
	Note    string // "WARNING! Diff between built and installed module!"
}

// ParseDKMS reads `dkms status`: "module/version, kernel, arch: state", and
// "module, version, kernel, arch: state" of dkms before 3.0.
func ParseDKMS(b []byte) ([]DKMS, error) {
	var (
		all  []DKMS
		errs []error
	)
	lines(b, func(n int, line string) {
		// Before the state, so that a colon in a note is none.
		what, state, ok := strings.Cut(line, ": ")
		f := strings.Split(what, ", ")
		var d DKMS
		if module, version, slashed := strings.Cut(f[0], "/"); slashed {
			d.Module, d.Version, f = module, version, f[1:]
		} else if len(f) >= 2 {
			d.Module, d.Version, f = f[0], f[1], f[2:]
		}
		if !ok || d.Module == "" || len(f) > 2 {
			errs = append(errs, fmt.Errorf("line %d: %.120q is no dkms module", n, line))
			return
		}
		if len(f) > 0 {
			d.Kernel = f[0]
		}
		if len(f) > 1 {
			d.Arch = f[1]
		}
		d.State, d.Note, _ = strings.Cut(state, " ")
		d.Note = strings.TrimSpace(strings.NewReplacer("(", "", ")", "").Replace(d.Note))
		all = append(all, d)
	})
	return all, errors.Join(errs...)
}
