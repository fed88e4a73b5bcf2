package plan

import (
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

// tuneRemedies set what the running kernel can be told. What makes a device anew comes
// first, then how a port sorts packets, then what acts on sorted packets.
var tuneRemedies = []Remedy{
	{"roce.irdma", mendIRDMA},
	{"roce.v2", mendV2},
	{"roce.trust", mendTrust},
	{"roce.ets", mendETS},
	{"roce.pfc", mendPFC},
	{"roce.pause", mendPause},
	{"roce.tc", mendTC},
	{"roce.ecn", mendECN},
	{"pcie.mrrs", mendMRRS},
	{"node.acs", mendACS},
	{"node.aspm", mendASPM},
	{"node.sysctl", mendSysctl},
	{"ib.sm", mendSM},
}

// reload makes systemd read units anew. It stands in Do and in Undo: both times weft's
// own unit has just come or gone.
const reload = "systemctl daemon-reload"

// noSystemd is what a person is told where nothing can repeat a setting at boot.
const noSystemd = "until the next boot only: this host has no systemd"

// tune adds a step that sets what the kernel forgets: lines set it, whatever it was, now
// and by a service of weft's at every boot, once the units named are there. The step
// comes with its Undo, and with Do where less than all lines will do now.
func (d *draft) tune(n *fact.Node, s Step, name []string, title string, after []string, lines ...string) error {
	if s.Do == nil {
		s.Do = lines
	}
	if !n.Settings.ServicesRead {
		s.Note = strings.TrimPrefix(s.Note+"; "+noSystemd, "; ")
		d.add(n, s)
		return nil
	}
	text, err := unit.Oneshot(title, after, lines)
	if err != nil {
		return err
	}
	if s.Files, err = d.atBoot(n, unit.Name(name...), text); err != nil {
		return err
	}
	if len(s.Files) > 0 {
		s.Do = slices.Concat([]string{reload}, s.Do)
		s.Undo = slices.Concat([]string{reload}, s.Undo)
	}
	d.add(n, s)
	return nil
}

// data returns the port that a finding is about, where weft may tune it: its netdev has
// a plain name and is not the way to manage the node. That it is part of a bond does not
// matter: queues are the port's own.
func (d *draft) data(n *fact.Node, f check.Finding) (*fact.Port, error) {
	if err := unseen(f); err != nil {
		return nil, err
	}
	p := n.Port(f.Subject.Part)
	switch {
	case p == nil:
		return nil, byHand("%s is not there", f.Subject.Part)
	case !plainName.MatchString(p.Device) || !plainName.MatchString(p.Netdev):
		return nil, byHand("%q on %q: names that are not plain", p.Device, p.Netdev)
	}
	dev := n.Netdev(p.Netdev)
	if m, _ := d.Management(n); m != nil && dev != nil && (m == dev || m.Name == dev.Master) {
		return nil, byHand("%s is also how the node is managed: weft does not touch that", dev.Name)
	}
	return p, nil
}

// tool wants a command to be on a node.
func tool(n *fact.Node, names ...string) error {
	if !n.Settings.ToolsRead {
		return byHand("which tools are there was not read")
	}
	for _, name := range names {
		if !n.Settings.Has(name) {
			return byHand("%s is not installed", name)
		}
	}
	return nil
}

// forDevice waits for an RDMA device, which at boot may come after its netdev.
func forDevice(p *fact.Port) string {
	dir := "/sys/class/infiniband/" + p.Device
	return sh("for i in 1 2 3 4 5 6 7 8 9 10; do [ -e %s ] && break; sleep 1; done; [ -e %s ]", dir, dir)
}
