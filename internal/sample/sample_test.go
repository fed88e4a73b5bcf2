package sample_test

import (
	"path"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/sample"
)

func healthy() map[string]*sample.Cluster {
	return map[string]*sample.Cluster{
		"RoCE":       sample.RoCE("n", 4),
		"InfiniBand": sample.InfiniBand("ib", 3),
		"Strix":      sample.Strix("strix", 4),
		"Sparks":     sample.Sparks("spark"),
	}
}

// A machine that is well must not be told that it is ill: nothing fails, warns or
// is unknown, and most checks find something to judge.
func TestHealthyClustersPassEveryCheck(t *testing.T) {
	for name, c := range healthy() {
		t.Run(name, func(t *testing.T) {
			kase := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
			passed := map[string]bool{}
			for _, f := range check.Run(check.All, kase) {
				switch f.Status {
				case check.Pass:
					passed[f.Check] = true
				case check.Skip:
				default:
					t.Errorf("%v %s %v: %s, want %s: %s", f.Status, f.Check, f.Subject, f.Got, f.Want, f.Why)
				}
			}
			if len(passed)*2 < len(check.All) {
				t.Errorf("%d of %d checks judged anything", len(passed), len(check.All))
			}
		})
	}
}

// What a sample answers, weft would have asked: every member belongs to a reader.
func TestNothingIsAnsweredThatIsNotAsked(t *testing.T) {
	for name, c := range healthy() {
		d := c.Dump()
		for _, n := range d.Nodes {
			readers := format.For(c.Want, n.Name)
			for key := range n.Text {
				if key != format.ClockKey && key != format.DateKey && !asked(readers, key, false) {
					t.Errorf("%s: %s answers %s, and no reader asks for it", name, n.Name, key)
				}
			}
			for key := range n.Link {
				if !asked(readers, key, true) {
					t.Errorf("%s: %s has the link %s, and no reader asks for it", name, n.Name, key)
				}
			}
		}
	}
}

func asked(readers []format.Reader, key string, link bool) bool {
	for _, r := range readers {
		if _, given := r.Given[key]; given {
			return true
		}
		for _, f := range r.Files {
			if f.Link == link && f.Covers(key) {
				return true
			}
		}
		for _, c := range r.Cmds {
			pattern := strings.ReplaceAll("$ "+c.Run, "{}", "*")
			if ok, _ := path.Match(pattern, key); ok {
				return true
			}
		}
	}
	return false
}

func TestSameClusterSameBytes(t *testing.T) {
	for name, c := range healthy() {
		first := string(c.Dump().Format())
		if again := string(c.Dump().Format()); first != again {
			t.Errorf("%s: the second dump of one cluster differs", name)
		}
		if again := string(healthy()[name].Dump().Format()); first != again {
			t.Errorf("%s: the dump of an equal cluster differs", name)
		}
		if _, err := dump.Parse([]byte(first)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
