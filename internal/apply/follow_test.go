package apply

import (
	"slices"
	"strings"
	"testing"
)

// TestFollower reads a node's words however they are cut, and takes nothing else for an
// answer.
func TestFollower(t *testing.T) {
	const said = `{"state":{"state":"new"}}
{"state":{"state":"open","act":2},"acts":3,"what":"net/rail0/mtu"}
{"state":{"state":"waiting","act":3},"acts":3}
`
	for size := 1; size < len(said); size += 7 {
		var heard []string
		f := &follower{say: func(s string) { heard = append(heard, s) }}
		for rest := said; rest != ""; {
			n := min(size, len(rest))
			if _, err := f.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if want := []string{"new", "2 of 3: net/rail0/mtu", "waiting"}; !slices.Equal(heard, want) || !f.began() || !f.done() {
			t.Fatalf("cut by %d: heard %q, began %v, done %v", size, heard, f.began(), f.done())
		}
	}
	for _, bad := range []string{"sh: weft: not found\n", "{\n", strings.Repeat("x", 2<<20)} {
		f := &follower{say: func(string) {}}
		if _, err := f.Write([]byte(bad)); err == nil || f.began() {
			t.Errorf("%.20q was taken for an answer: %v", bad, err)
		}
	}
	f := &follower{say: func(string) {}}
	if _, err := f.Write([]byte(`{"refused":"no","next":"weft plan","state":{}}` + "\n")); err != nil || f.began() || f.word.Refused != "no" {
		t.Errorf("a refusal: %+v, %v", f.word, err)
	}
}
