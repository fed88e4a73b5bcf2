package check

import (
	"strconv"

	"weft/internal/fact"
	"weft/internal/topo"
	"weft/internal/unit"
)

// pathFallen returns the hop that runs below what both its ends can do and thereby
// below what the whole path could: a spare lane lost where another hop is the
// narrowest anyway costs nothing.
func pathFallen(hops []topo.Hop) (fallen topo.Hop, found bool) {
	var could unit.Rate
	for _, h := range hops {
		if b := topo.Bandwidth(h.Can); b > 0 && (could == 0 || b < could) {
			could = b
		}
	}
	for _, h := range hops {
		b := topo.Bandwidth(h.Cur)
		if b == 0 || b >= could || hopUnread(h) || b >= topo.Bandwidth(h.Can) {
			continue
		}
		if !found || b < topo.Bandwidth(fallen.Cur) {
			fallen, found = h, true
		}
	}
	return fallen, found
}

// hopUnread reports whether one end's capability is missing although the link runs
// below the other's: then the missing end may well be the reason.
func hopUnread(h topo.Hop) bool {
	known := topo.Bandwidth(h.Below.Max) > 0 && h.Above != nil && topo.Bandwidth(h.Above.Max) > 0
	return !known && topo.Bandwidth(h.Cur) < topo.Bandwidth(h.Can)
}

// pcieText writes a link the way lspci does.
func pcieText(l fact.Link) string {
	return strconv.FormatFloat(l.GTs, 'g', -1, 64) + " GT/s x" + strconv.Itoa(l.Width)
}

// hopText names both ends of a link.
func hopText(h topo.Hop) string {
	if h.Above == nil {
		return "above " + h.Below.BDF
	}
	return "from " + h.Below.BDF + " to " + h.Above.BDF
}
