package unit

import "testing"

func TestRateString(t *testing.T) {
	for _, c := range []struct {
		r    Rate
		want string
	}{
		{100 * Gbps, "100 Gb/s"},
		{31504 * Mbps, "31.5 Gb/s"},
		{2500 * Mbps, "2.5 Gb/s"},
		{940 * Mbps, "940 Mb/s"},
		{12, "12 b/s"},
	} {
		if got := c.r.String(); got != c.want {
			t.Errorf("Rate(%d) = %q, want %q", int64(c.r), got, c.want)
		}
	}
}

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Rate
		ok   bool
	}{
		{"200 Gb/sec (4X HDR)", 200 * Gbps, true},
		{"2.5 Gb/sec (1X SDR)", 2500 * Mbps, true},
		{"100g", 100 * Gbps, true},
		{"1000Mb/s", 1 * Gbps, true},
		{"Unknown!", 0, false},
		{"400", 0, false},
		{"", 0, false},
		{"99999999999999999 Gb/s", 0, false},
	} {
		got, err := ParseRate(c.in)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParseRate(%q) = %v, %v; want %v, ok %v", c.in, got, err, c.want, c.ok)
		}
	}
}

func TestSizeString(t *testing.T) {
	for _, c := range []struct {
		s    Size
		want string
	}{
		{64 * KiB, "64 KiB"},
		{8 * MiB, "8 MiB"},
		{121*GiB + 700*MiB, "121.7 GiB"},
		{12, "12 B"},
	} {
		if got := c.s.String(); got != c.want {
			t.Errorf("Size(%d) = %q, want %q", int64(c.s), got, c.want)
		}
	}
}
