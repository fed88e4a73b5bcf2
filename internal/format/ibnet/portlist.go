package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// portList reads one line of ibnetdiscover -p after its first word:
//
//	134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'ib-i1l1s01' )
//	2052 37 0x506b4b03005c2740 4x ???                                    'ib-i4l1s01'
func (d *discovery) portList(num int, kind, rest string) {
	near, a, rest, ok := portListEnd(kind, rest)
	width, rest := word(rest)
	speed, rest := word(rest)
	if !ok || speed == "" {
		d.Add(num, "port: %.60q is not LID, port, GUID and rate", rest)
		return
	}
	if dash, after := word(rest); dash != "-" {
		if near.Name, _, ok = quoted(rest, '\''); !ok {
			d.Add(num, "port: %.60q names no node", rest)
			return
		}
		d.net.Unlinked = append(d.net.Unlinked, d.placed(near, a.guid))
		return
	} else {
		rest = after
	}
	kind, rest = word(rest)
	far, b, rest, ok := portListEnd(kind, rest)
	names, _, isQuoted := quoted(rest, '\'')
	nearName, farName, isPair := strings.Cut(names, "' - '")
	if !ok || !isQuoted || !isPair {
		d.Add(num, "port: %.60q does not name both ends", rest)
		return
	}
	near.Name, far.Name = nearName, farName
	link := Link{A: d.placed(near, a.guid), B: d.placed(far, b.guid)}
	d.rate(num, &link, width, speed)
	d.link(num, link, a, b)
}

// placed makes sure that the end's node is known.
func (d *discovery) placed(e End, id uint64) End {
	n := &d.net.Nodes[d.node(e.Kind, id, e.Name)]
	if n.LID == 0 {
		n.LID = e.LID
	}
	e.GUID = n.GUID
	if e.Kind == "CA" {
		e.PortGUID = n.GUID
	}
	return e
}

func portListEnd(kind, s string) (End, endKey, string, bool) {
	lidText, s := word(s)
	portText, s := word(s)
	guidText, s := word(s)
	lid, ok1 := printed.Number(lidText)
	port, ok2 := printed.Number(portText)
	id, ok3 := guid(guidText)
	ok4 := kind == "CA" || kind == "SW" || kind == "RT"
	return End{Kind: kind, Port: port, LID: lid}, endKey{id, port}, s, ok1 && ok2 && ok3 && ok4
}

// word takes the first word off s.
func word(s string) (first, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
