package format

import (
	"math"
	"slices"
	"strconv"
	"time"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/iproute"
	"weft/internal/unit"
)

// readQdiscs adds what packets wait in. A netdev that tc leaves out has none: older
// ones do not list noqueue.
func readQdiscs(d *dump.Node, n *fact.Node) {
	text, ok := d.Cmd("tc -j qdisc show")
	if !ok {
		return
	}
	qdiscs, err := iproute.ParseQdiscs([]byte(text))
	if err != nil {
		return // some may be missing: the root's kind is still known from ip addr
	}
	for _, dev := range n.Netdevs {
		dev.Qdiscs, dev.QdiscsRead = nil, true
	}
	at := map[string]*fact.Netdev{}
	for _, dev := range n.Netdevs {
		at[dev.Name] = dev
	}
	for _, q := range qdiscs {
		dev := at[q.Dev]
		if dev == nil {
			continue
		}
		v := fact.Qdisc{Kind: q.Kind, Does: netemWords(q.Netem), Again: q.Again}
		if q.Rate != nil && *q.Rate <= math.MaxInt64/8 {
			v.Rate = fact.Some(unit.Rate(*q.Rate * 8))
		}
		// One for each of a card's queues is one too many to remember.
		if !slices.ContainsFunc(dev.Qdiscs, func(o fact.Qdisc) bool {
			return o.Kind == v.Kind && o.Rate == v.Rate && slices.Equal(o.Does, v.Does)
		}) {
			dev.Qdiscs = append(dev.Qdiscs, v)
		}
	}
}

// netemWords says what the network emulator does, as one would tell tc to.
func netemWords(e *iproute.Netem) (words []string) {
	if e == nil {
		return nil
	}
	if e.Delay > 0 || e.Jitter > 0 {
		w := "delay " + seconds(e.Delay)
		if e.Jitter > 0 {
			w += " " + seconds(e.Jitter)
		}
		words = append(words, w)
	}
	for _, s := range []struct {
		word  string
		share float64
	}{{"loss", e.Loss}, {"duplicate", e.Duplicate}, {"corrupt", e.Corrupt}, {"reorder", e.Reorder}} {
		if s.share > 0 {
			words = append(words, s.word+" "+strconv.FormatFloat(s.share*100, 'g', 3, 64)+"%")
		}
	}
	if e.Bursts {
		words = append(words, "loss in bursts")
	}
	if e.Slots {
		words = append(words, "slot")
	}
	return words
}

// seconds writes "5ms" and "1.5s"; what no clock could mean is left as it is.
func seconds(s float64) string {
	if !(s >= 0 && s < 1e9) {
		return strconv.FormatFloat(s, 'g', 3, 64) + "s"
	}
	return time.Duration(math.Round(s * 1e9)).String()
}
