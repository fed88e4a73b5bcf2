package format

import (
	"path"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/host"
	"weft/internal/unit"
)

func readHost(d *dump.Node, n *fact.Node) {
	h := &n.Host
	if text, ok := d.Get("/etc/os-release"); ok {
		if o, err := host.ParseOSRelease([]byte(text)); err == nil || o.ID != "" {
			h.OS, h.Distro, h.Like, h.Version = o.Pretty, o.ID, strings.Join(o.Like, " "), o.Version
		}
	}
	const dmi = "/sys/devices/virtual/dmi/id/"
	h.Vendor, h.Product, h.Board = word(d, dmi+"sys_vendor"), word(d, dmi+"product_name"), word(d, dmi+"board_name")
	h.BIOS = strings.TrimSpace(word(d, dmi+"bios_version") + " " + word(d, dmi+"bios_date"))
	h.Kernel, h.Hostname, h.CmdLine = word(d, "/proc/sys/kernel/osrelease"), word(d, "/proc/sys/kernel/hostname"), word(d, "/proc/cmdline")
	h.BootID = word(d, "/proc/sys/kernel/random/boot_id")
	up, _, _ := strings.Cut(word(d, "/proc/uptime"), " ") // the rest is how long the processors had nothing to do
	h.Uptime = clock(up)
	if text, ok := d.Get("/proc/meminfo"); ok {
		if m, _ := host.ParseMeminfo([]byte(text)); m.TotalBytes != nil {
			h.Memory = fact.Some(unit.Size(*m.TotalBytes))
		}
	}
	const numa = "/sys/devices/system/node"
	h.NUMANodes = len(d.Dir(numa))
	for _, name := range d.Dir(numa) {
		id, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if cpus, ok := d.Get(numa + "/" + name + "/cpulist"); ok && err == nil {
			if h.NUMACPUs == nil {
				h.NUMACPUs = map[int]string{}
			}
			h.NUMACPUs[id] = strings.TrimSpace(cpus)
		}
	}
	if text, ok := d.Cmd("uname -m"); ok {
		h.Arch = strings.TrimSpace(text)
	}
	if text, ok := d.Cmd("id"); ok {
		id, _ := host.ParseID([]byte(text))
		h.User = id.User
		for _, g := range id.Groups {
			h.Groups = append(h.Groups, g.Name)
		}
	}
	if text, ok := d.Cmd("ssh-connection"); ok {
		// client address, client port, server address, server port
		if f := strings.Fields(text); len(f) == 4 {
			h.SSHFrom, h.SSHTo = f[0], f[2]
		}
	}
	if text, ok := d.Cmd("container-runtimes"); ok {
		for line := range strings.Lines(text) {
			h.Containers = append(h.Containers, path.Base(strings.TrimSpace(line)))
		}
	}
	readClock(d, h)
}

// readClock works out how far the node's clock is from the clock of the machine
// that asked. The node's time was taken somewhere between two local times, so the
// answer carries half their distance as its error.
func readClock(d *dump.Node, h *fact.Host) {
	before, after, _ := strings.Cut(word(d, ClockKey), " ")
	node, ok := clock(word(d, DateKey)).Get()
	from, ok1 := clock(before).Get()
	to, ok2 := clock(after).Get()
	if ok && ok1 && ok2 && to >= from {
		h.ClockSkew, h.SkewError = fact.Some(node-(from+to)/2), fact.Some((to-from)/2)
	}
	if text, ok := d.Cmd("timedatectl show"); ok {
		if t, _ := host.ParseTimeDate([]byte(text)); t.Synchronized != nil {
			h.ClockSync = fact.Some(*t.Synchronized)
		}
	}
	for _, cmd := range d.Cmds("chronyc") {
		text, _ := d.Cmd(cmd)
		if t, err := host.ParseTracking([]byte(text)); err == nil {
			h.ClockSync = fact.Some(t.Synchronised())
		}
	}
}

func readSettings(d *dump.Node, n *fact.Node) {
	readModules(d, &n.Settings)
	readMemlock(d, n)
	readServices(d, &n.Settings)
	readPackages(d, n)
	readIOMMU(d, n)
	if text, ok := answered(d, "ls -l device files"); ok {
		n.Settings.DevicesRead = true
		devices, _ := host.ParseDevNodes([]byte(text))
		for _, v := range devices {
			n.Settings.Devices = append(n.Settings.Devices, fact.DevNode{Path: v.Path, Mode: modeWords(v), Owner: v.Owner, Group: v.Group})
		}
	}
}

// modeWords writes permission bits as ls does.
func modeWords(v host.DevNode) string {
	kind := byte('c')
	if v.Block {
		kind = 'b'
	}
	out := []byte{kind}
	for i := 8; i >= 0; i-- {
		c := byte('-')
		if v.Mode>>i&1 == 1 {
			c = "xwr"[i%3]
		}
		out = append(out, c)
	}
	return string(out)
}

func readModules(d *dump.Node, s *fact.Settings) {
	if text, ok := d.Get("/proc/modules"); ok {
		s.ModulesRead = true
		modules, _ := host.ParseModules([]byte(text))
		for _, m := range modules {
			s.Modules = append(s.Modules, m.Name)
		}
	}
	files := []string{"/etc/modules"}
	for _, dir := range []string{"/etc/modules-load.d", "/usr/lib/modules-load.d", "/etc/rdma/modules"} {
		for _, f := range d.Dir(dir) {
			files = append(files, dir+"/"+f)
		}
	}
	for _, f := range files {
		text, _ := d.Get(f)
		s.BootModules = append(s.BootModules, host.ParseModulesLoad([]byte(text))...)
	}
	for _, f := range d.Dir("/etc/modprobe.d") {
		text, _ := d.Get("/etc/modprobe.d/" + f)
		rules, _ := host.ParseModprobe([]byte(text))
		for _, r := range rules {
			if host.Barred([]host.ModprobeRule{r}, r.Module) {
				s.ModBarred = append(s.ModBarred, r.Module)
			}
			if r.Verb != "options" {
				continue
			}
			if s.ModOptions == nil {
				s.ModOptions = map[string]string{}
			}
			s.ModOptions[r.Module] = strings.TrimSpace(s.ModOptions[r.Module] + " " + r.Args)
		}
	}
	if text, ok := d.Cmd("software RDMA at boot"); ok {
		s.SoftBootRead = true
		s.SoftBoot = strings.Fields(strings.TrimPrefix(text, "looked\n"))
	}
	for _, m := range d.Dir("/sys/module") {
		for _, p := range d.Dir("/sys/module/" + m + "/parameters") {
			if s.ModParams == nil {
				s.ModParams = map[string]string{}
			}
			s.ModParams[m+"."+p] = word(d, "/sys/module/"+m+"/parameters/"+p)
		}
	}
	for _, cmd := range d.Cmds("modinfo -n ") {
		text, _ := d.Cmd(cmd)
		if s.ModPaths == nil {
			s.ModPaths = map[string]string{}
		}
		s.ModPaths[strings.TrimPrefix(cmd, "modinfo -n ")] = strings.TrimSpace(text)
	}
	if text, ok := d.Cmd("dkms status"); ok {
		modules, _ := host.ParseDKMS([]byte(text))
		for _, m := range modules {
			s.DKMS = append(s.DKMS, fact.DKMS{Module: m.Module, Version: m.Version, Kernel: m.Kernel, State: m.State})
		}
	}
	if text, ok := d.Cmd("ofed_info -s"); ok {
		s.OFED = strings.TrimSuffix(strings.TrimSpace(text), ":")
	}
}

func readMemlock(d *dump.Node, n *fact.Node) {
	m := &n.Settings.Memlock
	if text, ok := d.Get("/proc/self/limits"); ok {
		limits, _ := host.ParseLimits([]byte(text))
		if l, ok := limits.Memlock(); ok {
			m.Login, m.LoginHard = fact.Some(limit(l.Soft)), fact.Some(limit(l.Hard))
		}
	}
	var rules []host.LimitRule
	files := []string{"/etc/security/limits.conf"}
	for _, f := range d.Dir("/etc/security/limits.d") {
		files = append(files, "/etc/security/limits.d/"+f)
	}
	for _, f := range files {
		text, _ := d.Get(f)
		some, _ := host.ParseLimitsConf([]byte(text))
		rules = append(rules, some...)
	}
	if text, ok := d.Cmd("id"); ok {
		id, _ := host.ParseID([]byte(text))
		if soft, _ := host.Memlock(rules, id); soft != nil {
			m.Wish = fact.Some(limit(*soft))
		}
	}
	if text, ok := d.Cmd("systemctl show -p DefaultLimitMEMLOCK"); ok {
		_, v, _ := strings.Cut(strings.TrimSpace(text), "=")
		if b, ok := host.ParseBound(v); ok {
			m.Default = fact.Some(limit(b))
		}
	}
}

func limit(b host.Bound) fact.Limit {
	if b.Unlimited {
		return fact.Unlimited
	}
	return fact.Limit(b.Value)
}

func readServices(d *dump.Node, s *fact.Settings) {
	text, ok := answered(d, "systemctl show units") // nothing where there is no systemd
	if !ok {
		return
	}
	s.ServicesRead = true
	s.Services = map[string]fact.Service{}
	blocks, _ := host.ParseUnits([]byte(text))
	for _, u := range blocks {
		v := fact.Service{Load: u["LoadState"], Active: u["ActiveState"], Enabled: u["UnitFileState"]}
		if b, ok := host.ParseBound(u["LimitMEMLOCK"]); ok {
			v.Memlock = fact.Some(limit(b))
		}
		if u["Id"] != "" {
			s.Services[u["Id"]] = v
		}
	}
	running, _ := d.Cmd("service limits")
	for line := range strings.Lines(running) {
		unit, rest, _ := strings.Cut(line, " ")
		v, known := s.Services[unit]
		limits, _ := host.ParseLimits([]byte(rest))
		if l, ok := limits.Memlock(); ok && known {
			v.Running = fact.Some(limit(l.Soft))
			s.Services[unit] = v
		}
	}
}

func readPackages(d *dump.Node, n *fact.Node) {
	text, ok := d.Cmd("packages")
	if !ok {
		return
	}
	parse := host.ParseRPM
	if n.Host.Debian() {
		parse = host.ParseDpkg
	}
	n.Settings.PackagesRead = true
	n.Settings.Packages = map[string]string{}
	packages, _ := parse([]byte(text))
	for _, p := range packages {
		if p.Installed {
			n.Settings.Packages[p.Name] = p.Version
		}
	}
}

// readIOMMU counts the groups and finds the type of those that hold RDMA NICs,
// which is what matters.
func readIOMMU(d *dump.Node, n *fact.Node) {
	groups := d.Dir("/sys/kernel/iommu_groups")
	types := map[string]bool{}
	grouped := 0
	for _, p := range n.PCI {
		if p.IOMMU != "" {
			grouped++
		}
	}
	if len(n.PCI) > 0 {
		n.Settings.IOMMUGroups = fact.Some(max(len(groups), grouped))
	}
	for _, p := range n.Ports {
		if dev := n.At(p.BDF); dev != nil && dev.IOMMU != "" {
			if t := word(d, "/sys/kernel/iommu_groups/"+dev.IOMMU+"/type"); t != "" {
				types[t] = true
			}
		}
	}
	for _, t := range []string{"DMA", "DMA-FQ", "identity"} { // the slowest of them counts
		if types[t] {
			n.Settings.IOMMUType = t
			break
		}
	}
}
