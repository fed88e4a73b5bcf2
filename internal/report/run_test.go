package report

import (
	"strings"
	"testing"
)

func TestRunText(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  Run
		want string
	}{
		{"all well", Run{ID: "r", Undo: "weft undo r", After: map[string]int{"warn": 1, "pass": 40}, Nodes: []RunNode{{Node: "n1", OK: true, Took: 3}, {Node: "n2", OK: true, Took: 8.4}}},
			"changed  n[1-2]  (8 s)\nnow: 0 fail, 0 unknown, 1 warn, 40 pass\nto take it back:\n    weft undo r\n"},
		{"one refused", Run{ID: "r", Undo: "weft undo r", Nodes: []RunNode{{Node: "n1", OK: true}, {Node: "n2", Error: "/etc/hosts is not as the plan saw it", Next: "weft plan"}, {Node: "n3", Error: "not begun, because of n2"}}},
			"changed  n1  (0 s)\nnot changed  n2  /etc/hosts is not as the plan saw it\nnot changed  n3  not begun, because of n2\nnext:\n    weft plan\n"},
		{"an undo with something left", Run{ID: "u", Undoes: "r", Nodes: []RunNode{{Node: "n1", OK: true, Took: 2, Left: []string{"module/x is \"1\", was \"0\""}}}},
			"undone  n1  (2 s)\n  not as it was on n1: module/x is \"1\", was \"0\"\n"},
		{"worse than foreseen", Run{ID: "r", Undo: "weft undo r", Worse: []string{"roce.mtu of n1 is fail: mtu 1500"}, Nodes: []RunNode{{Node: "n1", OK: true}}},
			"changed  n1  (0 s)\nnot as foreseen: roce.mtu of n1 is fail: mtu 1500\nto take it back:\n    weft undo r\n"},
	} {
		var b strings.Builder
		if err := tt.run.Text(&b, Options{}); err != nil || b.String() != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, &b, tt.want)
		}
	}
	// What a node says is made safe to print.
	var b strings.Builder
	Run{Nodes: []RunNode{{Node: "n1", Error: "\x1b[2Jgone"}}}.Text(&b, Options{})
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
}
