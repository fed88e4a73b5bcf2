package host

import "strings"

// ParseModulesLoad reads a file of modules-load.d, or /etc/modules, and
// returns the modules it loads at boot, in the kernel's spelling.
func ParseModulesLoad(b []byte) []string {
	var all []string
	lines(b, func(_ int, line string) {
		if line[0] != ';' { // modules-load.d(5) allows both marks
			all = append(all, moduleName(strings.Fields(line)[0])) // /etc/modules allows options behind
		}
	})
	return all
}
