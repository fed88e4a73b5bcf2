package check

import (
	"slices"

	"weft/internal/fact"
	"weft/internal/platform"
)

// card is the PCI function behind a data port.
type card struct {
	node *fact.Node
	port *fact.Port // the first data port on it
	dev  *fact.PCI  // nil when the facts do not hold it
}

// cards returns the PCI functions behind the data ports of a node, each once.
// Software devices have none. A virtual function stands for its physical one,
// because that is where the PCIe link and its settings are.
func (c *Case) cards(n *fact.Node) []card { return c.about(n).cards }

func findCards(n *fact.Node, data []*fact.Port) []card {
	var cards []card
	for _, p := range data {
		if p.BDF == "" || p.Soft() {
			continue
		}
		d := n.At(p.BDF)
		if d != nil && d.PhysFn != "" && n.At(d.PhysFn) != nil {
			d = n.At(d.PhysFn)
		}
		if d != nil && slices.ContainsFunc(cards, func(k card) bool { return k.dev == d }) {
			continue
		}
		cards = append(cards, card{n, p, d})
	}
	return cards
}

// hasRDMA reports whether a node has an RDMA port or a card that could have one.
func hasRDMA(n *fact.Node) bool {
	return len(n.Ports) > 0 || slices.ContainsFunc(n.PCI, func(d *fact.PCI) bool {
		_, known := platform.NICOf(d)
		return known
	})
}

const noRDMA = "no node has an RDMA port or card"

// bootArg is the command that adds a kernel parameter for good.
func bootArg(n *fact.Node, arg string) string {
	if n.Host.Debian() {
		return `sudo sed -i 's/^GRUB_CMDLINE_LINUX="/&` + arg + ` /' /etc/default/grub && sudo update-grub   # then reboot`
	}
	return `sudo grubby --update-kernel=ALL --args="` + arg + `"   # then reboot`
}
