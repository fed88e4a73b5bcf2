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
// there before it began, FILE.new what it brought, and is there once it is done: so a
// second run of the lines knows where the first one stopped. all is a condition that
// holds when everything asked for is installed, now prints what is installed, and also
// is a line that notes more of what was before.
func remember(file, all, now, also string) (first, last string) {
	f := fmt.Sprintf("f=%s; ", file)
	first = f + fmt.Sprintf(`mkdir -p %s; if [ -e $f.new ] && %s; then exit 0; fi; `+
		`if [ -e $f.new ] || [ ! -e $f.before ]; then rm -f $f.new; %s; %s >$f.tmp && sync $f.tmp && mv $f.tmp $f.before && sync %s; fi`, forGood, all, also, now, forGood)
	last = f + fmt.Sprintf(`[ -e $f.new ] || { %s | comm -13 $f.before - >$f.tmp && mv $f.tmp $f.new; }`, now)
	return first, last
}

// debs prints every package that is at least partly there; its configuration alone is not.
const debs = `dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' | sed -n '/^\(not-installed\|config-files\) /!s/^[^ ]* //p' | sort`

// apt fills the lines of a step that installs with apt-get.
func apt(s *Step, file, list string) {
	const get = `DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300`
	installed := fmt.Sprintf(`[ "$(dpkg-query -W -f '${db:Status-Status}\n' %s 2>/dev/null | grep -cx installed)" = %d ]`, list, len(strings.Fields(list)))
	first, last := remember(file, installed, debs, `dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' | sed -n 's/^config-files //p' | sort >$f.rc`)
	s.Do = []string{first,
		`s=$(` + get + ` -s install ` + list + `) || { apt-get update && s=$(` + get + ` -s install ` + list + `); } || exit 1; ` +
			`if printf '%s\n' "$s" | grep -E '^(Remv |Inst [^ ]+ \[)'; then echo 'it would change packages that are there' >&2; exit 1; fi`,
		get + ` install ` + list,
		last}
	// dpkg takes nothing away that somebody needs meanwhile. A package whose
	// configuration was left from an earlier time keeps it.
	s.Undo = []string{`f=` + file + `; [ -e $f.before ] || exit 0; if [ -e $f.new ]; then cat $f.new; else ` + debs + ` | comm -13 $f.before -; fi >$f.tmp; ` +
		`n=$(cat $f.tmp) p=$(comm -23 $f.tmp $f.rc) i=0; [ -z "$n" ] || until o=$(dpkg --force-remove-reinstreq --remove $n 2>&1); do ` +
		`case $o in *'locked by another'*) i=$((i+1)); [ $i -lt 60 ] || { echo "$o" >&2; exit 1; }; sleep 5;; *) break;; esac; done; ` +
		`[ -z "$p" ] || dpkg --purge $p || true; rm -f $f.before $f.new $f.rc $f.tmp`}
	s.Shows = `for p in ` + list + `; do printf '%s %s\n' $p "$(dpkg-query -W -f '${db:Status-Status}' $p 2>/dev/null | grep -x installed)"; done`
	s.Keeps = []string{"/var/lib/apt/extended_states"}
}

// dnf fills the lines of a step that installs with dnf.
func dnf(s *Step, file, list string) {
	const get = `dnf -y --setopt=install_weak_deps=False`
	const rpms = `rpm -qa --qf '%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}\n' | sed 's/\.(none)$//' | sort`
	first, last := remember(file, `rpm -q `+list+` >/dev/null`, rpms, `:`)
	s.Do = []string{first,
		`if ` + get + ` --assumeno install ` + list + ` 2>&1 | grep -E '^(Upgrading|Downgrading|Removing|Reinstalling|Replacing|Obsoleting)'; then echo 'it would change packages that are there' >&2; exit 1; fi`,
		get + ` install ` + list,
		last}
	// rpm takes nothing away that somebody needs meanwhile; one pass may free the next.
	s.Undo = []string{`f=` + file + `; [ -e $f.before ] || exit 0; if [ -e $f.new ]; then n=$(cat $f.new); else n=$(` + rpms + ` | comm -13 $f.before -); fi; ` +
		`[ -z "$n" ] || rpm -e $n || for i in 1 2 3; do for p in $n; do rpm -e $p 2>/dev/null; done; done; rm -f $f.before $f.new $f.tmp`}
	s.Shows = `for p in ` + list + `; do printf '%s %s\n' $p "$(rpm -q --qf installed $p 2>/dev/null | grep -x installed)"; done`
}
