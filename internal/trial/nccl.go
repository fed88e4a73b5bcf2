package trial

import (
	"cmp"
	"fmt"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/unit"
)

// PerNIC is what each rank's share of the NICs carries of a bus bandwidth, when n ranks run
// on k nodes: busbw·(k−1)/(n−1) (CHECKS.md, expected numbers).
func PerNIC(bus Amount, nodes, ranks int) Amount {
	if ranks < 2 {
		return 0
	}
	return bus * Amount(nodes-1) / Amount(ranks-1)
}

// littleSaid is the size of message below which a healthy fabric shows little of what it
// can (CHECKS.md: an eighth at 16 MiB).
const littleSaid = 16 << 20

// ringShare is the part of the bound that is wanted: 80 to 90 % of it is normal
// (research/anchors.md), and 93 % of this is 80 %. 20 to 24 of 25 GB/s were published for two
// and four nodes on 200 Gb/s (seed 001), 23.74 for two Sparks (data/network.csv).
const ringShare = 0.86

// allToAllShare is the same for all-to-all, where every rank sends to every other at once
// and NICs take turns: AMD's validation wants 45 to 50 GB/s of the 94 that two nodes of eight
// 400 Gb/s ports could do (research/anchors.md, table D).
const allToAllShare = 0.5

// nvlinkBus is what NVLink gives the GPUs of one node at least in an all-reduce: 200 to
// 500 GB/s (seed 001).
const nvlinkBus = Amount(200 * 8 * unit.Gbps)

// judgeCollective holds a collective against what the NICs of a node carry. A ring passes
// each node once, so its bus bandwidth is at most that, however many GPUs a node has; trees
// inside nodes that are joined by NVLink may do better.
func judgeCollective(c *check.Case, t Trial, cell *Cell) Verdict {
	x := cell.Collective
	got, measured := cell.Got.Get()
	v := Verdict{Status: check.Unknown}
	row := x.Largest()
	bound, ports, limiter, why := nicsOf(c, t)
	switch {
	case x.Socket:
		v.Status, v.Why = check.Fail, "NCCL used TCP ("+orSocket(x.Transport)+") although the nodes have RDMA ports"
		return v
	case !measured || row == nil:
		v.Why = cmp.Or(cell.Missing, "it was not measured")
		return v
	case x.Ranks < 2:
		v.Why = "one rank has nobody to talk to"
		return v
	case row.Bytes < littleSaid:
		v.Why = fmt.Sprintf("messages of %v show little of what a fabric can: 16 MiB and more do", unit.Size(row.Bytes))
		return v
	case x.Nodes < 2:
		return judgeInside(c, t, got)
	case why != "":
		v.Why = why
		return v
	}
	want := float64(bound) * ringShare
	if t.ID == "nccl.alltoall" {
		// A node's share of what its n/k ranks send to the k−1 other nodes, as bus bandwidth.
		n, k := float64(x.Ranks), float64(x.Nodes)
		want = float64(bound) * (n - 1) * k * k / (n * n * (k - 1)) * allToAllShare
	}
	v.Want, v.Limiter = fact.Some(Amount(want)), limiter
	v.Status = band(got, cell.High, Amount(want))
	switch one := float64(bound) / float64(max(ports, 1)); {
	case v.Status == check.Pass:
	case ports > 1 && float64(got) <= 1.05*one && float64(got) > 0.75*one:
		v.Why = fmt.Sprintf("this is what one of the %d ports of a node carries: NCCL_IB_HCA may name one alone", ports)
	default:
		v.Why = fmt.Sprintf("each rank's share of the NICs carries %s at least", BitsPerSecond.Text(PerNIC(got, x.Nodes, x.Ranks)))
	}
	return v
}

// judgeInside is for the GPUs of one node.
func judgeInside(c *check.Case, t Trial, got Amount) Verdict {
	v := Verdict{Status: check.Unknown, Why: "within one node, without NVLink between its GPUs, nobody can say how quick it should be"}
	for _, n := range c.Up() {
		for _, g := range n.GPUs {
			if known, ok := platform.GPUOf(g); t.ID == "nccl.allreduce" && ok && known.Features["nvlink"] == "yes" && len(n.GPUs) > 1 {
				v.Want, v.Limiter, v.Why = fact.Some(nvlinkBus), "NVLink between the GPUs of "+n.Name, ""
				v.Status = band(got, got, nvlinkBus)
				return v
			}
		}
	}
	return v
}

// nicsOf is what the data ports of the weakest node carry together; for send and receive,
// where one rank talks to one other, what one port does.
func nicsOf(c *check.Case, t Trial) (bound Amount, ports int, limiter, why string) {
	ss := newSides(c)
	for _, n := range c.Up() {
		var sum Amount
		count := 0
		for _, p := range c.Data(n) {
			if !p.Up() {
				continue
			}
			s := ss.at(End{n.Name, p.Name})
			h := expectRate(s, s, oneWay)
			if h.why != "" {
				return 0, 0, "", h.why
			}
			count++
			if t.ID == "nccl.sendrecv" {
				sum = max(sum, h.want)
			} else {
				sum += h.want
			}
		}
		if count > 0 && (bound == 0 || sum < bound) {
			bound, ports = sum, count
			limiter = fmt.Sprintf("NICs of %s, %s together", n.Name, BitsPerSecond.Text(sum))
		}
	}
	if bound == 0 {
		return 0, 0, "", "no data port is up"
	}
	return bound, ports, limiter, ""
}

func orSocket(s string) string {
	if strings.Contains(s, "Socket") {
		return s
	}
	return "NET/Socket"
}
