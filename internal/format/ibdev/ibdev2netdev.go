package ibdev

import (
	"strings"

	"weft/internal/format/printed"
)

// Netdev ties a port to its network interface, as ibdev2netdev shows it.
type Netdev struct {
	Device   string // "mlx5_0"
	Port     int
	Netdev   string // "ib0", "enp1s0f0np0"; empty when none is bound
	Up       *bool  // the interface's state; nil when not printed
	PCI      string // "0000:86:00.0"; -v only
	Firmware string // -v only
	State    string // the port's state, the kernel's word; -v only
}

// ParseIbdev2netdev reads ibdev2netdev, plain or with -v.
func ParseIbdev2netdev(b []byte) ([]Netdev, error) {
	var (
		f    faults
		nets []Netdev
	)
	for num, line := range printed.Lines(b) {
		left, right, ok := strings.Cut(line, "==>")
		if !ok {
			f.Unknown(num, line, "ibdev2netdev")
			continue
		}
		n, ok := netdevLeft(&f, num, left)
		if !ok {
			f.Add(num, "port: %.60q has no device and port", left)
			continue
		}
		right = strings.TrimSpace(right)
		name, state, _ := strings.Cut(right, "(")
		n.Netdev = strings.TrimSpace(name)
		switch strings.TrimSuffix(strings.TrimSpace(state), ")") {
		case "Up":
			n.Up = new(true)
		case "Down":
			n.Up = new(false)
		}
		nets = append(nets, n)
	}
	return nets, f.Err(len(nets) > 0)
}

// netdevLeft reads "mlx5_0 port 1" and -v's
// "0000:86:00.0 mlx5_0 (MT4115 - MT16X) CX455A - ConnectX-4 fw 12.17.2032 port 1 (ACTIVE)".
func netdevLeft(f *faults, line int, s string) (Netdev, bool) {
	at := strings.LastIndex(s, " port ")
	if at < 0 {
		return Netdev{}, false
	}
	words, tail := strings.Fields(s[:at]), strings.Fields(s[at+len(" port "):])
	if len(words) == 0 || len(tail) == 0 {
		return Netdev{}, false
	}
	num, ok := printed.Number(tail[0])
	if !ok {
		return Netdev{}, false
	}
	n := Netdev{Device: words[0], Port: num}
	if len(words) > 1 && strings.Contains(words[0], ":") {
		n.PCI, n.Device = words[0], words[1]
		if last := len(words) - 1; words[last-1] == "fw" {
			n.Firmware = words[last]
		}
	}
	if len(tail) > 1 {
		f.stateField(&n.State, line, "port state", strings.Trim(tail[1], "()"))
	}
	return n, true
}
