package verbs

import (
	"fmt"
	"net/netip"
)

// Peer is what one side must know of the other. It travels as JSON.
type Peer struct {
	QPN    uint32     `json:"qpn"`
	PSN    uint32     `json:"psn"`
	LID    uint16     `json:"lid"`
	GID    netip.Addr `json:"gid"`
	RKey   uint32     `json:"rkey"`
	Addr   uint64     `json:"addr"`
	Length uint64     `json:"length"` // bytes at Addr that may be written and read
	MTU    int        `json:"mtu"`
	Reads  int        `json:"reads"` // RDMA reads that it serves at once
}

// check refuses what no queue pair can be told: a peer's words come from a wire.
func (p Peer) check(size int, global bool) error {
	switch {
	case p.QPN >= 1<<24 || p.PSN >= 1<<24:
		return fmt.Errorf("peer: queue pair %#x, packet number %#x: want 24 bits each", p.QPN, p.PSN)
	case mtuCode(p.MTU) == 0:
		return fmt.Errorf("peer: MTU %d: want 256, 512, 1024, 2048 or 4096", p.MTU)
	case p.Reads < 0 || p.Reads > 255:
		return fmt.Errorf("peer: serves %d reads: want 0 to 255", p.Reads)
	case p.Length < uint64(size):
		return fmt.Errorf("peer: has %d bytes of memory: want %d, the size of a message", p.Length, size)
	case p.Addr+p.Length < p.Addr:
		return fmt.Errorf("peer: memory at %#x ends beyond all addresses", p.Addr)
	case global && (!p.GID.IsValid() || p.GID.Is4() || p.GID.IsUnspecified()):
		return fmt.Errorf("peer: GID %q: want one of 16 bytes that is not zero", p.GID)
	case !global && p.LID == 0:
		return fmt.Errorf("peer: has no LID: is a subnet manager running?")
	}
	return nil
}
