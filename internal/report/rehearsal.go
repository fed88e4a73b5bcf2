package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"weft/internal/rehearsal"
	"weft/internal/unit"
)

// Rehearsal is the answer of weft rehearse.
type Rehearsal struct {
	rehearsal.Rehearsal
	Next string `json:"next"`
}

// Text writes it for a person.
func (r Rehearsal) Text(w io.Writer, _ Options) error {
	var b strings.Builder
	b.WriteString(r.title() + "\n\n")
	if len(r.Tokens) > 0 {
		r.table(&b)
		for _, s := range r.says() {
			b.WriteString("\n" + s)
		}
		b.WriteString("\n")
	}
	for _, s := range r.Left {
		fmt.Fprintf(&b, "not rehearsed: %s\n", clean(s))
	}
	if r.Next != "" {
		fmt.Fprintf(&b, "next:\n    %s\n", clean(r.Next))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Rehearsal) title() string {
	what := "one all-reduce"
	if r.Model != "" {
		what = clean(r.Model)
	}
	s := fmt.Sprintf("%s on %d nodes, %s, batch %d", what, len(r.Nodes), r.Layout, r.Batch)
	if len(r.Tokens) > 0 && r.Model != "" {
		s += fmt.Sprintf(": %d exchanges a token", r.Tokens[0].Steps)
	}
	if r.Rail != "" {
		s += ", rail " + clean(r.Rail)
	}
	return s
}

// table has a line for each kind of exchange and for the token, a column for each transport.
func (r Rehearsal) table(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	line := func(what string, cell func(transport string) string) {
		fmt.Fprint(t, what)
		for _, over := range r.Tokens {
			fmt.Fprint(t, "\t"+cell(over.Transport))
		}
		fmt.Fprintln(t)
	}
	line("", strings.ToUpper)
	for _, s := range r.kinds() {
		line(fmt.Sprintf("%s of %s, %d of them", s.Kind, unit.Size(s.Bytes), s.Count), func(transport string) string {
			o := r.sync(transport, s)
			if o == nil {
				return "-"
			}
			out := took(o.Micros)
			if o.How != "" {
				out += ", " + o.How
			}
			return out
		})
	}
	line("a token", func(transport string) string { return took(r.over(transport).Micros) })
	line("tokens/s at most", func(transport string) string { return perSecond(r.over(transport).PerSecond) })
	line("carried by", func(transport string) string {
		if c := r.over(transport).Carried; c != "" {
			return clean(c)
		}
		return "?"
	})
	t.Flush()
}

// took is a median and the 99th of a hundred.
func took(m rehearsal.Micros) string {
	return fmt.Sprintf("%s (p99 %s)", micro(m.Median), micro(m.P99))
}

func micro(us float64) string {
	switch {
	case us < 10:
		return fmt.Sprintf("%.1f µs", us)
	case us < 1000:
		return fmt.Sprintf("%.0f µs", us)
	case us < 100_000:
		return fmt.Sprintf("%.1f ms", us/1000)
	case us < 1e6:
		return fmt.Sprintf("%.0f ms", us/1000)
	}
	return fmt.Sprintf("%.1f s", us/1e6)
}

func (r Rehearsal) over(transport string) *rehearsal.Tokens {
	for i, t := range r.Tokens {
		if t.Transport == transport {
			return &r.Tokens[i]
		}
	}
	return nil
}

// kinds are the exchanges of a token, whichever transport they were rehearsed over.
func (r Rehearsal) kinds() (all []rehearsal.Sync) {
	for _, s := range r.Syncs {
		known := false
		for _, k := range all {
			known = known || k.Kind == s.Kind && k.Bytes == s.Bytes && k.Nodes == s.Nodes
		}
		if !known {
			all = append(all, s)
		}
	}
	return all
}

func (r Rehearsal) sync(transport string, like rehearsal.Sync) *rehearsal.Sync {
	for i, s := range r.Syncs {
		if s.Transport == transport && s.Kind == like.Kind && s.Bytes == like.Bytes && s.Nodes == like.Nodes {
			return &r.Syncs[i]
		}
	}
	return nil
}

// says is what the numbers mean.
func (r Rehearsal) says() []string {
	var out []string
	if a, b := r.over("rdma"), r.over("tcp"); a != nil && b != nil && a.Micros.Median > 0 && b.Micros.Median > 0 {
		if ratio := b.Micros.Median / a.Micros.Median; ratio >= 1 {
			out = append(out, fmt.Sprintf("Over TCP a token's exchanges take %.1f times as long as over RDMA.", ratio))
		} else {
			out = append(out, fmt.Sprintf("Over RDMA a token's exchanges take %.1f times as long as over TCP: it gains nothing here. weft prove rdma tcp measures the path.", 1/ratio))
		}
	}
	return append(out, "No GPU computed anything: this is what the network alone takes, and so a ceiling.")
}
