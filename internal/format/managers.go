package format

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/netplan"
	"weft/internal/format/nmcli"
)

const (
	managersName = "network managers"
	linksName    = "systemd-networkd links"
	nmcliActive  = "nmcli -t -f UUID,DEVICE,FILENAME,TYPE connection show --active"
	toolsName    = "tools"

	// netifLinks is where systemd-networkd keeps the state of each link, by index: what
	// sd_network_link_get_network_file of libsystemd reads.
	netifLinks = "/run/systemd/netif/links"
)

// The names of those who configure interfaces.
const (
	byNetplan  = "netplan"
	byNM       = "NetworkManager"
	byNetworkd = "networkd"
	byIfupdown = "ifupdown"
)

// sbin is where tools are that plain users do not have in their path.
const sbin = `PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; `

// managers says which of them are active, whether netplan has files to read, and
// which boot loader started the kernel (the Boot Loader Interface of systemd: UTF-16
// after four bytes of attributes).
const managers = sbin + `set -- $(systemctl is-active systemd-networkd NetworkManager 2>/dev/null); echo "networkd $1"; echo "NetworkManager $2"; ` +
	`command -v netplan >/dev/null && for f in /etc/netplan/*.yaml; do [ -e "$f" ] && echo 'netplan active' && break; done; ` +
	`f=/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f; [ -r $f ] && printf 'loader %s\n' "$(tail -c +5 $f | tr -d '\0')"; true`

// haveTools lists the tools that weft plan chooses from and that are there.
const haveTools = sbin + `for t in dcb mlnx_qos cma_roce_mode devlink rdma setpci nft firewall-cmd ufw update-initramfs dracut mkinitcpio ` +
	`update-grub grub2-mkconfig grub-mkconfig grubby kernelstub bootctl kernel-install nmcli networkctl netplan ifup apt-get dnf modprobe nvidia-ctk ` +
	`systemctl systemd-run systemd-tmpfiles sysctl chronyc timedatectl tc ip ethtool usermod opensm restorecon getenforce udevadm mount; do command -v $t >/dev/null && echo $t; done; true`

func readTools(d *dump.Node, s *fact.Settings) {
	text, ok := d.Cmd(toolsName)
	if !ok {
		return
	}
	s.ToolsRead = true
	s.Tools = strings.Fields(text)
	slices.Sort(s.Tools)
	s.Tools = slices.Compact(s.Tools)
	s.BootTool = bootTool(d, s)
}

// bootTool says what changes kernel parameters. Where systemd-boot started the kernel,
// tools of grub that are also there change nothing.
func bootTool(d *dump.Node, s *fact.Settings) string {
	_, grub := d.Text["/etc/default/grub"]
	_, cmdline := d.Text["/etc/kernel/cmdline"]
	entries := len(d.Dir("/boot/loader/entries"))+len(d.Dir("/boot/efi/loader/entries"))+len(d.Dir("/efi/loader/entries")) > 0
	systemdBoot := strings.HasPrefix(active(d)["loader"], "systemd-boot")
	told := entries || cmdline && s.Has("kernel-install")
	switch {
	case s.Has("kernelstub"):
		return "kernelstub"
	case systemdBoot && told:
		return "systemd-boot"
	case systemdBoot:
		return ""
	case grub && s.Has("update-grub"):
		return "update-grub"
	case s.Has("grubby"):
		return "grubby"
	case grub && s.Has("grub2-mkconfig"):
		return "grub2-mkconfig"
	case grub && s.Has("grub-mkconfig"):
		return "grub-mkconfig"
	case !grub && told:
		return "systemd-boot"
	}
	return ""
}

// active returns the state of each manager, and the boot loader.
func active(d *dump.Node) map[string]string {
	out := map[string]string{}
	text, _ := d.Cmd(managersName)
	for line := range strings.Lines(text) {
		name, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = state
	}
	return out
}

// readManagers finds who configures each interface, and by which file.
func readManagers(d *dump.Node, n *fact.Node) {
	on := active(d)
	if on[byNetworkd] == "active" {
		readNetworkd(d, n)
	}
	if on[byNM] == "active" {
		readNM(d, n)
	}
	readIfupdown(n)
	n.Settings.NetManager = netManager(on, n)
}

// netManager says who should configure an interface that nobody does. Where both of
// systemd-networkd and NetworkManager are active, it is the one that does more.
func netManager(on map[string]string, n *fact.Node) string {
	nm, networkd := on[byNM] == "active", on[byNetworkd] == "active"
	if nm && networkd {
		count := map[string]int{}
		for _, dev := range n.Netdevs {
			count[dev.Manager]++
		}
		networkd = count[byNetworkd] > count[byNM]
		nm = !networkd
	}
	switch {
	case on[byNetplan] == "active" && (on[byNM] == "active" || on[byNetworkd] == "active"):
		return byNetplan
	case nm:
		return byNM
	case networkd:
		return byNetworkd
	}
	return ""
}

// readNetworkd reads "/run/systemd/netif/links/2:NETWORK_FILE=/etc/systemd/network/20-x.network".
// A link that is unmanaged names no file.
func readNetworkd(d *dump.Node, n *fact.Node) {
	text, _ := d.Cmd(linksName)
	for line := range strings.Lines(text) {
		at, file, ok := strings.Cut(strings.TrimSpace(line), ":NETWORK_FILE=")
		index, err := strconv.Atoi(path.Base(at))
		if !ok || err != nil || !path.IsAbs(file) {
			continue
		}
		for _, dev := range n.Netdevs {
			if dev.Index != index {
				continue
			}
			dev.Manager, dev.Config = byNetworkd, file
			if id, ok := strings.CutPrefix(file, "/run/systemd/network/10-netplan-"); ok {
				setNetplan(n, dev, strings.TrimSuffix(id, ".network"))
			}
		}
	}
}

// setNetplan names the one file below /etc/netplan that defines an interface.
func setNetplan(n *fact.Node, dev *fact.Netdev, id string) {
	dev.Manager, dev.Config, dev.Profile = byNetplan, "", id
	var files []string
	for file, text := range n.Settings.Files {
		if path.Dir(file) != "/etc/netplan" {
			continue
		}
		if slices.ContainsFunc(netplan.Defs([]byte(text)), func(def netplan.Def) bool { return def.ID == id }) {
			files = append(files, file)
		}
	}
	if len(files) == 1 {
		dev.Config = files[0]
	}
}

// readNM reads the active connections, and for an interface without one the keyfile
// that names it. One in /run was made by netplan, or by NetworkManager itself for an
// interface that nobody told it about.
func readNM(d *dump.Node, n *fact.Node) {
	text, _ := d.Cmd(nmcliActive)
	list, _ := nmcli.ParseActive([]byte(text))
	for _, c := range list {
		dev := n.Netdev(c.Device)
		if dev == nil || dev.Manager != "" {
			continue
		}
		dev.Manager, dev.Profile, dev.Config = byNM, c.UUID, c.File
		const run = "/run/NetworkManager/system-connections/"
		switch id, ok := strings.CutPrefix(c.File, run+"netplan-"); {
		case ok:
			setNetplan(n, dev, strings.TrimSuffix(id, ".nmconnection"))
		case strings.HasPrefix(c.File, "/run/"):
			dev.Config = ""
		}
	}
	byName := map[string][]string{}
	for file, text := range n.Settings.Files {
		if path.Dir(file) == "/etc/NetworkManager/system-connections" {
			name := keyfileValue(text, "connection", "interface-name")
			byName[name] = append(byName[name], file)
		}
	}
	for _, dev := range n.Netdevs {
		if files := byName[dev.Name]; dev.Manager == "" && len(files) > 0 {
			dev.Manager = byNM
			if len(files) == 1 {
				dev.Config, dev.Profile = files[0], keyfileValue(n.Settings.Files[files[0]], "connection", "uuid")
			}
		}
	}
}

// keyfileValue returns a value of a file in the form of NetworkManager's keyfiles, ""
// when there is none.
func keyfileValue(text, section, key string) string {
	in, value := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			in = strings.TrimSuffix(name, "]")
		}
		if k, v, ok := strings.Cut(line, "="); ok && in == section && strings.TrimSpace(k) == key {
			value = strings.TrimSpace(v) // GLib takes the last
		}
	}
	return value
}

// readIfupdown finds the interfaces that /etc/network/interfaces names and nobody else
// configures.
func readIfupdown(n *fact.Node) {
	for file, text := range n.Settings.Files {
		if !strings.HasPrefix(file, "/etc/network/interfaces") {
			continue
		}
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) < 2 || f[0] != "iface" {
				continue
			}
			switch dev := n.Netdev(f[1]); {
			case dev == nil || dev.Manager != "" && dev.Manager != byIfupdown:
			case dev.Manager == "":
				dev.Manager, dev.Config = byIfupdown, file
			case dev.Config != file:
				dev.Config = "" // more than one
			}
		}
	}
}
