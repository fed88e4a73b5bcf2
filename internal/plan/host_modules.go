package plan

import (
	"slices"

	"weft/internal/check"
	"weft/internal/edit/modprobe"
	"weft/internal/edit/modulesload"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

func mendModules(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	// The finding names the worst of it; a plan mends all.
	must, tools, barred, lost := check.Modules(d.Case, n)
	for _, m := range slices.Concat(must, tools) {
		if err := d.load(n, m); err != nil {
			return err
		}
	}
	for _, m := range barred {
		if err := d.free(n, m); err != nil {
			return err
		}
	}
	for _, m := range lost {
		var err error
		if soft := softPorts(n, m); len(soft) > 0 {
			err = d.softAtBoot(n, soft)
		} else {
			err = d.load(n, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// load is the step that has a kernel module loaded, now and at boot. What bars it is
// freed first.
func (d *draft) load(n *fact.Node, module string) error {
	if !modprobe.Valid(module) {
		return byHand("%q is no name of a module", module)
	}
	if slices.Contains(n.Settings.ModBarred, module) {
		if err := d.free(n, module); err != nil {
			return err
		}
	}
	loaded, boot := n.Settings.Loaded(module), slices.Contains(n.Settings.BootModules, module)
	s := Step{What: "module/" + module, From: moduleState(loaded, boot), To: moduleState(true, true)}
	if !boot {
		old, _, err := d.read(n, modulesload.File)
		if err != nil {
			return err
		}
		text, err := modulesload.Add(old, module)
		if err != nil {
			return err
		}
		if s.Files, err = d.change(n, modulesload.File, text); err != nil {
			return err
		}
	}
	if !loaded {
		loadNow(&s, module)
	}
	if len(s.Files)+len(s.Do) > 0 {
		d.add(n, s)
	}
	return nil
}

// loadNow fills the lines of a step that loads a module. Undone, it and those that came
// with it go again; one that somebody uses by then stays until the next boot.
func loadNow(s *Step, module string) {
	s.Do = []string{
		sh(`f=%s/module-%s; mkdir -p %s; grep -q '^%s ' /proc/modules || modprobe -D %s | sed -n 's/^insmod .*\/\([^/]*\)\.ko.*/\1/p' | tr - _ | `+
			`while read -r m; do grep -q "^$m " /proc/modules || echo "$m"; done | tac >"$f"`, untilBoot, module, untilBoot, module, module),
		sh("modprobe %s", module)}
	s.Undo = []string{sh(`f=%s/module-%s; [ -e "$f" ] || exit 0; while read -r m; do rmmod "$m" 2>/dev/null; done <"$f"; rm -f "$f"`, untilBoot, module)}
	s.Shows = sh(`if grep -q '^%s ' /proc/modules; then echo loaded; else echo not loaded; fi`, module)
}

// moduleState is the value of a module.
func moduleState(loaded, boot bool) string {
	now := map[bool]string{true: "loaded", false: "not loaded"}
	then := map[bool]string{true: "at boot", false: "not at boot"}
	return now[loaded] + ", " + then[boot]
}

// free is the step that puts out of force what keeps a module from loading.
func (d *draft) free(n *fact.Node, module string) error {
	files, err := d.folder(n, "/etc/modprobe.d")
	if err != nil {
		return err
	}
	s := Step{What: "modprobe.d/" + module, From: "barred", To: "free"}
	for _, p := range sorted(files) {
		text, changed := modprobe.Free(files[p], module)
		if !changed {
			continue
		}
		f, err := d.write(n, p, text)
		if err != nil {
			return err
		}
		s.Files = append(s.Files, f)
	}
	if len(s.Files) == 0 {
		return byHand("no file of modprobe.d that was read bars %s", module)
	}
	d.add(n, s)
	return nil
}

// softPorts are the software devices that a module drives.
func softPorts(n *fact.Node, module string) (out []*fact.Port) {
	driver := map[string]string{"rdma_rxe": "rxe", "siw": "siw"}[module]
	for _, p := range n.Ports {
		if driver != "" && p.Driver == driver {
			out = append(out, p)
		}
	}
	return out
}

// softAtBoot has software devices made at every boot; their module comes with them.
func (d *draft) softAtBoot(n *fact.Node, ports []*fact.Port) error {
	for _, p := range ports {
		if !plainName.MatchString(p.Device) || !plainName.MatchString(p.Netdev) {
			return byHand("%q on %q: names that are not plain", p.Device, p.Netdev)
		}
		name := softUnit(p.Device)
		text, err := unit.Oneshot("RDMA in software: "+p.Device+" on "+p.Netdev, []string{unit.Device(p.Netdev)},
			[]string{sh("rdma link show %s/1 >/dev/null 2>&1 || rdma link add %s type %s netdev %s", p.Device, p.Device, p.Driver, p.Netdev)})
		if err != nil {
			return err
		}
		files, err := d.atBoot(n, name, text)
		if err != nil {
			return err
		}
		d.add(n, Step{What: "rdma/" + p.Device + "/boot", From: "forgotten", To: "made", Files: files})
	}
	return nil
}

// softUnit makes a software device at boot.
func softUnit(device string) string { return unit.Name("rdma", device) }
