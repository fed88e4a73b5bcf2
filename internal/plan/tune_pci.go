package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/cmdline"
	"weft/internal/fact"
)

// validBDF is a PCI address.
var validBDF = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$`)

// register is a step that sets some bits of a register of a PCI function. Others of the
// same register stay as they are, also when it is undone.
func (d *draft) register(n *fact.Node, s Step, name, title, bdf, at string, mask, was, want int) error {
	if !validBDF.MatchString(bdf) {
		return byHand("%q is no PCI address", bdf)
	}
	if err := tool(n, "setpci"); err != nil {
		return err
	}
	set := func(v int) string { return sh("setpci -s %s "+at+".w=%x:%x", bdf, v, mask) }
	s.Undo = []string{set(was)}
	s.Shows = sh("v=$(setpci -s %s "+at+".w) && echo $((0x$v & 0x%x))", bdf, mask)
	return d.tune(n, s, []string{name, bdf}, title, nil, set(want))
}

func mendMRRS(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	p := n.Port(f.Subject.Part)
	if p == nil || n.At(p.BDF) == nil {
		return byHand("%s has no PCI device", f.Subject.Part)
	}
	card := n.At(p.BDF)
	if card.PhysFn != "" {
		card = n.At(card.PhysFn)
	}
	size, ok := 0, false
	if card != nil {
		size, ok = card.MaxRead.Get()
	}
	was, fits := readCode(size)
	if !ok || !fits {
		return byHand("MaxReadReq of %s was not read", p.BDF)
	}
	const want = 4096
	code, _ := readCode(want)
	s := Step{What: "pci/" + card.BDF + "/max_read", From: fmt.Sprint(size), To: fmt.Sprint(want)}
	// Bits 14 to 12 of Device Control (PCI_EXP_DEVCTL_READRQ).
	return d.register(n, s, "maxread", "MaxReadReq of "+card.BDF, card.BDF, "CAP_EXP+8", 7<<12, was<<12, code<<12)
}

// readCode is how the register spells a size: 0 is 128 bytes, each further one doubles.
func readCode(size int) (code int, ok bool) {
	for code = range 6 {
		if 128<<code == size {
			return code, true
		}
	}
	return 0, false
}

func mendACS(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	if n.Settings.Loaded("vfio_pci") {
		return byHand("vfio_pci is loaded: devices are given to virtual machines here, and ACS keeps those apart")
	}
	list, ok := strings.CutPrefix(f.Got, "redirect on at ")
	if !ok {
		return byHand("which bridges redirect is not told")
	}
	for _, bdf := range strings.Split(list, ", ") {
		b := n.At(bdf)
		if b == nil {
			return byHand("bridge %s is not there", bdf)
		}
		was, known := b.ACSCtl.Get()
		if !known || was&^acsRedirect != 0 || was == 0 {
			return byHand("ACS control of %s was not read", bdf)
		}
		s := Step{What: "pci/" + bdf + "/acs", From: fmt.Sprint(was), To: "0",
			Note: "ACS also keeps virtual machines apart: not on hosts that give them devices"}
		if err := d.register(n, s, "acs", "No ACS redirection at "+bdf, bdf, "ECAP_ACS+6", acsRedirect, was, 0); err != nil {
			return err
		}
	}
	return nil
}

// acsRedirect are the bits of ACS Control that send packets to the processor:
// PCI_ACS_RR and PCI_ACS_CR.
const acsRedirect = 0xc

// mendASPM sets the kernel's policy, now and by a service at boot: that is as good as a
// kernel parameter and needs no boot. Where pcie_aspm=off keeps the kernel's hands off
// what the BIOS has set, only another command line helps.
func mendASPM(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	const file = "/sys/module/pcie_aspm/parameters/policy"
	was := aspmPolicy(n.Settings.ModParams["pcie_aspm.policy"])
	s := Step{What: "aspm", To: "performance"}
	if cmdline.Has(n.Host.CmdLine, "pcie_aspm=off") {
		s.From = aspmWords("off by the kernel's command line", n)
		s.Note = "pcie_aspm=off leaves what the BIOS has set as it is: the policy turns it off"
		return d.bootArgs(n, s, cmdline.Change{Add: []string{"pcie_aspm.policy=performance"}, Drop: []string{"pcie_aspm=off", "pcie_aspm.policy=*"}})
	}
	if was == "" || was == "performance" {
		return byHand("this kernel leaves ASPM to the BIOS")
	}
	set := func(policy string) string { return sh("echo %s >%s", policy, file) }
	s.From, s.Undo, s.Shows = aspmWords(was, n), []string{set(was)}, sh("cat %s", file)
	return d.tune(n, s, []string{"aspm"}, "PCIe links that do not doze", nil, set("performance"))
}

// aspmPolicy is the policy in force: "[default] performance powersave powersupersave".
func aspmPolicy(text string) string {
	_, after, _ := strings.Cut(text, "[")
	policy, _, ok := strings.Cut(after, "]")
	if !ok || !slices.Contains([]string{"default", "performance", "powersave", "powersupersave"}, policy) {
		return ""
	}
	return policy
}

// aspmWords is the value of ASPM: the policy, and which links doze under it.
func aspmWords(policy string, n *fact.Node) string {
	words := policy
	for _, p := range n.PCI {
		if state, ok := p.ASPM.Get(); ok && state != "off" {
			words += "; " + p.BDF + " " + state
		}
	}
	return words
}
