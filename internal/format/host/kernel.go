package host

import (
	"fmt"
	"strconv"
	"strings"
)

// A Kernel is the version a release begins with.
type Kernel struct{ Major, Minor, Patch int }

// ParseKernel reads "6.17.4-200.fc43.x86_64". A missing patch level, as in
// "7.0-rc1", is 0.
func ParseKernel(release string) (Kernel, error) {
	var k Kernel
	release = strings.TrimSpace(release)
	rest := release
	for i, to := range []*int{&k.Major, &k.Minor, &k.Patch} {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil {
			if i == 2 {
				break
			}
			return Kernel{}, fmt.Errorf("%.120q is not a kernel release", release)
		}
		*to, rest = n, rest[digits:]
		if !strings.HasPrefix(rest, ".") {
			if i == 0 {
				return Kernel{}, fmt.Errorf("%.120q is not a kernel release", release)
			}
			break
		}
		rest = rest[1:]
	}
	return k, nil
}

// AtLeast reports whether k is that version or a later one.
func (k Kernel) AtLeast(major, minor, patch int) bool {
	if k.Major != major {
		return k.Major > major
	}
	if k.Minor != minor {
		return k.Minor > minor
	}
	return k.Patch >= patch
}

// KernelAtLeast is Kernel.AtLeast of a release. A release that makes no sense
// is not at least anything.
func KernelAtLeast(release string, major, minor, patch int) bool {
	k, err := ParseKernel(release)
	return err == nil && k.AtLeast(major, minor, patch)
}
