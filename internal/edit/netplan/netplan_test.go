package netplan

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"weft/internal/edit"
)

func addrs(list ...string) *[]string { return &list }

var cases = []struct {
	name string
	want edit.Netdev
	old  string
	now  string // "" is an error
	err  string // what it says
}{
	{
		name: "a number in its place, with its comment",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old: `network:
  version: 2
  ethernets:
    # first rail
    rail0:
      mtu: 1500   # the switch's default
      addresses: [10.20.0.1/24]
    eno1: {dhcp4: true}
`,
		now: `network:
  version: 2
  ethernets:
    # first rail
    rail0:
      mtu: 9000   # the switch's default
      addresses: [10.20.0.1/24]
    eno1: {dhcp4: true}
`,
	}, {
		name: "a key after the last, before comments",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old: `---
network:
    ethernets:
        rail0:
            addresses:
              - 10.20.0.1/24

        # the office
        eno1:
            dhcp4: true
`,
		now: `---
network:
    ethernets:
        rail0:
            addresses:
              - 10.20.0.1/24
            mtu: 9000

        # the office
        eno1:
            dhcp4: true
`,
	}, {
		name: "one address of two, dashes",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.7/24", "fd00::1/64")},
		old: `network:
  ethernets:
    rail0:
      addresses:
      - 10.20.0.1/24 # old
      # the second
      - "fd00::1/64"
`,
		now: `network:
  ethernets:
    rail0:
      addresses:
      - 10.20.0.7/24 # old
      # the second
      - "fd00::1/64"
`,
	}, {
		name: "one address fewer, one more",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("fd00::2/64")},
		old: `network:
  ethernets:
    rail0:
      addresses:
        - '10.20.0.1/24'
        # stays
        - 10.20.1.1/24
      mtu: 9000
`,
		now: `network:
  ethernets:
    rail0:
      addresses:
        # stays
        - "fd00::2/64"
      mtu: 9000
`,
	}, {
		name: "no address is left",
		want: edit.Netdev{Name: "rail0", Addrs: addrs()},
		old:  "network:\n  ethernets:\n    rail0:\n      addresses: # mine\n        - 10.20.0.1/24\n        # and\n        - 10.20.1.1/24\n",
		now:  "network:\n  ethernets:\n    rail0:\n      addresses: [] # mine\n        # and\n",
	}, {
		name: "brackets",
		want: edit.Netdev{Name: "rail0", MTU: 9000, Addrs: addrs("10.20.0.1/24", "10.20.2.1/24", "fd00::1/64")},
		old:  "network: {version: 2, ethernets: {rail0: {addresses: [ 10.20.0.1/24, '10.20.1.1/24' ], mtu: 1500}}}\n",
		now:  "network: {version: 2, ethernets: {rail0: {addresses: [ 10.20.0.1/24, '10.20.2.1/24', \"fd00::1/64\" ], mtu: 9000}}}\n",
	}, {
		name: "brackets over several lines",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24", "10.20.2.1/24")},
		old:  "network:\n  ethernets:\n    rail0:\n      addresses: [\n        10.20.0.1/24, # one\n        10.20.1.1/24, # two\n      ]\n",
		now:  "network:\n  ethernets:\n    rail0:\n      addresses: [\n        10.20.0.1/24, # one\n        10.20.2.1/24, # two\n      ]\n",
	}, {
		name: "an address with a label keeps it",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.2/24")},
		old:  "network:\n  ethernets:\n    rail0:\n      addresses:\n        - 10.20.0.1/24:\n            label: \"rail0:a\"\n",
		now:  "network:\n  ethernets:\n    rail0:\n      addresses:\n        - 10.20.0.2/24:\n            label: \"rail0:a\"\n",
	}, {
		name: "a new interface after the others",
		want: edit.Netdev{Name: "rail0", MTU: 9000, Addrs: addrs("10.20.0.1/24")},
		old:  "network:\n  version: 2\n  ethernets:\n    eno1:\n      dhcp4: true\n    # end of the ethernets\n  bonds: {}\n",
		now:  "network:\n  version: 2\n  ethernets:\n    eno1:\n      dhcp4: true\n    rail0:\n      mtu: 9000\n      addresses:\n        - 10.20.0.1/24\n    # end of the ethernets\n  bonds: {}\n",
	}, {
		name: "a new section, no end of the last line",
		want: edit.Netdev{Name: "ib0", Mode: "datagram", MTU: 2044},
		old:  "network:\n  version: 2",
		now:  "network:\n  version: 2\n  ethernets:\n    ib0:\n      mtu: 2044\n      infiniband-mode: datagram",
	}, {
		name: "a section with a renderer",
		want: edit.Netdev{Name: "eno1", MTU: 9000},
		old:  "network:\n  ethernets:\n    renderer: networkd\n    eno1:\n      dhcp4: true\n",
		now:  "network:\n  ethernets:\n    renderer: networkd\n    eno1:\n      dhcp4: true\n      mtu: 9000\n",
	}, {
		name: "connected mode is for NetworkManager",
		want: edit.Netdev{Name: "ib0", Mode: "connected", MTU: 65520},
		old:  "network:\n  renderer: NetworkManager\n",
		now:  "network:\n  renderer: NetworkManager\n  ethernets:\n    ib0:\n      mtu: 65520\n      infiniband-mode: connected\n",
	}, {
		name: "line ends of the other kind",
		want: edit.Netdev{Name: "rail0", MTU: 9000, NoDefault: true},
		old:  "network:\r\n  ethernets:\r\n    rail0:\r\n      gateway4: 10.20.0.254\r\n      addresses: [10.20.0.1/24]",
		now:  "network:\r\n  ethernets:\r\n    rail0:\r\n      addresses: [10.20.0.1/24]\r\n      mtu: 9000",
	}, {
		name: "no default route: gateways and routes",
		want: edit.Netdev{Name: "rail0", NoDefault: true},
		old: `network:
  ethernets:
    rail0:
      addresses: [10.20.0.1/24]
      gateway4: 10.20.0.254
      gateway6: "fd00::fe"
      routes:
        # out
        - to: default
          via: 10.20.0.254
        - to: 10.30.0.0/24
          via: 10.20.0.254
        - to: 0.0.0.0/0 # by rule
          via: 10.20.0.254
          table: 100
        - to: "::/0"
          via: "fd00::fe"
`,
		now: `network:
  ethernets:
    rail0:
      addresses: [10.20.0.1/24]
      routes:
        # out
        - to: 10.30.0.0/24
          via: 10.20.0.254
        - to: 0.0.0.0/0 # by rule
          via: 10.20.0.254
          table: 100
`,
	}, {
		name: "no default route: the only route and the only key",
		want: edit.Netdev{Name: "rail0", NoDefault: true},
		old:  "network:\n  ethernets:\n    rail0: # mine\n      gateway4: 10.20.0.254\n    rail1: {routes: [{to: default, via: 10.20.1.254}]}\n",
		now:  "network:\n  ethernets:\n    rail0: {} # mine\n    rail1: {routes: [{to: default, via: 10.20.1.254}]}\n",
	}, {
		name: "no default route: the only route in brackets",
		want: edit.Netdev{Name: "rail1", NoDefault: true},
		old:  "network:\n  ethernets:\n    rail1: {routes: [{to: default, via: 10.20.1.254}]}\n",
		now:  "network:\n  ethernets:\n    rail1: {routes: []}\n",
	}, {
		name: "no default route: DHCP",
		want: edit.Netdev{Name: "rail0", NoDefault: true},
		old:  "network:\n  ethernets:\n    rail0:\n      dhcp4: yes\n      dhcp6: true\n      dhcp6-overrides: {use-dns: true}\n",
		now:  "network:\n  ethernets:\n    rail0:\n      dhcp4: yes\n      dhcp6: true\n      dhcp6-overrides: {use-dns: true, use-routes: false}\n      dhcp4-overrides:\n        use-routes: false\n",
	}, {
		name: "routes: one more",
		want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.254"}, {To: "fd01::/64", Via: "fd00::fe"}}},
		old:  "network:\n  ethernets:\n    rail0:\n      routes:\n      - to: 10.30.0.0/24\n        via: 10.20.0.254\n        metric: 7\n",
		now:  "network:\n  ethernets:\n    rail0:\n      routes:\n      - to: 10.30.0.0/24\n        via: 10.20.0.254\n        metric: 7\n      - to: \"fd01::/64\"\n        via: \"fd00::fe\"\n",
	}, {
		name: "routes: gateway4 is the default route",
		want: edit.Netdev{Name: "eno1", Routes: []edit.Route{{To: "default", Via: "10.0.0.254"}}},
		old:  "network:\n  ethernets:\n    eno1: {gateway4: 10.0.0.254}\n",
		now:  "network:\n  ethernets:\n    eno1: {gateway4: 10.0.0.254}\n",
	}, {
		name: "an interface by another key",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "network:\n  ethernets:\n    a:\n      match: {macaddress: \"02:00:00:00:00:01\"}\n      set-name: rail0\n    b:\n      match:\n        name: enp1s0\n",
		now:  "network:\n  ethernets:\n    a:\n      match: {macaddress: \"02:00:00:00:00:01\"}\n      set-name: rail0\n      mtu: 9000\n    b:\n      match:\n        name: enp1s0\n",
	}, {
		name: "by its own key, whatever the others match",
		want: edit.Netdev{Name: "b", MTU: 9000},
		old:  "network:\n  ethernets:\n    a: {match: {driver: mlx5_core}}\n    b: {match: {macaddress: \"02:00:00:00:00:01\"}, set-name: rail0}\n",
		now:  "network:\n  ethernets:\n    a: {match: {driver: mlx5_core}}\n    b: {match: {macaddress: \"02:00:00:00:00:01\"}, set-name: rail0, mtu: 9000}\n",
	}, {
		name: "a bond",
		want: edit.Netdev{Name: "bond0", MTU: 9000},
		old:  "network:\n  bonds:\n    bond0:\n      interfaces: [eno1, eno2]\n  ethernets: {eno1: {}, eno2: {}}\n",
		now:  "network:\n  bonds:\n    bond0:\n      interfaces: [eno1, eno2]\n      mtu: 9000\n  ethernets: {eno1: {}, eno2: {}}\n",
	}, {
		name: "nothing but network:",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "network: # to come\n",
		now:  "network: # to come\n  ethernets:\n    rail0:\n      mtu: 9000\n",
	}, {
		name: "an empty section",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "network:\n  ethernets:\n  version: 2\n",
		now:  "network:\n  ethernets:\n    rail0:\n      mtu: 9000\n  version: 2\n",
	}, {
		name: "nothing but a comment",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "# to come",
		now:  "# to come\nnetwork:\n  version: 2\n  ethernets:\n    rail0:\n      mtu: 9000\n",
	}, {
		name: "a quoted key and number",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "network:\n  ethernets:\n    \"rail0\":\n      mtu: \"1500\"\n",
		now:  "network:\n  ethernets:\n    \"rail0\":\n      mtu: \"9000\"\n",
	}, {
		name: "an empty value",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "network:\n  ethernets:\n    rail0:\n      mtu: # ?\n",
		now:  "network:\n  ethernets:\n    rail0:\n      mtu: 9000 # ?\n",
	}, {
		name: "an empty block with a comment",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "network:\n  ethernets:\n    rail0: # mine\n    # others\n    eno1: {}\n",
		now:  "network:\n  ethernets:\n    rail0: # mine\n      mtu: 9000\n    # others\n    eno1: {}\n",
	}, {
		name: "a text behind bars after it",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "network:\n  ethernets:\n    rail0:\n      x: |\n        # no comment\n",
		err:  "reach beyond",
	},
	{name: "connected mode", want: edit.Netdev{Name: "ib0", Mode: "connected"}, err: "line 4: systemd-networkd ignores", old: "network:\n  renderer: networkd\n  ethernets:\n    ib0: {}\n"},
	{name: "a pattern", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: `line 3: all matches "rail*", which is not rail0 alone`,
		old: "network:\n  ethernets:\n    all: {match: {name: \"rail*\"}}\n"},
	{name: "by MAC address", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 3: whether a is rail0 cannot be told",
		old: "network:\n  ethernets:\n    a: {match: {macaddress: \"02:00:00:00:00:01\"}}\n"},
	{name: "a pattern by its key", want: edit.Netdev{Name: "all", MTU: 9000}, err: `line 3: all may match more than one interface`,
		old: "network:\n  ethernets:\n    all: {match: {name: \"rail*\"}}\n"},
	{name: "a name and a key", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 4: rail0 is defined for the second time",
		old: "network:\n  ethernets:\n    rail0: {set-name: rail1}\n    b: {set-name: rail0}\n"},
	{name: "a VRF", want: edit.Netdev{Name: "red", MTU: 9000}, err: "line 3: red is one of the vrfs, which weft does not change",
		old: "network:\n  vrfs:\n    red: {table: 7}\n"},
	{name: "twice", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 4: rail0 is defined for the second time",
		old: "network:\n  ethernets:\n    rail0: {}\n    b: {set-name: rail0}\n"},
	{name: "the same key twice", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 4: ",
		old: "network:\n  ethernets:\n    rail0: {}\n    rail0: {}\n"},
	{name: "anchors", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 3: an anchor or alias",
		old: "network:\n  ethernets:\n    rail0: &a {}\n    rail1: *a\n"},
	{name: "documents", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 3: several documents",
		old: "network:\n  version: 2\n---\nnetwork: {}\n"},
	{name: "tabs", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 2: a tab", old: "network:\n\tversion: 2\n"},
	{name: "tags", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 1: a tag", old: "network: !!map {}\n"},
	{name: "line ends of two kinds", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "two kinds", old: "network:\r\n  version: 2\n"},
	{name: "not YAML", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 2: ", old: "network:\n  a: [\n"},
	{name: "not a network", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 1: no network", old: "users: []\n"},
	{name: "a list", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 1: not a table", old: "- a\n"},
	{name: "an odd address", want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24")}, err: `line 3: "10.20.0.9" is not an address with its prefix length`,
		old: "network:\n  ethernets:\n    rail0: {addresses: [10.20.0.9]}\n"},
	{name: "another gateway", want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.253"}}}, err: `line 3: there is a route to 10.30.0.0/24 already, by "10.20.0.254"`,
		old: "network:\n  ethernets:\n    rail0: {routes: [{to: 10.30.0.0/24, via: 10.20.0.254}]}\n"},
	{name: "a bond has no IPoIB mode", want: edit.Netdev{Name: "bond0", Mode: "datagram"}, err: "line 3: bond0 is one of the bonds",
		old: "network:\n  bonds:\n    bond0: {}\n"},
	{name: "a name with a newline", want: edit.Netdev{Name: "a\nb", MTU: 9000}, err: "holds '\\n'", old: ""},
}

func TestSet(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now, err := Set(c.old, c.want)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got\n%s\nand %v, want an error with %q", now, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.now, now); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
			if again, err := Set(now, c.want); err != nil || again != now {
				t.Errorf("a second time: %v\n%s", err, cmp.Diff(now, again))
			}
		})
	}
}

func TestNames(t *testing.T) {
	got, err := Names("network:\r\n  ethernets:\r\n    eno1: {}\r\n    a: {set-name: rail0}\r\n    b: {match: {name: rail1}}\r\n    c: {match: {name: 'x*'}}\r\n    d: {match: {driver: mlx5_core}}\r\n  bonds: {bond0: {interfaces: [eno1]}}\r\n")
	if want := []string{"bond0", "eno1", "rail0", "rail1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := Names("# nothing\n"); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v of a comment", got, err)
	}
}

var wishes = []edit.Netdev{
	{Name: "rail0", MTU: 9000},
	{Name: "rail0", Addrs: addrs("10.20.0.1/24")},
	{Name: "rail0", Addrs: addrs()},
	{Name: "rail0", Addrs: addrs("10.20.0.1/24", "fd00::1/64"), NoDefault: true},
	{Name: "rail0", NoDefault: true},
	{Name: "rail0", Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.254"}, {To: "default", Via: "fd00::fe"}}},
	{Name: "ib0", Mode: "datagram", MTU: 2044},
	{Name: "rail0", MTU: 9000, Addrs: addrs("10.20.0.1/24"), NoDefault: true, Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.254"}}},
}

func FuzzSet(f *testing.F) {
	for _, c := range cases {
		for i := range wishes {
			f.Add(c.old, byte(i))
		}
	}
	f.Fuzz(func(t *testing.T, old string, pick byte) {
		want := wishes[int(pick)%len(wishes)]
		now, err := Set(old, want)
		if err != nil {
			return
		}
		if again, err := Set(now, want); err != nil || again != now {
			t.Fatalf("a second time: %v\n%q\n%q", err, now, again)
		}
		judge(t, old, now, want)
	})
}

// judge compares two texts by what the library, not this package, reads in them.
func judge(t *testing.T, old, now string, want edit.Netdev) {
	if hashes := strings.Count(old, "\n#"); strings.Count(now, "\n#") < hashes {
		t.Fatalf("a comment is gone\n%q\n%q", old, now)
	}
	d, err := read(strings.ReplaceAll(now, "\r\n", "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := d.find(want.Name); err != nil || b == nil && asks(want) {
		t.Fatalf("%s is not in it: %v\n%q", want.Name, err, now)
	}
	var was, is map[string]any
	if yaml.Unmarshal([]byte(old), &was) != nil {
		return // 0 and 00 are one key for the library, and two for netplan
	}
	if err := yaml.Unmarshal([]byte(now), &is); err != nil {
		t.Fatalf("%v\n%q", err, now)
	}
	net, _ := is["network"].(map[string]any)
	ethernets, _ := net["ethernets"].(map[string]any)
	own, _ := ethernets[want.Name].(map[string]any)
	if mtu, ok := own["mtu"].(uint64); ok && want.MTU != 0 && mtu != uint64(want.MTU) {
		t.Fatalf("the mtu is %d\n%q", mtu, now)
	}
	if list, ok := own["addresses"].([]any); ok && want.Addrs != nil && len(list) != len(*want.Addrs) {
		t.Fatalf("the addresses are %v\n%q", list, now)
	}
	if _, ok := own["gateway4"]; ok && want.NoDefault {
		t.Fatalf("there is a gateway\n%q", now)
	}
}

// FuzzNew makes files of wishes as a stranger would spell them.
func FuzzNew(f *testing.F) {
	f.Add("rail0", "10.20.0.1/24", "10.30.0.0/24", "10.20.0.254", 9000, true)
	f.Add("1e5", "fd00::1/64", "default", "fd00::fe", 1280, false)
	f.Fuzz(func(t *testing.T, name, addr, to, via string, mtu int, noDefault bool) {
		w := edit.Netdev{Name: name, Addrs: &[]string{addr}, MTU: mtu, NoDefault: noDefault, Routes: []edit.Route{{To: to, Via: via}}}
		text, err := New([]edit.Netdev{w}, "networkd")
		if err != nil {
			return
		}
		if names, err := Names(text); err != nil || !slices.Equal(names, []string{name}) {
			t.Fatalf("%q: %v %v\n%s", name, names, err, text)
		}
		if again, err := Set(text, w); err != nil || again != text {
			t.Fatalf("%v\n%s\n%s", err, text, again)
		}
	})
}
