package check

import (
	"weft/internal/fact"
	"weft/internal/unit"
)

var nodeMemlock = Check{
	ID:    "node.memlock",
	Title: "Memory may be locked, in logins and in services",
	None:  "no node has an RDMA device that would lock memory",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if len(n.Ports) == 0 {
			return out
		}
		out = append(out, judgeLogin(n))
		for name, s := range n.Settings.Services {
			if memlockStarts(name) && s.Load == "loaded" && (s.Active == "active" || s.Enabled == "enabled") {
				out = append(out, judgeService(n, name, s))
			}
		}
		return out
	},
}

// memlockEnough is the least that lets a worker register its buffers: CVS asks for
// 32 GiB (research/anchors.md, table D).
const memlockEnough = fact.Limit(32 * unit.GiB)

func judgeLogin(n *fact.Node) Finding {
	f := Finding{Subject: node(n)}
	m := n.Settings.Memlock
	limit, ok := m.Login.Get()
	wish := m.Wish.Or(0)
	lines := "printf '%s\\n' '* soft memlock unlimited' '* hard memlock unlimited' 'root soft memlock unlimited' 'root hard memlock unlimited' | sudo tee /etc/security/limits.d/99-rdma.conf"
	again := "log out and in again, or reboot   # a shared ssh connection keeps the old limit: ssh -O exit " + n.Name
	switch {
	case !ok:
		f.Status, f.Why = Unknown, "the login's limit was not read"
	case limit >= memlockEnough:
		return memlockRoom(n, f, limit, []string{lines, again})
	case wish >= memlockEnough && n.Host.User != "root":
		f.Status, f.Got, f.Want = Fail, memlockText(limit)+" in logins, although limits.d says "+memlockText(wish), "unlimited"
		f.Why = "the wish is not in effect in this login, so RDMA programs cannot register memory"
		f.Fix = []string{again, "grep -i usepam /etc/ssh/sshd_config   # must be yes: limits.d is read by PAM"}
	case n.Host.User == "root":
		// The kernel asks for CAP_IPC_LOCK before it looks at the limit: ib_umem_get in
		// drivers/infiniband/core/umem.c.
		f.Status, f.Got, f.Want = Warn, memlockText(limit)+" in root's login", "unlimited"
		f.Why = "root itself is exempt (CAP_IPC_LOCK); where users and containers have the same limit, ibv_reg_mr says \"Cannot allocate memory\""
		f.Fix = []string{lines, again}
	default:
		f.Status, f.Got, f.Want = Fail, memlockText(limit)+" in logins", "unlimited"
		f.Why = "RDMA programs cannot register memory: ibv_reg_mr says \"Cannot allocate memory\""
		f.Fix = []string{lines, again}
	}
	return f
}

// memlockRoom judges a limit that is enough to start with: it may still be less
// than the memory there is.
func memlockRoom(n *fact.Node, f Finding, limit fact.Limit, fix []string) Finding {
	f.Got = memlockText(limit)
	if size, ok := n.Host.Memory.Get(); ok && limit < fact.Limit(size) {
		f.Status, f.Want, f.Fix = Warn, "unlimited", fix
		f.Why = "this node has " + size.String() + ", and a large model's buffers may need more than the limit"
	}
	return f
}

func memlockText(l fact.Limit) string {
	if l >= 1<<63 {
		return "unlimited"
	}
	return unit.Size(l).String()
}
