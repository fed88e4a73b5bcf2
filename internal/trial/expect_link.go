package trial

import (
	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/unit"
)

// link is how a port frames what it sends.
type link int

const (
	roce link = iota
	infiniBand
	iWARP
)

func linkOf(p *fact.Port) link {
	switch {
	case p.IB():
		return infiniBand
	case p.IWARP():
		return iWARP
	}
	return roce
}

// What goes over the wire beside the payload of every packet, in bytes.
//
// RoCE v2: preamble 8, gap 12, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 (IEEE 802.3;
// InfiniBand 1.4, annex A17). InfiniBand: LRH 8, BTH 12, ICRC 4, VCRC 2 (volume 1, chapter 5).
// iWARP: preamble 8, gap 12, Ethernet 14, FCS 4 outside the netdev's MTU; IPv4 20, TCP 20, MPA
// length 2, DDP and RDMAP 14, CRC 4 inside it (RFC 5044, 5041, 5040).
//
// A write names its place once, in the RETH of its first packet. NVIDIA's 92.57 Gb/s of a
// Spark's half port at MTU 1024 (data/network.csv) is what this leaves of 100 to the digit.
const (
	roceFrame  = 8 + 12 + 14 + 20 + 8 + 12 + 4 + 4
	ibFrame    = 8 + 12 + 4 + 2
	iwarpFrame = 8 + 12 + 14 + 4
	iwarpHead  = 20 + 20 + 2 + 14 + 4
	reth       = 16
	message    = 64 << 10 // bytes a message, as perftest's default
)

// full is the MTU at which nothing more is gained.
func (l link) full() int {
	if l == iWARP {
		return 9000
	}
	return 4096
}

// leaves is what is left of a rate for the payload; an unknown MTU is taken for a full one.
func (l link) leaves(rate unit.Rate, mtu int) Amount {
	if mtu <= iwarpHead {
		mtu = l.full()
	}
	m := float64(mtu)
	var share float64
	switch l {
	case infiniBand:
		share = m / (m + ibFrame + reth*m/message)
	case iWARP:
		share = (m - iwarpHead) / (m + iwarpFrame)
	default:
		share = m / (m + roceFrame + reth*m/message)
	}
	return Amount(float64(rate) * share)
}

// decoded is what a port carries of the rate that it states. InfiniBand states the signal:
// of SDR, DDR and QDR 8 in 10 bits are data, of FDR 64 in 66 of 56.25 Gb/s; from FDR10 and
// EDR on, what is stated is what is left (InfiniBand 1.3, volume 2, chapter 5). Ethernet
// always states what is left.
func decoded(p *fact.Port, rate unit.Rate) unit.Rate {
	if !p.IB() {
		return rate
	}
	switch p.Speed {
	case "SDR", "DDR", "QDR":
		return rate * 8 / 10
	case "FDR":
		return unit.Rate(float64(rate) * 56.25 / 56 * 64 / 66)
	}
	return rate
}

// packetOf is what an RDMA packet carries on a netdev of that MTU, which the kernel rounds
// down to a power of two (see roce.mtu).
func packetOf(netdev int) int {
	for _, size := range []int{4096, 2048, 1024, 512, 256} {
		if netdev >= size+check.FullMTU-4096 {
			return size
		}
	}
	return 0
}
