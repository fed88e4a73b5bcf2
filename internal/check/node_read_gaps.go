package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
)

// readGaps sorts the gaps that matter: what only root may read, and what could not
// be read for another reason, by reason.
func readGaps(n *fact.Node) (barred []string, broken map[string][]string) {
	broken = map[string][]string{}
	ib := slices.ContainsFunc(n.Ports, (*fact.Port).IB)
	for _, g := range n.Gaps {
		what, why := readNeed(g.Path), strings.ToLower(g.Why)
		if what == "InfiniBand fabric" && !ib {
			continue // its tools have nothing to ask
		}
		says := func(part string) bool { return strings.Contains(why, part) }
		switch {
		case g.Path == cutOff: // whatever its last words were
			broken[g.Why] = append(broken[g.Why], what)
		case what == "" || slices.ContainsFunc(readAbsent, says):
		case slices.ContainsFunc(readBarred, says):
			barred = append(barred, what)
		default:
			broken[g.Why] = append(broken[g.Why], what)
		}
	}
	return barred, broken
}

// cutOff is the gap that collect leaves where a node's answers broke off.
const cutOff = "$ sh"

// brokeOff reports whether a node's answers broke off.
func brokeOff(n *fact.Node) bool {
	return slices.ContainsFunc(n.Gaps, func(g fact.Gap) bool { return g.Path == cutOff })
}

// What a reader says when a thing is not there or not offered, which is a fact and
// not a gap: the texts of ENOENT, ENODEV, EOPNOTSUPP, EINVAL (a netdev that is down
// has no speed), ENODATA and ENETUNREACH (there is no route), and the shell's for a missing command.
var readAbsent = []string{"holds a secret", "no such", "not found", "not installed", "not supported", "invalid argument", "no data available", strings.ToLower(unreachable)}

// What EACCES and EPERM say, and tools that look at the user id.
var readBarred = []string{"permission", "not permitted", "root", "superuser", "access denied"}

// readNeeds says which files and commands some check needs, in people's words. A
// gap elsewhere changes no verdict and is not worth a warning. A test holds it
// against what readers read.
var readNeeds = []struct{ what, files, cmds string }{
	{"GPUs", "/sys/class/drm /sys/class/kfd /proc/driver/nvidia /opt/rocm", "nvidia-smi rocm-smi amd-smi rocminfo"},
	{"RDMA ports", "/sys/class/infiniband /dev/infiniband /sys/kernel/config/rdma_cm", "rdma ibv_devinfo ibstat show_gids ls"},
	{"network interfaces", "/sys/class/net", "ip tc devlink getent ping ssh-connection"},
	{"NIC settings", "", "ethtool dcb mlnx_qos"},
	{"PCIe registers", "/sys/bus/pci /sys/devices/pci /sys/kernel/iommu_groups", "lspci setpci"},
	{"firewall", "", "nft iptables ufw firewall-cmd"},
	{"kernel log", "/dev/kmsg", "dmesg journalctl"},
	{"machine", "/sys/devices/virtual/dmi /sys/devices/system/node", ""},
	{"kernel and limits", "/proc/ /sys/module /etc/security /etc/modules /usr/lib/modules-load.d /etc/rdma /etc/modprobe.d /etc/os-release", "modinfo dkms uname id software"},
	{"packages and services", "", "packages dpkg-query rpm systemctl"},
	{"InfiniBand fabric", "", "ibnetdiscover iblinkinfo ibqueryerrors saquery sminfo"},
	{"NCCL and containers", "", "nccl container-runtimes docker podman cdi"},
	{"the rest of its answers", "", "sh"}, // collect's own gap of a node that was cut off
}

// readNeed returns what a gap is about, "" when no check needs it.
func readNeed(path string) string {
	cmd, isCmd := strings.CutPrefix(path, "$ ")
	cmd = strings.TrimPrefix(cmd, "sudo -n ")
	cmd, _, _ = strings.Cut(cmd, " ")
	cmd = cmd[strings.LastIndex(cmd, "/")+1:]
	for _, need := range readNeeds {
		if isCmd && slices.Contains(strings.Fields(need.cmds), cmd) {
			return need.what
		}
		within := func(file string) bool { return strings.HasPrefix(path, file) }
		if !isCmd && slices.ContainsFunc(strings.Fields(need.files), within) {
			return need.what
		}
	}
	return ""
}

// fewWords joins words, sorted and each once, and counts those beyond the fourth:
// more do not fit beside a node's name on one line.
func fewWords(words []string) string {
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) > 4 {
		return strings.Join(words[:4], ", ") + fmt.Sprintf(" and %d more", len(words)-4)
	}
	return strings.Join(words, ", ")
}
