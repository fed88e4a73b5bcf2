package format

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/dump"
)

// configured is a node that answered every question of the config reader.
func configured() *dump.Node {
	d := dump.NewNode("n1")
	d.Text[DateKey] = "1\n"
	d.Text["$ "+oddName] = "looked\n"
	d.Text["$ "+oddRootName] = "looked\n"
	for i, name := range []string{"lo", "eth0", "eth1", "ib0"} {
		d.Text[netDir+"/"+name+"/ifindex"] = string('1'+rune(i)) + "\n"
		d.Text[netDir+"/"+name+"/address"] = "02:57:ef:00:00:0" + string('1'+rune(i)) + "\n"
		d.Text[netDir+"/"+name+"/type"] = map[bool]string{true: "772\n", false: "1\n"}[name == "lo"]
	}
	return d
}

func TestFilesAreExact(t *testing.T) {
	d := configured()
	d.Text["/etc/hosts"] = "127.0.0.1 localhost\n"
	d.Text["/etc/sysctl.d/10-a.conf"] = "a = 1\nb = 2\n"
	d.Text["/etc/sysctl.d/20-b.conf"] = "c = 3\n\n"
	d.Text["/etc/sysctl.d/99-sysctl.conf"] = "x = 1\n"
	d.Text["/etc/modprobe.d/latin.conf"] = "# caf\xe9\n"
	d.Text["/etc/passwd"] = "root\n"
	d.Text["/proc/modules"] = "ib_core 1 0 - Live 0x0\n"
	d.Text["/etc/netplan/50 a.yaml"] = "network: {}\n"
	d.Gap["/etc/environment"] = HoldsSecret
	d.Text["$ "+oddName] = "looked\nlink /etc/sysctl.d/99-sysctl.conf\t../sysctl.conf\nempty /etc/environment\nempty /etc/modules\nunended /etc/sysctl.d/10-a.conf\nunended /etc/sysctl.d/20-b.conf\nunended /etc/shadow\nempty /root/x\n"
	d.Text["$ "+oddRootName] = "looked\nunended /etc/netplan/50 a.yaml\n"
	for _, when := range []string{"as collected", "after a dump"} {
		n := Node(d)
		want := map[string]string{
			"/etc/hosts": "127.0.0.1 localhost\n", "/etc/sysctl.d/10-a.conf": "a = 1\nb = 2", "/etc/sysctl.d/20-b.conf": "c = 3\n", "/etc/sysctl.d/99-sysctl.conf": "x = 1\n",
			"/etc/modprobe.d/latin.conf": "# caf\xe9\n", "/etc/modules": "", "/etc/netplan/50 a.yaml": "network: {}",
		}
		if diff := cmp.Diff(want, n.Settings.Files); diff != "" || !n.Settings.FilesRead {
			t.Errorf("%s: read %v; -want +got:\n%s", when, n.Settings.FilesRead, diff)
		}
		barred := map[string]string{"/etc/sysctl.d/99-sysctl.conf": "a symbolic link to ../sysctl.conf", "/etc/modprobe.d/latin.conf": "not text in UTF-8"}
		if diff := cmp.Diff(barred, n.Settings.FilesBarred); diff != "" {
			t.Errorf("%s: -want +got:\n%s", when, diff)
		}
		again, err := dump.Parse((&dump.Dump{Nodes: []*dump.Node{d}}).Format())
		if err != nil {
			t.Fatal(err)
		}
		d = again.Nodes[0]
	}
}

// What was not looked at is not known to be absent.
func TestFilesThatWereNotRead(t *testing.T) {
	refused := "needs root, and sudo -n was refused"
	for name, tt := range map[string]struct {
		spoil func(d *dump.Node)
		read  bool
	}{
		"all":                {func(*dump.Node) {}, true},
		"a dump of old weft": {func(d *dump.Node) { delete(d.Text, "$ "+oddName); delete(d.Text, "$ "+oddRootName) }, false},
		"cut short":          {func(d *dump.Node) { d.Gap[CutKey] = "cut short" }, false},
		"not the root's":     {func(d *dump.Node) { delete(d.Text, "$ "+oddRootName) }, false},
		"sudo refused": {func(d *dump.Node) {
			delete(d.Text, "$ "+oddRootName)
			for _, glob := range globs(configFiles, true) {
				d.Gap[glob] = refused
			}
		}, true},
	} {
		d := configured()
		d.Text["/etc/hosts"] = "x\n"
		tt.spoil(d)
		n := Node(d)
		if n.Settings.FilesRead != tt.read || (n.Settings.Files != nil) != tt.read {
			t.Errorf("%s: read %v, files %v", name, n.Settings.FilesRead, n.Settings.Files)
		}
	}
}

// The shell line that finds odd files is run by a real shell.
func TestOddFilesInAShell(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a.conf", "one\n")
	put("b c.conf", "one\ntwo")
	put("d.conf", "")
	put("e.conf", "\x00")
	put("f.conf", "é")
	put("g.conf", "\n")
	put("%s$(touch pwned).conf", "x")
	if err := os.Mkdir(filepath.Join(dir, "h.conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"i.conf": "a.conf", "j.conf": "/nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"empty D/d.conf", "link D/i.conf\ta.conf", "link D/j.conf\t/nowhere", "looked", "unended D/%s$(touch pwned).conf", "unended D/b c.conf", "unended D/e.conf", "unended D/f.conf"}
	for _, shell := range []string{"dash", "bash", "busybox"} {
		argv := []string{shell, "-c"}
		if shell == "busybox" {
			argv = []string{shell, "sh", "-c"}
		}
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		cmd := exec.Command(argv[0], append(argv[1:], oddFiles([]string{dir + "/none.conf", dir + "/*.conf", dir + "/*.x"}))...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", shell, err)
		}
		got := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), dir, "D")), "\n")
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", shell, d)
		}
		out, err = exec.Command(argv[0], append(argv[1:], oddFiles([]string{dir + "/none*"}))...).Output()
		if string(out) != "looked\n" || err != nil {
			t.Errorf("%s: without a file %q, %v", shell, out, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a file name ran as a command")
	}
}

func TestManagers(t *testing.T) {
	const (
		uuid    = "5a3c0e9d-1b24-4876-a001-000000000002"
		plan    = "network:\n  ethernets:\n    eth0: {dhcp4: true}\n"
		keyfile = "[connection]\nid=x\nuuid=" + uuid + "\ninterface-name=eth1\n\n[ethernet]\n"
	)
	type dev = [3]string // manager, config, profile
	tests := map[string]struct {
		active, links, nmcli string
		files                map[string]string
		want                 map[string]dev
		manager              string
	}{
		"nothing runs":    {want: map[string]dev{}},
		"nothing is told": {active: "networkd active\nNetworkManager active\n", want: map[string]dev{}, manager: "NetworkManager"},
		"networkd": {
			active: "networkd active\nNetworkManager inactive\n",
			links:  "/run/systemd/netif/links/1:ADMIN_STATE=unmanaged\n/run/systemd/netif/links/2:ADMIN_STATE=configured\n/run/systemd/netif/links/2:NETWORK_FILE=/etc/systemd/network/20-eth0.network\n/run/systemd/netif/links/3:ADMIN_STATE=unmanaged\n/run/systemd/netif/links/4:NETWORK_FILE=/usr/lib/systemd/network/80-x.network\n/run/systemd/netif/links/x:NETWORK_FILE=/y\n/run/systemd/netif/links/9:NETWORK_FILE=/y\n",
			want:   map[string]dev{"eth0": {"networkd", "/etc/systemd/network/20-eth0.network", ""}, "ib0": {"networkd", "/usr/lib/systemd/network/80-x.network", ""}}, manager: "networkd",
		},
		"networkd stopped": {
			active: "networkd inactive\nNetworkManager inactive\n",
			links:  "/run/systemd/netif/links/2:NETWORK_FILE=/etc/systemd/network/20-eth0.network\n",
			want:   map[string]dev{},
		},
		"netplan with networkd": {
			active: "networkd active\nNetworkManager inactive\nnetplan active\n",
			links:  "/run/systemd/netif/links/2:NETWORK_FILE=/run/systemd/network/10-netplan-eth0.network\n/run/systemd/netif/links/3:NETWORK_FILE=/run/systemd/network/10-netplan-fast.network\n/run/systemd/netif/links/4:NETWORK_FILE=/run/systemd/network/10-netplan-ib0.network\n",
			files: map[string]string{"/etc/netplan/a.yaml": plan, "/etc/netplan/b.yaml": "network:\n  ethernets:\n    fast:\n      match: {name: eth1}\n    ib0:\n",
				"/etc/netplan/c.yaml": "network:\n  ethernets:\n    ib0:\n      mtu: 4092\n"},
			want: map[string]dev{"eth0": {"netplan", "/etc/netplan/a.yaml", "eth0"}, "eth1": {"netplan", "/etc/netplan/b.yaml", "fast"}, "ib0": {"netplan", "", "ib0"}}, manager: "netplan",
		},
		"netplan with NetworkManager": {
			active: "networkd inactive\nNetworkManager active\nnetplan active\n",
			nmcli:  uuid + ":eth0:/run/NetworkManager/system-connections/netplan-eth0.nmconnection:802-3-ethernet\n",
			files:  map[string]string{"/etc/netplan/a.yaml": plan},
			want:   map[string]dev{"eth0": {"netplan", "/etc/netplan/a.yaml", "eth0"}}, manager: "netplan",
		},
		"NetworkManager": {
			active: "networkd inactive\nNetworkManager active\n",
			nmcli:  uuid + `:eth0:/etc/NetworkManager/system-connections/a\:b.nmconnection:802-3-ethernet` + "\n" + uuid + ":ib0:/run/NetworkManager/system-connections/Wired connection 1.nmconnection:infiniband\n" + uuid + ":gone0:/x:vlan\n",
			files:  map[string]string{"/etc/NetworkManager/system-connections/x.nmconnection": keyfile},
			want: map[string]dev{"eth0": {"NetworkManager", "/etc/NetworkManager/system-connections/a:b.nmconnection", uuid}, "ib0": {"NetworkManager", "", uuid},
				"eth1": {"NetworkManager", "/etc/NetworkManager/system-connections/x.nmconnection", uuid}}, manager: "NetworkManager",
		},
		"two keyfiles": {
			active:  "NetworkManager active\n",
			files:   map[string]string{"/etc/NetworkManager/system-connections/x.nmconnection": keyfile, "/etc/NetworkManager/system-connections/y.nmconnection": keyfile},
			want:    map[string]dev{"eth1": {"NetworkManager", "", ""}},
			manager: "NetworkManager",
		},
		"both, networkd has more": {
			active: "networkd active\nNetworkManager active\n",
			links:  "/run/systemd/netif/links/2:NETWORK_FILE=/etc/systemd/network/a.network\n/run/systemd/netif/links/3:NETWORK_FILE=/etc/systemd/network/a.network\n",
			nmcli:  uuid + ":eth0:/run/NetworkManager/system-connections/eth0.nmconnection:802-3-ethernet\n" + uuid + ":ib0:/etc/NetworkManager/system-connections/ib0.nmconnection:infiniband\n",
			want: map[string]dev{"eth0": {"networkd", "/etc/systemd/network/a.network", ""}, "eth1": {"networkd", "/etc/systemd/network/a.network", ""},
				"ib0": {"NetworkManager", "/etc/NetworkManager/system-connections/ib0.nmconnection", uuid}}, manager: "networkd",
		},
		"ifupdown": {
			active: "networkd inactive\nNetworkManager inactive\n",
			files: map[string]string{"/etc/network/interfaces": "auto lo\niface lo inet loopback\niface eth0 inet static\n  address 10.0.0.1/24\niface eth0 inet6 auto\niface ib0 inet manual\n",
				"/etc/network/interfaces.d/ib0": "iface ib0 inet static\n"},
			want: map[string]dev{"eth0": {"ifupdown", "/etc/network/interfaces", ""}, "ib0": {"ifupdown", "", ""}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := configured()
			d.Text["$ "+managersName], d.Text["$ "+linksName], d.Text["$ "+nmcliActive] = tt.active, tt.links, tt.nmcli
			for file, text := range tt.files {
				d.Text[file] = text
			}
			n := Node(d)
			got := map[string]dev{}
			for _, x := range n.Netdevs {
				if v := (dev{x.Manager, x.Config, x.Profile}); v != (dev{}) {
					got[x.Name] = v
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if n.Settings.NetManager != tt.manager {
				t.Errorf("a new interface is for %q, want %q", n.Settings.NetManager, tt.manager)
			}
		})
	}
}

func TestBootTool(t *testing.T) {
	for name, tt := range map[string]struct {
		tools, loader string
		files         []string
		want          string
	}{
		"Ubuntu":                      {"grub-mkconfig kernel-install update-grub", "GRUB 2.12", []string{"/etc/default/grub"}, "update-grub"},
		"Debian, by BIOS":             {"grub-mkconfig update-grub", "", []string{"/etc/default/grub"}, "update-grub"},
		"Fedora":                      {"bootctl grub2-mkconfig grubby kernel-install", "", []string{"/etc/default/grub", "/etc/kernel/cmdline", "/boot/loader/entries/a.conf"}, "grubby"},
		"SUSE":                        {"grub2-mkconfig", "", []string{"/etc/default/grub"}, "grub2-mkconfig"},
		"Arch":                        {"bootctl grub-mkconfig kernel-install", "", []string{"/etc/default/grub"}, "grub-mkconfig"},
		"Pop":                         {"bootctl kernel-install kernelstub", "systemd-boot 255", []string{"/boot/efi/loader/entries/a.conf"}, "kernelstub"},
		"systemd-boot":                {"bootctl kernel-install", "systemd-boot 252.39", []string{"/etc/kernel/cmdline"}, "systemd-boot"},
		"systemd-boot beside grub":    {"grub-mkconfig kernel-install update-grub", "systemd-boot 252", []string{"/etc/default/grub", "/efi/loader/entries/a.conf"}, "systemd-boot"},
		"systemd-boot, entries alone": {"bootctl", "systemd-boot 252", []string{"/efi/loader/entries/a.conf"}, "systemd-boot"},
		"systemd-boot, unseen":        {"kernel-install update-grub", "systemd-boot 252", []string{"/etc/default/grub"}, ""},
		"grub without its defaults":   {"update-grub", "", nil, ""},
		"a kernel started by QEMU":    {"ip kernel-install", "", nil, ""},
	} {
		d := configured()
		d.Text["$ "+toolsName] = strings.ReplaceAll(tt.tools, " ", "\n") + "\n"
		d.Text["$ "+managersName] = "networkd active\nNetworkManager inactive\nloader " + tt.loader + "\n"
		for _, f := range tt.files {
			d.Text[f] = "x\n"
		}
		n := Node(d)
		if n.Settings.BootTool != tt.want || !n.Settings.ToolsRead || !slices.Equal(n.Settings.Tools, strings.Fields(tt.tools)) {
			t.Errorf("%s: %q, want %q; tools %v", name, n.Settings.BootTool, tt.want, n.Settings.Tools)
		}
	}
	if n := Node(configured()); n.Settings.ToolsRead || n.Settings.BootTool != "" {
		t.Error("tools that nobody asked for count as read")
	}
}

// The line that lists tools is run by a real shell: what is found is what is there.
func TestToolsInAShell(t *testing.T) {
	bin := t.TempDir()
	for _, tool := range []string{"grubby", "nmcli"} {
		if err := os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("sh", "-c", "PATH="+bin+"; "+strings.TrimPrefix(haveTools, sbin)).Output()
	if err != nil || string(out) != "grubby\nnmcli\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// FuzzConfig: whatever a node says, an interface is configured by somebody that is
// known, and no file is in Files that has a gap.
func FuzzConfig(f *testing.F) {
	f.Add("networkd active\nNetworkManager active\nnetplan active\n", "/run/systemd/netif/links/2:NETWORK_FILE=/run/systemd/network/10-netplan-eth0.network\n", "5a3c0e9d-1b24-4876-a001-000000000002:eth0:/run/x:vlan\n", "looked\nempty /etc/hosts\nlink /etc/modules\t\n", "network:\n  ethernets:\n    eth0:\n")
	f.Add("loader systemd-boot", "/run/systemd/netif/links/:NETWORK_FILE=", "::::", "unended /etc/netplan/a.yaml", "[connection]\ninterface-name=eth0")
	f.Fuzz(func(t *testing.T, managers, links, active, odd, file string) {
		d := configured()
		d.Text["$ "+managersName], d.Text["$ "+linksName], d.Text["$ "+nmcliActive], d.Text["$ "+toolsName] = managers, links, active, managers
		d.Text["$ "+oddName] = odd
		for _, path := range []string{"/etc/netplan/a.yaml", "/etc/NetworkManager/system-connections/a.nmconnection", "/etc/network/interfaces", "/etc/hosts"} {
			d.Text[path] = file
		}
		Settle(Readers, d)
		n := Node(d)
		for path := range n.Settings.Files {
			if d.Gap[path] != "" || !Editable(path) {
				t.Errorf("%s should not be there", path)
			}
		}
		known := []string{"", byNetplan, byNM, byNetworkd, byIfupdown}
		for _, dev := range n.Netdevs {
			if !slices.Contains(known, dev.Manager) || dev.Manager == "" && dev.Config != "" {
				t.Errorf("%+v", dev)
			}
		}
		if !slices.Contains(known, n.Settings.NetManager) {
			t.Errorf("manager %q", n.Settings.NetManager)
		}
	})
}
