package check

import (
	"strings"

	"weft/internal/fact"
)

var ibWidth = Check{
	ID:    "ib.width",
	Title: "InfiniBand links run at full width and generation",
	After: []string{"port.up", "port.rate"},
	Judge: func(c *Case) (out []Finding) {
		ports := c.DataPorts()
		narrow := map[string][2]int{} // kind of card → ports with two lanes, all ports
		for _, pa := range ports {
			if pa.Port.IB() && pa.Port.Up() {
				k := portFamily(pa.Node, pa.Port)
				n := narrow[k]
				if n[1]++; ibLanes(pa.Port.Width) == 2 {
					n[0]++
				}
				narrow[k] = n
			}
		}
		for _, pa := range ports {
			if pa.Port.IB() && pa.Port.Up() {
				n := narrow[portFamily(pa.Node, pa.Port)]
				out = append(out, judgeIBWidth(pa.Node, pa.Port, n[1] > 1 && n[0] == n[1]))
			}
		}
		if len(out) == 0 {
			return skip("no InfiniBand link is up")
		}
		return out
	},
}

// judgeIBWidth wants four lanes. Two are right where a splitter cable or an HDR100
// or NDR200 card halves the port, and then all equal cards are like that.
func judgeIBWidth(n *fact.Node, p *fact.Port, allNarrow bool) Finding {
	f := Finding{Subject: on(n, p), Got: strings.TrimSpace(p.Width + " " + p.Speed)}
	gen := ibGen(p.Speed)
	fix := []string{"reseat the cable at both ends, then change it", "sudo iblinkinfo | grep -i " + n.Name}
	switch w := ibLanes(p.Width); {
	case w == 0:
		f.Status, f.Got, f.Why = Unknown, "", "the width of the link was not read"
	case w == 1:
		f.Status, f.Want, f.Fix = Fail, "4X", fix
		f.Why = "three of four lanes are dead, so the link carries a quarter: a bad cable or a dirty connector"
	case w == 2 && gen >= ibGen("HDR") && allNarrow:
		f.Got += ", as on all equal cards"
	case w == 2 && gen >= ibGen("HDR"):
		f.Status, f.Want, f.Fix = Warn, "4X", fix
		f.Why = "half of the lanes carry nothing, unless a splitter cable or a half-speed card does this by design"
	case w < 4:
		f.Status, f.Want, f.Fix = Fail, "4X", fix
		f.Why = "lanes are dead, so the link carries a part of what it could"
	case gen == ibGen("SDR") && p.Speed != "":
		f.Status, f.Want, f.Fix = Fail, "QDR or newer", fix
		f.Why = "links begin at SDR and step up; this one never did, so cable or switch port is bad"
	case gen == ibGen("DDR") && p.Speed != "":
		f.Status, f.Want, f.Fix = Warn, "QDR or newer", fix
		f.Why = "DDR is slower than any ConnectX card: right only behind a switch of that age"
	}
	return f
}

// ibLanes reads "4X" or "4x"; 0 is unknown.
func ibLanes(width string) int {
	return map[string]int{"1X": 1, "2X": 2, "4X": 4, "8X": 8, "12X": 12}[strings.ToUpper(width)]
}

// ibGen is the nominal Gb/s of one lane of a generation, by which generations can
// be compared (IBTA volume 2; FDR10 is a Mellanox rate just above QDR); 0 is unknown.
func ibGen(speed string) float64 {
	return map[string]float64{"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10.3, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}[speed]
}
