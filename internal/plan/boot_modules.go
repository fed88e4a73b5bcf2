package plan

import (
	"path"
	"regexp"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

// option adds to a step the file that gives a module an option, and has the initial
// ramdisk, which the module may come from, made anew.
func (d *draft) option(n *fact.Node, s Step, module, name, value string) error {
	files, err := d.folder(n, "/etc/modprobe.d")
	if err != nil {
		return err
	}
	s.Risk, s.When = RiskBoot, Boot
	// A file that has the option already is changed where it stands.
	at := regexp.MustCompile(`(?m)^([ \t]*options[ \t]+` + regexp.QuoteMeta(module) + `[ \t](?:.*[ \t])?)` + regexp.QuoteMeta(name) + `=[^\s\\]*`)
	there := false
	for _, p := range sorted(files) {
		if !at.MatchString(files[p]) || path.Ext(p) != ".conf" {
			continue
		}
		there = true
		some, err := d.change(n, p, at.ReplaceAllString(files[p], "${1}"+name+"="+value))
		if err != nil {
			return err
		}
		s.Files = append(s.Files, some...)
	}
	if !there {
		own := "/etc/modprobe.d/weft-" + module + ".conf"
		if s.Files, err = d.change(n, own, files[own]+"options "+module+" "+name+"="+value+"\n"); err != nil {
			return err
		}
	}
	if err := ramdisk(n, &s); err != nil {
		return err
	}
	s.Shows = sh("modprobe -c | grep %s | sort; true", "^options "+module+" ")
	d.add(n, s)
	return nil
}

// ramdisk has the initial ramdisk of the running kernel made anew.
func ramdisk(n *fact.Node, s *Step) error {
	kernel := n.Host.Kernel
	if !plainName.MatchString(kernel) || strings.Contains(kernel, "..") {
		return byHand("%q is no name of a kernel", kernel)
	}
	image := ""
	switch {
	case n.Settings.BootTool == "systemd-boot":
		return byHand("where the boot loader keeps the initial ramdisk is not known")
	case n.Settings.Has("update-initramfs"):
		image = "/boot/initrd.img-" + kernel
		s.Do = []string{sh("[ -s %s ] && update-initramfs -u -k %s && sync", image, kernel)}
		s.Keeps = []string{image, "/var/lib/initramfs-tools/" + kernel} // the second holds its checksum
	case n.Settings.Has("dracut"):
		image = "/boot/initramfs-" + kernel + ".img"
		s.Do = []string{sh("[ -s %s ] && dracut -f %s %s && sync", image, image, kernel)}
		s.Keeps = []string{image}
	default:
		return byHand("neither update-initramfs nor dracut is there")
	}
	s.Undo, s.Seconds = s.Do, 600 // one that somebody else made since is made anew, the other put back
	return nil
}

// mendSteering has a ConnectX-3 look packets up the fast way, from the next boot on.
func mendSteering(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	s := Step{What: "mlx4/steering", From: steeringWords(n), To: "-7; " + steeringOn, Note: "VLANs on the card are given up"}
	return d.option(n, s, "mlx4_core", "log_num_mgm_entry_size", "-7")
}

// steeringOn is the mode in the words of the driver (dmfs_high_rate_steering_mode_str in
// mlx4/main.c).
const steeringOn = "performance optimized for limited rule configuration (static)"

// steeringWords is the parameter in force and what the driver said of it, for each card.
func steeringWords(n *fact.Node) string {
	value, ok := n.Settings.ModParams["mlx4_core.log_num_mgm_entry_size"]
	if !ok {
		value = "unknown"
	}
	for _, e := range n.Settings.Kmsg {
		if e.Kind == "mlx4.steering" {
			value += "; " + e.Text
		}
	}
	return value
}

// irdmaOption has Intel's own driver speak RoCE, from the next boot on.
func (d *draft) irdmaOption(n *fact.Node) error {
	s := Step{What: "irdma/roce_ena", From: n.Settings.ModParams["irdma.roce_ena"], To: "1",
		Note: "RDMA devices may get other names: look at the ports in weft.yaml afterwards"}
	return d.option(n, s, "irdma", "roce_ena", "1")
}
