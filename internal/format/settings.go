package format

import (
	"weft/internal/dump"
	"weft/internal/fact"
)

func readHost(d *dump.Node, n *fact.Node)     {}
func readSettings(d *dump.Node, n *fact.Node) {}
func readFirewall(d *dump.Node, n *fact.Node) {}
func readQoS(d *dump.Node, n *fact.Node)      {}
func readSoftware(d *dump.Node, n *fact.Node) {}
