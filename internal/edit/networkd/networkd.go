// Package networkd writes systemd's .network files. Pure: text in, text out.
package networkd

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"weft/internal/edit"
)

// New returns a whole new file for one interface. Router advertisements bring a default
// route as well, so they are not taken where none is wanted.
func New(want edit.Netdev) (string, error) {
	if err := want.Check(); err != nil {
		return "", err
	}
	text := "# Written by weft.\n[Match]\nName=" + want.Name + "\n"
	if want.NoDefault {
		text += "\n[Network]\nIPv6AcceptRA=no\n"
	}
	return Set(text, want)
}

// Set changes a file: what is not asked for stays byte for byte. The file must be for
// the interface, perhaps among others: see Matches. What it does not understand, it
// leaves to a person, by an error with the line.
func Set(text string, want edit.Netdev) (string, error) {
	return edit.Hold(text, want, set)
}

func set(text string, want edit.Netdev) (string, error) {
	f, err := edit.Systemd.Read(text)
	if err != nil {
		return "", err
	}
	if exact, glob := Matches(text, want.Name); !exact && !glob {
		return "", fmt.Errorf("[Match] is not for %s", want.Name)
	}
	if v, _ := f.Value("Link", "Unmanaged"); yes(v) {
		return "", fmt.Errorf("[Link] Unmanaged=%s: systemd-networkd does not configure %s", v, want.Name)
	}
	for _, do := range []func(*edit.INI, edit.Netdev) error{setMTU, setMode, setAddrs, setNoDefault, setRoutes} {
		if err := do(f, want); err != nil {
			return "", err
		}
	}
	return f.Text(), nil
}

func setMTU(f *edit.INI, want edit.Netdev) error {
	if v, _ := f.Value("Link", "MTUBytes"); want.MTU == 0 || size(v) == want.MTU {
		return nil
	}
	return f.Put("Link", "MTUBytes", strconv.Itoa(want.MTU))
}

// size reads a number of bytes: K, M and G are powers of 1024.
func size(s string) int {
	unit := 1
	for i, suffix := range []string{"K", "M", "G"} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = n, 1<<(10*(i+1))
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<31/unit {
		return -1
	}
	return n * unit
}

// setMode writes no [IPoIB] Mode=: the manual has it since systemd 250, but the reader of
// .network files does not. 252 and 254 say "Unknown section 'IPoIB'. Ignoring." (see
// TestNetworkd), and the section is missing from the list of the program up to 262. The
// kernel begins with datagram.
func setMode(f *edit.INI, want edit.Netdev) error {
	v, there := f.Value("IPoIB", "Mode")
	switch {
	case want.Mode == "" || v == want.Mode:
		return nil
	case there:
		return f.Put("IPoIB", "Mode", want.Mode)
	case want.Mode == "datagram":
		return nil
	}
	return fmt.Errorf("systemd-networkd ignores [IPoIB] in .network files: IPoIB mode %s must be kept in another way", want.Mode)
}

func yes(s string) bool {
	switch strings.ToLower(s) {
	case "1", "yes", "y", "true", "t", "on":
		return true
	}
	return false
}

func no(s string) bool {
	switch strings.ToLower(s) {
	case "0", "no", "n", "false", "f", "off":
		return true
	}
	return false
}

// address is a static address: a line of [Network], or an [Address] section.
type address struct {
	prefix  netip.Prefix
	key     edit.Key
	section *edit.Section
	bound   bool // the section holds what belongs to this address alone
}

func addresses(f *edit.INI) (out []address, err error) {
	for _, s := range f.Sections {
		keys := s.Get("Address")
		switch {
		case s.Name == "Address" && len(keys) == 0:
			return nil, fmt.Errorf("line %d: [Address] without Address=", s.Line+1)
		case s.Name == "Address" && len(keys) > 1:
			return nil, fmt.Errorf("line %d: a second Address= in one section", keys[1].Line+1)
		case s.Name != "Address" && s.Name != "Network":
			continue
		}
		for _, k := range keys {
			a := address{key: k}
			if a.prefix, err = netip.ParsePrefix(k.Value); err != nil {
				ip, err := netip.ParseAddr(k.Value)
				if err != nil {
					return nil, fmt.Errorf("line %d: Address=%s is not an address with its prefix length", k.Line+1, k.Value)
				}
				// systemd guesses the length of the prefix: never what was asked for.
				a.prefix = netip.PrefixFrom(ip, 0)
			}
			if s.Name == "Address" {
				s := s
				a.section = &s
				a.bound = len(s.Get("Peer"))+len(s.Get("Broadcast")) > 0
			}
			out = append(out, a)
		}
	}
	return out, nil
}

func setAddrs(f *edit.INI, want edit.Netdev) error {
	if want.Addrs == nil {
		return nil
	}
	there, err := addresses(f)
	if err != nil {
		return err
	}
	prefixes := make([]netip.Prefix, len(there))
	for i, a := range there {
		prefixes[i] = a.prefix
	}
	wanted, _ := want.Prefixes() // checked
	becomes, add := edit.Align(prefixes, wanted, func(i int) bool { return !there[i].bound })
	for i, a := range there {
		switch now := becomes[i]; {
		case now == a.prefix:
		case now.IsValid():
			err = f.Change(a.key, now.String())
		case a.section != nil:
			err = f.DropSection(*a.section)
		default:
			err = f.Drop(a.key)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range add {
		f.Add("Network", "Address", p.String())
	}
	return nil
}
