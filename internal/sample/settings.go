package sample

import (
	"fmt"
	"slices"
	"strings"
)

func (m *Machine) writeModules(w writer) {
	var b strings.Builder
	for _, name := range m.Modules {
		fmt.Fprintf(&b, "%s 65536 0 - Live 0x0000000000000000\n", name)
	}
	w.file("/proc/modules", b.String())
	if len(m.BootModules) > 0 {
		w.file("/etc/modules-load.d/rdma.conf", strings.Join(m.BootModules, "\n")+"\n")
	}
	w.file("/etc/modprobe.d/weft-sample.conf", m.Modprobe)
	for key, v := range m.ModParams {
		module, param, _ := strings.Cut(key, ".")
		w.line("/sys/module/"+module+"/parameters/"+param, v)
	}
	if slices.Contains(m.Modules, "mlx5_core") {
		place, ext := "kernel/drivers", ".ko.zst"
		if m.OFED != "" && !m.InTree {
			place, ext = "updates/dkms", ".ko"
		}
		dir := "/lib/modules/" + m.Kernel + "/" + place
		w.cmd("modinfo -n mlx5_core", dir+"/net/ethernet/mellanox/mlx5/core/mlx5_core"+ext+"\n")
		w.cmd("modinfo -n mlx5_ib", dir+"/infiniband/hw/mlx5/mlx5_ib"+ext+"\n")
	}
	if len(m.DKMS) > 0 {
		w.cmd("dkms status", strings.Join(m.DKMS, "\n")+"\n")
	}
	if m.OFED != "" {
		w.cmd("ofed_info -s", m.OFED+":\n")
	}
}

func (m *Machine) writeSettings(w writer) {
	w.file("/proc/self/limits", limits(m.Memlock))
	w.file("/etc/security/limits.conf", "# no limits here: see limits.d\n")
	w.file("/etc/security/limits.d/99-rdma.conf", m.Limits)
	w.cmd("systemctl show -p DefaultLimitMEMLOCK", "DefaultLimitMEMLOCK=8388608\n")
	m.writeUnits(w)
	m.writePackages(w)
	w.cmd("ls -l device files", m.devices())
}

// limits is /proc/self/limits with one line that matters.
func limits(memlock int64) string {
	locked := fmt.Sprint(memlock)
	if memlock == Unlimited {
		locked = "unlimited"
	}
	var b strings.Builder
	row := func(name, soft, hard, unit string) {
		fmt.Fprintf(&b, "%-25s %-20s %-20s %-10s\n", name, soft, hard, unit)
	}
	row("Limit", "Soft Limit", "Hard Limit", "Units")
	row("Max stack size", "8388608", "unlimited", "bytes")
	row("Max processes", "1030000", "1030000", "processes")
	row("Max open files", "1024", "1048576", "files")
	row("Max locked memory", locked, locked, "bytes")
	return b.String()
}

// units are the services that weft asks systemd about.
var units = []string{"opensm", "opensmd", "docker", "containerd", "podman", "slurmd", "ray", "vllm", "openibd", "nvidia-fabricmanager"}

func (m *Machine) writeUnits(w writer) {
	var blocks []string
	running := ""
	for _, name := range units {
		load, active, enabled, memlock := "not-found", "inactive", "", "8388608"
		switch {
		case name == "opensm" && m.Opensm != "":
			load, active, enabled = "loaded", m.Opensm, "enabled"
		case name == "docker" && slices.Contains(m.Runtimes, "docker"), name == "containerd" && slices.Contains(m.Runtimes, "docker"):
			load, active, enabled, memlock = "loaded", "active", "enabled", "infinity"
			running += name + ".service Max locked memory         unlimited            unlimited            bytes     \n"
		case name == "podman" && slices.Contains(m.Runtimes, "podman"):
			load, enabled, memlock = "loaded", "disabled", "infinity"
		case name == "openibd" && m.OFED != "":
			load, active, enabled = "loaded", "active", "enabled"
		}
		blocks = append(blocks, fmt.Sprintf("LimitMEMLOCK=%s\nId=%s.service\nLoadState=%s\nActiveState=%s\nUnitFileState=%s\n", memlock, name, load, active, enabled))
	}
	w.cmd("systemctl show units", strings.Join(blocks, "\n"))
	w.cmd("service limits", running)
}

// packages and their versions, by the names of Debian and of Red Hat; "" is one that
// nobody has.
var debs = [][2]string{{"rdma-core", "50.0-2build2"}, {"ibverbs-utils", "50.0-2build2"}, {"ibverbs-providers", "50.0-2build2"}, {"rdmacm-utils", "50.0-2build2"}, {"perftest", "24.01.0+0.38-1"},
	{"infiniband-diags", "50.0-2build2"}, {"ethtool", "1:6.7-1"}, {"mstflint", "4.26.0+1-3"}, {"mft", ""}, {"iproute2", "6.1.0-1ubuntu6"}, {"pciutils", "1:3.10.0-2"}, {"opensm", "3.3.23-2"}, {"nvidia-container-toolkit", "1.17.8-1"}}

var rpms = [][2]string{{"rdma-core", "57.0-2"}, {"libibverbs-utils", "57.0-2"}, {"librdmacm-utils", "57.0-2"}, {"libibverbs", "57.0-2"}, {"perftest", "24.04.0.0.41-2"}, {"infiniband-diags", "57.0-2"},
	{"ethtool", "6.15-1"}, {"mstflint", "4.34.0-1"}, {"mft", ""}, {"iproute", "6.14.0-2"}, {"pciutils", "3.13.0-7"}, {"opensm", "3.3.24-9"}, {"nvidia-container-toolkit", "1.17.8-1"}}

func (m *Machine) writePackages(w writer) {
	var b strings.Builder
	nvidia := slices.ContainsFunc(m.GPUs, func(g *GPU) bool { return g.Model.Vendor == 0x10de })
	list, deb := rpms, m.debian()
	if deb {
		list = debs
	}
	for _, p := range list {
		gone := p[1] == "" || slices.Contains(m.Missing, p[0]) || p[0] == "opensm" && m.Opensm == "" || p[0] == "nvidia-container-toolkit" && !nvidia
		switch {
		case gone && deb: // dpkg-query complains on stderr
		case gone:
			b.WriteString("package " + p[0] + " is not installed\n")
		case deb:
			b.WriteString(p[0] + "\t" + p[1] + "\tinstalled\n")
		default:
			b.WriteString(p[0] + "\t" + p[1] + "\n")
		}
	}
	w.cmd("packages", b.String())
}

// devices is ls -l of the device files that RDMA and GPUs need.
func (m *Machine) devices() string {
	var b strings.Builder
	row := func(mode, owner string, major, minor int, path string) {
		fmt.Fprintf(&b, "%s 1 %s %d, %d Nov  2 08:00 %s\n", mode, owner, major, minor, path)
	}
	amd := 0
	for i, g := range m.GPUs {
		if g.Model.Vendor == 0x1002 {
			amd++
			row("crw-rw----+", "root video", 226, 1, "/dev/dri/card1")
			row("crw-rw-rw-", "root render", 226, 128, "/dev/dri/renderD128")
			continue
		}
		row("crw-rw-rw-", "root root", 195, i, "/dev/nvidia"+itoa(i))
	}
	mode, owner, _ := strings.Cut(m.VerbsMode, " ")
	ib := 0
	for i, d := range m.RDMA {
		row(mode, owner, 231, 192+i, "/dev/infiniband/uverbs"+itoa(i))
		for _, p := range d.Ports {
			if p.Layer == "InfiniBand" {
				row("crw-------", "root root", 231, ib, "/dev/infiniband/umad"+itoa(ib))
				ib++
			}
		}
	}
	if len(m.RDMA) > 0 {
		row("crw-rw-rw-", "root root", 10, 122, "/dev/infiniband/rdma_cm")
	}
	if amd > 0 {
		row("crw-rw-rw-", "root render", 236, 0, "/dev/kfd")
	} else if len(m.GPUs) > 0 {
		row("crw-rw-rw-", "root root", 195, 255, "/dev/nvidiactl")
	}
	return b.String()
}
