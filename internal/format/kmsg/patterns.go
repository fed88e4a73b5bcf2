package kmsg

import (
	"math"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// A pattern is one message weft knows: words it must contain, and what else
// to read. A read that answers false was about something else.
type pattern struct {
	kind Kind
	has  string
	read func(e *Event, msg string) bool
}

// patterns are tried in order; the first that reads a line has it.
var patterns = []pattern{
	{Steering, "DMFS high rate steer mode is: ", after("DMFS high rate steer mode is: ")},
	{PCIeLimited, "available PCIe bandwidth, limited by ", pcieLimit},
	{LinkUp, ": Link up", netdevSpoke},
	{LinkDown, ": Link down", netdevSpoke},
	{LinkUp, " Link ACTIVE", mlx4Port},
	{LinkInit, " Link INIT", mlx4Port},
	{LinkDown, " Link DOWN", mlx4Port},
	{LinkUp, "NIC Link is up", netdevSpoke}, // ice; bnxt and igb capitalise
	{LinkUp, "NIC Link is Up", netdevSpoke},
	{LinkDown, "NIC Link is Down", netdevSpoke},
	{SlotPower, "Detected insufficient power on the PCIe slot (", slotPower},
	{ModuleError, "Port module event[error]: module ", portModule},
	{Module, "Port module event: module ", portModule},
	{CardHot, "High temperature on sensors with bit set ", after("High temperature on sensors with bit set ")},
	{CommandError, ") op_mod(", commandError},
	{ResponderError, "Responder error cqe", always},
	{RequesterError, "Requestor error cqe", always},
	{Xid, "NVRM: Xid (PCI:", xid},
	{SXid, "SXid (PCI:", xid},
	{PeermemContext, "detected invalid context", contains("nv_get_p2p_free_callback")},
	{AERCorrectable, "PCIe Bus Error: severity=Correct", aerLayer},
	{AERNonFatal, "PCIe Bus Error: severity=Uncorrect", both(contains("(Non-Fatal)"), aerLayer)},
	{AERFatal, "PCIe Bus Error: severity=Uncorrect", both(contains("(Fatal)"), aerLayer)},
	{ThunderboltCRC, "RX CRC error (", total},
	{ThunderboltLost, " fragment gap: ", lost},
}

func always(*Event, string) bool { return true }

func contains(s string) func(*Event, string) bool {
	return func(_ *Event, msg string) bool { return strings.Contains(msg, s) }
}

func both(a, b func(*Event, string) bool) func(*Event, string) bool {
	return func(e *Event, msg string) bool { return a(e, msg) && b(e, msg) }
}

// after keeps what follows s.
func after(s string) func(*Event, string) bool {
	return func(e *Event, msg string) bool {
		_, e.Detail, _ = strings.Cut(msg, s)
		return e.Detail != ""
	}
}

// netdevSpoke demands a driver before "Link up": other text has those words.
func netdevSpoke(e *Event, _ string) bool { return e.Device != "" }

// mlx4Port reads "Port: 1 Link ACTIVE".
func mlx4Port(e *Event, msg string) bool {
	_, rest, ok := strings.Cut(msg, "Port: ")
	num, _, ok1 := strings.Cut(rest, " ")
	return ok && ok1 && number(e, num)
}

func number(e *Event, s string) bool {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return false
	}
	e.Number = &n
	return true
}

func slotPower(e *Event, msg string) bool {
	_, rest, _ := strings.Cut(msg, "on the PCIe slot (")
	watts, _, ok := strings.Cut(rest, "W)")
	return ok && number(e, watts)
}

// portModule reads "module 0, Cable error, High Temperature".
func portModule(e *Event, msg string) bool {
	_, rest, _ := strings.Cut(msg, ": module ")
	num, what, ok := strings.Cut(rest, ", ")
	e.Detail = what
	return ok && number(e, num)
}

// commandError reads "ACCESS_REG(0x805) op_mod(0x1) failed, status bad
// resource(0x5), …", of which older lines end after "failed".
func commandError(e *Event, msg string) bool {
	head, rest, _ := strings.Cut(msg, ") op_mod(")
	if !strings.Contains(rest, "failed") {
		return false
	}
	i := strings.LastIndexByte(head, '(')
	if i < 0 {
		return false
	}
	e.Detail = head[strings.LastIndexByte(head[:i], ' ')+1 : i]
	if _, status, ok := strings.Cut(rest, "status "); ok {
		status, _, _ = strings.Cut(status, "(")
		e.Detail += ": " + status
	}
	return true
}

// completeCQE adds the second line of a completion error to its first.
func completeCQE(e *Event, msg string) bool {
	if e.Kind != ResponderError && e.Kind != RequesterError || e.Detail != "" {
		return false
	}
	i := strings.Index(msg, "syndrome 0x")
	if dev, _ := device(msg); i < 0 || dev != e.Device || !strings.Contains(msg, "vendor syndrome") {
		return false
	}
	e.Detail = msg[i:]
	return true
}

// xid reads "Xid (PCI:0000:9b:00): 119, pid=…". The function is left out by
// old drivers and is 0 on every GPU.
func xid(e *Event, msg string) bool {
	_, rest, _ := strings.Cut(msg, "Xid (PCI:")
	bdf, rest, ok := strings.Cut(rest, "): ")
	num, detail, _ := strings.Cut(rest, ",")
	if !strings.Contains(bdf, ".") {
		bdf += ".0"
	}
	bdf, isPCI := printed.BDF(bdf)
	if !ok || !isPCI {
		return false
	}
	e.Device, e.Detail = bdf, strings.TrimSpace(detail)
	return number(e, strings.TrimSpace(num))
}

// aerLayer reads "type=Physical Layer". Only the line with the severity is an
// event: it is printed for the device that erred, where the lines around it
// name the root port or repeat it.
func aerLayer(e *Event, msg string) bool {
	if e.Device == "" {
		return false
	}
	if _, rest, ok := strings.Cut(msg, "type="); ok {
		e.Detail, _, _ = strings.Cut(rest, ",")
	}
	return true
}

func total(e *Event, msg string) bool {
	_, num, ok := strings.Cut(msg, "total=")
	return ok && number(e, num)
}

func lost(e *Event, msg string) bool {
	_, rest, ok := strings.Cut(msg, "(lost ")
	num, _, ok1 := strings.Cut(rest, ")")
	return ok && ok1 && number(e, num)
}

// pcieLimit reads "31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s
// PCIe x4 link at 0000:00:02.5 (capable of 63.008 Gb/s with 8.0 GT/s PCIe x8
// link)". Kernels before 5.6 leave out the word PCIe.
func pcieLimit(e *Event, msg string) bool {
	head, rest, _ := strings.Cut(msg, " Gb/s available PCIe bandwidth, limited by ")
	link, rest, ok := strings.Cut(rest, " link at ")
	bdf, rest, ok1 := strings.Cut(rest, " (capable of ")
	capable, rest, ok2 := strings.Cut(rest, " Gb/s with ")
	best, _, ok3 := strings.Cut(rest, " link)")
	bdf, isPCI := printed.BDF(bdf)
	if !ok || !ok1 || !ok2 || !ok3 || !isPCI {
		return false
	}
	l := PCIeLimit{BDF: bdf}
	e.Limit = &l
	return thousandths(head[strings.LastIndexByte(head, ' ')+1:], &l.AvailableMbps) &&
		thousandths(capable, &l.CapableMbps) &&
		speedWidth(link, &l.SpeedMTps, &l.WidthLanes) &&
		speedWidth(best, &l.CapableSpeedMTps, &l.CapableWidthLanes)
}

// speedWidth reads "8.0 GT/s PCIe x4".
func speedWidth(s string, speed, width *int) bool {
	gts, rest, ok := strings.Cut(s, " GT/s")
	_, lanes, ok1 := strings.Cut(rest, " x")
	n, err := strconv.ParseUint(lanes, 10, 8)
	*width = int(n)
	return ok && ok1 && err == nil && thousandths(gts, speed)
}

// thousandths reads "31.504" as 31504: Gb/s as Mb/s, GT/s as MT/s.
func thousandths(s string, to *int) bool {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f < 1e6) {
		return false
	}
	*to = int(math.Round(f * 1000))
	return true
}
