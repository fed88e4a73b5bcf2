package sample_test

import (
	"strings"
	"testing"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
)

// Every interface with an address has a file that gives it that address and MTU, of the
// manager that its distribution has.
func TestInterfacesHaveTheirConfiguration(t *testing.T) {
	debian := sample.RoCE("deb", 2)
	for _, m := range debian.Machines {
		m.OS = sample.Debian12
	}
	old := sample.RoCE("old", 1)
	old.Machines[0].Manager = sample.Ifupdown
	all := healthy()
	all["Debian"], all["ifupdown"] = debian, old
	for name, want := range map[string]struct{ manager, boot string }{
		"RoCE": {"netplan", "update-grub"}, "InfiniBand": {"NetworkManager", "grubby"}, "Strix": {"NetworkManager", "grubby"}, "Sparks": {"netplan", "update-grub"},
		"Debian": {"networkd", "update-grub"}, "ifupdown": {"ifupdown", "update-grub"},
	} {
		t.Run(name, func(t *testing.T) {
			facts := format.Facts(all[name].Dump())
			for _, n := range facts.Nodes {
				if !n.Settings.FilesRead || !n.Settings.ToolsRead || n.Settings.BootTool != want.boot {
					t.Errorf("%s: files read %v, tools read %v, boot tool %q", n.Name, n.Settings.FilesRead, n.Settings.ToolsRead, n.Settings.BootTool)
				}
				if got := n.Settings.NetManager; got != want.manager && want.manager != "ifupdown" {
					t.Errorf("%s: %q configures new interfaces, want %s", n.Name, got, want.manager)
				}
				if _, ok := n.Settings.Files["/etc/security/limits.d/99-rdma.conf"]; !ok {
					t.Errorf("%s: no limits.d", n.Name)
				}
				for _, dev := range n.Netdevs {
					judgeConfig(t, n, dev, want.manager)
				}
			}
		})
	}
}

// A redacted dump tells the same: the stand-ins in files are those of the kernel's answers.
func TestRedactedConfiguration(t *testing.T) {
	for name, c := range healthy() {
		manager := "netplan"
		if name == "InfiniBand" || name == "Strix" {
			manager = "NetworkManager"
		}
		plain := c.Dump()
		facts := format.Facts(dump.Redact(plain, []byte("key")))
		for i, n := range facts.Nodes {
			if !n.Settings.FilesRead || len(n.Settings.Files) != len(format.Node(plain.Nodes[i]).Settings.Files) {
				t.Errorf("%s: %s has %d files", name, n.Name, len(n.Settings.Files))
			}
			for _, dev := range n.Netdevs {
				judgeConfig(t, n, dev, manager)
			}
			for _, was := range []string{"10.10.1.1", "192.168.40.1/", "192.168.100.1/", "192.168.200.1/", "5a3c0e9d-1b24"} {
				for file, text := range n.Settings.Files {
					if strings.Contains(text, was) {
						t.Errorf("%s: %s still holds %s", name, file, was)
					}
				}
			}
		}
	}
}

func judgeConfig(t *testing.T, n *fact.Node, dev *fact.Netdev, manager string) {
	t.Helper()
	if len(dev.Prefixes()) == 0 {
		if dev.Manager != "" || dev.Config != "" {
			t.Errorf("%s %s: nobody gave it an address, and %s configures it by %s", n.Name, dev.Name, dev.Manager, dev.Config)
		}
		return
	}
	text := n.Settings.Files[dev.Config]
	if dev.Manager != manager || !strings.Contains(text, dev.Name) || !strings.Contains(text, dev.Addrs[0]) {
		t.Errorf("%s %s: %q configures it by %q, which holds %q", n.Name, dev.Name, dev.Manager, dev.Config, text)
	}
	if (dev.Profile != "") != (manager == "netplan" || manager == "NetworkManager") {
		t.Errorf("%s %s: profile %q", n.Name, dev.Name, dev.Profile)
	}
}

func TestFilesOfAMachineCanDiffer(t *testing.T) {
	m := sample.New("n1", 1)
	m.Files = map[string]string{
		"/etc/netplan/50-cloud-init.yaml":     "",
		"/etc/hosts":                          "127.0.0.1 localhost",
		"/etc/security/limits.d/99-rdma.conf": "",
		"/etc/netplan/90-wifi.yaml":           "network:\n  wifis:\n    wl0:\n      access-points: {home: {password: hush}}\n",
	}
	c := &sample.Cluster{Machines: []*sample.Machine{m}}
	n := format.Facts(c.Dump()).Nodes[0]
	s := n.Settings
	if got := s.Files["/etc/hosts"]; got != "127.0.0.1 localhost" {
		t.Errorf("/etc/hosts holds %q", got)
	}
	for _, gone := range []string{"/etc/netplan/50-cloud-init.yaml", "/etc/security/limits.d/99-rdma.conf", "/etc/netplan/90-wifi.yaml"} {
		if text, there := s.Files[gone]; there {
			t.Errorf("%s is there: %q", gone, text)
		}
	}
	if dev := n.Netdev("eno1"); dev.Manager != "netplan" || dev.Config != "" {
		t.Errorf("eno1: %q configures it by %q", dev.Manager, dev.Config)
	}
	if d := string(c.Dump().Format()); strings.Contains(d, "hush") || !strings.Contains(d, format.HoldsSecret) {
		t.Error("the dump holds a password")
	}
}
