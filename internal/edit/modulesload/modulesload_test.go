package modulesload

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/format/host"
)

func TestAdd(t *testing.T) {
	for _, tt := range []struct{ text, module, want string }{
		{"", "ib_umad", header + "ib_umad\n"},
		{"a\n", "b", "a\nb\n"},
		{"a", "b", "a\nb\n"},
		{"ib-umad\n", "ib_umad", "ib-umad\n"},
		{"# b\n; b\n", "b", "# b\n; b\nb\n"},
	} {
		if got, err := Add(tt.text, tt.module); err != nil || got != tt.want {
			t.Errorf("%q and %s: %q, %v, want %q", tt.text, tt.module, got, err, tt.want)
		}
	}
	if got, err := Add("", "a\nb"); err == nil {
		t.Errorf("two lines became %q", got)
	}
}

// FuzzAdd: weft's own reader finds the module, and all that were there before.
func FuzzAdd(f *testing.F) {
	f.Add("a\n# c\nb", "x-y")
	f.Fuzz(func(t *testing.T, text, module string) {
		out, err := Add(text, module)
		if err != nil {
			return
		}
		before, after := host.ParseModulesLoad([]byte(text)), host.ParseModulesLoad([]byte(out))
		if !strings.HasPrefix(out, text) || len(after) < len(before) || !slices.Equal(before, after[:len(before)]) {
			t.Errorf("%q and %q became %q", text, module, out)
		}
		if !slices.Contains(after, strings.ReplaceAll(module, "-", "_")) {
			t.Errorf("%q does not load %q", out, module)
		}
		if again, err := Add(out, module); err != nil || again != out {
			t.Errorf("a second time %q, %v", again, err)
		}
	})
}
