package plan

import (
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

// mendShaping takes netem off a netdev; the kernel's own queue comes back. Only what tc
// tells whole can be made again, so all else is left to a person.
func mendShaping(d *draft, n *fact.Node, f check.Finding) error {
	_, dev, err := d.port(n, f)
	switch {
	case err != nil:
		return err
	case len(dev.Qdiscs) != 1 || dev.Qdiscs[0].Kind != "netem":
		return byHand("weft could not make it again exactly, so it takes nothing away here")
	case dev.Qdiscs[0].Again == "":
		return byHand("tc does not tell all of what this netem does, so weft could not make it again exactly")
	}
	if text := n.Settings.Files[dev.Config]; strings.Contains(text, "[NetworkEmulator]") || strings.Contains(text, "[tc]") {
		return byHand("%s sets it at every boot: change it there", dev.Config)
	}
	d.add(n, Step{
		What: "net/" + dev.Name + "/qdisc", From: dev.Qdiscs[0].Again, To: "the kernel's own",
		Do:    []string{sh("! tc qdisc show dev %s | grep -q '^qdisc netem [^ ]* root' || tc qdisc del dev %[1]s root", dev.Name)},
		Undo:  []string{sh("tc qdisc replace dev %s "+esc(words(dev.Qdiscs[0].Again)), dev.Name)},
		Shows: sh("tc qdisc show dev %s", dev.Name),
		Note:  "if it is there again after a boot, somebody sets it: see weft explain port.shaping",
	})
	return nil
}
