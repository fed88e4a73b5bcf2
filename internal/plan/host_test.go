package plan

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
)

// second is a cluster whose second machine is changed, and then what was read of it.
func second(make func(name string, n int) *sample.Cluster, do func(m *sample.Machine), then func(n *fact.Node)) func() *check.Case {
	return func() *check.Case {
		c := make("n", 2)
		if do != nil {
			do(c.Machines[1])
		}
		k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
		if then != nil {
			then(k.Nodes[1])
		}
		return k
	}
}

// plainUser has weft come as a user, not as root.
func plainUser(m *sample.Machine) { m.User, m.Groups = "me", []string{"me", "adm"} }

func lacking(list []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == word })
}

func service(name string, v fact.Service) func(n *fact.Node) {
	return func(n *fact.Node) { n.Settings.Services[name] = v }
}

// unsynced has a clock that nobody keeps, and a service that could.
func unsynced(name, active, enabled string) func() *check.Case {
	return second(sample.RoCE, func(m *sample.Machine) { m.Skew, m.Unsynced = 30*time.Second, true },
		service(name, fact.Service{Load: "loaded", Active: active, Enabled: enabled}))
}

// blocks has a firewall that blocks one port of the first data netdev.
func blocks(kind, chain string) func(n *fact.Node) {
	return func(n *fact.Node) {
		n.Settings.Firewall = fact.Firewall{Kind: kind}
		for _, p := range n.Ports {
			for _, port := range []string{"4791/udp", "6379/tcp", "40000/tcp"} {
				fp := fact.FirewallPort{Netdev: p.Netdev, Port: port, Verdict: "allowed"}
				if p == n.Ports[0] && port != "4791/udp" {
					fp.Verdict, fp.Chain = "blocked", chain
				}
				n.Settings.Firewall.Ports = append(n.Settings.Firewall.Ports, fp)
			}
		}
	}
}

// rxe makes the first port one of software RoCE that nothing makes at boot.
func rxe(n *fact.Node) {
	n.Ports[0].Driver = "rxe"
	n.Settings.Modules = append(n.Settings.Modules, "rdma_rxe")
	n.Settings.SoftBootRead = true
}

// oneEach offers NCCL one port of two, by weft.yaml on both and by a list on the first.
func oneEach() *check.Case {
	c := sample.RoCE("n", 2)
	c.Machines[0].Export("/etc/nccl.conf", "NCCL_IB_HCA==mlx5_0:1")
	for i := range c.Want.Nodes {
		c.Want.Nodes[i].Data = c.Want.Nodes[i].Data[:1]
	}
	return &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
}

// ncclConf is a cluster whose owner wants NCCL's variables in /etc/nccl.conf.
func ncclConf(broken func() *check.Case) func() *check.Case {
	return func() *check.Case {
		c := broken()
		c.Want.Data.NCCLConf = true
		return c
	}
}

var hostTries = []try{
	{"node.packages", "a tool, apt", second(sample.RoCE, func(m *sample.Machine) { m.Missing = []string{"perftest"} }, nil)},
	{"node.packages", "libraries and tools, apt", second(sample.RoCE, func(m *sample.Machine) { m.Missing = []string{"rdma-core", "perftest", "mstflint"} }, nil)},
	{"node.packages", "dnf", second(sample.Strix, func(m *sample.Machine) { m.Missing = []string{"perftest", "libibverbs"} }, nil)},

	{"node.modules", "not loaded, not at boot", second(sample.RoCE, func(m *sample.Machine) {
		m.BootModules = []string{"ib_umad"}
		m.Unload("rdma_ucm")
	}, func(n *fact.Node) {
		n.Settings.Devices = slices.DeleteFunc(n.Settings.Devices, func(d fact.DevNode) bool { return strings.HasSuffix(d.Path, "rdma_cm") })
	})},
	{"node.modules", "the card's, barred", second(sample.RoCE, func(m *sample.Machine) {
		m.RDMA = nil
		m.Unload("mlx5_ib")
		m.Modprobe = "blacklist mlx5_ib\n"
	}, nil)},
	{"node.modules", "loaded, not at boot", second(sample.RoCE, func(m *sample.Machine) { m.BootModules, m.Missing = nil, []string{"rdma-core"} }, nil)},
	{"node.modules", "barred", second(sample.RoCE, func(m *sample.Machine) {
		m.Modprobe = "options x y=1\ninstall mlx5_ib /bin/false\nblacklist rdma-ucm\n"
	}, nil)},
	{"node.modules", "software device, barred", second(sample.RoCE, func(m *sample.Machine) { m.Modprobe = "install rdma_rxe /bin/false\n" }, rxe)},
	{"node.modules", "software device", second(sample.RoCE, nil, rxe)},

	{"gpu.direct", "peermem", second(sample.RoCE, func(m *sample.Machine) { m.Unload("nvidia_peermem") }, nil)},
	{"gpu.direct", "peermem, barred", second(sample.RoCE, func(m *sample.Machine) {
		m.Unload("nvidia_peermem")
		m.Modprobe = "blacklist nvidia-peermem\n"
	}, nil)},

	{"node.devices", "a group's", second(sample.RoCE, func(m *sample.Machine) { plainUser(m); m.VerbsMode = "crw-rw---- root rdma" }, nil)},
	{"node.devices", "root's", second(sample.RoCE, func(m *sample.Machine) { plainUser(m); m.VerbsMode = "crw------- root root" }, nil)},
	{"node.devices", "no rdma_cm", second(sample.RoCE, func(m *sample.Machine) { m.Unload("rdma_ucm") }, func(n *fact.Node) {
		n.Settings.Devices = slices.DeleteFunc(n.Settings.Devices, func(d fact.DevNode) bool { return strings.HasSuffix(d.Path, "rdma_cm") })
	})},

	{"gpu.container", "podman without CDI", second(sample.InfiniBand, func(m *sample.Machine) { m.CDI = nil }, func(n *fact.Node) { n.Settings.Tools = append(n.Settings.Tools, "nvidia-ctk") })},
	{"gpu.container", "AMD's files", second(sample.Strix, plainUser, func(n *fact.Node) {
		for i := range n.Settings.Devices {
			if d := &n.Settings.Devices[i]; d.Path == "/dev/kfd" || strings.Contains(d.Path, "renderD") {
				d.Mode = "crw-rw----"
			}
		}
	})},

	{"node.memlock", "root's login", second(sample.RoCE, func(m *sample.Machine) { m.Memlock, m.Limits = 65536, "" }, nil)},
	{"node.memlock", "a user's login", second(sample.RoCE, func(m *sample.Machine) { plainUser(m); m.Memlock, m.Limits = 65536, "me - memlock 64\n" }, nil)},
	{"node.memlock", "a file that comes later", second(sample.RoCE, func(m *sample.Machine) {
		plainUser(m)
		m.Memlock, m.Limits = 65536, "* - memlock 64\n"
		m.Files = map[string]string{"/etc/security/limits.d/rdma.conf": "* - memlock 64\n"}
	}, nil)},
	{"node.memlock", "a service that runs", second(sample.RoCE, nil,
		service("ray-head.service", fact.Service{Load: "loaded", Active: "active", Enabled: "enabled", Memlock: fact.Some(fact.Limit(65536)), Running: fact.Some(fact.Limit(65536))}))},
	{"node.memlock", "a service that does not run", second(sample.RoCE, nil,
		service("vllm.service", fact.Service{Load: "loaded", Active: "inactive", Enabled: "enabled", Memlock: fact.Some(fact.Limit(8 << 20))}))},
	{"node.memlock", "a service whose unit says so already", second(sample.RoCE, nil,
		service("slurmd.service", fact.Service{Load: "loaded", Active: "active", Enabled: "enabled", Memlock: fact.Some(fact.Unlimited), Running: fact.Some(fact.Limit(65536))}))},

	{"node.clock", "stopped", unsynced("systemd-timesyncd.service", "inactive", "enabled")},
	{"node.clock", "disabled", unsynced("chronyd.service", "inactive", "disabled")},
	{"node.clock", "disabled, still running", unsynced("chrony.service", "active", "disabled")},
	{"node.clock", "weft's own machine is wrong", func() *check.Case {
		c := sample.RoCE("n", 3)
		for _, m := range c.Machines[:2] {
			m.Skew = 7 * time.Second
		}
		k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
		k.Nodes[2].Host.ClockSync = fact.Some(false)
		service("systemd-timesyncd.service", fact.Service{Load: "loaded", Active: "inactive", Enabled: "disabled"})(k.Nodes[2])
		return k
	}},

	{"node.firewall", "firewalld and NetworkManager", second(sample.Strix, func(m *sample.Machine) { m.Firewalld() }, nil)},
	{"node.firewall", "firewalld alone", second(sample.RoCE, func(m *sample.Machine) { m.Zones = []sample.Zone{{Name: "public", Target: "default"}} }, nil)},
	{"node.firewall", "firewalld alone, in a zone", second(sample.RoCE, func(m *sample.Machine) {
		m.Zones = []sample.Zone{{Name: "public", Target: "default", Interfaces: []string{"ens1f0np0", "ens2f0np0"}}}
	}, nil)},
	{"node.firewall", "ufw", second(sample.RoCE, nil, blocks("ufw", ""))},
	{"node.firewall", "nftables", second(sample.RoCE, nil, blocks("nftables", "inet filter input"))},
	{"node.firewall", "nftables, at boot too", second(sample.RoCE, nil, func(n *fact.Node) {
		blocks("nftables", "inet filter input")(n)
		n.Settings.Services["nftables.service"] = fact.Service{Load: "loaded", Active: "active", Enabled: "enabled"}
	})},

	{"nccl.env", "a device that is not there", second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/environment", "NCCL_IB_HCA=mlx5_7", "NCCL_DEBUG=WARN") }, nil)},
	{"nccl.env", "an interface that is not there", second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/profile.d/nccl.sh", "NCCL_SOCKET_IFNAME=eth7") }, nil)},
	{"nccl.env", "RDMA turned off", second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/nccl.conf", "NCCL_DEBUG=WARN", "NCCL_IB_DISABLE=1") }, nil)},
	{"nccl.env", "an interface, and no list of devices beside it", second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/nccl.conf", "NCCL_SOCKET_IFNAME=ens1f0np0") }, nil)},
	{"nccl.env", "a GID index", second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/nccl.conf", "NCCL_IB_GID_INDEX=9") }, nil)},
	{"nccl.env", "wished, RoCE", ncclConf(second(sample.RoCE, nil, nil))},
	{"nccl.env", "wished, InfiniBand", ncclConf(second(sample.InfiniBand, nil, nil))},
	{"nccl.env", "wished, Strix Halo", ncclConf(second(sample.Strix, nil, nil))},
	{"nccl.env", "wished, and a part is there", ncclConf(second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/nccl.conf", "NCCL_DEBUG=WARN", "NCCL_IB_TC=106") }, nil))},
	{"nccl.env", "wished, and RDMA turned off", ncclConf(second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/nccl.conf", "NCCL_IB_DISABLE=1") }, nil))},
	{"nccl.env", "wished, and an interface alone", ncclConf(second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/nccl.conf", "NCCL_SOCKET_IFNAME=ens1f0np0") }, nil))},
	{"nccl.env", "wished, and an interface alone elsewhere", ncclConf(second(sample.RoCE, func(m *sample.Machine) { m.Export("/etc/environment", "NCCL_SOCKET_IFNAME=ens1f0np0") }, nil))},
	{"nccl.symmetry", "one offers more", oneEach},
}

// TestLeftToPeople has circumstances in which a remedy must not act.
func TestLeftToPeople(t *testing.T) {
	for _, tt := range []struct {
		remedy, name string
		broken       func() *check.Case
		why          string
	}{
		{"node.memlock", "the last file of all", second(sample.RoCE, func(m *sample.Machine) {
			m.Memlock, m.Limits = 65536, ""
			m.Files = map[string]string{"/etc/security/limits.d/zzz.conf": "root - memlock 64\n"}
		}, nil), "comes after any name"},
		{"node.memlock", "limits.d says so", second(sample.RoCE, func(m *sample.Machine) { plainUser(m); m.Memlock = 65536 }, nil), "says so already"},
		{"node.memlock", "files not read", second(sample.RoCE, func(m *sample.Machine) { m.Memlock, m.Limits = 65536, "" }, func(n *fact.Node) { n.Settings.FilesRead = false }), "was not read"},
		{"node.clock", "nothing installed", second(sample.RoCE, func(m *sample.Machine) { m.Unsynced = true }, nil), "no time service"},
		{"node.clock", "masked", unsynced("systemd-timesyncd.service", "inactive", "masked"), "meant so"},
		{"node.clock", "runs", unsynced("systemd-timesyncd.service", "active", "enabled"), "servers that answer"},
		{"node.clock", "another's", unsynced("ntpsec.service", "inactive", "disabled"), "does not know"},
		{"node.firewall", "iptables", second(sample.RoCE, nil, blocks("iptables", "")), "rules of iptables"},
		{"node.firewall", "a chain of iptables", second(sample.RoCE, nil, blocks("nftables", "ip filter INPUT")), "does not change the chain"},
		{"node.firewall", "a name that is more than a name", second(sample.RoCE, nil, func(n *fact.Node) {
			blocks("nftables", "inet filter input; flush ruleset")(n)
		}), "does not change the chain"},
		{"node.firewall", "the way to the outside", second(sample.RoCE, nil, func(n *fact.Node) {
			blocks("ufw", "")(n)
			n.Settings.Routes = []fact.Route{{Dst: "default", Via: "10.10.1.254", Dev: "ens1f0np0"}}
			n.Host.SSHTo = ""
		}), "way to the outside"},
		{"nccl.env", "a container", second(sample.RoCE, nil, func(n *fact.Node) {
			n.Settings.Env = []fact.EnvVar{{Name: "NCCL_IB_HCA", Value: "mlx5_7", Where: "container ray"}}
		}), "not weft's to edit"},
		{"nccl.env", "a secret beside it", second(sample.RoCE, func(m *sample.Machine) {
			m.Export("/etc/environment", "NCCL_IB_HCA=mlx5_7")
			m.Files = map[string]string{"/etc/environment": "HF_TOKEN=abc\nNCCL_IB_HCA=mlx5_7\n"}
		}, nil), "secret"},
		{"nccl.env", "twice", second(sample.RoCE, func(m *sample.Machine) {
			m.Export("/etc/environment", "NCCL_SOCKET_IFNAME=eno1")
			m.Export("/etc/nccl.conf", "NCCL_SOCKET_IFNAME==eno1")
		}, nil), "the owner's to say"},
		{"nccl.env", "wished, files not read", ncclConf(func() *check.Case {
			c := second(sample.RoCE, nil, nil)()
			for _, n := range c.Nodes {
				n.Settings.FilesRead = false
			}
			return c
		}), "not read"},
		{"gpu.direct", "no OFED", second(sample.InfiniBand, func(m *sample.Machine) { m.Unload("nvidia_peermem") }, nil), "OFED"},
		{"gpu.container", "no toolkit", second(sample.InfiniBand, func(m *sample.Machine) { m.CDI, m.Missing = nil, []string{"nvidia-container-toolkit"} }, nil), "NVIDIA's repository"},
		{"node.devices", "a user whose name is more than a name", second(sample.RoCE, func(m *sample.Machine) { plainUser(m); m.VerbsMode = "crw-rw---- root rdma" },
			func(n *fact.Node) { n.Host.User = "-x; reboot" }), "not plain"},
		{"node.packages", "another package manager", second(sample.RoCE, func(m *sample.Machine) { m.Missing = []string{"perftest"} },
			func(n *fact.Node) { n.Settings.Tools = lacking(n.Settings.Tools, "apt-get") }), "neither apt-get nor dnf"},
	} {
		t.Run(tt.remedy+" "+tt.name, func(t *testing.T) {
			c := tt.broken()
			loud := of(c, tt.remedy)
			if len(loud) == 0 {
				t.Fatal("nothing is broken")
			}
			p := Make(c, tt.broken(), check.All, loud)
			if len(p.Steps) > 0 {
				t.Errorf("steps: %+v", p.Steps)
			}
			if !slices.ContainsFunc(p.Hand, func(h Hand) bool { return strings.Contains(h.Why, tt.why) && len(h.Do) > 0 }) {
				t.Errorf("by hand is %+v, want why it is so: %s", p.Hand, tt.why)
			}
		})
	}
}

// TestNCCLConf wants the file to hold what NCCL needs, line by line, each once, and
// nothing that is said elsewhere.
func TestNCCLConf(t *testing.T) {
	c := ncclConf(second(sample.RoCE, func(m *sample.Machine) {
		m.Export("/etc/nccl.conf", "NCCL_DEBUG=WARN", "NCCL_SOCKET_IFNAME=ens1f0np0")
		m.Export("/root/.bashrc", "NCCL_IB_TC=106")
	}, nil))
	p := Make(c(), c(), check.All, of(c(), "nccl.env"))
	if len(p.Hand) > 0 {
		t.Errorf("by hand: %+v", p.Hand)
	}
	last := map[string]string{}
	for _, s := range p.Steps {
		for _, f := range s.Files {
			if f.Path != "/etc/nccl.conf" || s.When != Login || s.Risk != "" {
				t.Errorf("%s: %+v", s.Node, s)
			}
			last[s.Node] = *f.New
		}
	}
	for node, want := range map[string]string{
		"n1": "NCCL_SOCKET_IFNAME==eno1\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nNCCL_IB_TC=106\nNCCL_NET_GDR_LEVEL=PHB\n",
		"n2": "NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME=ens1f0np0\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nNCCL_NET_GDR_LEVEL=PHB\n",
	} {
		if last[node] != want {
			t.Errorf("%s: %q, want %q", node, last[node], want)
		}
	}
}

func TestZoneOf(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"new", "[connection]\nid=x\ntype=ethernet\n\n[ipv4]\nmethod=auto\n", "[connection]\nid=x\ntype=ethernet\nzone=trusted\n\n[ipv4]\nmethod=auto\n"},
		{"another", "[connection]\nzone = public\nid=x\n", "[connection]\nzone=trusted\nid=x\n"},
		{"of another section", "[x]\nzone=public\n[connection]\nid=x\n", "[x]\nzone=public\n[connection]\nid=x\nzone=trusted\n"},
		{"nothing", "[ipv4]\nmethod=auto\n", ""},
	} {
		got, err := zoneOf(tt.text, "trusted")
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
		nmcli, missing := exec.LookPath("nmcli")
		if missing != nil || tt.name != "new" {
			continue
		}
		cmd := exec.Command(nmcli, "--offline", "connection", "modify", "connection.autoconnect", "no")
		cmd.Stdin = strings.NewReader(got)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "zone=trusted\n") {
			t.Errorf("nmcli reads %v\n%s", err, out)
		}
	}
}

// TestAtBoot wants what is missing of a service that boot starts, and no more.
func TestAtBoot(t *testing.T) {
	for _, tt := range []struct {
		name string
		have map[string]string
		bars map[string]string
		want int
	}{
		{"nothing", nil, nil, 2},
		{"the unit", map[string]string{"/etc/systemd/system/weft-x.service": "[Unit]\n"}, nil, 1},
		{"both", map[string]string{"/etc/systemd/system/weft-x.service": "[Unit]\n"},
			map[string]string{"/etc/systemd/system/multi-user.target.wants/weft-x.service": "a symbolic link to ../weft-x.service"}, 0},
		{"an older one", map[string]string{"/etc/systemd/system/weft-x.service": "[Service]\n"},
			map[string]string{"/etc/systemd/system/multi-user.target.wants/weft-x.service": "a symbolic link to ../weft-x.service"}, 1},
	} {
		d := &draft{files: map[string]map[string]*string{}}
		n := &fact.Node{Name: "n1", Settings: fact.Settings{FilesRead: true, Files: tt.have, FilesBarred: tt.bars}}
		files, err := d.atBoot(n, "weft-x.service", "[Unit]\n")
		if err != nil || len(files) != tt.want {
			t.Errorf("%s: %+v, %v, want %d", tt.name, files, err, tt.want)
		}
	}
}
