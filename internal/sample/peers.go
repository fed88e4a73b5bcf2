package sample

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/format"
)

// writePeers answers what weft asks a node about the others: the commands are those
// of format.For, so that nothing is answered that would not be asked.
func (c *Cluster) writePeers(m *Machine, w writer) {
	readers := format.For(c.Want, m.Name)
	asked := readers[len(readers)-1]
	for key, list := range asked.Given {
		w.file(key, list)
		for line := range strings.Lines(list) {
			if f := strings.Fields(line); len(f) == 4 {
				size, _ := strconv.Atoi(f[3])
				c.writePeer(m, w, f[1], size)
			}
		}
	}
	for _, cmd := range asked.Cmds {
		if names, ok := strings.CutPrefix(cmd.Run, "getent hosts "); ok {
			peers := c.hosts(strings.Fields(names))
			w.cmd(cmd.Run, peers)
			m.writeHosts(w, peers)
		}
	}
	c.writeNeighbours(m, w)
}

func (c *Cluster) writePeer(m *Machine, w writer, addr string, size int) {
	dev, src, via := m.route(addr)
	route := map[string]any{"dst": addr, "dev": dev, "prefsrc": src, "flags": []string{}, "uid": 0, "cache": []string{}}
	if via != "" {
		route["gateway"] = via
	}
	w.cmd("ip -j route get "+addr, jsonLine([]any{route}))
	far := c.owner(addr)
	near := m.Netdev(dev)
	reached := far != nil && far.Up && via == ""
	w.cmd("ping -n -c 1 -W 1 "+addr, ping(addr, 56, 1, reached))
	if size > 0 {
		fits := reached && near.MTU >= size+28 && far.MTU >= size+28 // IPv4 and ICMP headers: RFC 791, RFC 792
		w.cmd(fmt.Sprintf("ping -n -c 2 -i 0.2 -W 1 -M do -s %d %s", size, addr), ping(addr, size, 2, fits))
	}
}

// route is how the kernel would send: by the interface in whose subnet the address
// is, else by the default route.
func (m *Machine) route(addr string) (dev, src, via string) {
	to, _ := netip.ParseAddr(addr)
	for _, d := range m.Net {
		for _, p := range prefixes(d.Addrs) {
			if d.Up && p.Contains(to) {
				return d.Name, p.Addr().String(), ""
			}
		}
	}
	for _, r := range m.Routes {
		if r.Dst == "default" {
			return r.Dev, m.SSHTo, r.Via
		}
	}
	return "", "", ""
}

// owner returns the interface that has an address, or nil.
func (c *Cluster) owner(addr string) *Netdev {
	for _, m := range c.Machines {
		for _, d := range m.Net {
			if slices.ContainsFunc(prefixes(d.Addrs), func(p netip.Prefix) bool { return p.Addr().String() == addr }) {
				return d
			}
		}
	}
	return nil
}

func ping(addr string, size, count int, back bool) string {
	s := fmt.Sprintf("PING %s (%s) %d(%d) bytes of data.\n", addr, addr, size, size+28)
	if !back {
		return s + fmt.Sprintf("\n--- %s ping statistics ---\n%d packets transmitted, 0 received, 100%% packet loss, time %dms\n\n", addr, count, (count-1)*1020)
	}
	for i := range count {
		s += fmt.Sprintf("%d bytes from %s: icmp_seq=%d ttl=64 time=0.061 ms\n", size+8, addr, i+1)
	}
	return s + fmt.Sprintf("\n--- %s ping statistics ---\n%d packets transmitted, %d received, 0%% packet loss, time %dms\nrtt min/avg/max/mdev = 0.061/0.061/0.061/0.000 ms\n", addr, count, count, (count-1)*1020)
}

// hosts answers getent hosts: every name is its node's first data address in
// weft.yaml, else its management address.
func (c *Cluster) hosts(names []string) string {
	var b strings.Builder
	for _, name := range names {
		for _, m := range c.Machines {
			if m.Name != name {
				continue
			}
			addr := m.SSHTo
			if n := c.Want.Node(name); n != nil {
				for _, d := range slices.Backward(n.Data) {
					if p, err := netip.ParsePrefix(d.Address); err == nil {
						addr = p.Addr().String()
					}
				}
			}
			fmt.Fprintf(&b, "%-15s %s\n", addr, name)
		}
	}
	return b.String()
}

// writeNeighbours lists the peers that share a subnet with an RDMA interface.
func (c *Cluster) writeNeighbours(m *Machine, w writer) {
	type neighbour struct {
		Dst   string   `json:"dst"`
		Dev   string   `json:"dev"`
		MAC   string   `json:"lladdr"`
		State []string `json:"state"`
	}
	list := []neighbour{}
	for _, d := range m.Net {
		for _, mine := range prefixes(d.Addrs) {
			for _, other := range c.Machines {
				for _, e := range other.Net {
					for _, p := range prefixes(e.Addrs) {
						if other != m && d.Up && e.Up && mine.Contains(p.Addr()) {
							list = append(list, neighbour{p.Addr().String(), d.Name, other.hwaddr(e), []string{"REACHABLE"}})
						}
					}
				}
			}
		}
	}
	if len(list) > 0 {
		w.cmd("ip -j neigh", jsonLine(list))
	}
}
