package sample

import (
	"fmt"
	"strings"
	"time"

	"weft/internal/format"
)

// OS is an operating system release.
type OS struct {
	ID, Like, Version, Name, Pretty string
	Zone                            string // firewalld's default zone, for those that have it
}

// The releases that the seed documents use.
var (
	Ubuntu2204 = OS{ID: "ubuntu", Like: "debian", Version: "22.04", Name: "Ubuntu", Pretty: "Ubuntu 22.04.5 LTS"}
	Ubuntu2404 = OS{ID: "ubuntu", Like: "debian", Version: "24.04", Name: "Ubuntu", Pretty: "Ubuntu 24.04.3 LTS"}
	Debian12   = OS{ID: "debian", Version: "12", Name: "Debian GNU/Linux", Pretty: "Debian GNU/Linux 12 (bookworm)"}
	Fedora43   = OS{ID: "fedora", Version: "43", Name: "Fedora Linux", Pretty: "Fedora Linux 43 (Server Edition)", Zone: "FedoraServer"}
	RHEL9      = OS{ID: "rhel", Like: "fedora", Version: "9.6", Name: "Red Hat Enterprise Linux", Pretty: "Red Hat Enterprise Linux 9.6 (Plow)", Zone: "public"}
	RHEL10     = OS{ID: "rhel", Like: "fedora", Version: "10.1", Name: "Red Hat Enterprise Linux", Pretty: "Red Hat Enterprise Linux 10.1 (Coughlan)", Zone: "public"}
)

// DMI is what the firmware calls the machine.
type DMI struct{ Vendor, Product, Board, BIOS, Date string }

func (m *Machine) writeHost(w writer) {
	w.file("/etc/os-release", fmt.Sprintf("PRETTY_NAME=%q\nNAME=%q\nVERSION_ID=%q\nID=%s\n", m.OS.Pretty, m.OS.Name, m.OS.Version, m.OS.ID)+assign("ID_LIKE", m.OS.Like))
	w.line("/proc/cmdline", m.CmdLine)
	kib := m.MemoryGiB * (1 << 20)
	w.file("/proc/meminfo", fmt.Sprintf("MemTotal:       %8d kB\nMemFree:        %8d kB\nMemAvailable:   %8d kB\nSwapTotal:             0 kB\n", kib, kib/2, kib*3/4))
	w.line("/proc/sys/kernel/osrelease", m.Kernel)
	w.line("/proc/sys/kernel/hostname", m.Name)
	const dmi = "/sys/devices/virtual/dmi/id/"
	w.line(dmi+"sys_vendor", m.DMI.Vendor)
	w.line(dmi+"product_name", m.DMI.Product)
	w.line(dmi+"board_name", m.DMI.Board)
	w.line(dmi+"bios_version", m.DMI.BIOS)
	w.line(dmi+"bios_date", m.DMI.Date)
	for i := range m.NUMA {
		dir := "/sys/devices/system/node/node" + itoa(i) + "/"
		distance := make([]string, m.NUMA)
		for j := range distance {
			distance[j] = map[bool]string{true: "10", false: "21"}[i == j]
		}
		w.line(dir+"cpulist", fmt.Sprintf("%d-%d", i*16, i*16+15))
		w.line(dir+"distance", strings.Join(distance, " "))
	}
	w.cmd("uname -m", m.Arch+"\n")
	w.cmd("id", m.id())
	w.cmd("ssh-connection", fmt.Sprintf("10.0.0.250 51514 %s 22\n", m.SSHTo))
	if len(m.Runtimes) > 0 {
		w.cmd("container-runtimes", "/usr/bin/"+strings.Join(m.Runtimes, "\n/usr/bin/")+"\n")
	}
	m.writeClock(w)
}

func assign(key, value string) string {
	if value == "" {
		return ""
	}
	return key + "=" + value + "\n"
}

// id is what the id command says. Numbers follow Debian's habit: system groups
// below 1000.
func (m *Machine) id() string {
	uid := 1000
	if m.User == "root" {
		uid = 0
	}
	var groups []string
	for i, g := range m.Groups {
		gid := 100 + i
		if g == m.User {
			gid = uid
		}
		groups = append(groups, fmt.Sprintf("%d(%s)", gid, g))
	}
	return fmt.Sprintf("uid=%d(%s) gid=%d(%s) groups=%s\n", uid, m.User, uid, m.User, strings.Join(groups, ","))
}

// writeClock has the node answer in the middle of a round trip of 20 ms.
func (m *Machine) writeClock(w writer) {
	seconds := func(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }
	w.line(format.ClockKey, seconds(Now)+" "+seconds(Now.Add(20*time.Millisecond)))
	w.line(format.DateKey, seconds(Now.Add(10*time.Millisecond+m.Skew)))
	sync := map[bool]string{true: "no", false: "yes"}[m.Unsynced]
	w.cmd("timedatectl show", "Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP="+sync+"\nNTPSynchronized="+sync+"\n")
}
