package dump

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weft/internal/fixture"
)

var testKey = []byte("a key of the test")

// config is a configuration space with two extended capabilities: AER at 100h and
// the Device Serial Number at 150h.
func config() string {
	b := make([]byte, 4096)
	copy(b, "\xb3\x15\x21\x10")
	copy(b[0x100:], "\x01\x00\x02\x15")
	copy(b[0x150:], "\x03\x00\x01\x00\xa6\x02\xcc\xff\xff\xf6\xce\xb8\x77")
	return string(b)
}

func secrets() *Dump {
	n := NewNode("spark1")
	n.Text["/sys/class/net/eth0/address"] = "b8:ce:f6:cc:02:a6\n"
	n.Text["/sys/class/net/ib0/address"] = "80:00:02:08:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:cc:02:a6\n"
	n.Text["/sys/class/net/enxb8cef6cc02a6/mtu"] = "9000\n"
	n.Text["/sys/class/infiniband/mlx5_0/node_guid"] = "b8ce:f603:00cc:02a6\n"
	n.Text["/sys/class/infiniband/mlx5_0/fw_ver"] = "28.43.2026\n"
	n.Text["/sys/class/infiniband/bnxt_re0/fw_ver"] = "218.0.152.0\n"
	n.Text["/sys/class/infiniband/mlx5_0/ports/1/gids/0"] = "fe80:0000:0000:0000:bace:f6ff:fecc:02a6\n"
	n.Text["/sys/class/infiniband/mlx5_0/ports/1/gids/3"] = "0000:0000:0000:0000:0000:ffff:c0a8:c801\n"
	n.Text["/sys/class/dmi/id/product_serial"] = "5CD1234XYZ\n"
	n.Text["/sys/bus/pci/devices/0000:c1:00.0/config"] = config()
	n.Text["$ ip -j route get 192.168.200.2"] = `[{"dst":"192.168.200.2","dev":"eth0","prefsrc":"192.168.200.1"}]` + "\n"
	n.Text["$ ip -j route"] = `[{"dst":"192.168.200.0/24","dev":"eth0","prefsrc":"192.168.200.1"},{"dst":"fd12:3456:789a::/48","dev":"eth0"}]` + "\n"
	n.Text["$ ibnetdiscover"] = "switchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)\nSwitch 65 \"S-2c5eab0300b87b40\"\n"
	n.Text["$ lspci -vv"] = "c1:00.0 Ethernet\n\t[SN] Serial number: MT2340J88735   \n\t[VU] Vendor specific: MT2340J88735MLNXS0D0F0\n\tDevice Serial Number b8-ce-f6-ff-ff-cc-02-a6\n"
	n.Text["$ nvidia-smi -q -x"] = "<serial>1324523012345</serial>\n<uuid>GPU-37037c3f-65c8-ec4d-24a9-420204ad8026</uuid>\n<pdi>0x531e7660f021a0d4</pdi>\n"
	n.Text["/boot/loader/entries/d4f5a6b7c8d94e0fa1b2c3d4e5f60718-6.12.0.conf"] = "machine-id d4f5a6b7c8d94e0fa1b2c3d4e5f60718\nlinux /d4f5a6b7c8d94e0fa1b2c3d4e5f60718/6.12.0/linux\n"
	n.Text["$ odd"] = "link /boot/loader/entries/d4f5a6b7c8d94e0fa1b2c3d4e5f60718-6.12.0.conf\tx\n"
	n.Text["$ raw"] = "\x00\xff 10.1.2.3 \x01"
	n.Text["/etc/odd"] = "-- x/y --\n10.1.2.3\n"
	n.Link["/sys/class/net/eth0/device"] = "../../../0000:c1:00.0"
	n.Link["/var/lib/by-address"] = "host-of/10.1.2.3"
	n.Gap["$ ping -n -c 1 -W 1 192.168.200.3"] = "connect 192.168.200.3: no route"
	return &Dump{Note: "asked by 203.0.113.7\n", Nodes: []*Node{n, NewNode("10.1.2.3")}}
}

// identifying are the strings of secrets that must not survive.
var identifying = []string{"cc:02:a6", "cc02a6", "00cc:02a6", "fecc:02a6", "c0a8:c801", "192.168.200.", "fd12:3456", "b87b40", "MT2340J88735",
	"cc-02-a6", "1324523012345", "37037c3f", "531e7660f021a0d4", "10.1.2.3", "203.0.113.7", "5CD1234XYZ", "d4f5a6b7", "\xa6\x02\xcc\xff"}

func TestRedactLeavesNothing(t *testing.T) {
	d := Redact(secrets(), testKey)
	var all []string
	for _, n := range d.Nodes {
		all = append(all, n.Name)
		for _, m := range []map[string]string{n.Text, n.Link, n.Gap} {
			for k, v := range m {
				all = append(all, k, v)
			}
		}
	}
	all = append(all, d.Note)
	for _, s := range identifying {
		for _, text := range all {
			if strings.Contains(text, s) {
				t.Errorf("%q is still in %q", s, text[:min(len(text), 200)])
			}
		}
	}
}

func TestRedactKeepsTheShape(t *testing.T) {
	before := secrets()
	after := Redact(before, testKey)
	for i, n := range before.Nodes {
		c := after.Nodes[i]
		if got, want := [3]int{len(c.Text), len(c.Link), len(c.Gap)}, [3]int{len(n.Text), len(n.Link), len(n.Gap)}; got != want {
			t.Errorf("%s: %v members, want %v", n.Name, got, want)
		}
		for _, dir := range []string{"/sys", "/sys/class", "/sys/class/net", "/sys/class/infiniband/mlx5_0/ports/1/gids", "/sys/bus/pci/devices"} {
			if got, want := len(c.Dir(dir)), len(n.Dir(dir)); got != want {
				t.Errorf("%s: %d names, want %d", dir, got, want)
			}
		}
	}
	n := after.Nodes[0]
	if n.Name != "spark1" {
		t.Errorf("node %q", n.Name)
	}
	for path, want := range map[string]string{
		"/sys/class/infiniband/mlx5_0/fw_ver":   "28.43.2026",
		"/sys/class/infiniband/bnxt_re0/fw_ver": "218.0.152.0",
	} {
		if got, _ := n.Get(path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if got := n.Link["/sys/class/net/eth0/device"]; got != "../../../0000:c1:00.0" {
		t.Errorf("link %q", got)
	}
	if _, err := Parse(after.Format()); err != nil {
		t.Errorf("own format: %v", err)
	}
}

func TestRedactKeepsRelations(t *testing.T) {
	n := Redact(secrets(), testKey).Nodes[0]
	get := func(key string) string {
		s, ok := n.Get(key)
		if !ok {
			t.Fatalf("no %s in %v", key, n.under("/sys"))
		}
		return s
	}
	hexOf := func(s string) string { return strings.NewReplacer(":", "", "-", "").Replace(s) }

	mac := hexOf(get("/sys/class/net/eth0/address"))
	if !strings.HasPrefix(mac, "b8cef6") {
		t.Errorf("MAC %s lost its maker", mac)
	}
	tail := mac[6:]
	if guid := hexOf(get("/sys/class/infiniband/mlx5_0/node_guid")); guid != "b8cef60300"+tail {
		t.Errorf("GUID %s is not of MAC %s", guid, mac)
	}
	if gid := hexOf(get("/sys/class/infiniband/mlx5_0/ports/1/gids/0")); gid != "fe80000000000000bacef6fffe"+tail {
		t.Errorf("GID %s is not of MAC %s", gid, mac)
	}
	if ipoib := hexOf(get("/sys/class/net/ib0/address")); ipoib != "80000208fe80000000000000b8cef60300"+tail {
		t.Errorf("IPoIB address %s is not of GUID of %s", ipoib, mac)
	}
	if get("/sys/class/net/enx"+mac+"/mtu") != "9000" {
		t.Error("the netdev's name does not hold its MAC")
	}

	route, _ := n.Cmd("ip -j route")
	m := regexp.MustCompile(`"dst":"([0-9.]+)/24","dev":"eth0","prefsrc":"([0-9.]+)"`).FindStringSubmatch(route)
	if m == nil {
		t.Fatalf("route %s", route)
	}
	subnet, src := netip.MustParsePrefix(m[1]+"/24"), netip.MustParseAddr(m[2])
	if subnet != subnet.Masked() || !subnet.Contains(src) {
		t.Errorf("source %v is not in %v", src, subnet)
	}
	gid := netip.MustParseAddr(get("/sys/class/infiniband/mlx5_0/ports/1/gids/3"))
	if gid.Unmap() != src {
		t.Errorf("GID %v is not of address %v", gid, src)
	}
	cmds := n.Cmds("ip -j route get ")
	if len(cmds) != 1 {
		t.Fatalf("commands %q", cmds)
	}
	peer := netip.MustParseAddr(strings.TrimPrefix(cmds[0], "ip -j route get "))
	if answer, _ := n.Cmd(cmds[0]); !subnet.Contains(peer) || !strings.Contains(answer, `"dst":"`+peer.String()+`"`) || !strings.Contains(answer, `"prefsrc":"`+src.String()+`"`) {
		t.Errorf("peer %v in %v answered %s", peer, subnet, answer)
	}
	if guids := regexp.MustCompile(`[0-9a-f]{16}`).FindAllString(n.Text["$ ibnetdiscover"], -1); len(slices.Compact(guids)) != 1 || guids[0][:10] != "2c5eab0300" {
		t.Errorf("switch GUIDs %q", guids)
	}
}

func TestRedactTexts(t *testing.T) {
	r := redactor{newMask(testKey)}
	for _, same := range []string{
		"0000:c1:00.0", "PCI:0000:9b:00: Xid 119", "00000000:01:00.0", "c1:00.0", "[10de:2330] (rev a1)",
		"[Sun Feb 23 16:24:18 2025]", "2025-11-12 11:11:48,752", "12:34:56.789", "2025-01-02T03:04:05", "25-01-02-13-45-59",
		"28.43.2026", "16.35.2000", "nccl==2.21.5", "v6.8.0.45", "version 6.8.0.45", `"fw": "6.8.0.45"`, "firmware-version: 218.0.152.0/pkg 218.0.152.0",
		"00.65.60.00", "95.04.53.00.01", "7.2.0.0-43-fc0010cf6a", "MLNX_OFED_LINUX-5.8-1.1.2.1:", "25.05.4.001", "1.2.3.4.5rc1",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "d41d8cd98f00b204e9800998ecf8427e", "fc0010cf6a",
		"rx_bytes: 1234567890123456", "0x0000000000002081", "0xffffffffffffffff", "ffffffff81234567", "comm 0x5609976f9470",
		"0.0.0.0", "255.255.255.0", "127.0.0.1", "224.0.0.251", "::", "::1", "ff02::1", "fe80::/64", "fe80:0000:0000:0000", "0xfe80000000000000",
		"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:0e", "33:33:00:00:00:01", "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff",
		"std::vector", "mlx5_0:1/RoCE", "0000:0000:0000:0000", "00000000-0000-0000-0000-000000000000",
		"<serial>N/A</serial>", `"Serial Number": "N/A"`, `"serial":null,`, "Serial Number: 0", "8250 serial port", "NODE_GUID: N/A",
	} {
		if got := r.text("", same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	for in, form := range map[string]string{
		"eth0:10.220.178.201<0>":                 `^eth0:10\.\d+\.\d+\.\d+<0>$`,
		"at 10.20.1.126:6379...":                 `^at 10\.\d+\.\d+\.\d+:6379\.\.\.$`,
		"server 10.0.0.7.":                       `^server 10\.\d+\.\d+\.\d+\.$`,
		"10.0.0.1-10.0.0.9":                      `^10\.\d+\.\d+\.\d+-10\.\d+\.\d+\.\d+$`,
		"node:10.163.194.101":                    `^node:10\.\d+\.\d+\.\d+$`,
		"172.20.1.1":                             `^172\.(1[6-9]|2\d|3[01])\.\d+\.\d+$`,
		"169.254.35.62**/16":                     `^169\.254\.\d+\.\d+\*\*/16$`,
		"localGid ::ffff:29.87.4.221":            `^localGid ::ffff:\d+\.\d+\.\d+\.\d+$`,
		"eth0:fe80::a4ed:ccff:fe8b:1994%eth0<0>": `^eth0:fe80::a4ed:ccff:fe[0-9a-f]{2}:[0-9a-f]{1,4}%eth0<0>$`,
		"[fd00:1::5]:6379":                       `^\[fd[0-9a-f:]+\]:6379$`,
		"FE80::A4ED:CCFF:FE8B:1994":              `^FE80::A4ED:CCFF:FE[0-9A-F]{2}:[0-9A-F]{1,4}$`,
		"ff02::1:ff8b:1994":                      `^ff02::1:ff[0-9a-f]{2}:[0-9a-f]{1,4}$`,
		"GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:200:13": `^GID: (00:){10}255:255:192:168:\d{2,3}:\d{2,3}$`,
		"perfquery/0x506b4b03005c2740.out":                          `^perfquery/0x506b4b0300[0-9a-f]{6}\.out$`,
		"10.0.0.1.conf":                                             `^10\.\d+\.\d+\.\d+\.conf$`,
		"mac:3c:6d:66:cc:b3:b7":                                     `^mac:3c:6d:66:[0-9a-f]{2}:[0-9a-f]{2}:[0-9a-f]{2}$`,
		"Base MAC: b8cef6cc02a6":                                    `^Base MAC: b8cef6[0-9a-f]{6}$`,
		"B8-CE-F6-CC-02-A6":                                         `^B8-CE-F6(-[0-9A-F]{2}){3}$`,
		"\"H-0002990300112233\"":                                    `^"H-0002990300[0-9a-f]{6}"$`,
		"rocex9c63c003005548ae/1":                                   `^rocex9c63c00300[0-9a-f]{6}/1$`,
		"subnet_prefix fec0:0000:0000:0001":                         `^subnet_prefix fe[c-f][0-9a-f](:[0-9a-f]{4}){3}$`,
		"UUID:1a44c330-8d06-34d6-9773-df0a34882a4b":                 `^UUID:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`,
		"Uuid: GPU-79ccd55167a2124a":                                `^Uuid: GPU-[0-9a-f]{16}$`,
		"Vendor SN                  : MT2049VS01234":                `^Vendor SN                  : [A-Z]{2}\d{4}[A-Z]{2}\d{5}$`,
		"serial number      | MT1943X00498":                         `^serial number      \| [A-Z]{2}\d{4}[A-Z]\d{5}$`,
		"GPU Board Serial Number: 1650124014249\nnext":              `^GPU Board Serial Number: 1\d{12}\nnext$`,
		`{"serial":"AB12","port":1}`:                                `^\{"serial":"[A-Z]{2}\d\d","port":1\}$`,
		"unique_id 18446744073709551615":                            `^unique_id 1[0-7]\d{18}$`,
		`"Unique ID": "0x79ccd55167a2124a"`:                         `^"Unique ID": "0x[0-9a-f]{16}"$`,
		"name, serial, uuid\nA100, 1320221001234, x":                `^name, serial, uuid\nA100, 1\d{12}, x$`,
	} {
		got := r.text("", in)
		if got == in || !regexp.MustCompile(form).MatchString(got) {
			t.Errorf("%q became %q, want %s", in, got, form)
		}
	}
}

func TestRedactIsKeyed(t *testing.T) {
	same := func(a, b *Dump) bool { return cmp.Equal(a, b, cmpopts.IgnoreUnexported(Node{})) }
	once, again, other := Redact(secrets(), testKey), Redact(secrets(), testKey), Redact(secrets(), []byte("another"))
	if !same(once, again) {
		t.Error("the same key gave another dump")
	}
	if same(once, other) {
		t.Error("another key gave the same dump")
	}
	if want := secrets(); !same(want, secrets()) || same(once, want) {
		t.Error("nothing was redacted")
	}
}

func TestRedactConfig(t *testing.T) {
	want := []byte(config())
	clear(want[0x154:0x15c])
	if got := withoutSerial(config()); got != string(want) {
		t.Error("more or less than the serial number changed")
	}
	loop := []byte(config())
	loop[0x102], loop[0x103] = 0x02, 0x10 // points at itself
	if got := withoutSerial(string(loop)); got != string(loop) {
		t.Error("a loop changed something")
	}
	for _, n := range []int{0, 64, 256, 258, 0x152, 0x158, 0x160} {
		if got := withoutSerial(config()[:n]); len(got) != n || n > 0x154 && strings.Trim(got[0x154:min(n, 0x15c)], "\x00") != "" {
			t.Errorf("config space of %d bytes became %x", n, got)
		}
	}
}

// The relation that makes redacted subnets true: what two addresses share before,
// they share after.
func TestRedactKeepsPrefixes(t *testing.T) {
	m := newMask(testKey)
	random := rand.New(rand.NewPCG(1, 2))
	starts := [][]byte{{}, {10}, {192, 168}, {172, 16}, {169, 254}, {127}, {224}, {255, 255}}
	starts6 := [][]byte{{}, {0xfe, 0x80}, {0xfe, 0x80, 0, 0, 0, 0, 0, 0}, {0xfd}, {0x20, 0x01}, {0xff, 0x02}, make([]byte, 15),
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0xb8, 0xce, 0xf6, 0xff, 0xfe}}
	for i := range 3000 {
		size, from := 4, starts
		if i%2 == 1 {
			size, from = 16, starts6
		}
		draw := func() []byte {
			b := make([]byte, size)
			for j := range b {
				b[j] = byte(random.Uint32())
			}
			copy(b, from[random.IntN(len(from))])
			return b
		}
		a, b := draw(), draw()
		if i%3 > 0 { // share k bits exactly
			b = slices.Clone(a)
			k := random.IntN(8 * size)
			b[k/8] ^= 0x80 >> (k % 8)
			for j := k/8 + 1; j < size; j++ {
				b[j] = byte(random.Uint32())
			}
		}
		x, _ := netip.AddrFromSlice(a)
		y, _ := netip.AddrFromSlice(b)
		if x.String() == "fe80::" || y.String() == "fe80::" {
			continue
		}
		if got, want := common(m.addr(x).AsSlice(), m.addr(y).AsSlice()), common(a, b); got != want {
			t.Fatalf("%v and %v share %d bits, their stand-ins %v and %v share %d", x, y, want, m.addr(x), m.addr(y), got)
		}
	}
}

func TestRedactKeepsRanges(t *testing.T) {
	m := newMask(testKey)
	random := rand.New(rand.NewPCG(3, 4))
	for _, p := range kept {
		for range 200 {
			b := p.Addr().AsSlice()
			for i := p.Bits(); i < len(b)*8; i++ {
				b[i/8] ^= byte(random.IntN(2)) * (0x80 >> (i % 8))
			}
			a, _ := netip.AddrFromSlice(b)
			if got := m.addr(a); !p.Contains(got) || got.BitLen() != a.BitLen() {
				t.Fatalf("%v of %v became %v", a, p, got)
			}
		}
	}
	for range 500 {
		a := netip.AddrFrom4([4]byte{byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())})
		if got, want := m.addr(netip.AddrFrom16(a.As16())), m.addr(a); got.Unmap() != want {
			t.Fatalf("%v became %v, in a GID %v", a, want, got)
		}
	}
}

// Real outputs: no MAC, GUID or address of the shared fixtures survives, and lines
// stay lines.
func TestRedactFixtures(t *testing.T) {
	leak := regexp.MustCompile(`\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b|\b0x[0-9a-f]{16}\b|GPU-[0-9a-f-]{36}|\bMT\d{4}[A-Z]+\d{5}`)
	found := 0
	for _, file := range fixture.All(t) {
		b := fixture.Read(t, file)
		n := NewNode("n")
		n.Text["$ x"] = string(b)
		got := Redact(&Dump{Nodes: []*Node{n}}, testKey).Nodes[0].Text["$ x"]
		if strings.Count(got, "\n") != strings.Count(string(b), "\n") {
			t.Errorf("%s: lines were lost", file)
		}
		for _, s := range leak.FindAllString(string(b), -1) {
			plain, _ := hex.DecodeString(strings.TrimPrefix(s, "0x"))
			if len(plain) == 8 && [3]byte(plain[:3]) == [3]byte{} || strings.Trim(s, "f:") == "" || (strings.Contains(s, "ff:ff:ff") || strings.Count(s, "00") > 1) && strings.Count(s, ":") == 5 {
				continue // a number, a broadcast, a piece of a longer address
			}
			found++
			if strings.Contains(got, s) {
				t.Errorf("%s: %s is still there", file, s)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d identifiers in the fixtures: the test looks at nothing", found)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(secrets().Format(), testKey)
	f.Add([]byte("-- n/$ ip a FD00:0::1 --\n1:2:3:4:5:6:7:8\n-- n/$ ip a fd00::1 --\n::ffff:1.2.3.4/96 0x\n"), []byte{})
	f.Add([]byte("-- =n/config --\nAAAA\n-- !n/x_serial --\nserial: \n-- n/x_serial --\n\n"), []byte("k"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		d, err := Parse(b)
		if err != nil {
			return
		}
		one, two := Redact(d, key), Redact(d, key)
		if string(one.Format()) != string(two.Format()) {
			t.Fatal("the same input gave two outputs")
		}
		if len(one.Nodes) != len(d.Nodes) {
			t.Fatalf("%d nodes, want %d", len(one.Nodes), len(d.Nodes))
		}
		for i, n := range d.Nodes {
			c := one.Nodes[i]
			if len(c.Text) != len(n.Text) || len(c.Link) != len(n.Link) || len(c.Gap) != len(n.Gap) {
				t.Fatalf("%s: members were lost", n.Name)
			}
		}
		if _, err := Parse(one.Format()); err != nil {
			t.Fatalf("own format: %v", err)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	n := NewNode("n")
	var s strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&s, "CA %d 1 0x7cfe90030%07x 4x EDR - SW 1719 10 0x7cfe9003009ce5b0 ( 'o%04d HCA-1' - 'ib-i1l1s01' )\n", i, i, i)
	}
	n.Text["$ ibnetdiscover -p"] = s.String()
	d := &Dump{Nodes: []*Node{n}}
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		Redact(d, testKey)
	}
}
