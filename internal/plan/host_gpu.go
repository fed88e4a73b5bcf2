package plan

import (
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/modprobe"
	"weft/internal/fact"
	"weft/internal/platform"
)

// mendDirect loads nvidia_peermem after the card's driver and NVIDIA's own, where the
// kernel can be expected to take it.
func mendDirect(d *draft, n *fact.Node, f check.Finding) error {
	const module = "nvidia_peermem"
	switch {
	case f.Status != check.Fail || !strings.HasPrefix(f.Got, "no nvidia_peermem"):
		return byHand("it is a matter of hardware, or not known")
	case n.Settings.OFED == "" && n.Host.Distro != "ubuntu":
		// The symbols that it needs (ib_register_peer_memory_client) are in OFED's
		// ib_core and in Ubuntu's kernels, not in the mainline's.
		return byHand("nvidia_peermem loads only with OFED's drivers or Ubuntu's kernel; elsewhere dma-buf is the way, and needs the open NVIDIA module")
	}
	before := []string{"nvidia", "ib_uverbs"}
	for _, p := range d.Data(n) {
		if dev := n.At(p.BDF); dev != nil {
			nic, _ := platform.NICOf(dev)
			before = append(before, nic.Modules...)
		}
	}
	slices.Sort(before)
	text, err := modprobe.Softdep(module, slices.Compact(before))
	if err != nil {
		return err
	}
	files, err := d.change(n, modprobe.Dir+"weft-nvidia-peermem.conf", text)
	if err != nil {
		return err
	}
	if err := d.load(n, module); err != nil {
		return err
	}
	for _, s := range d.of[n.Name] {
		if s.What == "module/"+module && len(files) > 0 && !holds(s.Files, files[0].Path) {
			s.Files = append(s.Files, files...)
			d.leaves(n.Name, files)
		}
	}
	return nil
}

func holds(files []File, path string) bool {
	return slices.ContainsFunc(files, func(f File) bool { return f.Path == path })
}

func mendContainer(d *draft, n *fact.Node, f check.Finding) error {
	switch {
	case f.Status != check.Fail:
		return byHand("it is not known to be wrong")
	case strings.HasPrefix(f.Got, "nvidia-container-toolkit without"):
		return mendCDI(d, n)
	case strings.HasPrefix(f.Got, "neither a CDI spec"):
		return byHand("nvidia-container-toolkit comes from NVIDIA's repository, which a person has to choose")
	case strings.HasPrefix(f.Want, "usable by "):
		return mendGPUFiles(d, n)
	}
	return byHand("amdgpu has to make the files first")
}

// mendCDI has NVIDIA's tool write down the GPUs for container runtimes.
func mendCDI(d *draft, n *fact.Node) error {
	if n.Settings.ToolsRead && !n.Settings.Has("nvidia-ctk") {
		return byHand("nvidia-ctk is not there")
	}
	const file, made = "/etc/cdi/nvidia.yaml", forGood + "/made-etc-cdi"
	d.add(n, Step{What: "cdi/nvidia.com/gpu", From: "absent", To: "there",
		Do: []string{
			sh("[ -d /etc/cdi ] || { mkdir -p %s && : >%s && mkdir /etc/cdi; }", forGood, made),
			sh("nvidia-ctk cdi generate --output=%s", file)},
		Undo:  []string{sh("rm -f %s; if [ -e %s ]; then rmdir /etc/cdi 2>/dev/null; rm -f %s; fi", file, made, made)},
		Shows: sh("if [ -e %s ]; then cksum <%s; else echo absent; fi", file, file),
		Keeps: []string{file}, Lasts: true,
		Note: "to be made again after a change of driver or GPUs"})
	return nil
}

// mendGPUFiles makes the user a member of the groups that the GPU's files belong to.
func mendGPUFiles(d *draft, n *fact.Node) error {
	some := false
	for _, v := range n.Settings.Devices {
		if v.Path != "/dev/kfd" && !strings.HasPrefix(v.Path, "/dev/dri/renderD") || openTo(n.Host, v) {
			continue
		}
		if err := d.join(n, v); err != nil {
			return err
		}
		some = true
	}
	if !some {
		return byHand("no file of the GPU is closed to %s", n.Host.User)
	}
	return nil
}
