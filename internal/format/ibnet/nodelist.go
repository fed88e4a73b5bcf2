package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// ParseNodeList reads ibhosts, ibswitches, ibnodes and ibnetdiscover -l:
//
//	Switch	: 0x0000000000200001 ports 36 "sw2" base port 0 lid 3 lmc 0
func ParseNodeList(b []byte) ([]Node, error) {
	var (
		f     faults
		nodes []Node
	)
	for num, line := range printed.Lines(b) {
		head, rest, colon := strings.Cut(line, ":")
		n := Node{}
		switch strings.TrimSpace(head) {
		case "Ca":
			n.Kind = "CA"
		case "Switch":
			n.Kind = "SW"
		case "Rt":
			n.Kind = "RT"
		}
		if !colon || n.Kind == "" {
			f.other(num, line, "ibhosts")
			continue
		}
		name, tail, named := quoted(rest, '"')
		id, fields := word(rest[:len(rest)-len(tail)])
		g, isGUID := guid(id)
		ports, counted := after(fields, "ports")
		if !named || !isGUID || !counted {
			f.Add(num, "node: %.60q has no GUID, port count and name", line)
			continue
		}
		n.GUID, n.NumPorts, n.Name = guidText(g), ports, name
		n.LID, _ = after(tail, "lid")
		n.DeviceID, n.VendorID = value(fields, "devid"), value(fields, "vendid")
		nodes = append(nodes, n)
	}
	return nodes, f.Err(len(nodes) > 0)
}

// value returns the word after key, before the quoted name begins.
func value(s, key string) string {
	s, _, _ = strings.Cut(s, `"`)
	_, s, _ = strings.Cut(s, " "+key+" ")
	v, _ := word(s)
	return v
}
