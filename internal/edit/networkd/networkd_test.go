package networkd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/edit"
)

func addrs(list ...string) *[]string { return &list }

var cases = []struct {
	name string
	want edit.Netdev
	old  string
	now  string
	err  string // what an error says
}{
	{
		name: "a number in its place",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "# mine\n[Match]\nName=rail0\n\n[Link]\n; the switch's default\nMTUBytes = 1500 \nMulticast=yes\n",
		now:  "# mine\n[Match]\nName=rail0\n\n[Link]\n; the switch's default\nMTUBytes = 9000 \nMulticast=yes\n",
	}, {
		name: "the last of several counts",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "[Match]\nName=rail0\n[Link]\nMTUBytes=1500\n[Network]\n[Link]\nMTUBytes=1400\n",
		now:  "[Match]\nName=rail0\n[Link]\nMTUBytes=1500\n[Network]\n[Link]\nMTUBytes=9000\n",
	}, {
		name: "a number with a unit",
		want: edit.Netdev{Name: "rail0", MTU: 9216},
		old:  "[Match]\nName=rail0\n[Link]\nMTUBytes=9K\n",
		now:  "[Match]\nName=rail0\n[Link]\nMTUBytes=9K\n",
	}, {
		name: "a new section, no end of the last line",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "[Match]\r\nName=rail0",
		now:  "[Match]\r\nName=rail0\r\n\r\n[Link]\r\nMTUBytes=9000",
	}, {
		name: "one more key, as the others are written",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24", "fd00::1/64")},
		old:  "[Match]\nName=rail0\n\n[Network]\n  DHCP = no\n# end\n\n[Link]\nRequiredForOnline=no\n",
		now:  "[Match]\nName=rail0\n\n[Network]\n  DHCP = no\n  Address = 10.20.0.1/24\n  Address = fd00::1/64\n# end\n\n[Link]\nRequiredForOnline=no\n",
	}, {
		name: "one address of two",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.7/24", "fd00::1/64")},
		old:  "[Match]\nName=rail0\n[Network]\nAddress=10.20.0.1\n\n# six\n[Address]\nAddress=fd00::1/64\nLabel=x\n",
		now:  "[Match]\nName=rail0\n[Network]\nAddress=10.20.0.7/24\n\n# six\n[Address]\nAddress=fd00::1/64\nLabel=x\n",
	}, {
		name: "a section goes, its comments stay",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24")},
		old:  "[Match]\nName=rail0\n\n[Network]\nAddress=10.20.0.1/24\n\n[Address]\n# a second\nAddress=10.20.0.2/24\nLabel=x\n\n[Link]\nMTUBytes=9000\n",
		now:  "[Match]\nName=rail0\n\n[Network]\nAddress=10.20.0.1/24\n# a second\n\n[Link]\nMTUBytes=9000\n",
	}, {
		name: "an address with a peer is not turned into another",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24")},
		old:  "[Match]\nName=rail0\n\n[Address]\nAddress=10.9.0.1/32\nPeer=10.9.0.2/32\n",
		now:  "[Match]\nName=rail0\n\n[Network]\nAddress=10.20.0.1/24\n",
	}, {
		name: "IPoIB",
		want: edit.Netdev{Name: "ib0", Kind: "infiniband", Mode: "datagram", MTU: 2044},
		old:  "[Match]\nName=ib0\n",
		now:  "[Match]\nName=ib0\n\n[Link]\nMTUBytes=2044\n",
	}, {
		name: "no default route",
		want: edit.Netdev{Name: "rail0", NoDefault: true},
		old: `[Match]
Name=rail0

[Network]
Address=10.20.0.1/24
Gateway=10.20.0.254
DefaultRouteOnDevice=yes

[Route]
Gateway=10.20.0.254
Metric=5

[Route]
Destination=10.30.0.0/24
Gateway=10.20.0.254

[Route]
Destination=0.0.0.0/0
Gateway=10.20.0.254
Table=100

[Route]
Destination=::/0
Gateway=fd00::fe
Table=main

[Link]
MTUBytes=9000
`,
		now: `[Match]
Name=rail0

[Network]
Address=10.20.0.1/24

[Route]
Destination=10.30.0.0/24
Gateway=10.20.0.254

[Route]
Destination=0.0.0.0/0
Gateway=10.20.0.254
Table=100

[Link]
MTUBytes=9000
`,
	}, {
		name: "no default route: DHCP without",
		want: edit.Netdev{Name: "rail0", NoDefault: true},
		old:  "[Match]\nName=rail0\n[Network]\nDHCP=ipv4\n[DHCPv4]\nUseGateway=no\n",
		now:  "[Match]\nName=rail0\n[Network]\nDHCP=ipv4\n[DHCPv4]\nUseGateway=no\n",
	}, {
		name: "routes",
		want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "default", Via: "10.20.0.254"}, {To: "10.30.0.0/24", Via: "10.20.0.254"}, {To: "fd01::/64", Via: "fd00::fe"}}},
		old:  "[Match]\nName=rail0\n[Network]\nGateway=10.20.0.254\n[Route]\nDestination=10.30.0.0/24\nGateway=10.20.0.254\nMetric=9\n",
		now:  "[Match]\nName=rail0\n[Network]\nGateway=10.20.0.254\n[Route]\nDestination=10.30.0.0/24\nGateway=10.20.0.254\nMetric=9\n\n[Route]\nDestination=fd01::/64\nGateway=fd00::fe\n",
	},
	{name: "IPoIB mode", want: edit.Netdev{Name: "ib0", Mode: "connected"}, err: "ignores [IPoIB]", old: "[Match]\nName=ib0\n"},
	{name: "DHCP", want: edit.Netdev{Name: "rail0", NoDefault: true}, err: "DHCP=yes brings a default route",
		old: "[Match]\nName=rail0\n[Network]\nDHCP=yes\n[DHCPv4]\nUseGateway=yes\nUseRoutes=no\n"},
	{name: "another interface", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "[Match] is not for rail0", old: "[Match]\nName=rail1\n"},
	{name: "unmanaged", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "does not configure rail0", old: "[Match]\nName=rail0\n[Link]\nUnmanaged=yes\n"},
	{name: "not a key", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: `line 3: "hello" is neither a section nor a key`, old: "[Match]\nName=rail0\n hello\n"},
	{name: "before any section", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 1: Name= stands before any section", old: "Name=rail0\n"},
	{name: "an odd section", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: `line 1: "[Match" is not a section`, old: "[Match\nName=rail0\n"},
	{name: "an odd address", want: edit.Netdev{Name: "rail0", Addrs: addrs()}, err: "line 4: Address=dhcp is not an address", old: "[Match]\nName=rail0\n[Network]\nAddress=dhcp\n"},
	{name: "two addresses in one section", want: edit.Netdev{Name: "rail0", Addrs: addrs()}, err: "line 5: a second Address=", old: "[Match]\nName=rail0\n[Address]\nAddress=1.1.1.1/8\nAddress=2.2.2.2/8\n"},
	{name: "a value over two lines", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 4: MTUBytes= goes on on the next line", old: "[Match]\nName=rail0\n[Link]\nMTUBytes=\\\n 1500\n"},
	{name: "another gateway", want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "default", Via: "10.20.0.253"}}}, err: `line 4: there is a route to default already, by "10.20.0.254"`,
		old: "[Match]\nName=rail0\n[Network]\nGateway=10.20.0.254\n"},
	{name: "NUL", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 2: not plain text", old: "[Match]\nName=rail0\x00\n"},
	{name: "a name that is a pattern", want: edit.Netdev{Name: "rail*", MTU: 9000}, err: "holds '*'", old: "[Match]\nName=rail*\n"},
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
		})
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		text        string
		exact, glob bool
	}{
		{"[Match]\nName=rail0\n", true, false},
		{"[Match]\nName=rail1 rail0\n", false, true},
		{"[Match]\nName=rail1\n", false, false},
		{"[Match]\nName=rail1\nName=rail0\n", false, true},
		{"[Match]\nName=rail1\nName=\nName=rail0\n", true, false},
		{"[Match]\nName=rail*\n", false, true},
		{"[Match]\nName=rail[!0]\n", false, false},
		{"[Match]\nName=eth*\n", false, false},
		{"[Match]\nName=!eth*\n", false, true},
		{"[Match]\nName=!rail0 x\n", false, false},
		{"[Match]\nMACAddress=02:00:00:00:00:01\n", false, true},
		{"[Match]\nName=rail0\nDriver=mlx5_core\n", false, true},
		{"[Match]\nName=rail1\nDriver=mlx5_core\n", false, false},
		{"[Network]\nDHCP=yes\n", false, true},
		{"[Match]\nName=eth0 \\\n  rail0\n", false, true},
		{"what is this\n", false, false},
	} {
		if exact, glob := Matches(c.text, "rail0"); exact != c.exact || glob != c.glob {
			t.Errorf("%q: got %v %v, want %v %v", c.text, exact, glob, c.exact, c.glob)
		}
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

func TestNew(t *testing.T) {
	for _, want := range wishes {
		text, err := New(want)
		if err != nil {
			t.Fatal(err)
		}
		if exact, _ := Matches(text, want.Name); !exact {
			t.Errorf("not for %s alone:\n%s", want.Name, text)
		}
		if again, err := Set(text, want); err != nil || again != text {
			t.Errorf("%v\n%s", err, cmp.Diff(text, again))
		}
	}
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
		if was, is := rest(t, old, want), rest(t, now, want); !slices.Equal(was, is) {
			t.Fatalf("beside the wish: %s", cmp.Diff(was, is))
		}
	})
}

// rest is what a text says beside the wish, comments included.
func rest(t *testing.T, text string, want edit.Netdev) (out []string) {
	for line := range strings.Lines(text) {
		if s := strings.TrimSpace(line); s != "" && (s[0] == '#' || s[0] == ';') {
			out = append(out, s)
		}
	}
	f, err := edit.Systemd.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Sections {
		route, _ := s.Value("Destination")
		switch {
		case s.Name == "Address" && want.Addrs != nil:
			continue
		case s.Name == "Route" && !elsewhere(s) && want.NoDefault && (route == "" || strings.HasSuffix(route, "/0")):
			continue
		case s.Name == "Route" && slices.ContainsFunc(want.Routes, func(r edit.Route) bool { to, _, _ := r.Parse(); return to.String() == route }):
			continue
		}
		for _, k := range s.Keys {
			switch s.Name + "." + k.Name {
			case "Link.MTUBytes", "IPoIB.Mode", "Network.Address", "Network.Gateway", "Network.DefaultRouteOnDevice":
			default:
				out = append(out, fmt.Sprintf("%s.%s=%s", s.Name, k.Name, k.Value))
			}
		}
	}
	return out
}

// FuzzNew makes files of wishes as a stranger would spell them.
func FuzzNew(f *testing.F) {
	f.Add("rail0", "10.20.0.1/24", "10.30.0.0/24", "10.20.0.254", 9000, true)
	f.Add("1e5", "fd00::1/64", "default", "fd00::fe", 1280, false)
	f.Fuzz(func(t *testing.T, name, addr, to, via string, mtu int, noDefault bool) {
		text, err := New(edit.Netdev{Name: name, Addrs: &[]string{addr}, MTU: mtu, NoDefault: noDefault, Routes: []edit.Route{{To: to, Via: via}}})
		if err != nil {
			return
		}
		if exact, _ := Matches(text, name); !exact {
			t.Fatalf("not for %q:\n%s", name, text)
		}
		f, err := edit.Systemd.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Sections {
			if !slices.Contains([]string{"Match", "Link", "Network", "Route"}, s.Name) {
				t.Fatalf("[%s] in\n%s", s.Name, text)
			}
		}
	})
}
