package verbs

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

func goodPeer() Peer {
	return Peer{QPN: 17, PSN: 0xabcdef, LID: 4, GID: netip.MustParseAddr("::ffff:10.20.0.1"), RKey: 99, Addr: 1 << 40, Length: 65536, MTU: 4096, Reads: 16}
}

func TestPeerTravels(t *testing.T) {
	b, err := json.Marshal(goodPeer())
	if err != nil {
		t.Fatal(err)
	}
	var got Peer
	if err := json.Unmarshal(b, &got); err != nil || got != goodPeer() {
		t.Errorf("%s became %+v, %v", b, got, err)
	}
}

func TestPeerIsChecked(t *testing.T) {
	for _, global := range []bool{true, false} {
		if err := goodPeer().check(65536, global); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		spoil  func(*Peer)
		global bool
		want   string
	}{
		"queue pair":    {func(p *Peer) { p.QPN = 1 << 24 }, true, "24 bits"},
		"packet number": {func(p *Peer) { p.PSN = 1 << 31 }, true, "24 bits"},
		"MTU":           {func(p *Peer) { p.MTU = 9000 }, true, "MTU 9000"},
		"no MTU":        {func(p *Peer) { p.MTU = 0 }, true, "MTU 0"},
		"reads":         {func(p *Peer) { p.Reads = 256 }, true, "256 reads"},
		"memory":        {func(p *Peer) { p.Length = 65535 }, true, "65535 bytes"},
		"end of memory": {func(p *Peer) { p.Addr = ^uint64(0) - 5 }, true, "beyond"},
		"no GID":        {func(p *Peer) { p.GID = netip.Addr{} }, true, "GID"},
		"zero GID":      {func(p *Peer) { p.GID = netip.IPv6Unspecified() }, true, "GID"},
		"short GID":     {func(p *Peer) { p.GID = netip.MustParseAddr("10.20.0.1") }, true, "GID"},
		"no LID":        {func(p *Peer) { p.LID = 0 }, false, "subnet manager"},
	} {
		p := goodPeer()
		c.spoil(&p)
		if err := p.check(65536, c.global); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzPeer wants every peer that is let through to fit what a queue pair is told.
func FuzzPeer(f *testing.F) {
	b, _ := json.Marshal(goodPeer())
	f.Add(b, 64, true)
	f.Add([]byte(`{"qpn":4294967295,"gid":"fe80::1%lo","mtu":4096}`), 2, false)
	f.Fuzz(func(t *testing.T, b []byte, size int, global bool) {
		var p Peer
		if json.Unmarshal(b, &p) != nil || size < 1 || size > maxSize || p.check(size, global) != nil {
			return
		}
		if p.QPN>>24 != 0 || p.PSN>>24 != 0 || mtuBytes(mtuCode(p.MTU)) != p.MTU || p.Length < uint64(size) || p.Addr+uint64(size) < p.Addr ||
			global && p.GID.As16() == [16]byte{} || !global && p.LID == 0 {
			t.Errorf("let through: %+v", p)
		}
	})
}
