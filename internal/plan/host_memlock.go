package plan

import (
	"strings"

	"weft/internal/check"
	"weft/internal/edit/limits"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

func mendMemlock(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	if f.Subject.Part != "" {
		return mendMemlockService(d, n, f.Subject.Part)
	}
	m := n.Settings.Memlock
	if strings.Contains(f.Got, "although limits.d says") {
		return byHand("limits.d says so already: the login is older than it, or sshd does without PAM")
	}
	files, err := d.folder(n, "/etc/security/limits.d")
	if err != nil {
		return err
	}
	const conf = "/etc/security/limits.conf"
	if text, there, err := d.read(n, conf); err != nil {
		return err
	} else if there {
		files[conf] = text
	}
	if n.Host.User == "" {
		return byHand("who weft was on the node was not read")
	}
	file, text, err := limits.Memlock(files, n.Host.User, n.Host.Groups)
	if err != nil {
		return err
	}
	change, err := d.change(n, file, text)
	if err != nil {
		return err
	}
	if len(change) == 0 {
		return byHand("%s says so already: log in anew, and see that sshd has UsePAM yes", file)
	}
	d.add(n, Step{What: "memlock/login", From: limitsWords(m.Login, m.LoginHard, m.Wish), To: "unlimited/unlimited/unlimited", Files: change, When: Login,
		Note: "logins that are open keep their limit; a shared ssh connection too"})
	return nil
}

// limitsWords writes limits in order: soft, hard, and what limits.d says of a login; of a
// service its unit's and its process's. "-" is not known.
func limitsWords(limits ...fact.Val[fact.Limit]) string {
	words := make([]string, len(limits))
	for i, l := range limits {
		if words[i] = limitWords(l); words[i] == "" {
			words[i] = "-"
		}
	}
	return strings.Join(words, "/")
}

// mendMemlockService lets a service lock what it wants, from its next start by its unit
// and right now by prlimit: a restart would end what runs in it.
func mendMemlockService(d *draft, n *fact.Node, name string) error {
	if !unit.Valid(name) || strings.Contains(name, `\`) {
		return byHand("%q is no plain name of a unit", name)
	}
	v := n.Settings.Services[name]
	s := Step{What: "memlock/" + name, From: limitsWords(v.Memlock, v.Running), To: "unlimited/" + limitsWords(v.Running)}
	if limit, ok := v.Memlock.Get(); !ok || limit != fact.Unlimited {
		files, err := d.change(n, unit.DropIn(name, "memlock"), unit.Memlock)
		if err != nil {
			return err
		}
		// Drop-ins are read in the order of their names: one that comes later may say
		// otherwise, wherever it is.
		s.Files = files
		s.Do = []string{"systemctl daemon-reload",
			sh(`l=$(systemctl show -p LimitMEMLOCK --value %s); case $l in infinity|18446744073709551615) ;; *) echo "a later drop-in says $l" >&2; exit 1;; esac`, name)}
		s.Undo = []string{"systemctl daemon-reload"}
	}
	if _, running := v.Running.Get(); running {
		s.To = "unlimited/unlimited"
		s.Do, s.Undo = append(s.Do, raiseNow(name)), append(s.Undo, lowerAgain(name, v))
		s.Note = "what runs gets the new limit without a restart"
	}
	if len(s.Do) == 0 {
		return byHand("the unit says so already, and the service does not run")
	}
	s.Shows = sh(`systemctl show -p LimitMEMLOCK --value %s; p=$(systemctl show -p MainPID --value %s); [ "${p:-0}" -eq 0 ] || prlimit --pid "$p" --memlock --raw --noheadings -o SOFT,HARD`, name, name)
	d.add(n, s)
	return nil
}

// since tells one process from a later one of the same number: when it started.
const since = `since() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }; `

// raiseNow raises the limit of every process of a service and notes what each had. New
// ones have it from their parents, so that the second round finds those that were born
// in the first.
func raiseNow(name string) string {
	return sh(since+`f=%s/memlock-%s; mkdir -p %s; touch "$f"; g=$(systemctl show -p ControlGroup --value %s); [ -n "$g" ] || exit 0; `+
		`for i in 1 2; do find "/sys/fs/cgroup$g" "/sys/fs/cgroup/systemd$g" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -un | while read -r p; do `+
		`l=$(prlimit --pid "$p" --memlock --raw --noheadings -o SOFT,HARD 2>/dev/null) || continue; [ "$l" != 'unlimited unlimited' ] || continue; `+
		`grep -q "^$p $(since "$p") " "$f" || echo "$p $(since "$p") $l" >>"$f"; prlimit --pid "$p" --memlock=unlimited:unlimited 2>/dev/null; done; done; true`,
		untilBoot, name, untilBoot, name)
}

// lowerAgain gives every process that still runs what it had. After a boot nobody knows
// what that was: then it is what the service had when the plan was made.
func lowerAgain(name string, v fact.Service) string {
	was := limitsWords(v.Running) + ":" + limitsWords(v.Memlock)
	if _, ok := v.Memlock.Get(); !ok {
		was = limitsWords(v.Running) + ":"
	}
	return sh(since+`f=%s/memlock-%s; if [ -e "$f" ]; then while read -r p t soft hard; do [ "$(since "$p")" != "$t" ] || prlimit --pid "$p" --memlock="$soft:$hard"; done <"$f"; rm -f "$f"; exit; fi; `+
		`g=$(systemctl show -p ControlGroup --value %s); [ -n "$g" ] || exit 0; find "/sys/fs/cgroup$g" "/sys/fs/cgroup/systemd$g" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -un | while read -r p; do prlimit --pid "$p" --memlock=%s 2>/dev/null; done; true`,
		untilBoot, name, name, was)
}
