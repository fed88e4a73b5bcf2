package intent

import (
	"slices"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/spec"
	"weft/internal/topo"
)

// layerOf is a port's link layer in the words of weft.yaml.
func layerOf(p *fact.Port) string {
	switch {
	case p.IB():
		return "infiniband"
	case p.IWARP():
		return "iwarp"
	}
	return "roce"
}

// settlePlane settles what the data plane should be: what the owner wishes, else what most
// of its ports are. It says what cannot be.
func (w Wish) settlePlane(c *check.Case, ports []topo.PortAt) (spec.Data, error) {
	d := spec.Data{Layer: w.Layer, MTU: w.MTU, IPoIB: w.IPoIB, Switch: w.Switch}
	if usual, n := check.Usual(ports, func(p topo.PortAt) string { return layerOf(p.Port) }); d.Layer == "" {
		d.Layer = usual
		if n < len(ports) && len(w.Subnets) > 0 {
			odd := ports[slices.IndexFunc(ports, func(p topo.PortAt) bool { return layerOf(p.Port) != usual })]
			flag := "layer"
			if usual == "iwarp" {
				flag = "" // not to be had by a wish
			}
			return d, wrong(flag, usual, "%s of %s speaks %s and most data ports %s, and the two cannot talk to each other: say which it should be", odd.Port.Name, odd.Node.Name, layerOf(odd.Port), usual)
		}
	}
	for _, p := range ports {
		if err := speaks(p, d.Layer); err != nil {
			return d, err
		}
	}
	if len(w.Subnets) > 0 && len(c.Nodes) > 2 && (w.Switch == "none" || w.Switch == "" && c.Direct()) {
		return d, wrong("", "", "%d nodes on direct cables: each cable joins two of them and is a subnet of its own, which --subnet cannot say\nwrite weft.yaml without it, then the addresses into that", len(c.Nodes))
	}
	if d.Layer == "infiniband" {
		return d, w.infiniband(&d, ports)
	}
	switch {
	case w.IPoIB != "":
		return d, wrong("", "", "--ipoib %s: the data ports speak %s, and IPoIB is how InfiniBand carries IP", w.IPoIB, d.Layer)
	case d.Layer == "roce" && w.MTU > 0 && w.MTU < check.FullMTU:
		return d, wrong("mtu", "9000", "--mtu %d: a RoCE packet carries 4096 bytes only with an MTU of %d or more, and each smaller size doubles their number", w.MTU, check.FullMTU)
	}
	return d, nil
}

// speaks wants a port's card to be able to speak a layer.
func speaks(p topo.PortAt, layer string) error {
	link := "Ethernet"
	if layer == "infiniband" {
		link = "InfiniBand"
	}
	if p.Port.Layer == link {
		return nil
	}
	if p.Port.Soft() {
		return wrong("", "", "--layer %s: %s of %s is software, which speaks Ethernet alone", layer, p.Port.Name, p.Node.Name)
	}
	if d := p.Node.At(p.Port.BDF); d != nil {
		if nic, ok := platform.NICOf(d); ok && !slices.Contains(nic.Layers, link) {
			return wrong("", "", "--layer %s: %s of %s is a %s, which speaks %s alone", layer, p.Port.Name, p.Node.Name, nic.Name, nic.Layers[0])
		}
	}
	return nil
}

// The MTUs that IPoIB can have: a datagram is an InfiniBand packet less four bytes of
// its own, and a connected interface has one size (IPOIB_ENCAP_LEN and IPOIB_CM_MTU in
// drivers/infiniband/ulp/ipoib/ipoib.h).
const datagramLeast, datagramMost, connectedMTU = 2044, 4092, 65520

// infiniband settles what belongs to InfiniBand alone.
func (w Wish) infiniband(d *spec.Data, ports []topo.PortAt) error {
	modeOf := func(p topo.PortAt) string {
		if dev := p.Node.Netdev(p.Port.Netdev); dev != nil {
			return dev.Mode
		}
		return ""
	}
	if d.IPoIB == "" {
		d.IPoIB, _ = check.Usual(ports, modeOf)
	}
	for _, p := range ports {
		if w.IPoIB == "connected" && p.Port.Driver == "mlx5" && modeOf(p) != "connected" {
			return wrong("ipoib", "datagram", "--ipoib connected: mlx5, which drives %s of %s, does IPoIB itself (enhanced IPoIB) and has no connected mode; RDMA does not use IPoIB, so it loses nothing", p.Port.Name, p.Node.Name)
		}
	}
	switch {
	case w.Switch == "plain" || w.Switch == "lossless":
		return wrong("switch", "", "--switch %s: InfiniBand loses nothing by itself, so there is nothing to say of its switch", w.Switch)
	case w.MTU == 0:
	case d.IPoIB == "connected" && w.MTU != connectedMTU:
		return wrong("mtu", "65520", "--mtu %d: IPoIB in connected mode is worth its cost only with %d", w.MTU, connectedMTU)
	case d.IPoIB != "connected" && (w.MTU < datagramLeast || w.MTU > datagramMost):
		return wrong("mtu", "4092", "--mtu %d: an IPoIB datagram is an InfiniBand packet, so %d to %d bytes; MTU 9000 is for RoCE", w.MTU, datagramLeast, datagramMost)
	}
	return nil
}
