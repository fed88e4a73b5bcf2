package check

import (
	"fmt"
	"strings"

	"weft/internal/fact"
)

var portTemp = Check{
	ID:    "port.temp",
	Title: "Cards and cable modules are cool and raise no alarm",
	None:  "no card and no cable module tells its temperature",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if f, ok := judgePortTemp(n, p); ok {
				out = append(out, f)
			}
		}
		return out
	},
}

const (
	// A card protects itself at its own limit by slowing down or dropping the link.
	// Ten degrees below it is our margin for a warmer afternoon.
	cardMargin = 10.0
	// Warn and fail temperatures of cable modules: sichek (research/anchors.md, table D).
	moduleWarm, moduleHot = 65.0, 75.0
)

func judgePortTemp(n *fact.Node, p *fact.Port) (f Finding, ok bool) {
	f.Subject = on(n, p)
	card, cardOK := p.Temp.Get()
	limit, limitOK := p.TempMax.Get()
	cardOK = cardOK && limitOK && limit > 0 // without a limit a temperature says nothing
	var module float64
	var moduleOK bool
	if p.Module != nil {
		module, moduleOK = p.Module.Temp.Get()
		ok = len(p.Module.Alarms) > 0
	}
	status := func(s Status, got, want, why string, fix ...string) {
		f.Status, f.Got, f.Want, f.Why, f.Fix = s, got, want, why, fix
	}
	const air = "give the card airflow: a fan over it, or a slot in the server's air stream"
	switch {
	case cardOK && card >= limit:
		status(Fail, tempWords("card", card), "under "+tempWords("", limit), "the card is at its limit, where it slows down or drops the link", air, "sensors")
	case moduleOK && module >= moduleHot:
		status(Fail, tempWords("module", module), "under "+tempWords("", moduleHot), "a module this hot makes bit errors and ages fast", air, "sudo ethtool -m "+p.Netdev)
	case cardOK && card >= limit-cardMargin:
		status(Warn, tempWords("card", card), "under "+tempWords("", limit-cardMargin), "the card is close to the limit where it slows down or drops the link", air, "sensors")
	case moduleOK && module >= moduleWarm:
		status(Warn, tempWords("module", module), "under "+tempWords("", moduleWarm), "a warm module makes bit errors", air, "sudo ethtool -m "+p.Netdev)
	case ok:
		status(Warn, strings.Join(p.Module.Alarms, ", "), "no alarm", "the cable module itself says that something is out of range", "clean and reseat the module, then replace it", "sudo ethtool -m "+p.Netdev)
	case cardOK:
		f.Got = tempWords("card", card)
	case moduleOK:
		f.Got = tempWords("module", module)
	}
	return f, ok || cardOK || moduleOK
}

// tempWords writes "card 52 °C".
func tempWords(what string, t float64) string {
	return strings.TrimSpace(fmt.Sprintf("%s %.0f °C", what, t))
}
