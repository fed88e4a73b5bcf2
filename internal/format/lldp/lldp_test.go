package lldp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Written after lldpd's documentation; lldpctl is not installed where these
// tests were made.
const (
	two = `# source: written for this test
{"lldp": {"interface": [
  {"enp1s0f0np0": {"via": "LLDP", "rid": "1", "age": "0 day, 00:01:02",
    "chassis": {"leaf1": {"id": {"type": "mac", "value": "02:00:00:00:00:01"}, "descr": "Switch OS 5", "mgmt-ip": ["192.0.2.10", "fe80::1"],
      "capability": [{"type": "Bridge", "enabled": true}]}},
    "port": {"id": {"type": "ifname", "value": "swp1"}, "descr": "to spark1", "ttl": "120"}}},
  {"enp1s0f1np1": {"via": "LLDP",
    "chassis": {"id": {"type": "mac", "value": "02:00:00:00:00:02"}},
    "port": {"id": {"type": "mac", "value": "02:00:00:00:00:03"}}}}
]}}`
	one  = `{"lldp":{"interface":{"eth0":{"via":"LLDP","chassis":{"sw":{"id":{"type":"mac","value":"02:00:00:00:00:01"},"mgmt-ip":"192.0.2.1"}},"port":{"id":{"type":"local","value":"7"},"descr":"Port 7"}}}}}`
	zero = `{"lldp":[{"interface":[{"name":"eth0","via":"LLDP","rid":"1",
 "chassis":[{"id":[{"type":"mac","value":"02:00:00:00:00:01"}],"name":[{"value":"leaf1"}],"descr":[{"value":"Switch OS 5"}],"mgmt-ip":[{"value":"192.0.2.10"},{"value":"fe80::1"}]}],
 "port":[{"id":[{"type":"ifname","value":"swp1"}],"descr":[{"value":"to spark1"}],"ttl":[{"value":"120"}]}]}]}]}`
)

func TestParse(t *testing.T) {
	leaf := Neighbor{
		Via: "LLDP", ChassisName: "leaf1", ChassisIDType: "mac", ChassisID: "02:00:00:00:00:01", ChassisDescr: "Switch OS 5",
		MgmtIPs: []string{"192.0.2.10", "fe80::1"}, PortIDType: "ifname", PortID: "swp1", PortDescr: "to spark1",
	}
	on := func(name string, n Neighbor) Neighbor { n.Interface = name; return n }
	for name, c := range map[string]struct {
		in   string
		want []Neighbor
	}{
		"json, two": {two, []Neighbor{on("enp1s0f0np0", leaf), {
			Interface: "enp1s0f1np1", Via: "LLDP", ChassisIDType: "mac", ChassisID: "02:00:00:00:00:02", PortIDType: "mac", PortID: "02:00:00:00:00:03",
		}}},
		"json, one": {one, []Neighbor{{
			Interface: "eth0", Via: "LLDP", ChassisName: "sw", ChassisIDType: "mac", ChassisID: "02:00:00:00:00:01",
			MgmtIPs: []string{"192.0.2.1"}, PortIDType: "local", PortID: "7", PortDescr: "Port 7",
		}}},
		"json0":        {zero, []Neighbor{on("eth0", leaf)}},
		"json, none":   {`{"lldp":{}}`, nil},
		"json0, none":  {`{"lldp":[{}]}`, nil},
		"empty object": {`{"lldp":{"interface":{"eth0":{}}}}`, []Neighbor{{Interface: "eth0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(c.in))
			if err != nil {
				t.Errorf("error %v, want none", err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestParseOdd(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "no JSON",
		"root@n1:~# lldpctl -f json\n":           "no JSON",
		"lldpctl: command not found":             "line 1: invalid character 'l'",
		"# x\n{\"lldp\":\n{\"interface\":[":      "line 3: unexpected EOF",
		"{}":                                     "no lldp object",
		`{"lldp":{"interface":{"eth0":"down"}}}`: `interface "eth0" holds no object`,
		"[]":                                     "line 1: json:",
	} {
		if got, err := Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) || len(got) != 0 {
			t.Errorf("Parse(%q) = %v, %v, want %q", in, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{two, one, zero} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, errA := Parse(b)
		again, errB := Parse(b)
		if d := cmp.Diff(a, again); d != "" || (errA == nil) != (errB == nil) {
			t.Errorf("two readings differ: %s, %v, %v", d, errA, errB)
		}
	})
}
