package plan

import (
	"path"

	"weft/internal/check"
	"weft/internal/edit/sysctl"
	"weft/internal/fact"
	"weft/internal/spec"
)

func mendSysctl(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	key := f.Subject.Part
	was, ok := n.Settings.Sysctl[key]
	want := spec.SysctlValue(d.Want.Sysctl[key])
	switch {
	case !ok:
		return byHand("this kernel has no setting %s", key)
	case !spec.ValidSysctl(key):
		return byHand("%q is no kernel setting", key)
	}
	if err := tool(n, "sysctl"); err != nil {
		return err
	}
	files, err := d.folder(n, path.Dir(sysctl.File))
	if err != nil {
		return err
	}
	for _, file := range sorted(files) {
		if got, there := sysctl.Get(files[file], key); there && got != want && path.Base(file) > path.Base(sysctl.File) {
			return byHand("%s comes later than weft's own file and sets %s to %s", file, key, got)
		}
	}
	text, err := sysctl.Set(files[sysctl.File], key, want)
	if err != nil {
		return err
	}
	s := Step{What: "sysctl/" + key, From: was, To: want, Shows: sh("cat %s", spec.SysctlFile(key))}
	if s.Files, err = d.change(n, sysctl.File, text); err != nil {
		return err
	}
	set := func(value string) string { return sh("sysctl -q -w %s", key+"="+value) }
	s.Do, s.Undo = []string{set(want)}, []string{set(was)}
	d.add(n, s)
	return nil
}
