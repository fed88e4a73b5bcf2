package check

import (
	"weft/internal/fact"
	"weft/internal/topo"
	"weft/internal/unit"
)

var portRate = Check{
	ID:    "port.rate",
	Title: "Ports run at the rate of their peers and of their own card",
	After: []string{"port.up"},
	Judge: func(c *Case) (out []Finding) {
		out = c.room()
		ports := c.DataPorts()
		peers := ratesOf(ports)
		for _, pa := range ports {
			if pa.Port.Up() && !pa.Port.Soft() {
				out = append(out, judgeRate(c, pa, peers))
			}
		}
		if len(out) == 0 {
			return skip("no hardware port is up, so none has a rate")
		}
		return out
	},
}

func judgeRate(c *Case, pa topo.PortAt, peers peerRates) Finding {
	n, p := pa.Node, pa.Port
	f := Finding{Subject: on(n, p)}
	rate, ok := p.Rate.Get()
	if !ok {
		f.Status, f.Why = Unknown, "the rate of the port was not read"
		return f
	}
	f.Got = rateWords(rate, p)
	can := rateCan(n, p)
	keys := peerKeys(pa, peers.rails)
	switch usual := peers.usual(keys); {
	case rate < usual:
		f.Status, f.Want = Fail, usual.String()
		f.Why = "ports like this one run faster: a bad cable, too long a DAC, or a switch port forced low"
		f.Fix = rateFix(rate)
	case can == 0 && !peers.any(keys):
		f.Status = Skip
		f.Why = "no equal port to compare with, and the card does not tell what it can do"
	case rate >= can:
	case peers.limit(pa) == rate:
		f.Got += ", all that the other end can do"
	case c.Want.Data.Switch == "none" && peers.limit(pa) > rate:
		f.Status, f.Want = Fail, can.String()
		f.Why = "both cards can do more, so the cable holds them back"
		f.Fix = []string{"replace the cable with one made for " + can.String()}
	default:
		f.Status, f.Want = Warn, can.String()
		f.Why = "the card can do more: the cable, the switch port or the other end is made for less"
		f.Fix = rateFix(rate)
	}
	return f
}

func rateFix(rate unit.Rate) []string {
	return []string{"swap the cable with one that works at full rate", "look whether the switch port is forced to " + rate.String()}
}

func rateWords(rate unit.Rate, p *fact.Port) string {
	if p.IB() && p.Width != "" && p.Speed != "" {
		return rate.String() + " (" + p.Width + " " + p.Speed + ")"
	}
	return rate.String()
}
