package plan

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

func mendDevices(d *draft, n *fact.Node, f check.Finding) error {
	switch {
	case f.Status == check.Unknown:
		return unseen(f)
	case strings.HasPrefix(f.Got, "no /dev/infiniband/rdma_cm"):
		return d.load(n, "rdma_ucm")
	case strings.HasPrefix(f.Got, "no /dev/infiniband/uverbs"):
		if n.Settings.ModulesRead && !n.Settings.Loaded("ib_uverbs") {
			return d.load(n, "ib_uverbs")
		}
		return byHand("ib_uverbs is loaded, and udev did not make the files")
	}
	for _, v := range n.Settings.Devices {
		name, ok := strings.CutPrefix(v.Path, "/dev/infiniband/")
		if !ok || !strings.HasPrefix(name, "uverbs") && name != "rdma_cm" || openTo(n.Host, v) {
			continue
		}
		mend := d.open
		if v.Group != "root" && modeBits(v.Mode)&0o060 == 0o060 && v.Owner != n.Host.User {
			mend = d.join
		}
		if err := mend(n, v); err != nil {
			return err
		}
	}
	return nil
}

// openTo reports whether a user may read and write a device file: the kernel looks at
// the first class that fits.
func openTo(h fact.Host, v fact.DevNode) bool {
	bits := modeBits(v.Mode)
	switch {
	case h.User == "root":
		return true
	case h.User == v.Owner:
		return bits&0o600 == 0o600
	case slices.Contains(h.Groups, v.Group):
		return bits&0o060 == 0o060
	}
	return bits&0o006 == 0o006
}

// modeBits reads what ls writes: "crw-rw-rw-".
func modeBits(mode string) (bits int) {
	for i := 1; i < 10 && i < len(mode); i++ {
		if bits <<= 1; mode[i] == "rwxrwxrwx"[i-1] {
			bits |= 1
		}
	}
	return bits
}

// devRules opens the files to all, as rdma-core and the kernel mean them to be. Its name
// comes late, because the last rule that sets a mode wins.
const (
	devRules     = "/etc/udev/rules.d/99-weft-rdma.rules"
	devRulesText = "# Written by weft; weft undo takes it away.\nSUBSYSTEM==\"infiniband_verbs\", MODE=\"0666\"\nKERNEL==\"rdma_cm\", MODE=\"0666\"\n"
)

// open is the step that lets everybody use a device file, now and from the next boot on.
func (d *draft) open(n *fact.Node, v fact.DevNode) error {
	files, err := d.change(n, devRules, devRulesText)
	if err != nil {
		return err
	}
	from := fmt.Sprintf("%04o", modeBits(v.Mode))
	reload := "! command -v udevadm >/dev/null || udevadm control --reload || true"
	s := Step{What: "device/" + strings.TrimPrefix(v.Path, "/dev/") + "/mode", From: from, To: "0666", Files: files,
		Do:    []string{sh("chmod 0666 %s", v.Path)},
		Undo:  []string{sh("[ ! -e %s ] || chmod %s %s", v.Path, from, v.Path)},
		Shows: sh("stat -c %%a %s", v.Path)}
	if len(files) > 0 {
		s.Do, s.Undo = append([]string{reload}, s.Do...), append([]string{reload}, s.Undo...)
	}
	d.add(n, s)
	return nil
}

// join is the step that makes the user a member of a device file's group.
func (d *draft) join(n *fact.Node, v fact.DevNode) error {
	user, group := n.Host.User, v.Group
	switch {
	case !plainName.MatchString(user) || !plainName.MatchString(group):
		return byHand("user %q, group %q: names that are not plain", user, group)
	case group == "root" || modeBits(v.Mode)&0o060 != 0o060 || user == v.Owner:
		return byHand("%s is %s %s:%s, and no group but root's may use it", v.Path, v.Mode, v.Owner, group)
	}
	d.add(n, Step{What: "user/" + user + "/group/" + group, From: "no member", To: "member", When: Login,
		Do:    []string{sh("usermod -aG %s %s", group, user)},
		Undo:  []string{sh("gpasswd -d %s %s >/dev/null 2>&1 || true", user, group)},
		Shows: sh("id -nG %s", user),
		Keeps: []string{"/etc/group", "/etc/gshadow", "/etc/group-", "/etc/gshadow-"}})
	return nil
}
