package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// sysctlKey is a name as sysctl takes it: parts with dots between them, or with
// slashes where a part holds a dot, as net/ipv4/conf/eth0.100/rp_filter does.
var sysctlKey = regexp.MustCompile(`^[A-Za-z0-9_@:-]+([./][A-Za-z0-9_@:-]+)+$`)

// ValidSysctl reports whether a name is one of a kernel setting.
func ValidSysctl(key string) bool { return sysctlKey.MatchString(key) }

// SysctlFile is the file below /proc/sys of a setting. Where the first separator is a
// dot, dots and slashes change places (sysctl.d(5)).
func SysctlFile(key string) string {
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '.' {
		key = strings.NewReplacer(".", "/", "/", ".").Replace(key)
	}
	return "/proc/sys/" + key
}

// SysctlValue is a value with one space where the kernel writes tabs.
func SysctlValue(s string) string { return strings.Join(strings.Fields(s), " ") }

// sysctl checks the kernel settings: one name for each, and values of one line.
func (v *validator) sysctl(s *Spec) {
	files := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(s.Sysctl)) {
		at := fmt.Sprintf("$.sysctl.'%s'", key)
		value := s.Sysctl[key]
		file := SysctlFile(key)
		switch {
		case !ValidSysctl(key):
			v.wrong("$.sysctl", "%q is not a kernel setting like vm.swappiness", key)
			return // a path of it may mean anything
		case files[file] != "":
			v.wrong(at, "%q and %q are one setting", files[file], key)
		case SysctlValue(value) == "":
			v.wrong(at, "%s is empty: want a value, or leave the key out", key)
		case v.tabbed(at): // the YAML package reads 4096<tab>131072 as one number
			v.wrong(at, "a tab in the value of %s: write spaces", key)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }):
			v.wrong(at, "%q is not a value of one line", value)
		}
		files[file] = key
	}
}

// tabbed reports whether what stands at a path is a plain word with a tab in it.
func (v *validator) tabbed(path string) bool {
	t := v.token(path)
	return t != nil && strings.Contains(strings.TrimSpace(t.Origin), "\t") && t.Type != token.DoubleQuoteType && t.Type != token.SingleQuoteType
}
