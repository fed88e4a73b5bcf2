package format

import (
	"os/exec"
	"strings"
	"testing"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/spec"
)

// A name that resolves nowhere was looked up all the same.
func TestNamesThatResolveNowhere(t *testing.T) {
	want := spec.Spec{Nodes: []spec.Node{
		{Name: "weft-test-a", Data: []spec.DataPort{{Port: "m/1", Address: "10.0.0.1/24"}}},
		{Name: "weft-test-b.invalid", Data: []spec.DataPort{{Port: "m/1", Address: "10.0.0.2/24"}}}}}
	r := peersReader(want, "weft-test-a")
	ask := r.Cmds[len(r.Cmds)-1]
	out, err := exec.Command("sh", "-c", ask.Sh).Output()
	if err != nil || strings.TrimSpace(string(out)) != "looked" {
		t.Fatalf("%s: %q, %v", ask.Sh, out, err)
	}
	d := dump.NewNode("weft-test-a")
	for key, list := range r.Given {
		d.Text[key] = list
	}
	for text, read := range map[string]bool{"": false, string(out): true} {
		n := &fact.Node{}
		if delete(d.Text, "$ "+ask.Run); text != "" {
			d.Text["$ "+ask.Run] = text
		}
		readPeers(d, n)
		if len(n.Peers) != 1 || n.Peers[0].ResolvesRead != read || len(n.Peers[0].Resolves) != 0 {
			t.Errorf("%q: %+v, want read %v", text, n.Peers, read)
		}
	}
}
