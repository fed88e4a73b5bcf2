package format

import (
	"maps"
	"slices"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/spec"
)

// sysctlKey lists the kernel settings that a node was asked for, one a line, in the
// spelling of weft.yaml. It is in the dump so that a replay knows.
const sysctlKey = "/weft/sysctl"

// sysctlReader asks for the kernel settings that weft.yaml names.
func sysctlReader(want spec.Spec) Reader {
	r := Reader{Name: "sysctl", Why: "kernel settings that weft.yaml names", Read: func(*dump.Node, *fact.Node) {}}
	var list strings.Builder
	f := File{Dir: "/proc/sys"}
	for _, key := range slices.Sorted(maps.Keys(want.Sysctl)) {
		if spec.ValidSysctl(key) { // it becomes a word of a shell script
			f.Names = append(f.Names, strings.TrimPrefix(spec.SysctlFile(key), f.Dir+"/"))
			list.WriteString(key + "\n")
		}
	}
	if f.Names != nil {
		r.Files = []File{f}
		r.Given = map[string]string{sysctlKey: list.String()}
	}
	return r
}

// readSysctl reads the settings that were asked for. One that is not there is one that
// this kernel has not.
func readSysctl(d *dump.Node, s *fact.Settings) {
	list, ok := d.Get(sysctlKey)
	if !ok || d.Gap[CutKey] != "" {
		return
	}
	s.SysctlRead = true
	for line := range strings.Lines(list) {
		key := strings.TrimSpace(line)
		if text, ok := d.Get(spec.SysctlFile(key)); ok && key != "" {
			if s.Sysctl == nil {
				s.Sysctl = map[string]string{}
			}
			s.Sysctl[key] = spec.SysctlValue(text)
		}
	}
}
