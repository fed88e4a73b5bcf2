package host

import (
	"errors"
	"fmt"
	"strings"
)

// A ModulePath is where modprobe would load a module from.
type ModulePath struct {
	Name    string // "mlx5_core"
	Path    string // "" when built into the kernel
	Kernel  string // "6.8.0-45-generic"
	Place   string // folder below that: "kernel", "updates", "extra", "weak-updates"
	Builtin bool
}

// InTree reports whether the module came with the kernel.
func (m ModulePath) InTree() bool { return m.Builtin || m.Place == "kernel" }

// ParseModinfo reads the paths that `modinfo -n` prints, one on a line.
// A built-in module tells no name: it is one without.
func ParseModinfo(b []byte) ([]ModulePath, error) {
	var (
		all  []ModulePath
		errs []error
	)
	lines(b, func(n int, line string) {
		if line == "(builtin)" {
			all = append(all, ModulePath{Builtin: true})
			return
		}
		_, rest, ok := strings.Cut(line, "/lib/modules/")
		f := strings.Split(rest, "/")
		file := f[len(f)-1]
		name, _, ko := strings.Cut(file, ".ko") // may be followed by .xz, .zst or .gz
		if !ok || !ko || len(f) < 3 || line[0] != '/' {
			errs = append(errs, fmt.Errorf("line %d: %.120q", n, line))
			return
		}
		all = append(all, ModulePath{Name: moduleName(name), Path: line, Kernel: f[0], Place: f[1]})
	})
	return all, errors.Join(errs...)
}
