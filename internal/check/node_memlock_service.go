package check

import (
	"strings"

	"weft/internal/fact"
)

// memlockStarts reports whether a unit starts what registers memory.
func memlockStarts(name string) bool {
	base := strings.TrimSuffix(name, ".service")
	switch base {
	case "docker", "containerd", "podman", "slurmd":
		return true
	}
	return strings.HasPrefix(base, "ray") || strings.HasPrefix(base, "vllm")
}

func judgeService(n *fact.Node, name string, s fact.Service) Finding {
	f := Finding{Subject: Subject{n.Name, name}}
	limit, ok := s.Memlock.Get()
	running, seen := s.Running.Get()
	dir := "/etc/systemd/system/" + name + ".d"
	restart := "sudo systemctl daemon-reload && sudo systemctl restart " + name
	fix := []string{"sudo mkdir -p " + dir + ` && printf '[Service]\nLimitMEMLOCK=infinity\n' | sudo tee ` + dir + "/memlock.conf", restart}
	switch {
	case seen && running < memlockEnough && ok && limit >= memlockEnough:
		f.Status, f.Got, f.Want = Fail, memlockText(running)+" in the process, although the unit says "+memlockText(limit), "unlimited"
		f.Why = "the unit's wish is not in effect, so what it starts cannot register memory; a user's unit may not raise its own limit"
		f.Fix = []string{restart, "grep 'Max locked' /proc/$(systemctl show -P MainPID " + name + ")/limits"}
	case seen:
		limit = running
		fallthrough
	case ok:
		if limit >= memlockEnough {
			return memlockRoom(n, f, limit, fix)
		}
		f.Status, f.Got, f.Want = Fail, memlockText(limit), "unlimited"
		f.Why = "what this service starts cannot register memory, whatever a login may do"
		f.Fix = fix
	default:
		f.Status, f.Why = Unknown, "the limit of this service was not read"
	}
	return f
}
