package prove

import (
	"fmt"
	"net/netip"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/topo"
	"weft/internal/trial"
)

// paths is what facts say of every end.
func paths(c *check.Case, rails []trial.Rail) map[trial.End]Path {
	all := map[trial.End]Path{}
	for _, r := range rails {
		for _, e := range r.Ends {
			n := c.Node(e.Node)
			all[e] = pathOf(n, n.Port(e.Port))
		}
	}
	return all
}

// pathOf reads how RDMA and IP leave by a port. The GID is the one that carries the
// address of the rail, so that RoCE takes the same way as IP.
func pathOf(n *fact.Node, p *fact.Port) Path {
	at := Path{Device: p.Device, Num: p.Num, Netdev: p.Netdev, Class: max(0, p.TrafficClass.Or(0)), Meet: n.Host.SSHTo, IB: p.IB(), CM: p.IWARP()}
	if d := n.Netdev(p.Netdev); d != nil {
		at.MTU = d.MTU.Or(0)
		if nets := d.Prefixes(); len(nets) > 0 {
			at.Addr = nets[0].Addr().String()
		}
	}
	switch {
	case p.IWARP():
		at.Bar = "iWARP connects through rdma_cm, which weft's engine does not speak: use --engine perftest"
	case p.RoCE():
		gid, ok := roceGID(n, p, at.Addr)
		if at.GID = gid; !ok {
			at.Bar = fmt.Sprintf("%s %s has no RoCE v2 GID for its address: weft check says why", n.Name, p.Name)
		}
	}
	return at
}

// roceGID is the index of the RoCE v2 GID for an address, else of any that is routable.
func roceGID(n *fact.Node, p *fact.Port, addr string) (int, bool) {
	gids := check.Routable(check.V2Addrs(p))
	for _, g := range gids {
		if g.Addr.String() == addr {
			return g.Index, true
		}
	}
	for _, net := range topo.Subnets(n, p) { // a rail of IPv6
		for _, g := range p.GIDs {
			if strings.Contains(g.Type, "RoCE v2") && net.Addr().Is6() && inNet(g.GID, net) {
				return g.Index, true
			}
		}
	}
	if len(gids) > 0 {
		return gids[0].Index, true
	}
	return 0, false
}

func inNet(gid string, net netip.Prefix) bool {
	a, err := netip.ParseAddr(gid)
	return err == nil && net.Contains(a)
}
