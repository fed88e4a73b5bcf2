package plan

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/edit/cmdline"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
)

// translates is a machine whose kernel was told nothing of its IOMMU.
func translates(m *sample.Machine) {
	m.Passthrough, m.CmdLine = false, strings.ReplaceAll(m.CmdLine, " iommu=pt", "")
}

// booted changes the boot loader's files of a machine whose IOMMU translates.
func booted(files map[string]string) func(m *sample.Machine) {
	return func(m *sample.Machine) { translates(m); m.Files = files }
}

// byEnvironment has boot entries as RHEL 8 has them: they refer to grub's environment.
func byEnvironment(n *fact.Node) {
	for p, text := range n.Settings.Files {
		if strings.HasPrefix(p, "/boot/loader/entries/") {
			n.Settings.Files[p] = text[:strings.Index(text, "options ")] + "options $kernelopts $tuned_params\n"
		}
	}
}

// connectX3 is a machine with a ConnectX-3 and no VLAN, and what its driver said.
func connectX3(text string, do func(n *fact.Node)) func() *check.Case {
	return func() *check.Case {
		c := &sample.Cluster{}
		m := sample.Halo("n1", 1)
		m.Plug(sample.ConnectX3, "0000:c3:00.0", m.Root("0000:00:02.5", 0, sample.Link{GTs: 8, Width: 4}), "mlx4_0", "ibp195s0", 56)
		m.ModParams = map[string]string{"mlx4_core.log_num_mgm_entry_size": "-10"}
		if text != "" {
			m.Dmesg = []string{"[    8.530112] mlx4_core 0000:c3:00.0: DMFS high rate steer mode is: " + text}
		}
		c.Machines = append(c.Machines, m)
		k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
		if do != nil {
			do(k.Nodes[0])
		}
		return k
	}
}

// small has GPUs that may map little.
func small(n *fact.Node) {
	n.Settings.TTMPages = fact.Some(int64(8 << 20))
	for _, g := range n.GPUs {
		g.GTT = fact.Some(n.Host.Memory.Or(0) / 2)
	}
}

var bootTries = []try{
	{"node.iommu", "update-grub", second(sample.RoCE, translates, nil)},
	{"node.iommu", "update-grub, a file beside it", second(sample.RoCE, booted(map[string]string{"/etc/default/grub.d/50-cloudimg-settings.cfg": "GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0\"\n"}), nil)},
	{"node.iommu", "entries", second(sample.InfiniBand, translates, nil)},
	{"node.iommu", "grub's environment", second(sample.InfiniBand, translates, byEnvironment)},
	{"node.iommu", "grub2-mkconfig", second(sample.InfiniBand, translates, func(n *fact.Node) { n.Settings.BootTool = "grub2-mkconfig" })},
	{"node.iommu", "systemd-boot", second(sample.Strix, translates, func(n *fact.Node) { n.Settings.BootTool = "systemd-boot" })},
	{"node.iommu", "arm64", func() *check.Case {
		c := sample.Sparks("n")
		translates(c.Machines[1])
		c.Machines[1].CmdLine = "root=/dev/nvme0n1p2 ro quiet iommu.passthrough=0"
		return &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
	}},
	{"node.gtt", "half of it", second(sample.Strix, nil, small)},
	{"node.gtt", "an old parameter", second(sample.Strix, func(m *sample.Machine) { m.CmdLine += " amdgpu.gttsize=65536 ttm.pages_limit=1" }, small)},
	{"ib.steering", "dracut", connectX3("disabled performance optimized steering", nil)},
	{"ib.steering", "no log", connectX3("", nil)},
	{"ib.steering", "update-initramfs", connectX3("disabled performance optimized steering", func(n *fact.Node) {
		n.Settings.Tools = append(lacking(n.Settings.Tools, "dracut"), "update-initramfs")
	})},
	{"ib.steering", "in modprobe.d already", connectX3("disabled performance optimized steering", func(n *fact.Node) {
		n.Settings.Files["/etc/modprobe.d/mlx4.conf"] = "options mlx4_core log_num_mgm_entry_size=-7\n"
		n.Settings.ModOptions = map[string]string{"mlx4_core": "log_num_mgm_entry_size=-7"}
	})},
	{"ib.steering", "another value in modprobe.d", connectX3("", func(n *fact.Node) {
		n.Settings.Files["/etc/modprobe.d/mlx4.conf"] = "options mlx4_core port_type_array=1,1 log_num_mgm_entry_size=10 # ours\n"
	})},
}

// files returns what a plan leaves of files, by path.
func filesOf(p Plan) map[string]string {
	out := map[string]string{}
	for _, s := range p.Steps {
		for _, f := range s.Files {
			if f.New != nil {
				out[f.Path] = *f.New
			}
		}
	}
	return out
}

func planOf(t *testing.T, remedy, name string, tries []try) Plan {
	t.Helper()
	i := slices.IndexFunc(tries, func(x try) bool { return x.remedy == remedy && x.name == name })
	if i < 0 {
		t.Fatalf("no try %s %s", remedy, name)
	}
	c := tries[i].broken()
	return Make(c, tries[i].broken(), check.All, of(c, remedy))
}

// TestBootFiles holds what the boot loaders' files say in the end.
func TestBootFiles(t *testing.T) {
	for _, tt := range []struct{ remedy, name, file, want, not string }{
		{"node.iommu", "update-grub", "/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet pcie_aspm=off iommu=pt\"\n", ""},
		{"node.iommu", "update-grub, a file beside it", "/etc/default/grub.d/50-cloudimg-settings.cfg", "=\"console=ttyS0 iommu=pt\"\n", ""},
		{"node.iommu", "entries", "/etc/kernel/cmdline", " iommu=pt\n", ""},
		{"node.iommu", "arm64", "/etc/default/grub", "iommu.passthrough=1\"\n", "passthrough=0"},
		{"node.gtt", "an old parameter", "/etc/kernel/cmdline", " ttm.pages_limit=31457280 ttm.page_pool_size=31457280\n", "gttsize"},
		{"ib.steering", "dracut", "/etc/modprobe.d/weft-mlx4_core.conf", "options mlx4_core log_num_mgm_entry_size=-7\n", ""},
		{"ib.steering", "another value in modprobe.d", "/etc/modprobe.d/mlx4.conf", "options mlx4_core port_type_array=1,1 log_num_mgm_entry_size=-7 # ours\n", ""},
	} {
		files := filesOf(planOf(t, tt.remedy, tt.name, bootTries))
		if got := files[tt.file]; !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s %s: %s holds %q, want %q; files %q", tt.remedy, tt.name, tt.file, got, tt.want, files)
		}
	}
}

// TestBootIsLeftToPeople has boot loaders that weft does not know its way around.
func TestBootIsLeftToPeople(t *testing.T) {
	loader := func(by string) func(n *fact.Node) { return func(n *fact.Node) { n.Settings.BootTool = by } }
	for _, tt := range []struct {
		name   string
		broken func() *check.Case
		why    string
	}{
		{"kernelstub", second(sample.RoCE, translates, loader("kernelstub")), "kernelstub -a"},
		{"unknown", second(sample.RoCE, translates, loader("")), "not found out"},
		{"no entries", second(sample.RoCE, translates, loader("systemd-boot")), "no entries"},
		{"already there", second(sample.RoCE, booted(map[string]string{"/etc/default/grub": "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\"\n"}), nil), "already: reboot"},
		{"told already", second(sample.RoCE, func(m *sample.Machine) { m.Passthrough = false }, nil), "does otherwise"},
		{"a command within", second(sample.RoCE, booted(map[string]string{"/etc/default/grub": "GRUB_CMDLINE_LINUX_DEFAULT=\"$(cat /etc/args)\"\n"}), nil), "command within"},
		{"not read", second(sample.RoCE, translates, func(n *fact.Node) { n.Settings.FilesRead = false }), "not read"},
		{"entries barred", second(sample.InfiniBand, translates, func(n *fact.Node) {
			n.Gaps = append(n.Gaps, fact.Gap{Path: "/boot/loader/entries/*.conf", Why: "needs root"})
		}), "needs root"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.broken()
			p := Make(c, tt.broken(), check.All, of(c, "node.iommu"))
			if len(p.Steps) > 0 || !slices.ContainsFunc(p.Hand, func(h Hand) bool { return strings.Contains(h.Why, tt.why) }) {
				t.Errorf("steps %+v, by hand %+v, want %s", p.Steps, p.Hand, tt.why)
			}
		})
	}
}

// TestGrubEnvironment runs the real grub-editenv on a file of its own.
func TestGrubEnvironment(t *testing.T) {
	real := needs(t, "grub-editenv", "grub-common")
	s := planOf(t, "node.iommu", "grub's environment", bootTries).Steps[0]
	for _, old := range []string{"root=/dev/sda1 ro rhgb quiet ", "ro intel_iommu=on", ""} {
		b := newBench(t)
		file := filepath.Join(b.dir, "grubenv")
		b.play("grub2-editenv", "shift; exec "+real+" "+file+" \"$@\"")
		b.run(real+" "+file+" create", real+" "+file+" set 'kernelopts="+old+"' saved_entry=x")
		b.whole(s, func() {
			want := "kernelopts=" + strings.TrimPrefix(strings.TrimSuffix(old, " ")+" iommu=pt", " ")
			if got := b.run("grub2-editenv - list"); !strings.Contains(strings.ReplaceAll(got, "= ", "="), want+"\n") || !strings.Contains(got, "saved_entry=x\n") {
				t.Errorf("the environment is %q, want %q", got, want)
			}
		})
	}
}

// TestArgsIn: the line that shows what is at stake finds whole arguments and no others.
func TestArgsIn(t *testing.T) {
	c := cmdline.Change{Add: []string{"iommu=pt"}, Drop: []string{"amdgpu.gttsize=*"}}
	b := newBench(t)
	for text, want := range map[string]string{
		"linux /vmlinuz ro iommu=pt quiet":           "iommu=pt\n",
		"linux /vmlinuz intel_iommu=pt iommu=ptx":    "",
		"A=\"iommu=pt\"":                             "iommu=pt\n",
		"A=\"x iommu=pt\"":                           "iommu=pt\n",
		"kernelopts=iommu=pt amdgpu.gttsize=5 ro":    "amdgpu.gttsize=5\niommu=pt\n",
		"x amdgpuXgttsize=5":                         "",
		"a iommu=pt\nb iommu=pt\tamdgpu.gttsize=1\n": "amdgpu.gttsize=1\niommu=pt\n",
	} {
		if got := b.run(argsIn(sh("printf '%%s\\n' %s", text), c)); got != want {
			t.Errorf("%q shows %q, want %q", text, got, want)
		}
	}
}

// TestManyAtOnce breaks much on one machine: steps that touch one file build on each
// other, the plan is sound as a document, and all of it passes in the end.
func TestManyAtOnce(t *testing.T) {
	broken := func() *check.Case {
		c := sample.Strix("n", 2)
		c.Want.Data.Switch = "lossless"
		for _, m := range c.Machines {
			m.Netdev("enp194s0np0").QoS.Lossless()
		}
		m := c.Machines[1]
		translates(m)
		m.At("0000:c2:00.0").L1 = true // and pcie_aspm=off on the command line
		q := m.Netdev("enp194s0np0").QoS
		q.PFC, q.DSCP, q.Pause = [8]bool{}, nil, true
		k := &check.Case{Cluster: format.Facts(c.Dump()), Want: c.Want}
		k.Want.Sysctl = map[string]string{"vm.swappiness": "1", "vm.dirty_ratio": "5"}
		for _, n := range k.Nodes {
			n.Ports[0].QoS.FWAgent = fact.Some(n == k.Nodes[1])
			n.Settings.SysctlRead, n.Settings.Sysctl = true, map[string]string{"vm.swappiness": "60", "vm.dirty_ratio": "20"}
		}
		small(k.Nodes[1])
		return k
	}
	c := broken()
	start := asJSON(t, c.Nodes)
	p := Make(c, broken(), check.All, check.Run(check.All, c))
	p.ID = "20261115-093412"
	doc, err := Format(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(doc); err != nil {
		t.Errorf("the plan is not sound: %v", err)
	}
	files := filesOf(p)
	for _, arg := range []string{"iommu=pt", "pcie_aspm.policy=performance", "ttm.pages_limit=31457280"} {
		for _, file := range []string{"/etc/kernel/cmdline", "/etc/default/grub"} {
			if !strings.Contains(files[file], arg) {
				t.Errorf("%s has no %s: %q", file, arg, files[file])
			}
		}
	}
	if got := files["/etc/sysctl.d/99-weft.conf"]; !strings.Contains(got, "vm.swappiness = 1\n") || !strings.Contains(got, "vm.dirty_ratio = 5\n") {
		t.Errorf("sysctl.d holds %q", got)
	}
	for _, s := range p.Steps {
		if err := SetIn(&c.Cluster, s.Node, s.What, s.To); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range check.Run(check.All, c) {
		if f.Status >= check.Warn {
			t.Errorf("left: %s %v %v: %s, want %s: %s", f.Check, f.Subject, f.Status, f.Got, f.Want, f.Why)
		}
	}
	for _, s := range slices.Backward(p.Steps) {
		if err := SetIn(&c.Cluster, s.Node, s.What, s.From); err != nil {
			t.Fatal(err)
		}
	}
	if got := asJSON(t, c.Nodes); got != start {
		t.Errorf("after the undo:\n%s", firstDiff(start, got))
	}
}
