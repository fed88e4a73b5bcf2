package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

var nodeOFED = Check{
	ID:    "node.ofed",
	Title: "There is one driver stack, built for the running kernel",
	None:  noRDMA,
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if hasRDMA(n) {
			out = append(out, judgeOFED(n))
		}
		return out
	},
}

func judgeOFED(n *fact.Node) Finding {
	f := Finding{Subject: node(n), Got: "in-tree drivers"}
	s, kernel := &n.Settings, n.Host.Kernel
	if s.OFED != "" {
		f.Got = strings.TrimSuffix(s.OFED, ":")
	}
	path := s.ModPaths["mlx5_core"]
	stale := dkmsStale(s.DKMS, kernel)
	headers := install(n, "linux-headers-"+kernel, "kernel-devel-"+kernel)
	switch {
	case kernel == "":
		f.Status, f.Got, f.Why = Unknown, "", "uname was not read"
	case len(stale) > 0:
		f.Status, f.Got, f.Want = Fail, "not built: "+strings.Join(stale, ", "), "built for "+kernel
		f.Why = "DKMS has the driver but not for the running kernel, so the in-tree one, or none, is in use"
		f.Fix = []string{headers, "sudo dkms autoinstall -k " + kernel, "sudo reboot"}
	case s.OFED != "" && path == "" && s.Loaded("mlx5_core"):
		f.Status, f.Why = Unknown, "where mlx5_core comes from was not read"
		f.Fix = []string{"modinfo -n mlx5_core"}
	case s.OFED != "" && ofedInTree(path):
		f.Status, f.Got, f.Want = Fail, f.Got+" on the in-tree mlx5_core", "mlx5_core of "+f.Got
		f.Why = "the OFED build for this kernel failed unseen, so its libraries drive the stock module and GPUDirect lacks its other half"
		f.Fix = []string{headers, "sudo ./mlnxofedinstall --add-kernel-support   # in the folder of the OFED archive", "sudo /etc/init.d/openibd restart"}
	}
	return f
}

// ofedInTree reports whether a module file is the kernel's own: kernel/ beside
// updates/, extra/ and weak-updates/, which are for those built outside (modules
// found there win, depmod.d(5)).
func ofedInTree(path string) bool {
	_, below, _ := strings.Cut(path, "/lib/modules/")
	_, below, _ = strings.Cut(below, "/")
	return strings.HasPrefix(below, "kernel/")
}

// dkmsStale returns the modules that DKMS keeps for this stack and that are not
// installed for the running kernel.
func dkmsStale(all []fact.DKMS, kernel string) (stale []string) {
	for _, d := range all {
		matters := func(prefix string) bool { return strings.HasPrefix(d.Module, prefix) }
		built := func(e fact.DKMS) bool {
			return e.Module == d.Module && e.Kernel == kernel && strings.HasPrefix(e.State, "installed")
		}
		if slices.ContainsFunc([]string{"mlnx-of", "nvidia", "amdgpu", "irdma", "ice"}, matters) &&
			!slices.ContainsFunc(all, built) && !slices.Contains(stale, d.Module) {
			stale = append(stale, d.Module)
		}
	}
	slices.Sort(stale)
	return stale
}
