package plan

import (
	"fmt"
	"slices"
	"strconv"

	"weft/internal/check"
	"weft/internal/edit"
	"weft/internal/fact"
)

// The MTUs of IPoIB: see check ib.ipoib.
const (
	connectedMTU = 65520
	datagramMTU  = 2044
)

// mendIPoIB sets mode, MTU and address of an IPoIB interface.
func mendIPoIB(d *draft, n *fact.Node, f check.Finding) error {
	p, dev, err := d.port(n, f)
	if err != nil {
		return err
	}
	if prefix(f.Want).IsValid() {
		_, err := d.asWished(n, dev, prefix(f.Want))
		return err
	}
	from, ok := dev.MTU.Get()
	if dev.Mode == "" || !ok {
		return byHand("")
	}
	mode, mtu := dev.Mode, 0
	if number, err := strconv.Atoi(f.Want); err == nil {
		mtu = number
	} else {
		mode = f.Want
	}
	most := p.ActiveMTU.Or(4096) - 4
	wish := 0
	if d.Want.Data.Layer == "infiniband" {
		wish = d.Want.Data.MTU
	}
	switch {
	case mode == "connected" && p.Driver == "mlx5" && dev.Mode != mode:
		return byHand("")
	case mode == "connected" && wish != 0 && wish != connectedMTU:
		return byHand("weft.yaml wants an MTU of %d, and connected mode is worth its cost with %d only", wish, connectedMTU)
	case mode == "connected":
		mtu = connectedMTU
	case wish > most:
		return byHand("weft.yaml wants an MTU of %d, and the link carries %d", wish, most)
	case wish != 0:
		mtu = wish
	case mtu == 0 || mtu > datagramMTU && !d.others(n, mtu):
		// What others have is known to work; more than the least needs a partition
		// that allows it, and the kernel takes less without a word.
		mtu = min(datagramMTU, most)
		if usual := d.datagrams(n); usual >= datagramMTU && usual <= most {
			mtu = usual
		}
	}
	s := Step{
		What: "net/" + dev.Name + "/ipoib", From: fmt.Sprintf("%s, mtu %d", dev.Mode, from), To: fmt.Sprintf("%s, mtu %d", mode, mtu),
		Shows: sh("cat /sys/class/net/%s/mode /sys/class/net/%[1]s/mtu", dev.Name),
		Risk:  RiskLink, // a change of mode forgets all paths; enhanced IPoIB takes the carrier away for the MTU (ipoib_set_mode, ipoib_change_mtu)
	}
	if mode != dev.Mode {
		s.Do = append(s.Do, sh("echo %s > /sys/class/net/%s/mode", mode, dev.Name))
		s.Undo = append(s.Undo, sh("echo %s > /sys/class/net/%s/mode", dev.Mode, dev.Name))
	}
	s.Do = append(s.Do, sh("ip link set dev %s mtu %d", dev.Name, mtu))
	s.Undo = append(s.Undo, sh("ip link set dev %s mtu %d", dev.Name, from))
	return d.keep(n, dev, edit.Netdev{Mode: mode, MTU: mtu}, s)
}

// datagrams is the MTU that most other IPoIB interfaces in datagram mode have, 0
// without others.
func (d *draft) datagrams(n *fact.Node) int {
	usual, _ := check.Usual(d.ipoib(n), func(dev *fact.Netdev) int { return dev.MTU.Or(0) })
	return usual
}

// others reports whether another node's datagram interface has an MTU.
func (d *draft) others(n *fact.Node, mtu int) bool {
	return slices.ContainsFunc(d.ipoib(n), func(dev *fact.Netdev) bool { return dev.MTU.Or(0) == mtu })
}

func (d *draft) ipoib(n *fact.Node) (devs []*fact.Netdev) {
	for _, pa := range d.DataPorts() {
		if dev := pa.Node.Netdev(pa.Port.Netdev); pa.Node != n && pa.Port.IB() && pa.Port.Up() && dev != nil && dev.Mode == "datagram" {
			devs = append(devs, dev)
		}
	}
	return devs
}
