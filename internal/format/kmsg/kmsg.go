// Package kmsg finds the kernel's messages that matter to a fabric in dmesg,
// /dev/kmsg and journal text. Pure: bytes in, events out.
package kmsg

import (
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// A Kind is what a message means.
type Kind string

const (
	Steering        Kind = "mlx4.steering"    // Detail: the mode in the driver's words
	PCIeLimited     Kind = "pcie.limited"     // Limit: by what and where
	LinkUp          Kind = "link.up"          // Number: the port, where told
	LinkDown        Kind = "link.down"        // Number: the port, where told
	LinkInit        Kind = "link.init"        // an InfiniBand port waits for a subnet manager
	SlotPower       Kind = "slot.power"       // the slot promises too little; Number: its watts
	Module          Kind = "module"           // a cable came or went; Number: module, Detail: what
	ModuleError     Kind = "module.error"     // Number: module, Detail: "Cable error, High Temperature"
	CardHot         Kind = "card.hot"         // Detail: the sensors
	CommandError    Kind = "command.error"    // firmware refused; Detail: "ACCESS_REG: bad resource"
	ResponderError  Kind = "responder.error"  // a receive completed in error; Detail: "syndrome 0x5, vendor syndrome 0xf9"
	RequesterError  Kind = "requester.error"  // a send completed in error; Detail likewise
	Xid             Kind = "xid"              // Number: NVIDIA's code, Detail: the rest
	SXid            Kind = "sxid"             // the same of an NVSwitch
	PeermemContext  Kind = "peermem.context"  // nvidia-peermem met memory that was already gone
	AERCorrectable  Kind = "aer.correctable"  // Detail: the layer
	AERNonFatal     Kind = "aer.nonfatal"     // Detail: the layer
	AERFatal        Kind = "aer.fatal"        // Detail: the layer
	ThunderboltCRC  Kind = "thunderbolt.crc"  // Number: errors so far
	ThunderboltLost Kind = "thunderbolt.lost" // Number: fragments lost
)

// An Event is one message of a known kind.
type Event struct {
	Kind   Kind
	Line   int    // in the text, from 1
	At     string // as printed: seconds since boot, or a date; "" without one
	Device string // BDF, or the RDMA device's name; "" when not told
	Netdev string
	Number *int // see the kinds
	Detail string
	Limit  *PCIeLimit // of PCIeLimited
	Text   string     // the message without its prefix
}

// A PCIeLimit says which link on the path holds a device back.
type PCIeLimit struct {
	AvailableMbps     int
	SpeedMTps         int // 8000 is 8.0 GT/s
	WidthLanes        int
	BDF               string // the port whose link is the narrow one
	CapableMbps       int
	CapableSpeedMTps  int
	CapableWidthLanes int
}

// Parse returns the known messages in b in their order. Text that it does
// not know is not an error: a log is mostly that.
func Parse(b []byte) []Event {
	var events []Event
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		at, msg := prefix(strings.TrimRight(line, " \t\r\n"))
		if len(events) > 0 && completeCQE(&events[len(events)-1], msg) {
			continue
		}
		for _, p := range patterns {
			if !strings.Contains(msg, p.has) {
				continue
			}
			e := Event{Kind: p.kind, Line: n, At: at, Text: msg}
			e.Device, e.Netdev = device(msg)
			if p.read(&e, msg) {
				events = append(events, e)
				break
			}
		}
	}
	return events
}

// prefix splits a line into its time and the message. It knows dmesg with
// seconds or dates, with and without facility; /dev/kmsg; and syslog's
// "host kernel: ".
func prefix(line string) (at, msg string) {
	if head, rest, ok := strings.Cut(line, ";"); ok && strings.Count(head, ",") >= 3 && line[0] >= '0' && line[0] <= '9' {
		f := strings.Split(head, ",")
		if us, err := strconv.ParseUint(f[2], 10, 63); err == nil {
			frac := strconv.FormatUint(us%1e6+1e6, 10)[1:]
			return strconv.FormatUint(us/1e6, 10) + "." + frac, rest
		}
	}
	if _, rest, ok := strings.Cut(line, " kernel: "); ok {
		line = rest
	}
	if strings.HasPrefix(line, "kern ") { // dmesg -x: "kern  :info  : [    2.7] …"
		if i := strings.Index(line, ": ["); i >= 0 {
			line = line[i+2:]
		}
	}
	line = strings.TrimLeft(line, " ")
	if inside, rest, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(inside, "[") {
		return strings.TrimSpace(inside[1:]), strings.TrimLeft(rest, " ")
	}
	return "", line
}

// device finds who speaks: "driver BDF: …", "driver BDF netdev: …" or
// "infiniband name: …".
func device(msg string) (dev, netdev string) {
	f := strings.SplitN(msg, " ", 4)
	if len(f) < 3 {
		return "", ""
	}
	name, ends := strings.CutSuffix(f[1], ":")
	if f[0] == "infiniband" && ends {
		return name, ""
	}
	dev, isPCI := printed.BDF(name)
	if !isPCI {
		return "", ""
	}
	if !ends {
		netdev, ends = strings.CutSuffix(f[2], ":")
		if !ends {
			netdev = ""
		}
	}
	return dev, netdev
}
