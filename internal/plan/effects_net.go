package plan

import (
	"fmt"
	"strconv"

	"weft/internal/fact"
)

var netEffects = []effect{
	{"net/*/mtu", func(n *fact.Node, name, value string) error {
		mtu, err := strconv.Atoi(value)
		d := n.Netdev(name)
		if err != nil || d == nil {
			return fmt.Errorf("%q is no MTU of a netdev", value)
		}
		d.MTU = fact.Some(mtu)
		return nil
	}},
}
