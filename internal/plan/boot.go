package plan

import (
	"path"
	"regexp"
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
	// A configuration elsewhere, as on old UEFI installations, is not guessed at. Undone
	// it is made anew, too: kernels may have come and gone since. Where none have, it is
	// put back byte for byte.
	s.Do = []string{"[ -s " + cfg + " ] && " + line + " && sync"}
	s.Undo, s.Shows, s.Keeps, s.Seconds = s.Do, argsIn("cat "+cfg, c), []string{cfg}, 300
	return nil
}

// argsIn is a line that shows which of the arguments at stake a text has.
func argsIn(text string, c cmdline.Change) string {
	var words []string
	for _, arg := range slices.Concat(c.Add, c.Drop) {
		key, any := strings.CutSuffix(arg, "*")
		if key = regexp.QuoteMeta(key); any {
			key += ".*"
		}
		words = append(words, key)
	}
	return text + ` | tr ' \t"' '\n\n\n' | sed 's/^kernelopts=//' | ` + sh("grep -xE %s", strings.Join(words, "|")) + " | sort -u"
}

// grubby edits the boot entries, as the tool of that name does, and where they refer to
// grub's environment ($kernelopts, RHEL 8) that.
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
	plain := map[string]string{} // entries that say it all
	for p, text := range entries {
		if !strings.Contains(cmdline.Options(text), "$kernelopts") {
			plain[p] = text
		}
	}
	if len(plain) < len(entries) {
		for _, arg := range c.Drop {
			if key, any := strings.CutSuffix(arg, "*"); cmdline.Has(n.Host.CmdLine, arg) || any && strings.Contains(n.Host.CmdLine, key) {
				return byHand("%s must go from grub's environment first", arg)
			}
		}
		kernelopts(s, c)
	}
	if len(plain) > 0 {
		if err := d.editEntries(n, s, plain, c); err != nil {
			return err
		}
	}
	return d.kernels(n, s, c)
}

// kernelopts fills the lines of a step that adds arguments to grub's environment, where
// RHEL 8 keeps them for all entries. grubby is not asked: there are versions that take
// intel_iommu= for iommu=.
func kernelopts(s *Step, c cmdline.Change) {
	const (
		list = "grub2-editenv - list"
		read = "v=$(" + list + " | sed -n 's/^kernelopts=//p'); set -f; "
	)
	var add []string
	for _, arg := range c.Add {
		add = append(add, quote(arg))
	}
	words := strings.Join(add, " ")
	s.Do = []string{read + "for a in " + words + `; do case " $v " in *" $a "*) ;; *) v="${v% } $a";; esac; done; grub2-editenv - set "kernelopts=$v" && sync`}
	s.Undo = []string{read + `w=; for a in $v; do case $a in ` + strings.Join(add, "|") + `) ;; *) w="$w $a";; esac; done; grub2-editenv - set "kernelopts=${w# }" && sync`}
	s.Shows, s.Keeps = argsIn(list, c), []string{"/boot/grub2/grubenv"}
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
