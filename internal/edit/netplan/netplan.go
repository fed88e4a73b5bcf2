// Package netplan writes netplan's YAML. Pure: text in, text out.
package netplan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"

	"weft/internal/edit"
)

// New returns a whole new file for these interfaces; renderer "" leaves the choice to
// other files, as does everything that is not asked for. Router advertisements bring a
// default route as well, so they are not taken where none is wanted.
func New(wants []edit.Netdev, renderer string) (string, error) {
	if len(wants) == 0 {
		return "", errors.New("no interface is asked for")
	}
	text := "# Written by weft.\nnetwork:\n  version: 2\n"
	switch renderer {
	case "":
	case "networkd", "NetworkManager":
		text += "  renderer: " + renderer + "\n"
	default:
		return "", fmt.Errorf("renderer %q is neither networkd nor NetworkManager", renderer)
	}
	text += "  ethernets:\n"
	for _, w := range wants {
		if err := w.Check(); err != nil {
			return "", err
		}
		own := "    " + quoted(w.Name) + ":\n"
		if w.Addrs != nil {
			own += "      dhcp4: false\n"
		}
		if w.NoDefault {
			own += "      accept-ra: false\n"
		}
		if w.Addrs == nil && !w.NoDefault {
			own = ""
		}
		var err error
		if text, err = Set(text+own, w); err != nil {
			return "", err
		}
	}
	return text, nil
}

// quoted is a name as a key.
func quoted(name string) string {
	if token.IsNeedQuoted(name) {
		return `"` + name + `"`
	}
	return name
}

// Names lists the interfaces that the text defines, as the kernel calls them. A block
// that chooses its interface by other marks than a name, and does not rename it, is left
// out.
func Names(text string) ([]string, error) {
	d, err := read(strings.ReplaceAll(text, "\r\n", "\n"))
	if err != nil {
		return nil, err
	}
	all, err := d.blocks()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, b := range all {
		if b.name != "" {
			names = append(names, b.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Set changes the block of one interface, or appends one: what is not asked for stays
// byte for byte. What it does not understand, it leaves to a person, by an error with
// the line.
func Set(text string, want edit.Netdev) (string, error) {
	if err := want.Check(); err != nil {
		return "", err
	}
	switch strings.Count(text, "\r\n") {
	case 0:
		return set(text, want)
	case strings.Count(text, "\n"):
		out, err := set(strings.ReplaceAll(text, "\r\n", "\n"), want)
		return strings.ReplaceAll(out, "\n", "\r\n"), err
	}
	return "", errors.New("line ends of two kinds: weft does not change such a file")
}

func set(text string, want edit.Netdev) (string, error) {
	old, err := read(text)
	if err != nil {
		return "", err
	}
	out := text
	if old.root == nil && asks(want) {
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		out += "network:\n  version: 2\n"
		if old, err = read(out); err != nil {
			return "", err
		}
	}
	// One change a pass: every pass reads what the one before it wrote, until there is
	// nothing left to do. So nothing is left to do on what is returned, either.
	const most = 1000
	for range most {
		d, err := read(out)
		if err != nil {
			return "", fmt.Errorf("%s: the changed file would not be read: %w", want.Name, err)
		}
		changes, err := d.next(want)
		if err != nil {
			return "", err
		}
		if len(changes) == 0 {
			return out, verify(old, d, want)
		}
		if out, err = d.apply(changes); err != nil {
			return "", fmt.Errorf("%s: %w", want.Name, err)
		}
	}
	return "", fmt.Errorf("%s: no end of changes; change the file by hand", want.Name)
}

// asks tells whether anything must be written about an interface that is not there.
func asks(w edit.Netdev) bool {
	return w.MTU != 0 || w.Mode != "" || w.Addrs != nil && len(*w.Addrs) > 0 || len(w.Routes) > 0
}
