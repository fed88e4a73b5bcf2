package plan

import (
	"maps"
	"path"
	"regexp"
	"slices"

	"weft/internal/check"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

// hostRemedies are about the host itself: what is installed, loaded, allowed and set.
var hostRemedies = []Remedy{
	{"node.packages", mendPackages},
	{"node.modules", mendModules},
	{"gpu.direct", mendDirect},
	{"node.devices", mendDevices},
	{"gpu.container", mendContainer},
	{"node.memlock", mendMemlock},
	{"node.clock", mendClock},
	{"node.firewall", mendFirewall},
	{"nccl.env", mendEnv},
	{"nccl.symmetry", mendSymmetry},
}

// Where lines keep on the node what only the node knew: until the next boot, as long as
// the kernel keeps what it is about; or for good.
const (
	untilBoot = "/run/weft"
	forGood   = "/var/lib/weft"
)

// unseen makes a remedy give up on what nobody could look at.
func unseen(f check.Finding) error {
	if f.Status == check.Unknown {
		return byHand("it is not known to be wrong")
	}
	return nil
}

// plainName is a name that means the same in a shell, a rule and a file.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:@-]*$`)

// folder returns the files below a folder as the steps so far leave them: path → text.
func (d *draft) folder(n *fact.Node, dir string) (map[string]string, error) {
	if !n.Settings.FilesRead {
		return nil, byHand("%s was not read", dir)
	}
	files := map[string]string{}
	for _, g := range n.Gaps {
		if path.Dir(g.Path) == dir || path.Dir(path.Dir(g.Path)) == dir {
			return nil, byHand("%s was not read: %s", g.Path, g.Why)
		}
	}
	for p, text := range n.Settings.Files {
		if path.Dir(p) == dir {
			files[p] = text
		}
	}
	for p, text := range d.files[n.Name] {
		if path.Dir(p) == dir {
			if delete(files, p); text != nil {
				files[p] = *text
			}
		}
	}
	return files, nil
}

// change is write for a file that may already be as it should: then there is none.
func (d *draft) change(n *fact.Node, file, text string) ([]File, error) {
	f, err := d.write(n, file, text)
	if err != nil || f.Old != nil && *f.Old == text {
		return nil, err
	}
	return []File{f}, nil
}

// atBoot is the files of a service of weft's that boot starts: those that are not there
// yet.
func (d *draft) atBoot(n *fact.Node, name, text string) ([]File, error) {
	files, err := d.change(n, unit.Dir+name, text)
	if err != nil {
		return nil, err
	}
	wants := unit.Wants + name
	_, linked := n.Settings.FilesBarred[wants] // the way in which a link is read
	if made, touched := d.files[n.Name][wants]; touched {
		linked = made != nil
	}
	if !linked {
		files = append(files, link(wants, unit.Dir+name))
	}
	return files, nil
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
