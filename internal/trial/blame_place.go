package trial

import (
	"cmp"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

// plug is where a port is plugged in: a switch, and the port there.
type plug struct{ leaf, port string }

// place finds the rail and the switch of every end.
func (ss *sides) place() {
	ss.rails = map[End]string{}
	rails, _ := Rails(ss.c)
	for _, r := range rails {
		for _, e := range r.Ends {
			ss.rails[e] = r.Name
		}
	}
	ss.plugs = plugs(ss.c)
}

// plugs returns the switch that every port is plugged into, as LLDP or the InfiniBand
// fabric tell it. A port that a cable joins to another node has none.
func plugs(c *check.Case) map[End]plug {
	own := map[string]bool{"": true} // what the nodes call themselves
	for _, n := range c.Nodes {
		own[short(n.Name)], own[short(n.Host.Hostname)] = true, true
		for _, d := range n.Netdevs {
			own[strings.ToLower(d.MAC)] = true
		}
	}
	type guidPort struct {
		guid string
		port int
	}
	beyond := map[guidPort]fact.End{}
	if c.Fabric != nil {
		for _, l := range c.Fabric.Links {
			beyond[guidPort{guidDigits(l.A.GUID), l.A.Port}] = l.B
			beyond[guidPort{guidDigits(l.B.GUID), l.B.Port}] = l.A
		}
	}
	all := map[End]plug{}
	for _, n := range c.Nodes {
		for _, p := range n.Ports {
			at := End{n.Name, p.Name}
			for _, l := range n.Settings.LLDP {
				if l.Netdev == p.Netdev && p.Netdev != "" && !own[short(l.Chassis)] && !own[strings.ToLower(l.Chassis)] {
					all[at] = plug{l.Chassis, l.Port}
				}
			}
			if len(beyond) == 0 || !p.IB() {
				continue
			}
			guids := []string{p.NodeGUID}
			if len(p.GIDs) > 0 && len(p.GIDs[0].GID) > 20 {
				guids = append(guids, p.GIDs[0].GID[20:]) // iblinkinfo names the port's, in the last half of its first GID
			}
			for _, g := range guids {
				if e, ok := beyond[guidPort{guidDigits(g), p.Num}]; ok && e.Switch {
					all[at] = plug{cmp.Or(e.Name, e.GUID), itoa(e.Port)}
				}
			}
		}
	}
	return all
}

// guidDigits makes "0x0002c90300a1b2c3" and "0002:c903:00a1:b2c3" the same.
func guidDigits(guid string) string {
	return strings.TrimLeft(strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(guid), "0x"), ":", ""), "0")
}

func short(host string) string {
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	return name
}
