package format

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"weft/internal/dump"
	"weft/internal/fact"
)

var configReader = Reader{
	Name:  "config",
	Why:   "configuration files that weft plan edits, who configures the network, tools",
	Files: configFiles,
	Cmds: []Cmd{
		{Run: oddName, Sh: oddFiles(slices.Concat(configMore, globs(configFiles, false))), Quiet: true},
		{Run: oddRootName, Sh: oddFiles(globs(configFiles, true)), Root: true, Quiet: true},
		{Run: managersName, Sh: managers, Quiet: true},
		{Run: linksName, For: netifLinks, Sh: `grep -HsE '^(ADMIN_STATE|NETWORK_FILE)=' ` + netifLinks + `/*; true`, Quiet: true},
		{Run: nmcliActive, For: "/run/NetworkManager", Quiet: true},
		{Run: toolsName, Sh: haveTools, Quiet: true},
	},
	Read: readConfiguration,
}

// configFiles are the files that weft plan may edit, and those that say what else a
// network manager or a boot loader was told. Some of them can hold secrets.
var configFiles = []File{
	{Dir: "/etc", Names: []string{"hosts", "sysctl.conf", "sysctl.d/*.conf", "default/grub", "default/grub.d/*.cfg", "default/opensm", "kernel/cmdline",
		"nftables.conf", "chrony.conf", "chrony/chrony.conf", "systemd/timesyncd.conf", "udev/rules.d/*.rules"}},
	{Dir: "/etc/systemd", Names: []string{"network/*.network", "network/*.network.d/*.conf"}, Secret: true},
	{Dir: "/etc/systemd", Names: []string{"network/*.link", "system.conf.d/*weft*.conf", "system/weft-*.service", "system/*.service.d/*weft*.conf"}},
	{Dir: "/etc/network", Names: []string{"interfaces", "interfaces.d/*"}, Secret: true},
	{Dir: "/etc", Names: []string{"environment", "nccl.conf", "profile.d/*nccl*.sh"}, Secret: true},
	{Dir: "/etc/rdma", Names: []string{"opensm.conf", "partitions.conf", "mlx4.conf"}, Secret: true},
	{Dir: "/etc/opensm", Names: []string{"*.conf"}, Root: true, Secret: true},
	{Dir: "/etc/netplan", Names: []string{"*.yaml"}, Root: true, Secret: true},
	{Dir: "/etc/NetworkManager/system-connections", Names: []string{"*.nmconnection"}, Root: true, Secret: true},
	{Dir: "/boot/loader/entries", Names: []string{"*.conf"}, Root: true},
	{Dir: "/boot/efi/loader/entries", Names: []string{"*.conf"}, Root: true},
	{Dir: "/efi/loader/entries", Names: []string{"*.conf"}, Root: true},
}

// configElsewhere are files that weft plan may edit and that another reader reads.
var configElsewhere = []string{"/etc/security/limits.conf", "/etc/security/limits.d/*.conf", "/etc/modules", "/etc/modules-load.d/*.conf", "/etc/modprobe.d/*.conf",
	"/etc/rdma/rdma.conf", "/etc/rdma/modules/*.conf"}

// configLinks are the links that start weft's own units.
var configLinks = []string{"/etc/systemd/system/*.wants/weft-*.service"}

var configMore = slices.Concat(configElsewhere, configLinks)

// globs returns the patterns of sets of files, those for root or the others.
func globs(files []File, root bool) (out []string) {
	for _, f := range files {
		for _, name := range f.Names {
			if f.Root == root {
				out = append(out, f.Dir+"/"+name)
			}
		}
	}
	return out
}

const (
	oddName     = "odd configuration files"
	oddRootName = "odd configuration files for root"
)

// oddFiles is a shell line that says what a dump does not: which files are empty, which
// do not end with a newline and which are symbolic links. An edit must put back every
// byte. The first line says that it was asked for: dumps of an older weft do not hold it.
func oddFiles(globs []string) string {
	return `echo looked; set --; for f in ` + strings.Join(globs, " ") + `; do ` +
		`if [ -L "$f" ]; then printf 'link %s\t%s\n' "$f" "$(readlink "$f")"; ` +
		`elif [ ! -f "$f" ] || [ ! -r "$f" ]; then continue; ` +
		`elif [ ! -s "$f" ]; then printf 'empty %s\n' "$f"; else set -- "$@" "$f"; fi; done; [ $# -gt 0 ] || exit 0; ` +
		// The last byte of each, a dot for a newline.
		`m=$(tail -q -c 1 "$@" | tr -c '\n' x | tr '\n' .); for f; do case $m in x*) printf 'unended %s\n' "$f";; esac; m=${m#?}; done`
}

func readConfiguration(d *dump.Node, n *fact.Node) {
	readConfigFiles(d, &n.Settings)
	readTools(d, &n.Settings)
	readManagers(d, n)
}

// readConfigFiles takes the files as they are, to the last byte.
func readConfigFiles(d *dump.Node, s *fact.Settings) {
	odd, looked := d.Cmd(oddName)
	rootOdd, rootLooked := d.Cmd(oddRootName)
	barred := d.Gap[globs(configFiles, true)[0]] != "" // by sudo: then every file for root has a gap
	if !looked || !rootLooked && !barred || d.Gap[CutKey] != "" {
		return
	}
	s.FilesRead = true
	s.Files, s.FilesBarred = map[string]string{}, map[string]string{}
	for key, text := range d.Text {
		if !Editable(key) {
			continue
		}
		if s.Files[key] = text; !utf8.ValidString(text) {
			s.FilesBarred[key] = "not text in UTF-8"
		}
	}
	for line := range strings.Lines(odd + rootOdd) {
		kind, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		file, target, _ := strings.Cut(file, "\t")
		if !Editable(file) || d.Gap[file] != "" {
			continue
		}
		text, there := s.Files[file]
		switch kind {
		case "link":
			s.FilesBarred[file] = "a symbolic link to " + target
		case "empty":
			if !there {
				s.Files[file] = ""
			}
		case "unended":
			if there {
				s.Files[file] = strings.TrimSuffix(text, "\n")
			}
		}
	}
}

// Editable reports whether a file is one that weft plan may edit: one that is read, so
// that its absence is known.
func Editable(file string) bool {
	if !strings.HasPrefix(file, "/etc/") && !strings.HasPrefix(file, "/boot/") && !strings.HasPrefix(file, "/efi/") {
		return false
	}
	for _, f := range configFiles {
		if f.Covers(file) {
			return true
		}
	}
	return slices.ContainsFunc(configMore, func(glob string) bool {
		ok, _ := path.Match(glob, file)
		return ok
	})
}
