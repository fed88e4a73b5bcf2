package format

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/iproute"
	"weft/internal/spec"
)

// peersKey lists whom a node was asked about: node, address, port and payload of
// the full-size ping, one peer a line. It is in the dump so that a replay knows.
const peersKey = "/weft/peers"

// maxPeers is how many others a node is asked about: all in a small cluster, the
// next few in a large one, so that the work grows with the nodes and not with
// their square.
const maxPeers = 8

// jumboPing asks with frames that may not be split, twice, because one may get lost,
// and as quickly as ping lets a person who is not root: 200 ms apart (ping(8), -i).
const jumboPing = "ping -n -c 2 -i 0.2 -W 1 -M do -s %d %s"

// For returns the readers for one node of a cluster: all of them, the kernel settings
// that weft.yaml names, and what the node says of its peers on the data plane.
func For(want spec.Spec, name string) []Reader {
	return append(Readers[:len(Readers):len(Readers)], sysctlReader(want), peersReader(want, name))
}

func peersReader(want spec.Spec, name string) Reader {
	r := Reader{Name: "peers", Why: "how this node reaches the others on the data plane", Read: func(*dump.Node, *fact.Node) {}}
	me := want.Node(name)
	var list strings.Builder
	names := ""
	for _, peer := range others(want, name) {
		names += " " + peer.Name
		for _, p := range peer.Data {
			to, err := netip.ParsePrefix(p.Address)
			if err != nil || me == nil {
				continue
			}
			port := facing(me, to)
			if port == "" {
				continue
			}
			addr := to.Addr().String()
			size := payload(want.Data, to.Addr())
			fmt.Fprintf(&list, "%s %s %s %d\n", peer.Name, addr, port, size)
			r.Cmds = append(r.Cmds,
				Cmd{Run: "ip -j route get " + addr},
				Cmd{Run: "ping -n -c 1 -W 1 " + addr, Quiet: true})
			if size > 0 {
				r.Cmds = append(r.Cmds, Cmd{Run: fmt.Sprintf(jumboPing, size, addr), Quiet: true})
			}
		}
	}
	if names != "" {
		// getent ends with 2 when a name has no address: an answer, which must not look
		// as if nobody had asked.
		r.Cmds = append(r.Cmds, Cmd{Run: "getent hosts" + names, Sh: "getent hosts" + names + "; case $? in 0|2) echo looked;; esac", Quiet: true})
		r.Given = map[string]string{peersKey: list.String()}
	}
	return r
}

// others returns the peers a node is asked about: those after it, around.
func others(want spec.Spec, name string) []spec.Node {
	var out []spec.Node
	at := -1
	for i := range want.Nodes {
		if want.Nodes[i].Name == name {
			at = i
		}
	}
	for k := 1; k < len(want.Nodes) && len(out) < maxPeers; k++ {
		out = append(out, want.Nodes[(at+k)%len(want.Nodes)])
	}
	return out
}

// facing returns the port of a node that is in the same subnet as an address.
func facing(me *spec.Node, to netip.Prefix) string {
	for _, p := range me.Data {
		if mine, err := netip.ParsePrefix(p.Address); err == nil && mine.Masked() == to.Masked() {
			return p.Port
		}
	}
	return ""
}

// payload is the largest ping that one frame of the wanted MTU holds: less the IP
// header (20, or 40 for IPv6) and the ICMP header (8). InfiniBand has no frame to
// prove unless the owner names an MTU.
func payload(want spec.Data, to netip.Addr) int {
	mtu := want.MTU
	if mtu == 0 {
		if want.Layer == "infiniband" {
			return 0
		}
		mtu = 9000
	}
	if to.Is6() {
		return mtu - 48
	}
	return mtu - 28
}

// readPeers reads what a node said of the others.
func readPeers(d *dump.Node, n *fact.Node) {
	list, _ := d.Get(peersKey)
	answers := map[string][]string{}
	resolved := false
	for _, cmd := range d.Cmds("getent hosts") {
		resolved = true
		text, _ := d.Cmd(cmd)
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			for _, host := range f[min(1, len(f)):] {
				answers[host] = append(answers[host], f[0])
			}
		}
	}
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		p := fact.Peer{Node: f[0], Addr: f[1], Port: f[2], Resolves: answers[f[0]], ResolvesRead: resolved}
		p.JumboSize, _ = strconv.Atoi(f[3])
		if text, ok := d.Cmd("ip -j route get " + p.Addr); ok {
			if r, err := iproute.ParseRouteGet([]byte(text)); err == nil {
				p.RouteDev = r.Dev
				if r.PrefSrc.IsValid() {
					p.RouteSrc = r.PrefSrc.String()
				}
			}
		}
		p.Ping = pinged(d, "ping -n -c 1 -W 1 "+p.Addr)
		if p.JumboSize > 0 {
			p.Jumbo = pinged(d, fmt.Sprintf(jumboPing, p.JumboSize, p.Addr))
			if !p.Jumbo.Known() { // a dump of weft before the lab
				p.Jumbo = pinged(d, fmt.Sprintf("ping -n -c 2 -W 1 -M do -s %d %s", p.JumboSize, p.Addr))
			}
		}
		n.Peers = append(n.Peers, p)
	}
}

// pinged reads ping's summary: "1 packets transmitted, 1 received, 0% packet loss".
// A ping that could not be sent at all, because the frame is larger than the
// interface's own MTU, did not come back either.
func pinged(d *dump.Node, cmd string) fact.Val[bool] {
	text, ok := d.Cmd(cmd)
	if !ok {
		return fact.Val[bool]{}
	}
	for line := range strings.Lines(text) {
		_, after, ok := strings.Cut(line, " transmitted, ")
		if !ok {
			continue
		}
		got, err := strconv.Atoi(strings.Fields(after + " ?")[0])
		if err == nil {
			return fact.Some(got > 0)
		}
	}
	return fact.Val[bool]{}
}
