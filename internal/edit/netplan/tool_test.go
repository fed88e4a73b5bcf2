package netplan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"weft/internal/edit"
)

// TestGenerate lets netplan itself read what was written and looks at what it makes of
// it: for systemd-networkd of every case, for both of what is new.
func TestGenerate(t *testing.T) {
	netplan, err := exec.LookPath("netplan")
	if err != nil {
		if netplan, err = exec.LookPath("/usr/sbin/netplan"); err != nil {
			t.Skip("netplan is not installed")
		}
	}
	// The command is a wrapper that takes ten times as long as the program under it.
	quick := []string{netplan, "generate"}
	if program, err := exec.LookPath("/usr/libexec/netplan/generate"); err == nil {
		quick = []string{program}
	}
	type try struct {
		name, text string
		wants      []edit.Netdev
	}
	var tries []try
	for _, c := range cases {
		if c.err == "" {
			tries = append(tries, try{c.name, c.now, []edit.Netdev{c.want}})
		}
	}
	for _, renderer := range []string{"", "networkd", "NetworkManager"} {
		wants := []edit.Netdev{wishes[7], wishes[6], {Name: "rail1", MTU: 4200, NoDefault: true, Addrs: addrs("fd00::2/64"), Routes: []edit.Route{{To: "fd01::/64", Via: "fd00::fe"}}}}
		text, err := New(wants, renderer)
		if err != nil {
			t.Fatal(err)
		}
		tries = append(tries, try{"new " + renderer, text, wants})
	}
	for _, x := range tries {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, filepath.Join(root, "etc/netplan/50-weft.yaml"), x.text)
			cmd := quick
			if strings.HasPrefix(x.name, "new") {
				cmd = []string{netplan, "generate"}
			}
			out, err := exec.Command(cmd[0], append(cmd[1:len(cmd):len(cmd)], "--root-dir", root)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, x.text)
			}
			if s := strings.TrimSpace(string(out)); s != "" && !strings.Contains(s, "deprecated") && !strings.Contains(s, "Cannot call") {
				t.Errorf("netplan says: %s", s)
			}
			for _, w := range x.wants {
				if strings.Contains(x.text, "renderer: NetworkManager") {
					rendered(t, root, "run/NetworkManager/system-connections/netplan-"+w.Name+".nmconnection", w, nm)
				} else {
					rendered(t, root, "run/systemd/network/10-netplan-*.network", w, networkd)
				}
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// says is what a renderer's file says of a wish: lines that stand in it, and lines that
// do not.
type says func(w edit.Netdev) (yes, no []string)

func networkd(w edit.Netdev) (yes, no []string) {
	if w.MTU != 0 {
		yes = append(yes, "MTUBytes="+strconv.Itoa(w.MTU))
	}
	if w.Mode != "" {
		yes = append(yes, "Mode="+w.Mode)
	}
	if w.Addrs != nil {
		for _, a := range *w.Addrs {
			yes = append(yes, "Address="+a)
		}
	}
	for _, r := range w.Routes {
		yes = append(yes, "Gateway="+r.Via)
	}
	if w.NoDefault {
		no = append(no, "[Network]\nGateway=", "Destination=0.0.0.0/0\nGateway=10.20.0.254\n\n")
	}
	return yes, no
}

func nm(w edit.Netdev) (yes, no []string) {
	if w.MTU != 0 {
		yes = append(yes, "mtu="+strconv.Itoa(w.MTU))
	}
	if w.Mode != "" {
		yes = append(yes, "transport-mode="+w.Mode)
	}
	if w.Addrs != nil {
		for _, a := range *w.Addrs {
			yes = append(yes, "="+a)
		}
	}
	for _, r := range w.Routes {
		yes = append(yes, "="+r.To+","+r.Via)
	}
	return yes, []string{"gateway="}
}

func rendered(t *testing.T, root, pattern string, w edit.Netdev, say says) {
	t.Helper()
	var text string
	files, _ := filepath.Glob(filepath.Join(root, pattern))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "="+w.Name+"\n") || strings.HasSuffix(f, "-"+w.Name+".network") {
			text += string(b)
		}
	}
	if text == "" {
		t.Fatalf("nothing was made for %s: %v", w.Name, files)
	}
	yes, no := say(w)
	for _, s := range yes {
		if !strings.Contains(text, s+"\n") {
			t.Errorf("no %s in\n%s", s, text)
		}
	}
	for _, s := range no {
		if strings.Contains(text, s) {
			t.Errorf("%q in\n%s", s, text)
		}
	}
	if w.NoDefault && strings.Contains(text, "DHCP=yes") && !strings.Contains(text, "UseRoutes=false") {
		t.Errorf("DHCP brings routes in\n%s", text)
	}
	if w.Addrs != nil && strings.Count(text, "Address=") > len(*w.Addrs) {
		t.Errorf("more addresses than asked for in\n%s", text)
	}
}
