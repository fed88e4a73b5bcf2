package unit

import "testing"

func TestParseSize(t *testing.T) {
	for s, want := range map[string]Size{"16384": 16384, "16KiB": 16384, "16k": 16384, "1.5 MiB": 3 << 19, "2B": 2, "0": 0, "1GiB": 1 << 30, "1t": 1 << 40} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "KiB", "-1", "16 kB", "NaN", "Inf", "1e30", "16KiBs", "9999999T", "1K1"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q is taken as %d", s, got)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("16KiB")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := ParseSize(s); err == nil && (got < 0 || got > maxSize) {
			t.Errorf("%q is %d", s, got)
		}
	})
}
