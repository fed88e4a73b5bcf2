package check

import (
	"time"

	"weft/internal/fact"
)

// earlierPort returns the same port in an earlier look at its node, or nil: of own,
// before for what outlives a boot, counted for what does not. A device is the same
// when it sits at the same place, whatever its name is now.
func earlierPort(before *fact.Node, p *fact.Port) *fact.Port {
	if before == nil {
		return nil
	}
	for _, q := range before.Ports {
		if q.Num == p.Num && q.BDF == p.BDF && (p.BDF != "" || q.Name == p.Name) {
			return q
		}
	}
	return nil
}

// rebooted reports whether a node was started anew since an earlier look at it, so
// that its counters began anew too. A boot has its own boot_id, unless the machine
// is virtual and was brought back as it had been saved; and whatever the boot_id
// says, a machine that runs for less time than has passed did not run all that time.
// Where nothing is known it was not.
func rebooted(n, before *fact.Node, since time.Duration) bool {
	now, then := &n.Host, &before.Host
	if now.BootID != "" && then.BootID != "" && now.BootID != then.BootID {
		return true
	}
	up, known := now.Uptime.Get()
	return known && (up < then.Uptime.Or(0) || up < since.Seconds())
}
