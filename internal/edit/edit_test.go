package edit

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	addrs := func(list ...string) *[]string { return &list }
	for _, c := range []struct {
		n   Netdev
		err string
	}{
		{Netdev{Name: "enp1s0f0np0", MTU: 9000, Addrs: addrs("10.20.0.1/24", "fd00::1/64"), Routes: []Route{{"default", "10.20.0.254"}, {"default", "fd00::fe"}, {"10.9.9.9", "10.20.0.254"}}}, ""},
		{Netdev{Name: "ib0.8001", Kind: "infiniband", Mode: "connected", MTU: 65520, Addrs: addrs(), NoDefault: true}, ""},
		{Netdev{}, `"" is not the name`},
		{Netdev{Name: "sixteen-letters-"}, "is not the name"},
		{Netdev{Name: ".."}, "is not the name"},
		{Netdev{Name: "-x"}, "is not the name"},
		{Netdev{Name: "a b"}, "holds ' '"},
		{Netdev{Name: "a\x00"}, "holds '\\x00'"},
		{Netdev{Name: "a;rm"}, "holds ';'"},
		{Netdev{Name: "é"}, "holds"},
		{Netdev{Name: "a", Kind: "wifi"}, "neither ethernet nor infiniband"},
		{Netdev{Name: "a", MTU: 67}, "mtu 67"},
		{Netdev{Name: "a", MTU: 65536}, "mtu 65536"},
		{Netdev{Name: "a", Mode: "both"}, "neither datagram nor connected"},
		{Netdev{Name: "a", Kind: "ethernet", Mode: "datagram"}, "has no IPoIB mode"},
		{Netdev{Name: "a", Addrs: addrs("10.20.0.1")}, "not an address with its prefix length"},
		{Netdev{Name: "a", Addrs: addrs("10.20.0.1/24\n")}, "not an address with its prefix length"},
		{Netdev{Name: "a", Addrs: addrs("fe80::1%eth0/64")}, "not an address with its prefix length"},
		{Netdev{Name: "a", Addrs: addrs("0.0.0.0/24")}, "cannot be an interface's address"},
		{Netdev{Name: "a", Addrs: addrs("224.0.0.1/24")}, "cannot be an interface's address"},
		{Netdev{Name: "a", Addrs: addrs("::ffff:10.20.0.1/120")}, "cannot be an interface's address"},
		{Netdev{Name: "a", Addrs: addrs("10.20.0.1/24", "10.20.0.1/24")}, "asked for twice"},
		{Netdev{Name: "a", Routes: []Route{{"10.30.0.1/24", "10.20.0.1"}}}, "not a network"},
		{Netdev{Name: "a", Routes: []Route{{"10.30.0.0/24", "fd00::1"}}}, "of the other family"},
		{Netdev{Name: "a", Routes: []Route{{"10.30.0.0/24", ""}}}, "cannot be a gateway"},
		{Netdev{Name: "a", Routes: []Route{{"10.30.0.0/24", "10.0.0.1"}, {"10.30.0.0/24", "10.0.0.2"}}}, "two routes"},
		{Netdev{Name: "a", NoDefault: true, Routes: []Route{{"default", "10.0.0.1"}}}, "both asked for"},
	} {
		switch err := c.n.Check(); {
		case c.err == "" && err != nil:
			t.Errorf("%+v: %v", c.n, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%+v: got %v, want an error with %q", c.n, err, c.err)
		}
	}
}

// TestAlign makes lists of a few addresses into others, and counts.
func TestAlign(t *testing.T) {
	pool := []netip.Prefix{}
	for _, s := range []string{"10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24", "fd00::1/64", "fd00::2/64"} {
		pool = append(pool, netip.MustParsePrefix(s))
	}
	r := rand.New(rand.NewPCG(1, 2))
	some := func(twice bool) (out []netip.Prefix) {
		for range r.IntN(6) {
			if p := pool[r.IntN(len(pool))]; twice || !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
		return out
	}
	for range 10000 {
		there, want := some(true), some(false)
		bound := r.IntN(4)
		becomes, add := Align(there, want, func(i int) bool { return i != bound })
		now := slices.Clone(add)
		for i, p := range becomes {
			if p.IsValid() {
				now = append(now, p)
			}
			if p.IsValid() && p != there[i] && (i == bound || p.Addr().Is4() != there[i].Addr().Is4() || slices.Contains(there, p)) {
				t.Fatalf("%v → %v: %v takes the place of %v", there, want, p, there[i])
			}
			if !p.IsValid() && i != bound && slices.ContainsFunc(add, func(a netip.Prefix) bool { return a.Addr().Is4() == there[i].Addr().Is4() }) {
				t.Fatalf("%v → %v: %v goes while %v is added", there, want, there[i], add)
			}
		}
		order := func(a, b netip.Prefix) int { return strings.Compare(a.String(), b.String()) }
		slices.SortFunc(now, order)
		slices.SortFunc(want, order)
		if !slices.Equal(now, want) {
			t.Fatalf("%v becomes %v, want %v", there, now, want)
		}
	}
}

func FuzzINI(f *testing.F) {
	for _, s := range []string{"", "[a]\nb=c\n", "# x\n[a]\r\nb = c \\\r\n ; d\r\n e\r\n[a]", "[a]\nb=", "[a]\n\n\n[b]\nc=d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{Systemd, GKey} {
			f, err := d.Read(text)
			if err != nil {
				continue
			}
			if out := f.Text(); out != text {
				t.Fatalf("unchanged, %q became %q", text, out)
			}
			keys := 0
			for _, s := range f.Sections {
				keys += len(s.Keys)
			}
			f.Add("weft", "one", "1")
			f.Add("weft", "two", "2")
			f.AddSection("weft", "three", "3")
			again, err := d.Read(f.Text())
			if err != nil {
				t.Fatalf("%v\n%q\n%q", err, text, f.Text())
			}
			for _, s := range again.Sections {
				keys -= len(s.Keys)
			}
			if v, _ := again.Value("weft", "three"); keys != -3 || v != "3" {
				t.Fatalf("%q became %q", text, f.Text())
			}
			if ends := strings.HasSuffix(f.Text(), "\n"); text != "" && ends != strings.HasSuffix(text, "\n") {
				t.Fatalf("the last line's end of %q: %q", text, f.Text())
			}
		}
	})
}
