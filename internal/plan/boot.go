package plan

import (
	"path"
	"slices"
	"strings"

	"weft/internal/edit/cmdline"
	"weft/internal/fact"
)

// bootRemedies change what the next boot does.
var bootRemedies = []Remedy{
	{"node.iommu", mendIOMMU},
	{"node.gtt", mendGTT},
	{"ib.steering", mendSteering},
}

// onDisk is the undo of what is in files alone: they are put back by then.
const onDisk = "sync"

// bootArgs adds a step that changes the kernel's command line from the next boot on, the
// way that the node's boot loader wants it. The step comes with what it is for.
func (d *draft) bootArgs(n *fact.Node, s Step, c cmdline.Change) error {
	s.Risk, s.When = RiskBoot, Boot
	var err error
	switch by := n.Settings.BootTool; by {
	case "update-grub", "grub2-mkconfig", "grub-mkconfig":
		err = d.grub(n, &s, by, c)
	case "grubby":
		err = d.grubby(n, &s, c)
	case "systemd-boot":
		err = d.entries(n, &s, c)
	case "kernelstub":
		err = byHand("kernelstub keeps the command line: sudo kernelstub -a %q", strings.Join(c.Add, " "))
	default:
		err = byHand("what the boot loader is was not found out")
	}
	switch {
	case err != nil:
		return err
	case len(s.Files)+len(s.Do) == 0 && slices.ContainsFunc(c.Add, func(arg string) bool { return !cmdline.Has(n.Host.CmdLine, arg) }):
		return byHand("the boot loader has %s already: reboot", strings.Join(c.Add, " "))
	case len(s.Files)+len(s.Do) == 0:
		return byHand("the kernel was told %s already, and does otherwise", strings.Join(c.Add, " "))
	}
	d.add(n, s)
	return nil
}

// grub edits grub's defaults and has its configuration made anew. The variable is the one
// for normal boots, so that the recovery entry stays as it was; the file is the last that
// sets it, because a cloud image's own file beside the first would undo the edit.
func (d *draft) grub(n *fact.Node, s *Step, by string, c cmdline.Change) error {
	const main, variable = "/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT"
	folder, err := d.folder(n, "/etc/default/grub.d")
	if err != nil {
		return err
	}
	file := main
	text, there, err := d.read(n, main)
	switch {
	case err != nil:
		return err
	case !there:
		return byHand("%s is not there", main)
	}
	if by == "update-grub" { // the folder is Debian's
		for _, p := range sorted(folder) {
			if strings.HasSuffix(p, ".cfg") && cmdline.Assigns(folder[p], variable) {
				file, text = p, folder[p]
			}
		}
	}
	now, err := cmdline.Grub(text, variable, c)
	if err != nil {
		return byHand("%s: %v", file, err)
	}
	if s.Files, err = d.change(n, file, now); err != nil || len(s.Files) == 0 {
		return err
	}
	cfg := "/boot/grub2/grub.cfg"
	line := "grub2-mkconfig -o " + cfg
	switch by {
	case "update-grub":
		cfg, line = "/boot/grub/grub.cfg", "update-grub"
	case "grub-mkconfig":
		cfg = "/boot/grub/grub.cfg"
		line = "grub-mkconfig -o " + cfg
	}
	// A configuration elsewhere, as on old UEFI installations, is not guessed at.
	s.Do = []string{"[ -s " + cfg + " ] && " + line + " && sync"}
	s.Undo, s.Shows, s.Keeps, s.Seconds = []string{onDisk}, "cksum "+cfg, []string{cfg}, 300
	return nil
}

// grubby edits the boot entries where they say it all. Where they refer to grub's
// environment ($kernelopts, up to RHEL 8) grubby does it.
func (d *draft) grubby(n *fact.Node, s *Step, c cmdline.Change) error {
	const dir = "/boot/loader/entries"
	if n.Host.Arch == "s390x" {
		return byHand("zipl must be run by hand")
	}
	entries, err := d.folder(n, dir)
	switch {
	case err != nil:
		return err
	case len(entries) == 0:
		return byHand("%s has no entry that was read", dir)
	}
	for _, p := range sorted(entries) {
		if !strings.Contains(cmdline.Options(entries[p]), "$kernelopts") {
			continue
		}
		s.Do = []string{grubbyLine(c) + " && sync"}
		s.Keeps = append(sorted(entries), "/boot/grub2/grubenv", "/etc/default/grub", "/etc/kernel/cmdline")
		s.Undo, s.Shows, s.Seconds = []string{onDisk}, "grubby --info=ALL", 300
		return nil
	}
	if err := d.editEntries(n, s, entries, c); err != nil {
		return err
	}
	return d.kernels(n, s, c)
}

// grubbyLine has grubby change every entry.
func grubbyLine(c cmdline.Change) string {
	line := sh("grubby --update-kernel=ALL --args=%s", strings.Join(c.Add, " "))
	var drop []string
	for _, arg := range c.Drop {
		drop = append(drop, strings.TrimSuffix(arg, "=*"))
	}
	if len(drop) > 0 {
		line = sh("grubby --update-kernel=ALL --remove-args=%s && ", strings.Join(drop, " ")) + line
	}
	return line
}

// entries edits the entries of systemd-boot.
func (d *draft) entries(n *fact.Node, s *Step, c cmdline.Change) error {
	all := map[string]string{}
	for _, dir := range []string{"/boot/loader/entries", "/boot/efi/loader/entries", "/efi/loader/entries"} {
		some, err := d.folder(n, dir)
		if err != nil {
			return err
		}
		for p, text := range some {
			all[p] = text
		}
	}
	if len(all) == 0 { // the command line is then within the kernel's own file
		return byHand("the boot loader has no entries: the kernel image holds its command line")
	}
	if err := d.editEntries(n, s, all, c); err != nil {
		return err
	}
	return d.kernels(n, s, c)
}

// editEntries changes entries of the Boot Loader Specification; one that starts no kernel
// of Linux is left alone.
func (d *draft) editEntries(n *fact.Node, s *Step, entries map[string]string, c cmdline.Change) error {
	linux := 0
	for _, p := range sorted(entries) {
		if path.Ext(p) != ".conf" || !strings.Contains("\n"+entries[p], "\nlinux") {
			continue
		}
		now, err := cmdline.Entry(entries[p], c)
		if err != nil {
			return byHand("%s: %v", p, err)
		}
		files, err := d.change(n, p, now)
		if err != nil {
			return err
		}
		s.Files = append(s.Files, files...)
		linux++
	}
	if linux == 0 {
		return byHand("no entry of the boot loader starts Linux")
	}
	return nil
}

// kernels has those that are installed later get the same arguments: kernel-install reads
// /etc/kernel/cmdline, and grub's tools their defaults.
func (d *draft) kernels(n *fact.Node, s *Step, c cmdline.Change) error {
	for _, file := range []string{"/etc/kernel/cmdline", "/etc/default/grub"} {
		text, there, err := d.read(n, file)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		now := ""
		if file == "/etc/kernel/cmdline" {
			now, err = cmdline.Set(text, c)
		} else {
			now, err = cmdline.Grub(text, "GRUB_CMDLINE_LINUX", c)
		}
		if err != nil {
			return byHand("%s: %v", file, err)
		}
		files, err := d.change(n, file, now)
		if err != nil {
			return err
		}
		s.Files = append(s.Files, files...)
	}
	return nil
}
