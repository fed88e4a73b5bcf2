package ibdev

import (
	"net/netip"
	"strings"

	"weft/internal/format/printed"
)

// PortGID is one row of show_gids.
type PortGID struct {
	Device string
	Port   int
	GID
	IPv4   netip.Addr // the zero Addr when the GID holds none
	Netdev string     // empty on InfiniBand
}

// ParseShowGIDs reads show_gids.
func ParseShowGIDs(b []byte) ([]PortGID, error) {
	var (
		f    faults
		rows []PortGID
	)
	for num, line := range printed.Lines(b) {
		if count, ok := strings.CutPrefix(line, "n_gids_found="); ok {
			if n, ok := printed.Number(count); !ok || n != len(rows) {
				f.Add(num, "n_gids_found: %.60q, but %d were read", count, len(rows))
			}
			continue
		}
		words := strings.Fields(line)
		if len(words) > 3 && words[0] == "DEV" || strings.HasPrefix(line, "---") {
			continue
		}
		if len(words) < 2 || !digits(words[1]) {
			f.Unknown(num, line, "show_gids")
			continue
		}
		row, ok := gidRow(words)
		if !ok {
			f.Add(num, "row: %.60q is not device, port, index, GID", line)
			continue
		}
		rows = append(rows, row)
	}
	return rows, f.Err(len(rows) > 0)
}

// gidRow tells the last three columns apart by what they hold: any may be empty.
func gidRow(words []string) (PortGID, bool) {
	if len(words) < 4 {
		return PortGID{}, false
	}
	port, ok1 := printed.Number(words[1])
	index, ok2 := printed.Number(words[2])
	addr, ok3 := gidAddr(words[3])
	if !ok1 || !ok2 || !ok3 {
		return PortGID{}, false
	}
	row := PortGID{Device: words[0], Port: port, GID: GID{Index: index, Addr: addr}}
	for _, w := range words[4:] {
		if t := gidType(w); t != "" && row.Type == "" {
			row.Type = t
		} else if a, err := netip.ParseAddr(w); err == nil && a.Is4() {
			row.IPv4 = a
		} else {
			row.Netdev = w
		}
	}
	return row, true
}
