package check

import (
	"time"

	"weft/internal/fact"
)

// errorCounter is a counter that tells of trouble, how fast it may grow, and where
// it stands out without an earlier look.
type errorCounter struct {
	Name string        // in sysfs
	MAD  string        // in ibqueryerrors; "" when the fabric does not count it
	Max  uint64        // growth that is still no failure …
	Per  time.Duration // … in this time; 0: any growth is one
	Much uint64        // a total that is worth a look; 0: never
	Full uint64        // the counter stops here; 0: never
	Wire bool          // the cable is to blame, not the traffic
}

// Max and Per: NVSentinel's limits (research/anchors.md, table D). Much: the values
// that infiniband-diags proposes in etc/error_thresholds. Full: the widths of the
// PortCounters attribute, as the kernel lists them (PORT_PMA_ATTR in
// drivers/infiniband/core/sysfs.c).
var errorCounters = []errorCounter{
	{"link_downed", "LinkDownedCounter", 0, 0, 10, 1<<8 - 1, true},
	{"local_link_integrity_errors", "LocalLinkIntegrityErrors", 0, 0, 10, 1<<4 - 1, true},
	{"excessive_buffer_overrun_errors", "ExcessiveBufferOverrunErrors", 0, 0, 10, 1<<4 - 1, true},
	{"symbol_error", "SymbolErrorCounter", 120, time.Hour, 10, 1<<16 - 1, true},
	{"symbol_error", "SymbolErrorCounter", 10, time.Second, 0, 0, true},
	{"link_error_recovery", "LinkErrorRecoveryCounter", 5, time.Minute, 10, 1<<8 - 1, true},
	{"port_rcv_errors", "PortRcvErrors", 10, time.Second, 10, 1<<16 - 1, true},
	{"port_xmit_discards", "PortXmitDiscards", 100, time.Second, 100, 1<<16 - 1, false},
	{"rnr_nak_retry_err", "", 0, 0, 0, 0, false},
	{"local_ack_timeout_err", "", 1, time.Second, 0, 0, false},
	{"roce_slow_restart", "", 10, time.Second, 0, 0, false},
}

func countsErrors(p *fact.Port) bool {
	for _, k := range errorCounters {
		if _, ok := p.Counters[k.Name]; ok {
			return true
		}
	}
	return false
}

// exceeded reports whether a growth is more than the counter may grow. A look
// shorter than Per is given all of Per, so that one error is not a rate.
func (k errorCounter) exceeded(growth uint64, since time.Duration) bool {
	if k.Per == 0 {
		return growth > 0
	}
	return float64(growth) > float64(k.Max)*float64(max(since, k.Per))/float64(k.Per)
}
