package networkd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/edit"
)

// script runs systemd-networkd on veth pairs in namespaces of its own: a mount namespace
// with its own /run, and a network namespace. It ends when all that is expected is there,
// or after eight seconds.
const script = `set -e
cd "$1"
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp /run/udev
chown -R systemd-network: /run/systemd/netif
mount -t sysfs -o ro sysfs /sys
cp *.network /run/systemd/network/
ip link set lo up
for f in *.network; do
	n=${f%.network}
	ip link add "$n" type veth peer name "p$n"
	ip link set "p$n" mtu 65535 up
done
echo began
SYSTEMD_LOG_LEVEL=info SYSTEMD_LOG_TARGET=console "$2" >log 2>&1 &
for i in $(seq 80); do
	{ ip -o addr; ip route; ip -6 route; } >now
	all=yes
	while read -r what more; do
		grep -q "$what .*$more " now || all=no
	done <expect
	[ $all = yes ] && break
	sleep 0.1
done
sleep 0.5 # for what should not come
ip -j addr >addr.json
ip -j route >route4.json
ip -j -6 route >route6.json
kill $!
`

type link struct {
	Name  string `json:"ifname"`
	MTU   int    `json:"mtu"`
	Addrs []struct {
		Local     string `json:"local"`
		PrefixLen int    `json:"prefixlen"`
		Scope     string `json:"scope"`
	} `json:"addr_info"`
}

type line struct {
	Dst string `json:"dst"`
	Via string `json:"gateway"`
	Dev string `json:"dev"`
}

// apart gives every interface networks of its own, so that no two routes are the same.
func apart(s string, i int) string {
	return strings.NewReplacer(
		"10.20.", fmt.Sprintf("10.%d.", 100+i), "10.30.", fmt.Sprintf("10.%d.", 150+i),
		"fd00::", fmt.Sprintf("fd00:%x::", i), "fd01::", fmt.Sprintf("fd01:%x::", i)).Replace(s)
}

// TestNetworkd lets systemd-networkd itself configure interfaces by what was written.
func TestNetworkd(t *testing.T) {
	const program = "/lib/systemd/systemd-networkd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("systemd-networkd is not installed")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make namespaces for systemd-networkd")
	}
	dir := t.TempDir()
	wants, expect := given(t, dir)
	write(t, filepath.Join(dir, "trap.network"), "[Match]\nName=trap\n[IPoIB]\nMode=connected\n")
	for path, text := range map[string]string{"expect": expect, "script": script} {
		write(t, filepath.Join(dir, path), text)
	}
	out, err := exec.Command("unshare", "-m", "-n", "sh", filepath.Join(dir, "script"), dir, program).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "began") {
		t.Skipf("no namespaces for systemd-networkd here: %v: %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	trapped := false
	for l := range strings.Lines(string(log)) {
		if strings.Contains(l, "trap.network:3: Unknown section 'IPoIB'") {
			trapped = true
		} else if strings.Contains(l, "Unknown") || strings.Contains(l, "Failed to parse") {
			t.Errorf("systemd-networkd says: %s", l)
		}
	}
	if !trapped {
		t.Logf("this systemd-networkd takes [IPoIB] from a .network file: setMode may write it\n%s", log)
	}
	links := load[link](t, dir, "addr.json")
	routes := append(load[line](t, dir, "route4.json"), load[line](t, dir, "route6.json")...)
	for i, w := range wants {
		name := fmt.Sprintf("t%d", i)
		at := slices.IndexFunc(links, func(l link) bool { return l.Name == name })
		if at < 0 {
			t.Fatalf("no %s among %v", name, links)
		}
		judge(t, links[at], slices.DeleteFunc(slices.Clone(routes), func(r line) bool { return r.Dev != name }), w)
	}
	if t.Failed() {
		t.Logf("%s", log)
	}
}

// given writes the files: those of the cases and new ones. Each is for an interface of
// its own, t0, t1, …; it returns their wishes and what to wait for.
func given(t *testing.T, dir string) (wants []edit.Netdev, expect string) {
	add := func(w edit.Netdev, text string) {
		i := len(wants)
		name := fmt.Sprintf("t%d", i)
		if w.Addrs != nil {
			var list []string
			for _, a := range *w.Addrs {
				list = append(list, apart(a, i))
				expect += name + " " + apart(a, i) + "\n"
			}
			w.Addrs = &list
		}
		w.Routes = slices.Clone(w.Routes)
		for j, r := range w.Routes {
			w.Routes[j] = edit.Route{To: apart(r.To, i), Via: apart(r.Via, i)}
			expect += fmt.Sprintf("%s via %s\n", w.Routes[j].To, w.Routes[j].Via)
		}
		wants = append(wants, w)
		write(t, filepath.Join(dir, name+".network"), apart(strings.Replace(text, "Name="+w.Name, "Name="+name, 1), i))
	}
	for _, c := range cases {
		if c.err == "" && !strings.Contains(c.name, "DHCP") { // nobody answers here
			add(c.want, c.now)
		}
	}
	for _, w := range wishes {
		if len(w.Routes) > 0 && w.Addrs == nil {
			w.Addrs = addrs("10.20.0.1/24", "fd00::1/64") // or the gateway cannot be reached
		}
		text, err := New(w)
		if err != nil {
			t.Fatal(err)
		}
		add(w, text)
	}
	return wants, expect
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func load[T any](t *testing.T, dir, name string) (out []T) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func judge(t *testing.T, is link, routes []line, w edit.Netdev) {
	if w.MTU != 0 && is.MTU != w.MTU {
		t.Errorf("%s: mtu %d, want %d", is.Name, is.MTU, w.MTU)
	}
	var addrs []string
	for _, a := range is.Addrs {
		if a.Scope == "global" {
			addrs = append(addrs, fmt.Sprintf("%s/%d", a.Local, a.PrefixLen))
		}
	}
	if w.Addrs != nil && !slices.Equal(slices.Sorted(slices.Values(addrs)), slices.Sorted(slices.Values(*w.Addrs))) {
		t.Errorf("%s: addresses %v, want %v", is.Name, addrs, *w.Addrs)
	}
	for _, r := range w.Routes {
		if !slices.ContainsFunc(routes, func(l line) bool { return l.Dst == r.To && l.Via == r.Via }) {
			t.Errorf("%s: no route to %s by %s in %v", is.Name, r.To, r.Via, routes)
		}
	}
	if w.NoDefault && slices.ContainsFunc(routes, func(l line) bool { return l.Dst == "default" }) {
		t.Errorf("%s: a default route in %v", is.Name, routes)
	}
}
