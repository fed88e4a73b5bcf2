package host

import "strings"

// A Param is one word of the kernel's command line.
type Param struct {
	Key   string // "amdgpu.gttsize"
	Value string // "" for a bare word
	Bare  bool   // without "="
}

// A Cmdline is /proc/cmdline in its order.
type Cmdline []Param

// ParseCmdline reads /proc/cmdline. Double quotes hold a value together;
// what follows "--" is for init, not the kernel.
func ParseCmdline(b []byte) Cmdline {
	var out Cmdline
	for _, w := range kernelWords(strings.TrimSpace(string(b))) {
		if w == "--" {
			break
		}
		key, v, ok := strings.Cut(w, "=")
		if key = strings.Trim(key, `"`); key == "" {
			continue
		}
		out = append(out, Param{key, strings.Trim(v, `"`), !ok})
	}
	return out
}

// kernelWords splits at spaces outside double quotes, which is all that the
// kernel's next_arg knows about quoting.
func kernelWords(s string) []string {
	quoted := false
	return strings.FieldsFunc(s, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n' || r == '\r')
	})
}

// Get is the last value of a parameter, the one in effect. Dashes and
// underscores are alike, as for the kernel.
func (c Cmdline) Get(key string) (value string, ok bool) {
	for _, p := range c {
		if moduleName(p.Key) == moduleName(key) {
			value, ok = p.Value, true
		}
	}
	return value, ok
}
