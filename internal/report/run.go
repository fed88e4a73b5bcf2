package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/nodeset"
)

// Run is the answer of weft apply and weft undo: what became of every node.
type Run struct {
	ID     string         `json:"id"`
	Plan   string         `json:"plan,omitempty"`   // that was applied
	Undoes string         `json:"undoes,omitempty"` // the run that was undone
	Nodes  []RunNode      `json:"nodes"`
	After  map[string]int `json:"after,omitempty"` // findings of each status afterwards
	Worse  []string       `json:"worse,omitempty"` // what is not as foreseen
	Undo   string         `json:"undo,omitempty"`  // the command that takes it back
}

// RunNode is what became of one node.
type RunNode struct {
	Node  string   `json:"node"`
	OK    bool     `json:"ok"`
	State string   `json:"state,omitempty"` // kept, reverted, …; "" when it was never reached
	Left  []string `json:"left,omitempty"`  // what is not as it was, after an undo or a revert
	Error string   `json:"error,omitempty"`
	Next  string   `json:"next,omitempty"`
	Took  float64  `json:"took"` // seconds
}

// Text writes one line for the nodes that went well, one for each of the others, and
// what is left to do.
func (r Run) Text(w io.Writer, o Options) error {
	var b strings.Builder
	verb := "changed"
	if r.Undoes != "" {
		verb = "undone"
	}
	var well []string
	most := 0.0
	for _, n := range r.Nodes {
		if n.OK {
			well = append(well, n.Node)
			most = max(most, n.Took)
		}
	}
	if len(well) > 0 {
		fmt.Fprintf(&b, "%s  %s  (%.0f s)\n", verb, nodeset.Fold(well), most)
	}
	next := r.Undo
	for _, n := range r.Nodes {
		if !n.OK {
			fmt.Fprintf(&b, "not %s  %s  %s\n", verb, clean(n.Node), wrap(clean(n.Error), o.Width, 8+len(verb)+len(n.Node)))
			if n.Next != "" {
				next = clean(n.Next)
			}
		}
		for _, l := range n.Left {
			fmt.Fprintf(&b, "  not as it was on %s: %s\n", clean(n.Node), clean(l))
		}
	}
	for _, s := range r.Worse {
		fmt.Fprintf(&b, "not as foreseen: %s\n", wrap(clean(s), o.Width, 17))
	}
	if r.After != nil {
		var counts []string
		for _, s := range []string{"fail", "unknown", "warn", "pass"} {
			counts = append(counts, fmt.Sprintf("%d %s", r.After[s], s))
		}
		fmt.Fprintf(&b, "now: %s\n", strings.Join(counts, ", "))
	}
	switch {
	case len(well) > 0 && r.Undo != "" && next == r.Undo:
		fmt.Fprintf(&b, "to take it back:\n    %s\n", r.Undo)
	case next != "" && slices.ContainsFunc(r.Nodes, func(n RunNode) bool { return n.Next != "" }):
		fmt.Fprintf(&b, "next:\n    %s\n", next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
