package iproute

import (
	"encoding/json"
	"regexp"
)

// Qdisc is one queueing discipline: what packets wait in before they are sent.
type Qdisc struct {
	Kind   string // "mq", "fq_codel", "netem", …
	Dev    string
	Parent string // "1:10"; "" at the root
	Root   bool
	Rate   *uint64 // of netem, tbf and cake: bytes per second; nil when not told or not limited
	Netem  *Netem  // nil for other kinds
	Again  string  // what `tc qdisc replace dev NETDEV` is told to make it again; "" when that is not sure
}

// Netem is what the network emulator does to packets. Shares are from 0 to 1.
type Netem struct {
	Delay, Jitter                     float64 // seconds
	Loss, Duplicate, Corrupt, Reorder float64
	Bursts                            bool // packets are lost by a model of bursts (loss state, loss gemodel)
	Slots                             bool // packets are held back and sent in slots
}

type jsonQdisc struct {
	Kind    string          `json:"kind"`
	Dev     string          `json:"dev"`
	Parent  string          `json:"parent"`
	Root    bool            `json:"root"`
	Options json.RawMessage `json:"options"`
}

// spoken finds options that tc wrote as text into its JSON, as it does for kinds
// that it has not learnt to write: hfsc's {default 1 } in iproute2 6.1.
var spoken = regexp.MustCompile(`"options": ?\{[^{}"]*\}`)

// ParseQdiscs reads `tc -j qdisc show`, which names the device in every element.
func ParseQdiscs(b []byte) ([]Qdisc, error) {
	var out []Qdisc
	err := elements(spoken.ReplaceAll(b, []byte(`"options":{}`)), func(x told[jsonQdisc]) {
		j := x.v
		if j.Kind == "" || j.Dev == "" {
			return
		}
		q := Qdisc{Kind: j.Kind, Dev: j.Dev, Parent: j.Parent, Root: j.Root, Again: qdiscAgain(x.raw)}
		switch j.Kind {
		case "netem":
			q.netem(j.Options)
		case "tbf":
			var o struct {
				Rate *uint64 `json:"rate"`
			}
			json.Unmarshal(j.Options, &o) // what does not fit was not told
			q.Rate = o.Rate
		case "cake":
			var o struct {
				Bandwidth any `json:"bandwidth"` // bytes per second, or "unlimited"
			}
			json.Unmarshal(j.Options, &o)
			if f, ok := o.Bandwidth.(float64); ok && f >= 0 && f < 1e18 {
				rate := uint64(f)
				q.Rate = &rate
			}
		}
		out = append(out, q)
	})
	return out, err
}

// netem reads the options of the network emulator (netem_print_opt in tc/q_netem.c).
// Each part is read by itself, so that one that does not fit leaves the others.
func (q *Qdisc) netem(options json.RawMessage) {
	q.Netem = &Netem{}
	var parts map[string]json.RawMessage
	json.Unmarshal(options, &parts)
	numbers := func(part string) map[string]float64 {
		var v map[string]float64
		json.Unmarshal(parts[part], &v)
		return v
	}
	delay := numbers("delay")
	q.Netem.Delay, q.Netem.Jitter = delay["delay"], delay["jitter"]
	q.Netem.Loss = numbers("loss-random")["loss"]
	q.Netem.Duplicate = numbers("duplicate")["duplicate"]
	q.Netem.Corrupt = numbers("corrupt")["corrupt"]
	q.Netem.Reorder = numbers("reorder")["reorder"]
	q.Netem.Bursts = parts["loss-state"] != nil || parts["loss-gemodel"] != nil
	q.Netem.Slots = parts["slot"] != nil
	if f := numbers("rate")["rate"]; f > 0 && f < 1e18 {
		rate := uint64(f)
		q.Rate = &rate
	}
}
