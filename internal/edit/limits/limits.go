// Package limits writes a file of limits.d, which pam_limits reads at login. Pure: text
// in, text out.
//
// pam_limits reads limits.conf and then limits.d/*.conf in the order of the C locale.
// The line of a user beats that of a group, which beats *; among equals the last wins;
// and * does not cover root (limits.conf(5)).
package limits

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Dir is where the files are.
const Dir = "/etc/security/limits.d/"

// names are those that weft's file may have: the first that comes after every file
// that has a say.
var names = []string{"99-weft-rdma.conf", "zz-weft-rdma.conf"}

var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\$?$`)

// Memlock is the file that lets everyone lock memory without limit: root by lines of
// its own, and a user whom other lines may hold back by lines of his. files are
// limits.conf and those of limits.d, by path.
func Memlock(files map[string]string, user string, groups []string) (file, text string, err error) {
	others := maps.Clone(files)
	for _, name := range names {
		delete(others, Dir+name)
	}
	who := []string{"*", "root"}
	last := ""
	for _, p := range slices.Sorted(maps.Keys(others)) {
		for _, r := range rules(others[p]) {
			if r.item != "memlock" && r.item != "" {
				continue
			}
			near := about(r.domain, user, groups)
			if r.item == "" && (near || r.domain == "*" && user != "root") {
				return "", "", fmt.Errorf("%s: %q exempts %s from limits", p, r.line, user)
			}
			if near && !slices.Contains(who, user) {
				who = append(who, user)
			}
			if path.Dir(p)+"/" == Dir {
				last = max(last, path.Base(p)) // byte by byte, as the C locale
			}
		}
	}
	if slices.Contains(who, user) && !userName.MatchString(user) && user != "*" {
		return "", "", fmt.Errorf("%q: no name of a user for limits.d", user)
	}
	i := slices.IndexFunc(names, func(name string) bool { return name > last })
	if i < 0 {
		return "", "", fmt.Errorf("%s: it sets memlock and comes after any name that weft would take", Dir+last)
	}
	text = "# Written by weft; weft undo takes it away. RDMA locks the memory that it uses.\n"
	for _, domain := range who {
		text += domain + " soft memlock unlimited\n" + domain + " hard memlock unlimited\n"
	}
	return Dir + names[i], text, nil
}

type rule struct{ domain, item, line string }

// rules reads a file; what pam_limits would not take is left out.
func rules(text string) (out []rule) {
	for line := range strings.Lines(text) {
		body, _, _ := strings.Cut(line, "#")
		f := strings.Fields(body)
		switch {
		case len(f) == 2 && f[1] == "-":
			out = append(out, rule{f[0], "", strings.TrimSpace(line)})
		case len(f) == 4:
			out = append(out, rule{f[0], f[2], strings.TrimSpace(line)})
		}
	}
	return out
}

// about reports whether a line may be about the user more closely than * is. Numbers of
// users and groups are not known here, so that a range may be.
func about(domain, user string, groups []string) bool {
	switch {
	case domain == user:
		return true
	case user == "root" || domain == "*" || domain == "%":
		return false // only a line with its name is about root
	case strings.HasPrefix(domain, "@") || strings.HasPrefix(domain, "%"):
		return strings.Contains(domain, ":") || slices.Contains(groups, domain[1:])
	}
	return strings.Contains(domain, ":")
}
