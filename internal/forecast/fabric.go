package forecast

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Fabric is what joins the nodes.
type Fabric struct {
	Transport string  `json:"transport"`       // "rdma", "oneshot", "tcp"; "none" within one node
	Gbps      float64 `json:"gbps"`            // of one node's link; 0 unknown
	Sync      float64 `json:"sync,omitempty"`  // µs of a small collective among all nodes, measured; 0: by the constants
	Hop       float64 `json:"hop,omitempty"`   // µs of a hop between stages, measured
	Source    string  `json:"source"`          // where this is from: "--link", "facts", "proof 20260101-1"
	Nodes     int     `json:"nodes,omitempty"` // how many nodes Sync was measured among
}

// transports are the words for a link.
var transports = map[string]string{
	"rdma": "rdma", "roce": "rdma", "rocev2": "rdma", "roce-v2": "rdma", "iwarp": "rdma", "ib": "rdma", "infiniband": "rdma", "oneshot": "oneshot", "one-shot": "oneshot",
	"tcp": "tcp", "ethernet": "tcp", "eth": "tcp", "socket": "tcp", "sockets": "tcp", "none": "none",
}

// ParseLink reads "100g-rdma", "rdma", "10g-tcp", "200g-oneshot", "25g" (RDMA cannot be
// assumed of a rate alone: it is an error).
func ParseLink(s string) (Fabric, error) {
	f := Fabric{Source: "--link " + s}
	word := strings.ToLower(strings.TrimSpace(s))
	if before, after, ok := strings.Cut(word, "-"); ok && transports[word] == "" {
		g, err := strconv.ParseFloat(strings.TrimRight(before, "gbps/"), 64)
		if err != nil || !(g > 0 && g <= 100_000) {
			return f, fmt.Errorf("link %s: want a rate and a transport, like 100g-rdma", quoted(s))
		}
		f.Gbps, word = g, after
	}
	f.Transport = transports[word]
	if f.Transport == "" {
		return f, fmt.Errorf("link %s: want rdma, oneshot or tcp, with the rate before it if it is known: 100g-rdma", quoted(s))
	}
	return f, nil
}

// String is how people write it.
func (f Fabric) String() string {
	if f.Gbps == 0 {
		return f.Transport
	}
	return strconv.FormatFloat(f.Gbps, 'g', 4, 64) + "g-" + f.Transport
}

// sync is µs of one small collective: among so many nodes with so many ranks each.
// What is measured counts, for the number of nodes that it was measured among.
func (f Fabric) sync(k Constants, c Case, nodes, inside int, h Hardware) float64 {
	us := 0.0
	if inside > 1 {
		us = insidePCIe
		if h.Inside == "nvlink" {
			us = insideNVLink
		}
		us *= math.Max(1, math.Log2(float64(inside)))
	}
	if nodes <= 1 {
		return us
	}
	doublings := math.Log2(float64(nodes)) - 1
	base, more := k.TCP, k.TCPMore
	switch {
	case c.Engine.Sync == "dllama":
		width := float64(c.Model.Hidden) / 4096 // slices are copied through sockets by slow cores
		base, more = k.Socket*width, k.SocketMore*width
	case f.Transport == "oneshot":
		base, more = oneShot, oneShotMore
	case f.Transport == "rdma" && c.Engine.Sync == "mlx":
		base, more = k.Thunder, k.ThunderMore
	case f.Transport == "rdma":
		base, more = k.RDMA, k.RDMAMore
	}
	if f.Sync > 0 {
		had := math.Log2(float64(max(f.Nodes, 2))) - 1
		return us + f.Sync + more*(doublings-had)
	}
	return us + base + more*doublings
}

// wire is µs that bytes take: an all-reduce moves 2(n-1)/n of them through each link.
func (f Fabric) wire(bytes float64, nodes int) float64 {
	if f.Gbps <= 0 || nodes <= 1 {
		return 0
	}
	return bytes * 8 / (f.Gbps * 1000) * 2 * float64(nodes-1) / float64(nodes)
}

// hop is µs of handing on to the next stage.
func (f Fabric) hop(k Constants, c Case) float64 {
	switch {
	case f.Hop > 0:
		return f.Hop
	case c.Engine.Hop == "rpc" && (f.Transport == "rdma" || f.Transport == "oneshot"):
		return k.HopRDMA
	case c.Engine.Hop == "rpc":
		return k.HopTCP
	}
	return hopOfSync * f.sync(k, c, 2, 1, Hardware{})
}
