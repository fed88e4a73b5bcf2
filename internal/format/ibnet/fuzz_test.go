package ibnet

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/fixture"
)

func knownGUID(t *testing.T, s string, empty bool) {
	t.Helper()
	if s == "" && empty {
		return
	}
	if len(s) != 18 || !strings.HasPrefix(s, "0x") || strings.Trim(s[2:], "0123456789abcdef") != "" {
		t.Errorf("GUID %q", s)
	}
}

func knownKind(t *testing.T, s string) {
	t.Helper()
	if !slices.Contains([]string{"CA", "SW", "RT"}, s) {
		t.Errorf("kind %q", s)
	}
}

func knownWidth(t *testing.T, n int) {
	t.Helper()
	if !slices.Contains([]int{0, 1, 2, 4, 8, 12}, n) {
		t.Errorf("width %d", n)
	}
}

func knownState(t *testing.T, s string) {
	t.Helper()
	if !slices.Contains([]string{"", "DOWN", "INIT", "ARMED", "ACTIVE"}, s) {
		t.Errorf("state %q", s)
	}
}

// Every link ends in known nodes, and no port carries two links.
func FuzzParseNetdiscover(f *testing.F) {
	// Small seeds only: the fuzzer spends its time shrinking large ones.
	f.Add([]byte(fatTree(1, 1, 1)))
	f.Add([]byte("CA 1 1 0x2 4x EDR - SW 2 3 0x1 ( 'a' - 'b' )\nSW 2 4 0x1 4x SDR 'b'\n"))
	fixture.Seed(f, "ibnetdiscover_bad.txt", "ibnetdiscover_hdr.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		n, _ := ParseNetdiscover(b)
		nodes := map[string]bool{}
		for _, node := range n.Nodes {
			knownGUID(t, node.GUID, false)
			knownGUID(t, node.SysImageGUID, true)
			knownKind(t, node.Kind)
			if nodes[node.GUID] {
				t.Errorf("node %s twice", node.GUID)
			}
			nodes[node.GUID] = true
		}
		type at struct {
			guid string
			port int
		}
		used := map[at]bool{}
		for _, l := range n.Links {
			knownWidth(t, l.WidthLanes)
			a, b := at{l.A.GUID, l.A.Port}, at{l.B.GUID, l.B.Port}
			if !nodes[a.guid] || !nodes[b.guid] || used[a] || used[b] {
				t.Errorf("link %+v ends nowhere or in a used port", l)
			}
			used[a], used[b] = true, true
		}
		for _, e := range n.Unlinked {
			if !nodes[e.GUID] {
				t.Errorf("end %+v of no node", e)
			}
		}
	})
}

func FuzzParseNodeList(f *testing.F) {
	f.Add([]byte("Ca\t : 0x1 ports 1 devid 0x0 vendid 0x0 \"a\"\n"))
	fixture.Seed(f, "lab/ibsim/width/ibhosts*.txt", "lab/ibsim/ndr/ibswitches.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		nodes, _ := ParseNodeList(b)
		for _, n := range nodes {
			knownGUID(t, n.GUID, false)
			knownKind(t, n.Kind)
		}
	})
}

func FuzzParseLinkinfo(f *testing.F) {
	f.Add([]byte("CA: a:\n 0x5 1 1[ ] ==( 4X 2.5 Gbps Active/ LinkUp)==> 1 2[ ] \"b\" (Could be 12X Could be FDR10)\n"))
	f.Add([]byte("0x5 \"  a\" 1 1[ ] ==( Down/Disabled)==>  [ ] \"\" ( )\nSwitch: 0x1 s:\n 3 1[ ] ==( 4X FDR10 Armed/ LinkUp)==> 0x7 8 2[ ] \"x\" ( )\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ports, _ := ParseLinkinfo(b)
		for _, p := range ports {
			knownGUID(t, p.GUID, true)
			knownGUID(t, p.Peer.GUID, true)
			knownState(t, p.State)
			knownWidth(t, p.WidthLanes)
			knownWidth(t, p.CouldLanes)
		}
	})
}

func FuzzParseQueryErrors(f *testing.F) {
	f.Add([]byte("Errors for 0x1 \"a\"\n GUID 0x1 port ALL: [A == 1] [B == 2 (2.0K)]\n Link info: 1 1[ ] ==( 4X 2.5 Gbps Active/ LinkUp)==> 0x2 1 2[ ] \"b\" ( )\n"))
	fixture.Seed(f, "lab/ibsim/width/ibqueryerrors*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		r, _ := ParseQueryErrors(b)
		for _, p := range r.Ports {
			knownGUID(t, p.GUID, false)
			if p.All && p.Port != 0 {
				t.Errorf("port %d of all", p.Port)
			}
			if _, ok := p.Counters[""]; ok {
				t.Error("counter without a name")
			}
		}
	})
}

func FuzzParsePerfquery(f *testing.F) {
	f.Add([]byte("# Port counters: Lid 3 port 255 (CapMask: 0x1300)\nPortSelect:....255\nVL15Dropped:...2\n"))
	fixture.Seed(f, "perfquery*.txt", "lab/ibsim/width/perfquery*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		ports, _ := ParsePerfquery(b)
		for _, p := range ports {
			if p.All != (p.Port == 255) || p.Counters == nil {
				t.Errorf("counters %+v", p)
			}
			if _, ok := p.Counters["PortSelect"]; ok {
				t.Error("PortSelect is no counter")
			}
		}
	})
}

func FuzzParseSminfo(f *testing.F) {
	f.Add([]byte("sminfo: sm lid 1 sm guid 0x100001, activity count 4 priority 5 state 3 SMINFO_MASTER\n"))
	fixture.Seed(f, "lab/ibsim/*/sminfo.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		sms, _ := ParseSminfo(b)
		knownSMs(t, sms, false)
	})
}

func knownSMs(t *testing.T, sms []SM, noGUID bool) {
	t.Helper()
	for _, s := range sms {
		knownGUID(t, s.GUID, noGUID)
		if !slices.Contains([]string{"", "NOTACTIVE", "DISCOVERING", "STANDBY", "MASTER"}, s.State) {
			t.Errorf("state %q", s.State)
		}
	}
}

func FuzzParseSaquery(f *testing.F) {
	f.Add([]byte("SMInfoRecord dump:\n LID....1\n GUID....0x1\n SMState...3\nLinkRecord dump:\n FromLID....2\n"))
	fixture.Seed(f, "lab/ibsim/width/saquery*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		sa, _ := ParseSaquery(b)
		knownSMs(t, sa.SMs, true)
		for _, n := range sa.Nodes {
			knownGUID(t, n.GUID, true)
			knownGUID(t, n.PortGUID, true)
		}
		for _, p := range sa.Ports {
			knownState(t, p.State)
			knownWidth(t, p.WidthLanes)
		}
		for _, p := range sa.Paths {
			if p.SGID.IsValid() && !p.SGID.Is6() || p.DGID.IsValid() && !p.DGID.Is6() {
				t.Errorf("path %+v", p)
			}
		}
	})
}

func FuzzParseIbswinfo(f *testing.F) {
	f.Add([]byte("====\nsw\n====\nuptime (d-h:m:s) | 1d-02:03:04\nPSU0 status | OK\n power (W) | 70\n----\nfan#1 (rpm) | 8000\n"))
	fixture.Seed(f, "ibswinfo*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		s, _ := ParseIbswinfo(b)
		knownGUID(t, s.GUID, true)
		if s.UptimeS != nil && *s.UptimeS < 0 {
			t.Errorf("uptime %d", *s.UptimeS)
		}
	})
}

func FuzzParseOpensmLog(f *testing.F) {
	f.Add([]byte("Nov 1 1:2:3 4 [A] 0x80 -> Entering MASTER state\n"))
	f.Add([]byte("Nov 1 1:2:3 h OpenSM[8]: SUBNET UP\n"))
	fixture.Seed(f, "opensm*.txt", "lab/ibsim/*/opensm.*")
	f.Fuzz(func(t *testing.T, b []byte) {
		log, _ := ParseOpensmLog(b)
		for _, e := range log.Events {
			if e.Kind != SMError && e.Func+e.Code+e.Text != "" {
				t.Errorf("event %+v has an error", e)
			}
			if e.Kind != SMState && e.State != "" {
				t.Errorf("event %+v has a state", e)
			}
		}
		if log.State() != "" && len(log.Events) == 0 {
			t.Error("state without events")
		}
	})
}
