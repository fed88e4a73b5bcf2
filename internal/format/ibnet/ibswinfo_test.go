package ibnet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

func TestIbswinfoFixtures(t *testing.T) {
	scorpion := func(fans string, power0 *int) Switch {
		return Switch{
			Name: "SwitchIB Mellanox Technologies", PartNumber: "MSB7790-ES2F", SerialNumber: "MT1943X00498", ProductName: "Scorpion IB EDR Unmanaged",
			Revision: "AN", NumPorts: new(36), PSID: "MT_1880110032", GUID: "0x1c34da0300010540", Firmware: "11.2008.2102",
			UptimeS: new(160*86400 + 10*3600 + 38*60 + 53),
			PSUs: []PSU{
				{Number: 0, Status: "OK", PartNumber: "MTEF-PSF-AC-A", SerialNumber: "MT1944X10558", DCPower: "OK", FanStatus: "OK", PowerW: power0},
				{Number: 1, Status: "OK", PartNumber: "MTEF-PSF-AC-A", SerialNumber: "MT1944X10555", DCPower: "OK", FanStatus: "OK", PowerW: new(71)},
			},
			TemperatureC: new(45), MaxTemperatureC: new(57), FanStatus: fans,
			Fans: []Fan{
				{1, new(8493)}, {2, new(7349)}, {3, new(8441)}, {4, new(7270)}, {5, new(8337)}, {6, new(7156)}, {7, new(8441)}, {8, new(7232)},
			},
		}
	}
	for _, tc := range []struct {
		file string
		want Switch
		err  string
	}{
		{file: "ibswinfo_1.txt", want: scorpion("ERROR", new(72))},
		{file: "ibswinfo_err1.txt", want: scorpion("OK", nil), err: `line 21: power (W): "foo" is not a number`},
	} {
		t.Run(tc.file, func(t *testing.T) {
			got, err := ParseIbswinfo(fixture.Read(t, ""+tc.file))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestIbswinfoSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     Switch
		err      string
	}{
		{name: "vitals alone, a value not there", in: "uptime (d-h:m:s)   | 0d-00:00:09\r\ntemperature (C)    | N/A\r\nmax temp (C)       | -3\r\n",
			want: Switch{UptimeS: new(9), MaxTemperatureC: new(-3)}},
		{
			name: "broken values", in: "====\nsw\n====\nuptime (d-h:m:s) | 1d-25:00:00\nGUID | none\nfan#x (rpm) | 1\nPSUx status | OK\nfan#2 (rpm) | slow\n",
			want: Switch{Name: "sw", Fans: []Fan{{Number: 2}}},
			err: "line 4: uptime: \"1d-25:00:00\" is not days-h:m:s\nline 5: GUID: \"none\" is not a GUID\nline 6: fan: \"x\" is not a number\n" +
				"line 7: PSUx status: \"x\" is not a number\nline 8: fan#2 (rpm): \"slow\" is not a number",
		},
		{name: "missing tool", in: "ibswinfo: not found", err: `line 1: "ibswinfo: not found" is not ibswinfo output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseIbswinfo([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
