package sample

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The managers that a Machine may have. A new one has that of its distribution.
const (
	Netplan        = "netplan"
	NetworkManager = "NetworkManager"
	Networkd       = "networkd"
	Ifupdown       = "ifupdown"
	Nobody         = "nobody" // interfaces are set by hand
)

// manager is who configures the machine's interfaces.
func (m *Machine) manager() string {
	switch {
	case m.Manager != "":
		return m.Manager
	case m.OS.ID == "ubuntu":
		return Netplan
	case m.OS.Like == "debian" || m.OS.ID == "debian":
		return Networkd
	}
	return NetworkManager
}

// debian reports whether the machine has dpkg.
func (m *Machine) debian() bool { return m.OS.ID == "debian" || m.OS.Like == "debian" }

// config is how one manager writes down the machine's interfaces: the files by path,
// and for each interface that it configures, the file that says so when it runs.
type config struct {
	files map[string]string
	by    map[string]string // netdev → file
}

// writeConfig writes the configuration files, and who says that they are in force. An
// interface without an address is configured by nobody. The files say what the kernel
// has now: a test that wants a file to differ puts its own into Files.
func (m *Machine) writeConfig(w writer) {
	c := config{map[string]string{}, map[string]string{}}
	switch m.manager() {
	case Netplan:
		m.netplan(&c)
	case NetworkManager:
		m.keyfiles(&c)
	case Networkd:
		m.networkd(&c)
	case Ifupdown:
		m.ifupdown(&c)
	}
	m.systemFiles(&c)
	for path, text := range c.files {
		w.file(path, text)
	}
	for path, text := range m.Files {
		delete(w.n.Text, path)
		w.file(path, text)
	}
	m.writeOdd(w)
	m.writeManagers(w, c.by)
	w.cmd("tools", strings.Join(m.tools(), "\n")+"\n")
}

// writeHosts adds the peers to /etc/hosts, which getent reads.
func (m *Machine) writeHosts(w writer, peers string) {
	if _, own := m.Files["/etc/hosts"]; !own {
		w.n.Text["/etc/hosts"] += peers
	}
}

// configured returns the interfaces that somebody gave addresses.
func (m *Machine) configured() (out []*Netdev) {
	for _, d := range m.Net {
		if len(d.Addrs) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// gateway is where an interface's default route leads, "" when it has none.
func (m *Machine) gateway(d *Netdev) string {
	for _, r := range m.Routes {
		if r.Dst == "default" && r.Dev == d.Name {
			return r.Via
		}
	}
	return ""
}

// usualMTU is what an interface has when nobody says otherwise.
func (d *Netdev) usualMTU() int {
	if d.IPoIB != "" {
		return 2044
	}
	return 1500
}

// netplan has the file of the installer for the management interface and one for the
// rest.
func (m *Machine) netplan(c *config) {
	const head = "network:\n  version: 2\n  ethernets:\n"
	for _, d := range m.configured() {
		file := "/etc/netplan/60-fabric.yaml"
		if m.gateway(d) != "" {
			file = "/etc/netplan/50-cloud-init.yaml"
		}
		if c.files[file] == "" {
			c.files[file] = head
		}
		text := fmt.Sprintf("    %s:\n      addresses:\n        - %s\n", d.Name, strings.Join(d.Addrs, "\n        - "))
		if d.MTU != d.usualMTU() {
			text += fmt.Sprintf("      mtu: %d\n", d.MTU)
		}
		if d.IPoIB != "" {
			text += "      infiniband-mode: " + d.IPoIB + "\n"
		}
		if via := m.gateway(d); via != "" {
			text += "      routes:\n        - to: default\n          via: " + via + "\n"
		}
		c.files[file] += text
		c.by[d.Name] = "/run/systemd/network/10-netplan-" + d.Name + ".network"
	}
}

// networkd has one file an interface.
func (m *Machine) networkd(c *config) {
	for _, d := range m.configured() {
		text := "[Match]\nName=" + d.Name + "\n\n"
		if d.MTU != d.usualMTU() {
			text += fmt.Sprintf("[Link]\nMTUBytes=%d\n\n", d.MTU)
		}
		text += "[Network]\nAddress=" + strings.Join(d.Addrs, "\nAddress=") + "\n"
		if via := m.gateway(d); via != "" {
			text += "Gateway=" + via + "\n"
		}
		if d.IPoIB != "" {
			text += "\n[IPoIB]\nMode=" + d.IPoIB + "\n"
		}
		file := "/etc/systemd/network/20-" + d.Name + ".network"
		c.files[file], c.by[d.Name] = text, file
	}
}

// uuid is that of an interface's connection.
func (m *Machine) uuid(d *Netdev) string {
	return fmt.Sprintf("5a3c0e9d-1b24-4876-a%03x-%012x", m.ID, m.ifindex(d.Name))
}

// keyfiles has one connection an interface.
func (m *Machine) keyfiles(c *config) {
	for _, d := range m.configured() {
		kind := "ethernet"
		if d.IPoIB != "" {
			kind = "infiniband"
		}
		text := fmt.Sprintf("[connection]\nid=%s\nuuid=%s\ntype=%s\ninterface-name=%s\n\n[%s]\n", d.Name, m.uuid(d), kind, d.Name, kind)
		if d.MTU != d.usualMTU() {
			text += fmt.Sprintf("mtu=%d\n", d.MTU)
		}
		if d.IPoIB != "" {
			text += "transport-mode=" + d.IPoIB + "\n"
		}
		text += "\n[ipv4]\n"
		for i, a := range d.Addrs {
			text += fmt.Sprintf("address%d=%s\n", i+1, a)
		}
		if via := m.gateway(d); via != "" {
			text += "gateway=" + via + "\n"
		}
		text += "method=manual\n\n[ipv6]\naddr-gen-mode=eui64\nmethod=link-local\n\n[proxy]\n"
		file := "/etc/NetworkManager/system-connections/" + d.Name + ".nmconnection"
		c.files[file], c.by[d.Name] = text, file
	}
}

// ifupdown has everything in one file.
func (m *Machine) ifupdown(c *config) {
	text := "auto lo\niface lo inet loopback\n"
	for _, d := range m.configured() {
		for i, a := range d.Addrs {
			if text += "\n"; i == 0 {
				text += "auto " + d.Name + "\n"
			}
			text += fmt.Sprintf("iface %s inet static\n\taddress %s\n", d.Name, a)
			if via := m.gateway(d); via != "" && i == 0 {
				text += "\tgateway " + via + "\n"
			}
			if d.MTU != d.usualMTU() && i == 0 {
				text += fmt.Sprintf("\tmtu %d\n", d.MTU)
			}
		}
	}
	c.files["/etc/network/interfaces"] = text
}

// systemFiles are those that every machine has.
func (m *Machine) systemFiles(c *config) {
	c.files["/etc/hosts"] = "127.0.0.1 localhost\n127.0.1.1 " + m.Name + "\n::1 localhost ip6-localhost ip6-loopback\n"
	c.files["/etc/default/grub"] = fmt.Sprintf("GRUB_DEFAULT=0\nGRUB_TIMEOUT=0\nGRUB_DISTRIBUTOR=%s\nGRUB_CMDLINE_LINUX_DEFAULT=\"%s\"\nGRUB_CMDLINE_LINUX=\"\"\n", m.OS.ID, m.bootWords())
	if !m.debian() {
		id := fmt.Sprintf("%032x", 0x5a3c<<8+m.ID)
		c.files["/boot/loader/entries/"+id+"-"+m.Kernel+".conf"] = fmt.Sprintf("title %s\nversion %s\nlinux /vmlinuz-%s\ninitrd /initramfs-%s.img\noptions %s\n", m.OS.Pretty, m.Kernel, m.Kernel, m.Kernel, m.parameters())
		c.files["/etc/kernel/cmdline"] = m.parameters() + "\n"
	}
	for _, e := range m.Env {
		switch {
		case e.File == "/etc/environment" || e.File == "/etc/nccl.conf":
			c.files[e.File] += e.Name + "=" + e.Value + "\n"
		case strings.HasPrefix(e.File, "/etc/profile.d/") && strings.Contains(e.File, "nccl"):
			c.files[e.File] += "export " + e.Name + "=" + e.Value + "\n"
		}
	}
}

// parameters are the kernel's without the one that the boot loader adds itself.
func (m *Machine) parameters() string {
	words := strings.Fields(m.CmdLine)
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return strings.HasPrefix(s, "BOOT_IMAGE=") }), " ")
}

// bootWords are those that a person wrote.
func (m *Machine) bootWords() string {
	words := strings.Fields(m.parameters())
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "ro" || strings.HasPrefix(s, "root=") }), " ")
}

// writeOdd says which files are links or do not end with a newline: none are, but for
// those in Files.
func (m *Machine) writeOdd(w writer) {
	free, root := "looked\n", "looked\n"
	for _, path := range slices.Sorted(maps.Keys(m.Files)) {
		line := ""
		if text := m.Files[path]; text != "" && !strings.HasSuffix(text, "\n") {
			line = "unended " + path + "\n"
		}
		if strings.HasPrefix(path, "/etc/netplan/") || strings.HasPrefix(path, "/etc/NetworkManager/") || strings.HasPrefix(path, "/boot/") || strings.HasPrefix(path, "/etc/opensm/") {
			root += line
		} else {
			free += line
		}
	}
	w.cmd("odd configuration files", free)
	w.cmd("odd configuration files for root", root)
}

// writeManagers says what systemd, networkd and NetworkManager say.
func (m *Machine) writeManagers(w writer, by map[string]string) {
	is := map[bool]string{true: "active", false: "inactive"}
	manager := m.manager()
	networkd := manager == Networkd || manager == Netplan
	text := "networkd " + is[networkd] + "\nNetworkManager " + is[manager == NetworkManager] + "\n"
	if manager == Netplan {
		text += "netplan active\n"
	}
	w.cmd("network managers", text)
	links, connections := "", ""
	for i, d := range m.Net {
		file := by[d.Name]
		switch at := fmt.Sprintf("/run/systemd/netif/links/%d:", i+2); {
		case networkd && file == "":
			links += at + "ADMIN_STATE=unmanaged\n"
		case networkd:
			links += at + "ADMIN_STATE=configured\n" + at + "NETWORK_FILE=" + file + "\n"
		case file != "":
			kind := "802-3-ethernet"
			if d.IPoIB != "" {
				kind = "infiniband"
			}
			connections += fmt.Sprintf("%s:%s:%s:%s\n", m.uuid(d), d.Name, strings.ReplaceAll(file, ":", `\:`), kind)
		}
	}
	if networkd {
		links = "/run/systemd/netif/links/1:ADMIN_STATE=unmanaged\n" + links
	}
	w.cmd("systemd-networkd links", links)
	w.cmd("nmcli -t -f UUID,DEVICE,FILENAME,TYPE connection show --active", connections)
}

// tools are the commands that weft plan may use and that the distribution has.
func (m *Machine) tools() []string {
	all := []string{"bootctl", "chronyc", "dcb", "devlink", "ethtool", "ip", "kernel-install", "modprobe", "mount", "networkctl", "nft", "rdma", "setpci", "sysctl", "systemctl", "systemd-run", "systemd-tmpfiles", "tc", "timedatectl", "udevadm", "usermod"}
	if m.debian() {
		all = append(all, "apt-get", "ufw", "update-grub", "grub-mkconfig", "update-initramfs")
	} else {
		all = append(all, "dnf", "dracut", "firewall-cmd", "getenforce", "grub2-mkconfig", "grubby", "restorecon")
	}
	switch m.manager() {
	case Netplan:
		all = append(all, "netplan")
	case NetworkManager:
		all = append(all, "nmcli")
	case Ifupdown:
		all = append(all, "ifup")
	}
	if m.OFED != "" {
		all = append(all, "mlnx_qos", "cma_roce_mode")
	}
	if m.Opensm != "" {
		all = append(all, "opensm")
	}
	if len(m.CDI) > 0 {
		all = append(all, "nvidia-ctk")
	}
	all = slices.DeleteFunc(all, func(tool string) bool { return slices.Contains(m.Missing, tool) })
	slices.Sort(all)
	return all
}
