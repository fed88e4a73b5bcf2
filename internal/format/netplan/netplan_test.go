package netplan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefs(t *testing.T) {
	tests := map[string]struct {
		text string
		want []Def
	}{
		"plain": {"network:\n  version: 2\n  renderer: networkd\n  ethernets:\n    rail0:\n      addresses: [10.20.0.1/24]\n      mtu: 9000\n    rail1: {dhcp4: true}\n",
			[]Def{{"ethernets", "rail0"}, {"ethernets", "rail1"}}},
		"two kinds, deep inside": {"network:\n    ethernets:\n        eno1:\n            match:\n                macaddress: 00:11:22:33:44:55\n            set-name: eno1\n    vlans:\n        data.100:\n            id: 100\n            link: eno1\n",
			[]Def{{"ethernets", "eno1"}, {"vlans", "data.100"}}},
		"quoted, commented, CRLF": {"# by hand\r\n\"network\":\r\n  'ethernets':\r\n    \"enp1s0\": # the fast one\r\n      dhcp4: no\r\n\r\n    # enp2s0:\r\n",
			[]Def{{"ethernets", "enp1s0"}}},
		"lists":            {"network:\n  ethernets:\n    a:\n      routes:\n      - to: default\n        via: 10.0.0.1\n    b:\n", []Def{{"ethernets", "a"}, {"ethernets", "b"}}},
		"other documents":  {"other:\n  ethernets:\n    a:\n", nil},
		"flow style":       {"network: {ethernets: {a: {dhcp4: true}}}\n", nil},
		"not YAML":         {":::\n\t- \n  x\n", nil},
		"nothing":          {"", nil},
		"deeper first":     {"    network:\n  ethernets:\n    a:\n", nil},
		"an address block": {"network:\n  ethernets:\n    a:\n      addresses:\n        - fd00::1/64\n", []Def{{"ethernets", "a"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Defs([]byte(tt.text))); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// FuzzDefs: whatever is found stands in the text, and a comment changes nothing.
func FuzzDefs(f *testing.F) {
	f.Add("network:\n  ethernets:\n    rail0:\n      mtu: 9000\n")
	f.Add("network:\n  version: 2\n  \"vlans\":\n    'a b': {id: 1}\n")
	f.Add("a:\n b:\n  c:\n d:\n\t:\n")
	f.Fuzz(func(t *testing.T, text string) {
		defs := Defs([]byte(text))
		for _, d := range defs {
			if !strings.Contains(text, d.ID) || !strings.Contains(text, d.Kind) {
				t.Errorf("%+v is not in %q", d, text)
			}
		}
		if d := cmp.Diff(defs, Defs([]byte("# a comment\n\n"+text))); d != "" {
			t.Errorf("a comment before it changes what is found: %s", d)
		}
	})
}
