package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/fact"
	"weft/internal/unit"
)

var netEffects = []effect{
	{"net/*/mtu", setMTU},
	{"net/*/addr", setAddrs},
	{"net/*/up", setUp},
	{"net/*/default", setDefault},
	{"net/*/ipoib", setIPoIB},
	{"net/*/qdisc", setQdisc},
	{"route/*", setPeerRoute},
	{"hosts", setHosts},
}

// setMTU also foresees full-size pings: one that this end's MTU kept back will come.
func setMTU(n *fact.Node, name, value string) error {
	mtu, err := strconv.Atoi(value)
	d := n.Netdev(name)
	if err != nil || d == nil {
		return fmt.Errorf("%q is no MTU of a netdev", value)
	}
	const headers = 28 // of a ping: IPv4 20, ICMP 8 (RFC 791, RFC 792)
	for i := range n.Peers {
		pe := &n.Peers[i]
		if p := n.Port(pe.Port); p == nil || p.Netdev != name || !pe.Jumbo.Known() {
			continue
		}
		switch room := pe.JumboSize + headers; {
		case mtu < room:
			pe.Jumbo = fact.Some(false)
		case d.MTU.Or(room) < room:
			pe.Jumbo = fact.Some(true)
		}
	}
	d.MTU = fact.Some(mtu)
	return nil
}

func setUp(n *fact.Node, name, value string) error {
	d := n.Netdev(name)
	if d == nil || value != "on" && value != "off" {
		return fmt.Errorf("%q is no netdev that can be %s", name, value)
	}
	d.Off, d.Oper, d.Carrier = true, "down", fact.Val[bool]{}
	state, phys := "DOWN", "Disabled"
	if value == "on" {
		d.Off, d.Oper, d.Carrier = false, "up", fact.Some(true)
		state, phys = "ACTIVE", "LinkUp"
	}
	for _, p := range n.Ports {
		if p.Netdev == name {
			p.State, p.Phys = state, phys
		}
	}
	return nil
}

// setDefault takes a netdev's default route away, or brings back the one that the value
// says.
func setDefault(n *fact.Node, name, value string) error {
	if value == "none" {
		n.Settings.Routes = slices.DeleteFunc(n.Settings.Routes, func(r fact.Route) bool {
			return r.Dst == "default" && r.Dev == name && !strings.Contains(r.Via, ":")
		})
		return nil
	}
	r := fact.Route{Dst: "default", Dev: name, Again: value}
	f := strings.Fields(value)
	for i := 1; i+1 < len(f); i++ {
		switch f[i] {
		case "via":
			r.Via = f[i+1]
		case "src":
			r.Src = f[i+1]
		case "metric":
			r.Metric, _ = strconv.Atoi(f[i+1])
		}
	}
	if len(f) < 3 || f[0] != "default" {
		return fmt.Errorf("%q is no default route", value)
	}
	at := 0
	for at < len(n.Settings.Routes) && n.Settings.Routes[at].Dst == "default" && n.Settings.Routes[at].Metric < r.Metric {
		at++
	}
	n.Settings.Routes = slices.Insert(n.Settings.Routes, at, r)
	return nil
}

func setIPoIB(n *fact.Node, name, value string) error {
	d := n.Netdev(name)
	mode, number, _ := strings.Cut(value, ", mtu ")
	mtu, err := strconv.Atoi(number)
	if d == nil || err != nil {
		return fmt.Errorf("%q is no mode of a netdev", value)
	}
	d.Mode, d.MTU = mode, fact.Some(mtu)
	return nil
}

// setQdisc brings back the netem that the value says, or what the kernel has without.
func setQdisc(n *fact.Node, name, value string) error {
	d := n.Netdev(name)
	if d == nil {
		return fmt.Errorf("%q is no netdev", name)
	}
	if !strings.Contains(value, " netem ") {
		d.Qdiscs = []fact.Qdisc{{Kind: "pfifo_fast"}}
		return nil
	}
	q := fact.Qdisc{Kind: "netem", Again: value}
	f := strings.Fields(value)
	for i := 0; i+1 < len(f); i++ {
		switch f[i] {
		case "delay":
			t, _ := time.ParseDuration(f[i+1])
			q.Does = append(q.Does, "delay "+t.String())
		case "loss", "duplicate", "corrupt":
			v, _ := strconv.ParseFloat(strings.TrimSuffix(f[i+1], "%"), 64)
			q.Does = append(q.Does, f[i]+" "+strconv.FormatFloat(v, 'g', 3, 64)+"%")
		case "rate":
			bits, _ := strconv.ParseInt(strings.TrimSuffix(f[i+1], "bit"), 10, 64)
			q.Rate = fact.Some(unit.Rate(bits))
		}
	}
	d.Qdiscs = []fact.Qdisc{q}
	return nil
}

func setPeerRoute(n *fact.Node, addr, value string) error {
	dev, src, _ := strings.Cut(value, " from ")
	if value == "none" {
		dev = ""
	}
	for i := range n.Peers {
		if n.Peers[i].Addr == addr {
			n.Peers[i].RouteDev, n.Peers[i].RouteSrc = dev, src
		}
	}
	return nil
}

func setHosts(n *fact.Node, _, value string) error {
	answers := map[string][]string{}
	for _, part := range strings.Split(value, "; ") {
		if f := strings.Fields(part); len(f) > 0 {
			answers[f[0]] = f[1:]
		}
	}
	for i := range n.Peers {
		if addrs, ok := answers[n.Peers[i].Node]; ok {
			n.Peers[i].Resolves = slices.Clone(addrs)
		}
	}
	return nil
}
