package check

import (
	"cmp"
	"fmt"

	"weft/internal/fact"
	"weft/internal/topo"
	"weft/internal/unit"
)

// portFamily names the kind of card a port belongs to: the board where the card
// tells it (one PSID is one product), else the chip, else the driver.
func portFamily(n *fact.Node, p *fact.Port) string {
	if d := n.At(p.BDF); p.Board == "" && p.HCAType == "" && d != nil {
		return fmt.Sprintf("%04x:%04x", d.Vendor, d.Device)
	}
	return cmp.Or(p.Board, p.HCAType, p.Driver)
}

// peerKey is a set of ports that should run alike: one kind of card, and either
// one name on every node or one rail.
type peerKey struct{ family, layer, at string }

func peerKeys(pa topo.PortAt, rails map[*fact.Port]string) [2]peerKey {
	family := portFamily(pa.Node, pa.Port)
	byName := peerKey{family, pa.Port.Layer, pa.Port.Name}
	if rails[pa.Port] == "" {
		return [2]peerKey{byName, byName}
	}
	return [2]peerKey{byName, {family, pa.Port.Layer, rails[pa.Port]}}
}

// peerRates is what the peers of each port run at.
type peerRates struct {
	rails map[*fact.Port]string
	ports map[string][]topo.PortAt // rail → ports
	count map[peerKey]map[unit.Rate]int
	total map[peerKey]int
}

func ratesOf(ports []topo.PortAt) peerRates {
	pr := peerRates{make(map[*fact.Port]string, len(ports)), map[string][]topo.PortAt{}, map[peerKey]map[unit.Rate]int{}, map[peerKey]int{}}
	for _, r := range topo.Rails(ports) {
		pr.ports[r.Name] = r.Ports
		for _, pa := range r.Ports {
			pr.rails[pa.Port] = r.Name
		}
	}
	for _, pa := range ports {
		rate, ok := pa.Port.Rate.Get()
		if !ok || !pa.Port.Up() || pa.Port.Soft() {
			continue
		}
		for _, k := range peerKeys(pa, pr.rails) {
			rates := pr.count[k]
			if rates == nil {
				rates = map[unit.Rate]int{}
				pr.count[k] = rates
			}
			rates[rate]++
			pr.total[k]++
		}
	}
	return pr
}

// usual is the fastest rate that at least half of a port's peers run at: of two
// equal cards with different rates the slower one is the odd one.
func (pr peerRates) usual(keys [2]peerKey) (fastest unit.Rate) {
	for _, k := range keys {
		for rate, n := range pr.count[k] {
			if n*2 >= pr.total[k] {
				fastest = max(fastest, rate)
			}
		}
	}
	return fastest
}

// any reports whether a port has peers at all.
func (pr peerRates) any(keys [2]peerKey) bool {
	return pr.total[keys[0]] > 1 || pr.total[keys[1]] > 1
}

// rateCan is the fastest link mode of a port's netdev; 0 when it is not known.
func rateCan(n *fact.Node, p *fact.Port) unit.Rate {
	if d := n.Netdev(p.Netdev); d != nil && d.Kind == "" {
		return d.MaxSpeed.Or(0)
	}
	return 0
}

// limit is what the slowest card at the other side of a two-ended rail can do.
func (pr peerRates) limit(pa topo.PortAt) (slowest unit.Rate) {
	rail := pr.ports[pr.rails[pa.Port]]
	if len(rail) > 4 { // a direct cable has two ends, four with Spark twins
		return 0
	}
	for _, other := range rail {
		if can := rateCan(other.Node, other.Port); other.Node != pa.Node && can > 0 && (slowest == 0 || can < slowest) {
			slowest = can
		}
	}
	return slowest
}
