package design

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/topo"
	"weft/internal/unit"
)

// Card is the NIC of a data port, and what its slot lets through.
type Card struct {
	Name   string    `json:"name,omitempty"` // "" when only a rate was asked for
	Rate   unit.Rate `json:"rate"`           // of the port
	Layer  string    `json:"layer"`
	Slot   *Slot     `json:"slot"` // null when it was not said
	Link   *Slot     `json:"link"` // what slot and card agree on
	Gets   unit.Rate `json:"gets"` // about what RDMA reaches: the port's rate, or less by the slot
	Lines  []Line    `json:"arithmetic"`
	Note   string    `json:"note,omitempty"` // what a buyer wishes to have known
	Source string    `json:"source,omitempty"`
}

// models are the names of the cards that weft knows and can plan with.
func models() []string {
	var names []string
	for _, n := range platform.NICs {
		if !n.VF && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// cardOf reads --nic: a rate or a model.
func cardOf(s string) (Card, error) {
	if rate, layer, ok := portRate(s); ok {
		if !slices.Contains(portRates, rate) {
			return Card{}, bad("nic", s, "no port runs at %v: %s", rate, rateList())
		}
		return Card{Rate: rate, Layer: layer}, nil
	}
	want := plain(s)
	for _, n := range platform.NICs {
		if n.VF || plain(n.Name) != want || want == "" {
			continue
		}
		if n.Rate == 0 {
			return Card{}, bad("nic", s, "weft does not know how fast %s is: give its rate, like 100g", n.Name)
		}
		c := Card{Name: n.Name, Rate: n.Rate, Note: n.Note, Source: n.Source}
		if len(n.Layers) == 1 {
			c.Layer = n.Layers[0]
		}
		return c, nil
	}
	why := "neither a rate like 100g nor a card that weft knows"
	if near := nearest(s, models()); len(near) > 0 {
		why += "; near it: " + strings.Join(near, ", ")
	}
	return Card{}, bad("nic", s, "%s", why)
}

func rateList() string {
	var names []string
	for _, r := range portRates {
		names = append(names, fmt.Sprint(int64(r/unit.Gbps)))
	}
	return strings.Join(names, ", ") + " Gb/s"
}

// fit says what a card gets from its slot. A card that is faster than its slot is
// refused with the number it will get, unless that is accepted by name.
func (c *Card) fit(slot *Slot, accept bool) error {
	c.Gets = c.Rate
	if slot == nil {
		c.Lines = append(c.Lines, Line{"slot", "not said; " + v(c.Rate) + " of RDMA wants " + enough(c.Rate)})
		return nil
	}
	link := *slot
	limit := ""
	for _, k := range cards {
		if k.name != c.Name || k.link == (fact.Link{}) {
			continue
		}
		link.Link = fact.Link{GTs: min(k.link.GTs, slot.Link.GTs), Width: min(k.link.Width, slot.Link.Width)}
		if link != *slot {
			limit = fmt.Sprintf(" (%s is a %s card)", c.Name, pcie(k.link))
		}
	}
	c.Slot, c.Link = slot, &link
	raw := topo.Bandwidth(link.Link) * unit.Rate(link.Count)
	gets := topo.RDMARate(link.Link) * unit.Rate(link.Count)
	how := fmt.Sprintf("%v%s carries %s Gb/s after its line code; RDMA reaches about 85 %% of it: %s Gb/s × 0.85 = %s Gb/s", link, limit, num3(gb(raw)), num3(gb(raw)), num(gb(gets)))
	c.Lines = append(c.Lines, Line{"slot", how})
	if gets >= c.Rate {
		return nil
	}
	what := v(c.Rate) + " card"
	if c.Name != "" {
		what = c.Name + " of " + v(c.Rate)
	}
	if !accept {
		err := bad("slot", slot.String(), "a %s gets about %s Gb/s there, not %s\n%s%s carries %s Gb/s after its line code; RDMA reaches about 85 %% of it: × 0.85 = %s\n%s wants %s\n--nic %s fits this slot; --accept slot designs with the %s Gb/s",
			what, num(gb(gets)), num(gb(c.Rate)), link, limit, num3(gb(raw)), num(gb(gets)), v(c.Rate), enough(c.Rate), fits(gets), num(gb(gets)))
		err.(*Bad).Flag, err.(*Bad).To = "nic", fits(gets)
		return err
	}
	c.Gets = gets
	c.Lines = append(c.Lines, Line{"accepted", fmt.Sprintf("a %s in %v gets about %s Gb/s, not %s (--accept slot)", what, *slot, num(gb(gets)), num(gb(c.Rate)))})
	return nil
}

// enough lists the narrowest slot of each generation that carries a rate.
func enough(rate unit.Rate) string {
	var out []string
	for _, gts := range generations[2:] {
		for _, width := range []int{1, 2, 4, 8, 16} {
			if l := (fact.Link{GTs: gts, Width: width}); topo.RDMARate(l) >= rate {
				out = append(out, pcie(l))
				break
			}
		}
	}
	if len(out) == 0 {
		return "more than a slot of 16 lanes has"
	}
	return strings.Join(out, " or ")
}

// fits is the fastest port that a slot feeds.
func fits(gets unit.Rate) string {
	best := portRates[0]
	for _, r := range portRates {
		if r <= gets && r != 56*unit.Gbps {
			best = r
		}
	}
	return fmt.Sprintf("%dg", int64(best/unit.Gbps))
}

// slotRate is about what RDMA gets through a slot.
func slotRate(s Slot) unit.Rate { return topo.RDMARate(s.Link) * unit.Rate(s.Count) }
