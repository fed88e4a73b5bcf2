package verbs

import (
	"fmt"
	"time"
)

// CompletionError is an operation that did not succeed.
type CompletionError struct {
	Op     Op
	Status uint32 // enum ibv_wc_status
	Name   string // what libibverbs calls it
	Vendor uint32 // the card's own code
	Means  string // what that usually is, "" where nobody can say
}

func (e *CompletionError) Error() string {
	s := fmt.Sprintf("%s: %s (status %d, vendor %#x)", e.Op, e.Name, e.Status, e.Vendor)
	if e.Means != "" {
		s += ": " + e.Means
	}
	return s
}

// means is what usually stands behind a status.
var means = map[uint32]string{
	wcLocLen:      "a message was longer than the receive that met it: the two sides were given different sizes",
	wcLocQPOp:     "the card refused the operation itself",
	wcLocProt:     "the card may not read or write this memory",
	wcFlush:       "the connection had failed before",
	wcBadResp:     "the peer answered something that does not belong here",
	wcLocAccess:   "the card may not write this memory",
	wcRemInvReq:   "the peer's card refused the request: more outstanding reads than it serves, or a message too long",
	wcRemAccess:   "the peer's memory is not open to this: another key or address, or the peer has ended",
	wcRemOp:       "the peer's card could not do it",
	wcRetryExc:    "no acknowledgement came: the peer or its port is gone, a firewall drops 4791/udp, or the path does not carry this MTU",
	wcRNRRetryExc: "the peer had no receive posted: it is too slow, or has ended",
	wcRemAbort:    "the peer ended the operation",
	wcFatal:       "the card has failed",
	wcRespTimeout: "the card did not answer in time",
}

// failed makes an error of a completion.
func (b *base) failed(w *completion) error {
	return &CompletionError{b.o.Op, w.status, b.dev.lib.wcStatusStr(w.status), w.vendorErr, means[w.status]}
}

// StallError is a wait in which nothing happened for too long.
type StallError struct {
	What string
	For  time.Duration
}

func (e *StallError) Error() string { return fmt.Sprintf("no %s for %s", e.What, e.For) }
