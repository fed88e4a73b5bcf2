package plan

import (
	"fmt"
	"slices"

	"weft/internal/check"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

func mendTC(d *draft, n *fact.Node, f check.Finding) error {
	p, err := d.data(n, f)
	if err != nil {
		return err
	}
	was, _ := p.TrafficClass.Get()
	file := fmt.Sprintf("/sys/class/infiniband/%s/tc/%d/traffic_class", p.Device, p.Num)
	set := func(tc int) string { return sh("echo %d >%s", tc, file) } // -1 is none: traffic_class_store in OFED's mlx5_ib
	s := Step{What: "rdma/" + p.Name + "/traffic_class", From: fmt.Sprint(was), To: fmt.Sprint(d.TrafficClass()), Undo: []string{set(was)}, Shows: sh("cat %s", file)}
	return d.tune(n, s, []string{"class", p.Device, fmt.Sprint(p.Num)}, "Traffic class of "+p.Name, []string{unit.Device(p.Netdev)}, forDevice(p), set(d.TrafficClass()))
}

// mendV2 makes rdma_cm start with version 2. What the card itself speaks is not for
// software to say.
func mendV2(d *draft, n *fact.Node, f check.Finding) error {
	p, err := d.data(n, f)
	if err != nil {
		return err
	}
	const v1, v2 = "IB/RoCE v1", "RoCE v2"
	if f.Status != check.Warn || p.CMARoCE != v1 {
		return byHand("the card speaks version 1 only")
	}
	dir := "/sys/kernel/config/rdma_cm/" + p.Device
	file := fmt.Sprintf("%s/ports/%d/default_roce_mode", dir, p.Num)
	set := func(mode string) string { return sh("mkdir -p %s && echo %s >%s", dir, mode, file) }
	s := Step{What: "rdma/" + p.Name + "/cm_mode", From: v1, To: v2, Undo: []string{set(v1)}, Shows: sh("cat %s", file)}
	return d.tune(n, s, []string{"cm", p.Device, fmt.Sprint(p.Num)}, "RoCE v2 by rdma_cm on "+p.Name, []string{unit.Device(p.Netdev)},
		"modprobe -q rdma_cm", forDevice(p), set(v2))
}

// mendIRDMA has an E810 speak RoCE. The kernel's driver is told by devlink, one protocol
// off before the other goes on; Intel's own driver by an option, when it is loaded.
func mendIRDMA(d *draft, n *fact.Node, f check.Finding) error {
	p, err := d.data(n, f)
	if err != nil {
		return err
	}
	card := n.At(p.BDF)
	switch {
	case !p.IWARP():
		return byHand("%s speaks RoCE, and why it has no GID of version 2 is not known", p.Device)
	case card == nil || card.Driver != "ice":
		return byHand("only an E810 can do both")
	case !validBDF.MatchString(p.BDF):
		return byHand("%q is no PCI address", p.BDF)
	case slices.ContainsFunc(p.GIDs, func(g fact.GID) bool { return g.Type != iwarpType }):
		return byHand("the GIDs of %s are not those of iWARP", p.Device)
	}
	if _, own := n.Settings.ModParams["irdma.roce_ena"]; own {
		return d.irdmaOption(n)
	}
	if err := tool(n, "devlink"); err != nil {
		return err
	}
	param := func(name, value string) string {
		return sh("devlink dev param set %s name "+name+" value "+value+" cmode runtime", "pci/"+p.BDF)
	}
	s := Step{What: "rdma/" + p.Device + "/protocol", From: "iWARP", To: "RoCE v2", Risk: RiskLink,
		Undo:  []string{param("enable_roce", "false"), param("enable_iwarp", "true")},
		Shows: sh("devlink dev param show %s name enable_roce; devlink dev param show %s name enable_iwarp", "pci/"+p.BDF, "pci/"+p.BDF),
		Note:  "the RDMA device is made anew and may get another name: look at the ports in weft.yaml afterwards"}
	return d.tune(n, s, []string{"protocol", p.BDF}, "RoCE on "+p.Netdev, []string{unit.Device(p.Netdev)}, param("enable_iwarp", "false"), param("enable_roce", "true"))
}

// iwarpType is what the kernel says of the one GID of an iWARP device.
const iwarpType = "IB/RoCE v1"
