package history

import (
	"testing"
	"time"
)

func TestGrown(t *testing.T) {
	for _, c := range []struct {
		name     string
		was, now uint64
		booted   bool
		by       uint64
		anew     bool
	}{
		{"it grew", 10, 15, false, 5, false},
		{"it stood still", 10, 10, false, 0, false},
		{"32 bits came round", 1<<32 - 10, 5, false, 15, false},
		{"48 bits came round", 1<<48 - 10, 5, false, 15, false},
		{"somebody reset it", 1000, 3, false, 3, true},
		{"a large one was reset", 1<<32 + 7, 3, false, 3, true},
		{"a 32-bit one was reset, not near its end", 1 << 31, 3, false, 3, true},
		{"the node booted, and it shows more than before", 10, 50, true, 50, true},
	} {
		if by, anew := Grown(c.was, c.now, c.booted); by != c.by || anew != c.anew {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, by, anew, c.by, c.anew)
		}
	}
}

func TestReturns(t *testing.T) {
	for _, c := range []struct {
		was, is bool
		downs   uint64
		want    int
	}{
		{true, true, 0, 0}, {true, true, 2, 2}, {true, false, 1, 0}, {true, false, 3, 2},
		{false, true, 0, 1}, {false, true, 1, 2}, {false, false, 0, 0}, {false, false, 2, 2},
		{true, false, 0, 0}, {true, true, 1 << 60, 1000},
	} {
		if got := Returns(c.was, c.is, c.downs); got != c.want {
			t.Errorf("up %v, then %v, %d downs between: got %d returns, want %d", c.was, c.is, c.downs, got, c.want)
		}
	}
}

var day = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return day.Add(d) }

func TestHealth(t *testing.T) {
	hours := func(hs ...int) (out []time.Time) {
		for _, h := range hs {
			out = append(out, at(time.Duration(h)*time.Hour))
		}
		return out
	}
	now := at(20 * time.Hour)
	for _, c := range []struct {
		name string
		past Past
		want Health
	}{
		{"never read", Past{}, HealthUnknown},
		{"never up", Past{Known: true, Since: at(0)}, HealthIdle},
		{"up for a day", Past{Known: true, Up: true, EverUp: true, Since: at(0)}, HealthUp},
		{"down for 10 s", Past{Known: true, EverUp: true, Since: now.Add(-10 * time.Second)}, HealthDown},
		{"down for 30 s", Past{Known: true, EverUp: true, Since: now.Add(-30 * time.Second)}, HealthDropped},
		{"back from a drop 9 min ago", Past{Known: true, Up: true, EverUp: true, Since: now.Add(-9 * time.Minute), Recovered: now.Add(-9 * time.Minute)}, HealthRecovering},
		{"back from a drop 10 min ago", Past{Known: true, Up: true, EverUp: true, Since: now.Add(-10 * time.Minute), Recovered: now.Add(-10 * time.Minute)}, HealthUp},
		{"three returns in 12 h", Past{Known: true, Up: true, EverUp: true, Since: at(19 * time.Hour), Returns: hours(9, 12, 19)}, HealthFlapping},
		{"three returns, the first 13 h ago", Past{Known: true, Up: true, EverUp: true, Since: at(19 * time.Hour), Returns: hours(7, 12, 19)}, HealthUp},
		{"flapping and down at the moment", Past{Known: true, EverUp: true, Since: now.Add(-time.Second), Returns: hours(9, 12, 19)}, HealthFlapping},
		{"flapping, and now dropped", Past{Known: true, EverUp: true, Since: now.Add(-time.Minute), Returns: hours(9, 12, 19)}, HealthDropped},
	} {
		if got := Usual.Health(c.past, now); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSettled(t *testing.T) {
	now := at(time.Hour)
	up := Past{Known: true, Up: true, EverUp: true, Since: at(0)}
	if !Usual.Settled(up, now, 30*time.Minute) {
		t.Error("up for an hour has not settled")
	}
	flapped := up
	flapped.Returns = []time.Time{at(50 * time.Minute)}
	if Usual.Settled(flapped, now, 30*time.Minute) {
		t.Error("it settled though it flapped ten minutes ago")
	}
	if Usual.Settled(Past{Up: true, Since: at(0)}, now, time.Minute) {
		t.Error("what is not known has settled")
	}
}

func TestGrowthOfAnHour(t *testing.T) {
	var g growth
	for i := range 90 {
		g.add(1, at(time.Duration(i)*time.Minute))
	}
	if n := g.hour(at(89 * time.Minute)); n != 60 {
		t.Errorf("got %d in the last hour, want 60", n)
	}
	if n := g.hour(at(119 * time.Minute)); n != 30 {
		t.Errorf("half an hour later: got %d, want 30", n)
	}
	if n := g.hour(at(5 * time.Hour)); n != 0 {
		t.Errorf("hours later: got %d, want 0", n)
	}
	g.add(1, at(time.Minute)) // the clock was set back
	if n := g.hour(at(time.Minute)); n != 1 {
		t.Errorf("after the clock was set back: got %d, want 1", n)
	}
}
