package ibdev

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/fixture"
)

// knownDevices: whatever went in, a device has a name, a GUID has one form, and
// a state is one of the kernel's words.
func knownDevices(t *testing.T, devs []Device) {
	t.Helper()
	for _, d := range devs {
		if d.Name == "" {
			t.Error("device without a name")
		}
		knownGUID(t, d.NodeGUID)
		knownGUID(t, d.SysImageGUID)
		for _, p := range d.Ports {
			knownPort(t, p.State, p.PhysState, p.Speed, p.WidthLanes)
			knownGUID(t, p.PortGUID)
			if p.Number < 0 || p.MaxMTUBytes < 0 || p.ActiveMTUBytes < 0 {
				t.Errorf("negative number in %+v", p)
			}
			for _, g := range p.GIDs {
				if !g.Addr.Is6() || g.Index < 0 {
					t.Errorf("GID %+v", g)
				}
			}
		}
	}
}

func knownGUID(t *testing.T, s string) {
	t.Helper()
	if s != "" && (len(s) != 18 || !strings.HasPrefix(s, "0x") || strings.Trim(s[2:], "0123456789abcdef") != "") {
		t.Errorf("GUID %q", s)
	}
}

func knownPort(t *testing.T, state, phys, speed string, width int) {
	t.Helper()
	if !slices.Contains([]string{"", "NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"}, state) {
		t.Errorf("state %q", state)
	}
	if !slices.Contains([]string{"", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test"}, phys) {
		t.Errorf("physical state %q", phys)
	}
	if !slices.Contains([]string{"", "SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"}, speed) {
		t.Errorf("speed %q", speed)
	}
	if !slices.Contains([]int{0, 1, 2, 4, 8, 12}, width) {
		t.Errorf("width %d", width)
	}
}

func FuzzParseIbstat(f *testing.F) {
	f.Add([]byte("CA 'a'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 40 (FDR10)\n"))
	fixture.Seed(f, "ib*stat*.txt", "lab/ibsim/ndr/ibstat.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		devs, _ := ParseIbstat(b)
		knownDevices(t, devs)
	})
}

func FuzzParseIbstatus(f *testing.F) {
	f.Add([]byte("Infiniband device 'a' port 1 status:\n\trate:\t 2.5 Gb/sec (1X SDR)\n"))
	fixture.Seed(f, "ibstatus*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		devs, _ := ParseIbstatus(b)
		knownDevices(t, devs)
	})
}

func FuzzParseDevinfo(f *testing.F) {
	f.Add([]byte("hca_id:\ta\n\t\tport:\t1\n\t\t\tGID[  0]:\tfe80::1, RoCE v2\n"))
	f.Add([]byte("1 HCA found:\n\ta\n"))
	fixture.Seed(f, "ibv_devinfo*.txt", "lab/samples/*/ibv_devinfo-v.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		devs, _ := ParseDevinfo(b)
		knownDevices(t, devs)
	})
}

func FuzzParseIbdev2netdev(f *testing.F) {
	f.Add([]byte("0000:86:00.0 a (M - M) C fw 1 port 1 (ACTIVE) ==> ib0 (Up)\n"))
	fixture.Seed(f, "ibdev2netdev*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		nets, _ := ParseIbdev2netdev(b)
		for _, n := range nets {
			if n.Device == "" || n.Port < 0 {
				t.Errorf("row %+v", n)
			}
			knownPort(t, n.State, "", "", 0)
		}
	})
}

func FuzzParseShowGIDs(f *testing.F) {
	f.Add([]byte("a 1 0 fe80::1 v1 eth0\nn_gids_found=1\n"))
	fixture.Seed(f, "show_gids*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, _ := ParseShowGIDs(b)
		for _, r := range rows {
			if r.Device == "" || r.Port < 0 || r.Index < 0 || !r.Addr.Is6() || r.IPv4.IsValid() && !r.IPv4.Is4() {
				t.Errorf("row %+v", r)
			}
		}
	})
}

func FuzzParseIbportstate(f *testing.F) {
	f.Add([]byte("Peer PortInfo:\n# Port info: Lid 3 port 1\nLinkState:....Active\nLinkSpeedExtEnabled:...14.0625 Gbps or 53.125 Gbps\n"))
	fixture.Seed(f, "ibportstate*.txt", "lab/ibsim/*/smpquery-pi.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		ports, _ := ParseIbportstate(b)
		for _, p := range ports {
			knownPort(t, p.State, p.PhysState, p.SpeedActive, p.WidthActive)
			for _, w := range slices.Concat(p.WidthSupported, p.WidthEnabled) {
				knownPort(t, "", "", "", w)
			}
			for _, s := range slices.Concat(p.SpeedSupported, p.SpeedEnabled) {
				knownPort(t, "", "", s, 0)
			}
		}
	})
}
