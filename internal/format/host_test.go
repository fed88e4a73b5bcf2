package format

import (
	"encoding/json"
	"testing"

	"weft/internal/dump"
	"weft/internal/fact"
)

func TestReadBoot(t *testing.T) {
	const id = "5d0f8f0e-3c1c-4c8e-9a57-0b2f6f1f7d21"
	for name, c := range map[string]struct {
		files  map[string]string
		boot   string
		uptime fact.Val[float64]
	}{
		"both":         {map[string]string{"sys/kernel/random/boot_id": id + "\n", "uptime": "13234.42 51234.12\n"}, id, fact.Some(13234.42)},
		"neither":      {nil, "", fact.Val[float64]{}},
		"just booted":  {map[string]string{"uptime": "0.00 0.00\n"}, "", fact.Some(0.0)},
		"one number":   {map[string]string{"uptime": "7"}, "", fact.Some(7.0)},
		"no number":    {map[string]string{"uptime": "up 3 days\n"}, "", fact.Val[float64]{}},
		"nothing":      {map[string]string{"uptime": "\n", "sys/kernel/random/boot_id": "\n"}, "", fact.Val[float64]{}},
		"not a number": {map[string]string{"uptime": "NaN 1\n"}, "", fact.Val[float64]{}},
		"no end":       {map[string]string{"uptime": "1e999 1\n"}, "", fact.Val[float64]{}},
		"infinite":     {map[string]string{"uptime": "-Inf 1\n"}, "", fact.Val[float64]{}},
	} {
		d := dump.NewNode("n1")
		for file, text := range c.files {
			d.Text["/proc/"+file] = text
		}
		if h := Node(d).Host; h.BootID != c.boot || h.Uptime != c.uptime {
			t.Errorf("%s: got %q and %v, want %q and %v", name, h.BootID, h.Uptime, c.boot, c.uptime)
		}
	}
}

// A boot_id names a machine as long as it runs, so it is hidden where addresses are;
// whether a node was booted between two looks can still be told.
func TestBootIsRedacted(t *testing.T) {
	boot := func(id string) string {
		d := dump.NewNode("n1")
		d.Text["/proc/sys/kernel/random/boot_id"] = id + "\n"
		r := dump.Redact(&dump.Dump{Nodes: []*dump.Node{d}}, []byte("key"))
		return Facts(r).Nodes[0].Host.BootID
	}
	const a, b = "5d0f8f0e-3c1c-4c8e-9a57-0b2f6f1f7d21", "0c6d3f9a-8a55-4e0b-b1a2-6f1d2f0f9e77"
	one, again, other := boot(a), boot(a), boot(b)
	if one == a || one == other || one != again || len(one) != len(a) {
		t.Errorf("%s became %s, then %s; %s became %s", a, one, again, b, other)
	}
}

// Whatever a node says the time is, its facts can be written.
func TestOddTimesAreUnknown(t *testing.T) {
	for _, c := range []struct {
		node, asked string
		skew        fact.Val[float64]
	}{
		{"1000.5\n", "1000 1001\n", fact.Some(0.0)},
		{"-3\n", "1000 1001\n", fact.Some(-1003.5)},
		{"NaN\n", "1000 1001\n", fact.Val[float64]{}},
		{"1000\n", "1000 +Inf\n", fact.Val[float64]{}},
		{"1000\n", "-1e308 1e308\n", fact.Val[float64]{}},
		{"1000\n", "1001 1000\n", fact.Val[float64]{}},
		{"1000\n", "1000\n", fact.Val[float64]{}},
	} {
		d := dump.NewNode("n1")
		d.Text[DateKey], d.Text[ClockKey] = c.node, c.asked
		n := Node(d)
		if n.Host.ClockSkew != c.skew {
			t.Errorf("%q in %q: got %v, want %v", c.node, c.asked, n.Host.ClockSkew, c.skew)
		}
		if _, err := json.Marshal(n); err != nil {
			t.Errorf("%q in %q: %v", c.node, c.asked, err)
		}
	}
}
