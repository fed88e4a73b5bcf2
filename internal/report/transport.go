package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/nodeset"
	"weft/internal/transport"
)

// Transport is the answer of weft nccl.
type Transport struct {
	Source string `json:"source"`
	transport.Verdict
}

// Text writes it for a person: the table, what is wrong, and the next command.
// ranks asks for a row per rank instead of folded ones.
func (t Transport) Text(w io.Writer, o Options, ranks bool) error {
	var b strings.Builder
	b.WriteString(clean(t.title()) + "\n")
	rows := t.rows()
	if ranks {
		rows = t.rankRows()
	}
	if len(rows) > 1 {
		b.WriteString("\n")
		more := len(rows) - 1 - maxRows
		if more > 0 && !ranks {
			rows = rows[:1+maxRows]
		}
		if err := Table(&b, rows); err != nil {
			return err
		}
		if more > 0 && !ranks {
			fmt.Fprintf(&b, "… and %d more: --json\n", more)
		}
	}
	t.findings(&b, o)
	fmt.Fprintf(&b, "\n%s: %s; %s: %s\n", clean(t.Source), plural(t.Lines, "line"), clean(t.expected()), counts(t.Counts))
	for _, what := range slices.Sorted(maps.Keys(t.Over)) {
		fmt.Fprintf(&b, "left out, because there are too many: %d %s\n", t.Over[what], what)
	}
	if t.Next != "" {
		b.WriteString("next:\n    " + clean(t.Next) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxRows is how many rows, and how many findings, a person is shown.
const maxRows = 50

// title says whose log it is: "NCCL 2.27.6+cuda13.0, 16 ranks on 2 nodes: spark[1-2]".
func (t Transport) title() string {
	s := t.Library
	if len(t.Versions) > 0 {
		s += " " + strings.Join(t.Versions, " and ")
	}
	if t.Ranks > 0 {
		s += ", " + plural(t.Ranks, "rank")
		if t.Seen > 0 && t.Seen < t.Ranks {
			s += fmt.Sprintf(" (%d of them in this log)", t.Seen)
		}
	}
	if t.Nodes > 0 {
		s += " on " + plural(t.Nodes, "node")
	}
	if len(t.GIN) > 0 {
		s += ", GPUs may send by themselves (" + strings.Join(t.GIN, ", ") + ")"
	}
	if len(t.Hosts) > 0 {
		s += ": " + nodeset.Fold(t.Hosts)
	}
	return s
}

func (t Transport) expected() string {
	switch t.Expect.Want {
	case "rdma":
		return "RDMA expected, " + t.Expect.Why
	case "socket":
		return "sockets expected, " + t.Expect.Why
	case "any":
		return "any network expected, " + t.Expect.Why
	}
	return "what was expected is not known"
}

// rows is the folded table.
func (t Transport) rows() [][]string {
	several := false
	for _, r := range t.Rows {
		several = several || r.Comms > 1 || r.Size != t.Ranks
	}
	head := []string{"RANKS", "WHERE", "CHANNELS", "TRANSPORT", "GPUDIRECT", "SAID BY"}
	if several {
		head = append([]string{"COMMUNICATOR"}, head...)
	}
	rows := [][]string{head}
	for _, r := range t.Rows {
		channels := ""
		switch {
		case r.Most == 0:
		case r.Fewest == r.Most:
			channels = fmt.Sprint(r.Most)
		default:
			channels = fmt.Sprintf("%d-%d", r.Fewest, r.Most)
		}
		who := transport.FoldRanks(r.Ranks)
		if who == "" {
			who = nodeset.Fold(r.Hosts)
		}
		name := r.Transport
		if devices := nodeset.Fold(r.Devices); devices != "" {
			name += " " + devices
		}
		row := []string{dash(who), r.Where, dash(channels), name, dash(r.Direct), r.Basis}
		if several {
			size := "size not told"
			if r.Size > 0 {
				size = plural(r.Size, "rank")
			}
			if r.Comms > 1 {
				size = fmt.Sprintf("%d of %s", r.Comms, size)
			}
			row = append([]string{size}, row...)
		}
		rows = append(rows, row)
	}
	return rows
}

// rankRows is the table with a row for each rank and transport.
func (t Transport) rankRows() [][]string {
	rows := [][]string{{"COMMUNICATOR", "RANK", "HOST", "GPU", "WHERE", "CHANNELS", "TRANSPORT", "DEVICE", "GPUDIRECT", "PEERS", "SAID BY", "LINE"}}
	for i, c := range t.Comms {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("#%d", i+1)
		}
		for _, r := range c.Ranks {
			rank, dev := "", ""
			if r.Rank >= 0 {
				rank = fmt.Sprint(r.Rank)
			}
			if r.Dev >= 0 {
				dev = fmt.Sprint(r.Dev)
			}
			for _, u := range r.Uses {
				direct := ""
				if gdr, ok := u.GDR.Get(); ok {
					direct = map[bool]string{true: "yes", false: "no"}[gdr]
				}
				rows = append(rows, []string{id, dash(rank), dash(r.Host), dash(dev), u.Where, dash(transport.FoldRanks(u.Channels.List())), u.Transport,
					dash(u.Device), dash(direct), dash(transport.FoldRanks(u.Peers)), u.Basis, dash(u.At.String())})
			}
		}
	}
	return rows
}

// findings writes what was found, the loud ones alone unless all are asked for.
func (t Transport) findings(b *strings.Builder, o Options) {
	width := 0
	for _, f := range t.Findings {
		if o.All || loud(f.Status) {
			width = max(width, len(f.ID))
		}
	}
	shown := 0
	for _, f := range t.Findings {
		if !o.All && !loud(f.Status) {
			continue
		}
		if shown++; shown == 1 {
			b.WriteString("\n")
		}
		if shown > maxRows {
			continue
		}
		text := subject(f) + sentence(check.Finding{Got: f.Got, Want: f.Want, Why: f.Why})
		if len(f.Peers) > 0 {
			text += "; peers " + nodeset.Fold(f.Peers)
		}
		if f.At.Line > 0 {
			text += " [" + f.At.String() + "]"
		}
		fmt.Fprintf(b, "%s  %-*s  %s\n", paint(o.Colour, f.Status), width, f.ID, wrap(clean(strings.TrimSpace(text)), o.Width, 11+width))
		if loud(f.Status) {
			fixes(b, f.Fix, 11+width)
		}
	}
	if shown > maxRows {
		fmt.Fprintf(b, "… and %d more: --json\n", shown-maxRows)
	}
}

// subject says whose a finding is: "ranks 0-7 on gpu[1-2]".
func subject(f transport.Finding) string {
	s := ""
	if ranks := transport.FoldRanks(f.Ranks); ranks != "" {
		s = "ranks " + ranks
		if !strings.ContainsAny(ranks, ",-") {
			s = "rank " + ranks
		}
	}
	if hosts := nodeset.Fold(f.Hosts); hosts != "" {
		if s != "" {
			s += " on "
		}
		s += hosts
	}
	return s
}
