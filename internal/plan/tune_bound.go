package plan

import (
	"fmt"

	"weft/internal/fact"
)

// boundTuning adds the facts that steps of tuning and of booting rest on.
func boundTuning(n *fact.Node, facts map[string]string) {
	for _, p := range n.Ports {
		q, at := &p.QoS, "port/"+p.Name+"/"
		facts[at+"classes"], facts[at+"pause"] = fmt.Sprint(q.PrioTC, q.TSA, q.TCBW), told(q.PauseRx)+" "+told(q.PauseTx)+" "+told(q.FWAgent)
		facts[at+"protocol"], facts[at+"cm_mode"] = p.NodeType, p.CMARoCE
	}
	for _, d := range n.PCI {
		facts["pci/"+d.BDF] = fmt.Sprintf("%s, reads %s, acs %s, aspm %s", d.Driver, told(d.MaxRead), told(d.ACSCtl), told(d.ASPM))
	}
	for key, value := range n.Settings.Sysctl {
		facts["sysctl/"+key] = value
	}
	for key, value := range n.Settings.ModParams {
		facts["module/"+key] = value
	}
	facts["iommu"], facts["boot"] = n.Settings.IOMMUType, n.Settings.BootTool
}

// told writes a fact that may be unknown.
func told[T any](v fact.Val[T]) string {
	if x, ok := v.Get(); ok {
		return fmt.Sprint(x)
	}
	return "unknown"
}
