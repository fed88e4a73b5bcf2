package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"weft/internal/check"
	"weft/internal/edit"
	"weft/internal/fact"
)

// netRemedies mend links first, then addresses, then what rests on them.
var netRemedies = []Remedy{
	{"port.up", mendUp},
	{"port.shaping", mendShaping},
	{"plane.separate", mendSeparate},
	{"roce.gid", mendGID},
	{"port.twins", mendTwins},
	{"roce.subnets", mendSubnets},
	{"ib.ipoib", mendIPoIB},
	{"roce.mtu", mendMTU},
	{"plane.route", mendRoute},
	{"node.names", mendNames},
}

// port returns the port that a finding is about and its netdev, where weft may change
// it: a netdev that carries management, or that is part of another, is left alone.
func (d *draft) port(n *fact.Node, f check.Finding) (*fact.Port, *fact.Netdev, error) {
	p := n.Port(f.Subject.Part)
	if p == nil || f.Status == check.Unknown {
		return nil, nil, byHand("")
	}
	dev := n.Netdev(p.Netdev)
	if dev == nil {
		return nil, nil, byHand("%s has no network interface that weft could change", p.Name)
	}
	return p, dev, d.own(n, dev)
}

// own says why weft does not change a netdev; nil when it may.
func (d *draft) own(n *fact.Node, dev *fact.Netdev) error {
	if m, _ := d.Management(n); m != nil && (m == dev || m.Name == dev.Master) {
		return byHand("%s is also how the node is managed: weft does not touch that", dev.Name)
	}
	if dev.Master != "" {
		return byHand("%s is part of %s, whose settings are those that count", dev.Name, dev.Master)
	}
	return nil
}

// wish returns the address that weft.yaml gives a port.
func (d *draft) wish(n *fact.Node, p *fact.Port) (netip.Prefix, bool) {
	if want := d.Want.Node(n.Name); want != nil {
		for _, dp := range want.Data {
			if a, err := netip.ParsePrefix(dp.Address); dp.Port == p.Name && err == nil {
				return a, true
			}
		}
	}
	return netip.Prefix{}, false
}

// mendUp switches a netdev on. That its port is down for want of a cable only shows
// then. A port of InfiniBand that has a link waits for a subnet manager instead.
func mendUp(d *draft, n *fact.Node, f check.Finding) error {
	if p := n.Port(f.Subject.Part); p != nil && waits(p) {
		return mendSM(d, n, f)
	}
	p, dev, err := d.port(n, f)
	switch {
	case err != nil:
		return err
	case !dev.Off:
		return byHand("%s is switched on, so the reason is beyond it: cable, other end, or subnet manager", dev.Name)
	case p.State != "DOWN" || p.Phys != "Disabled":
		return byHand("%s is switched off, but %s is %s, %s", dev.Name, p.Name, p.State, p.Phys)
	}
	s := Step{
		What: "net/" + dev.Name + "/up", From: "off", To: "on",
		Do:    []string{sh("ip link set dev %s up", dev.Name)},
		Undo:  []string{sh("ip link set dev %s down", dev.Name)},
		Shows: sh("ip -o link show dev %s | grep -cw UP || true", dev.Name),
		Note:  "a manager that has " + dev.Name + " switches it on at boot",
	}
	if dev.Manager == "" {
		s.Note = runtimeOnly
	}
	d.add(n, s)
	return nil
}

// mendMTU sets the MTU of a RoCE port's netdev.
func mendMTU(d *draft, n *fact.Node, f check.Finding) error {
	_, dev, err := d.port(n, f)
	if err != nil {
		return err
	}
	from, ok := dev.MTU.Get()
	to := cmp.Or(d.Want.Data.MTU, 9000)
	switch {
	case !ok:
		return byHand("")
	case to < roceFull:
		return byHand("weft.yaml wants an MTU of %d, and full packets need %d", to, roceFull)
	}
	s := Step{
		What: "net/" + dev.Name + "/mtu", From: fmt.Sprint(from), To: fmt.Sprint(to),
		Do:    []string{sh("ip link set dev %s mtu %d", dev.Name, to)},
		Undo:  []string{sh("ip link set dev %s mtu %d", dev.Name, from)},
		Shows: sh("cat /sys/class/net/%s/mtu", dev.Name),
		Risk:  riskMTU(n, dev),
	}
	return d.keep(n, dev, edit.Netdev{MTU: to}, s)
}

// roceFull is the smallest MTU that has room for 4096 bytes and the headers of RoCE:
// see check roce.mtu.
const roceFull = 4192

// riskMTU says whether the link drops when its MTU changes. virtio_net, veth and dummy
// have no ndo_change_mtu, so the kernel only writes the number down (__netif_set_mtu in
// net/core/dev.c); cards stop and start their queues, and most their link.
func riskMTU(n *fact.Node, dev *fact.Netdev) Risk {
	driver := dev.Driver
	if pci := n.At(dev.BDF); pci != nil && driver == "" {
		driver = pci.Driver
	}
	if slices.Contains([]string{"virtio_net", "virtio-pci", "veth", "dummy"}, cmp.Or(driver, dev.Kind)) {
		return RiskNone
	}
	return RiskLink
}
