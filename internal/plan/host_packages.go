package plan

import (
	"fmt"
	"regexp"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

func mendPackages(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	list, ok := strings.CutPrefix(f.Got, "missing ")
	if !ok {
		return byHand("which packages are missing is not told")
	}
	s, err := install(n, strings.Split(list, ", "))
	if err != nil {
		return err
	}
	d.add(n, s)
	return nil
}

var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`)

// install is a step that installs packages and, undone, removes exactly what came with
// them. It refuses to upgrade or remove anything that is there: that could not be undone.
func install(n *fact.Node, names []string) (Step, error) {
	for _, name := range names {
		if !packageName.MatchString(name) {
			return Step{}, byHand("%q is no name of a package", name)
		}
	}
	list := strings.Join(names, " ")
	s := Step{What: "packages/" + strings.Join(names, ","), From: "absent", To: "installed", Lasts: true, Seconds: 900,
		Note: "from the repositories that the node has; recommended packages are left out"}
	file := forGood + "/packages-" + hash(map[string]string{"": list})[:12]
	switch {
	case n.Settings.Has("apt-get") || !n.Settings.ToolsRead && n.Host.Debian():
		apt(&s, file, list)
	case n.Settings.Has("dnf"):
		dnf(&s, file, list)
	default:
		return Step{}, byHand("neither apt-get nor dnf is there")
	}
	return s, nil
}

// remember is the first and the last line of an installation. FILE.before lists what was
// there before it began, FILE.after when it was done: so a second run of the lines knows
// where the first one stopped. all is a condition that holds when everything asked for
// is installed, list prints what is.
func remember(file, all, list string) (first, last string) {
	first = fmt.Sprintf(`f=%s; mkdir -p %s; if [ -e $f.after ] && %s; then exit 0; fi; `+
		`if [ -e $f.after ] || [ ! -e $f.before ]; then rm -f $f.after; %s >$f.tmp && sync && mv $f.tmp $f.before && sync; fi`, file, forGood, all, list)
	last = fmt.Sprintf(`f=%s; [ -e $f.after ] || { %s >$f.tmp && mv $f.tmp $f.after; }`, file, list)
	return first, last
}

// apt fills the lines of a step that installs with apt-get.
func apt(s *Step, file, names string) {
	const (
		get  = `DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300`
		debs = `dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' | sort`
	)
	all := fmt.Sprintf(`[ "$(dpkg-query -W -f '${db:Status-Status}\n' %s 2>/dev/null | grep -cx installed)" = %d ]`, names, len(strings.Fields(names)))
	first, last := remember(file, all, debs)
	try := `s=$(` + get + ` -s install ` + names + `)`
	s.Do = []string{first,
		try + ` || { apt-get update && ` + try + `; } || exit 1; ` +
			`if printf '%s\n' "$s" | grep -E '^(Remv |Inst [^ ]+ \[)'; then echo 'it would change packages that are there' >&2; exit 1; fi`,
		get + ` install ` + names,
		last}
	// dpkg takes nothing away that somebody needs meanwhile. A package whose
	// configuration was left from an earlier time keeps it.
	s.Undo = []string{`f=` + file + `; [ -e $f.before ] || exit 0; [ -e $f.after ] || ` + debs + ` >$f.after; ` +
		`n=$(comm -13 $f.before $f.after | sed -n '/ \(config-files\|not-installed\)$/!s/ .*//p') i=0; ` +
		`[ -z "$n" ] || until o=$(dpkg --force-remove-reinstreq --remove $n 2>&1); do ` +
		`case $o in *'locked by another'*) i=$((i+1)); [ $i -lt 60 ] || { echo "$o" >&2; exit 1; }; sleep 5;; *) break;; esac; done; ` +
		`for p in $n; do grep -qx "$p config-files" $f.before || dpkg --purge $p; done; rm -f $f.before $f.after $f.tmp`}
	s.Shows = `for p in ` + names + `; do printf '%s %s\n' $p "$(dpkg-query -W -f '${db:Status-Status}' $p 2>/dev/null | grep -x installed)"; done`
	s.Keeps = []string{"/var/lib/apt/extended_states"} // which packages were installed for others
}

// dnf fills the lines of a step that installs with dnf.
func dnf(s *Step, file, names string) {
	const (
		get  = `dnf -y --setopt=install_weak_deps=False`
		rpms = `rpm -qa --qf '%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}\n' | sed 's/\.(none)$//' | sort`
	)
	first, last := remember(file, `rpm -q `+names+` >/dev/null`, rpms)
	s.Do = []string{first,
		`if ` + strings.Replace(get, " -y", "", 1) + ` --assumeno install ` + names + ` 2>&1 | grep -E '^(Upgrading|Downgrading|Removing|Reinstalling|Replacing|Obsoleting)'; then echo 'it would change packages that are there' >&2; exit 1; fi`,
		get + ` install ` + names,
		last}
	// rpm takes nothing away that somebody needs meanwhile; one pass may free the next.
	s.Undo = []string{`f=` + file + `; [ -e $f.before ] || exit 0; [ -e $f.after ] || ` + rpms + ` >$f.after; n=$(comm -13 $f.before $f.after); ` +
		`[ -z "$n" ] || rpm -e $n || for i in 1 2 3; do for p in $n; do rpm -e $p 2>/dev/null; done; done; rm -f $f.before $f.after $f.tmp`}
	s.Shows = `for p in ` + names + `; do printf '%s %s\n' $p "$(rpm -q --qf installed $p 2>/dev/null | grep -x installed)"; done`
}
