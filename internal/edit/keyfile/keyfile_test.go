package keyfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/edit"
)

const uuid = "6f5b3c2e-1d1a-4f0b-9c8d-7e6f5a4b3c2d"

func addrs(list ...string) *[]string { return &list }

// head begins every connection of the tests.
const head = "[connection]\nid=a\nuuid=" + uuid + "\ntype=ethernet\ninterface-name=rail0\n\n"

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
		old:  head + "[ethernet]\n# the switch's default\nmtu = 1500\nwake-on-lan=0\n\n[ipv4]\nmethod=auto\n",
		now:  head + "[ethernet]\n# the switch's default\nmtu = 9000\nwake-on-lan=0\n\n[ipv4]\nmethod=auto\n",
	}, {
		name: "the older name",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  strings.Replace(head, "type=", "type=802-3-", 1) + "[802-3-ethernet]\ncloned-mac-address=permanent",
		now:  strings.Replace(head, "type=", "type=802-3-", 1) + "[802-3-ethernet]\ncloned-mac-address=permanent\nmtu=9000",
	}, {
		name: "a new section, line ends of the other kind",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  strings.ReplaceAll(head, "\n", "\r\n") + "[ipv4]\r\nmethod=auto\r\n",
		now:  strings.ReplaceAll(head, "\n", "\r\n") + "[ipv4]\r\nmethod=auto\r\n\r\n[ethernet]\r\nmtu=9000\r\n",
	}, {
		name: "one address of two, with its gateway",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.7/24", "10.20.1.1/24")},
		old:  head + "[ipv4]\naddress1=10.20.0.1/24,10.20.0.254\naddress2=10.20.1.1/24\nmethod=manual\n",
		now:  head + "[ipv4]\naddress1=10.20.0.7/24,10.20.0.254\naddress2=10.20.1.1/24\nmethod=manual\n",
	}, {
		name: "from DHCP to an address, and to IPv6",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24", "fd00::1/64")},
		old:  head + "[ipv4]\nmethod=auto\n\n[ipv6]\naddr-gen-mode=eui64\nmethod=disabled\n",
		now:  head + "[ipv4]\nmethod=manual\naddress1=10.20.0.1/24\n\n[ipv6]\naddr-gen-mode=eui64\nmethod=manual\naddress1=fd00::1/64\n",
	}, {
		name: "from off to an address",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24")},
		old:  head + "[ipv4]\nmethod=disabled\n",
		now:  head + "[ipv4]\nmethod=manual\naddress1=10.20.0.1/24\n",
	}, {
		name: "without a section",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.1/24"), NoDefault: true, Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.254"}}},
		old:  head,
		now:  head + "[ipv4]\nmethod=manual\naddress1=10.20.0.1/24\nnever-default=true\nroute1=10.30.0.0/24,10.20.0.254\n",
	}, {
		name: "no address is left",
		want: edit.Netdev{Name: "rail0", Addrs: addrs()},
		old:  head + "[ipv4]\naddress1=10.20.0.1/24\ngateway=10.20.0.254\nmethod=manual\n\n[ipv6]\naddress=fd00::1/64\nmethod=manual\n",
		now:  head + "[ipv4]\nmethod=disabled\n\n[ipv6]\nmethod=link-local\n",
	}, {
		name: "no default route",
		want: edit.Netdev{Name: "rail0", NoDefault: true},
		old:  head + "[ipv4]\naddress1=10.20.0.1/24,10.20.0.254\nmethod=manual\nroute1=0.0.0.0/0,10.20.0.254\nroute1_options=src=10.20.0.1\nroute2=10.30.0.0/24,10.20.0.254,7\nroute3=0.0.0.0/0,10.20.0.254\nroute3_options=table=100\n\n[ipv6]\nmethod=auto\n",
		now:  head + "[ipv4]\naddress1=10.20.0.1/24\nmethod=manual\nroute2=10.30.0.0/24,10.20.0.254,7\nroute3=0.0.0.0/0,10.20.0.254\nroute3_options=table=100\nnever-default=true\n\n[ipv6]\nmethod=auto\nnever-default=true\n",
	}, {
		name: "no default route: DHCP, and IPv6 as NetworkManager likes it",
		want: edit.Netdev{Name: "rail0", NoDefault: true},
		old:  head,
		now:  head + "[ipv4]\nmethod=auto\nnever-default=true\n",
	}, {
		name: "an address and no default route in one line",
		want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.0.7/24"), NoDefault: true},
		old:  head + "[ipv4]\naddress1=10.20.0.1/24,10.20.0.254\nmethod=manual\nnever-default=yes\n",
		now:  head + "[ipv4]\naddress1=10.20.0.7/24\nmethod=manual\nnever-default=true\n",
	}, {
		name: "routes",
		want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "default", Via: "10.20.0.254"}, {To: "10.30.0.0/24", Via: "10.20.0.254"}, {To: "10.31.0.0/24", Via: "10.20.0.254"}}},
		old:  head + "[ipv4]\naddress1=10.20.0.1/24,10.20.0.254\nmethod=manual\nroute4=10.30.0.0/24,10.20.0.254,7\n",
		now:  head + "[ipv4]\naddress1=10.20.0.1/24,10.20.0.254\nmethod=manual\nroute4=10.30.0.0/24,10.20.0.254,7\nroute5=10.31.0.0/24,10.20.0.254\n",
	}, {
		name: "IPoIB",
		want: edit.Netdev{Name: "rail0", Mode: "connected", MTU: 65520},
		old:  strings.Replace(head, "ethernet", "infiniband", 1) + "[infiniband]\ntransport-mode=datagram\n",
		now:  strings.Replace(head, "ethernet", "infiniband", 1) + "[infiniband]\ntransport-mode=connected\nmtu=65520\n",
	}, {
		name: "bound by its MAC address",
		want: edit.Netdev{Name: "rail0", MTU: 9000},
		old:  "[connection]\ntype=ethernet\n[ethernet]\nmac-address=02:00:00:00:00:01\n",
		now:  "[connection]\ntype=ethernet\n[ethernet]\nmac-address=02:00:00:00:00:01\nmtu=9000\n",
	},
	{name: "another interface", want: edit.Netdev{Name: "rail1", MTU: 9000}, err: "interface-name=rail0: the connection is not for rail1 alone", old: head},
	{name: "any interface", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "not for rail0 alone", old: "[connection]\ntype=ethernet\n"},
	{name: "another type", want: edit.Netdev{Name: "rail0", Mode: "datagram"}, err: "type=ethernet: rail0 is of another type", old: head},
	{name: "no type", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "no type=", old: "[ipv4]\nmethod=auto\n"},
	{name: "the mtu of a bond", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "does not change the MTU", old: strings.Replace(head, "ethernet", "bond", 1)},
	{name: "two names of one section", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: "line 7: [ethernet] and [802-3-ethernet] are the same", old: head + "[802-3-ethernet]\n[ethernet]\n"},
	{name: "the address that holds the gateway", want: edit.Netdev{Name: "rail0", Addrs: addrs("10.20.1.1/24")}, err: "line 8: address1=10.20.0.1/24,10.20.0.254 is not wanted, but holds the gateway",
		old: head + "[ipv4]\naddress1=10.20.0.1/24,10.20.0.254\naddress2=10.20.1.1/24\nmethod=manual\n"},
	{name: "a gateway out of reach", want: edit.Netdev{Name: "rail0", Addrs: addrs("10.21.0.1/24")}, err: "line 8: the gateway 10.20.0.254",
		old: head + "[ipv4]\naddress1=10.20.0.1/24,10.20.0.254\nmethod=manual\n"},
	{name: "the old way to write addresses", want: edit.Netdev{Name: "rail0", Addrs: addrs()}, err: "line 8: addresses1=10.20.0.1;24;0.0.0.0; is not understood",
		old: head + "[ipv4]\naddresses1=10.20.0.1;24;0.0.0.0;\nmethod=manual\n"},
	{name: "a key twice", want: edit.Netdev{Name: "rail0", Addrs: addrs()}, err: "line 9: address1= for the second time",
		old: head + "[ipv4]\naddress1=10.20.0.1/24\naddress1=10.20.0.2/24\n"},
	{name: "another gateway", want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "default", Via: "10.20.0.253"}}}, err: `line 9: there is a route to default already, by "10.20.0.254"`,
		old: head + "[ipv4]\naddress1=10.20.0.1/24\ngateway=10.20.0.254\nmethod=manual\n"},
	{name: "a route where IPv4 is off", want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.253"}}}, err: "method=disabled: no route",
		old: head + "[ipv4]\nmethod=disabled\n"},
	{name: "a default route that may not be", want: edit.Netdev{Name: "rail0", Routes: []edit.Route{{To: "default", Via: "10.20.0.253"}}}, err: "never-default=true: no default route",
		old: head + "[ipv4]\nmethod=auto\nnever-default=true\n"},
	{name: "not a comment here", want: edit.Netdev{Name: "rail0", MTU: 9000}, err: `line 7: "; x" is neither`, old: head + "; x\n"},
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

var wishes = []edit.Netdev{
	{Name: "rail0", MTU: 9000},
	{Name: "rail0", Addrs: addrs("10.20.0.1/24")},
	{Name: "rail0", Addrs: addrs()},
	{Name: "rail0", Addrs: addrs("10.20.0.1/24", "fd00::1/64"), NoDefault: true},
	{Name: "rail0", NoDefault: true},
	{Name: "rail0", Addrs: addrs("10.20.0.1/24", "fd00::1/64"), Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.254"}, {To: "default", Via: "fd00::fe"}}},
	{Name: "rail0", Mode: "connected", MTU: 65520},
	{Name: "rail0", Kind: "infiniband", Addrs: addrs("10.20.0.1/24")},
	{Name: "rail0", MTU: 9000, Addrs: addrs("10.20.0.1/24"), NoDefault: true, Routes: []edit.Route{{To: "10.30.0.0/24", Via: "10.20.0.254"}}},
}

func TestNew(t *testing.T) {
	for _, want := range wishes {
		text, err := New(want, uuid)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Set(text, want); err != nil || again != text {
			t.Errorf("%v\n%s", err, cmp.Diff(text, again))
		}
	}
	if _, err := New(wishes[0], "one\ntwo"); err == nil {
		t.Error("a UUID of two lines was taken")
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
		if was, is := rest(t, old), rest(t, now); !slices.Equal(was, is) {
			t.Fatalf("beside the wish: %s", cmp.Diff(was, is))
		}
	})
}

var touched = regexp.MustCompile(`^((802-3-)?ethernet|infiniband)\.(mtu|transport-mode)=|^ipv[46]\.(method|never-default|gateway|address(es)?\d*|routes?\d*(_options)?)=`)

// rest is what a text says beside what weft writes, comments included.
func rest(t *testing.T, text string) (out []string) {
	for line := range strings.Lines(text) {
		if s := strings.TrimSpace(line); s != "" && s[0] == '#' {
			out = append(out, s)
		}
	}
	f, err := edit.GKey.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Sections {
		for _, k := range s.Keys {
			if s := fmt.Sprintf("%s.%s=%s", s.Name, k.Name, k.Value); !touched.MatchString(s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// FuzzNew makes connections of wishes as a stranger would spell them.
func FuzzNew(f *testing.F) {
	f.Add("rail0", "10.20.0.1/24", "10.30.0.0/24", "10.20.0.254", 9000, true)
	f.Add("1e5", "fd00::1/64", "default", "fd00::fe", 1280, false)
	f.Fuzz(func(t *testing.T, name, addr, to, via string, mtu int, noDefault bool) {
		text, err := New(edit.Netdev{Name: name, Addrs: &[]string{addr}, MTU: mtu, NoDefault: noDefault, Routes: []edit.Route{{To: to, Via: via}}}, uuid)
		if err != nil {
			return
		}
		f, err := edit.GKey.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := f.Value("connection", "interface-name"); v != name || len(f.Sections) != 4 {
			t.Fatalf("of %q:\n%s", name, text)
		}
	})
}
