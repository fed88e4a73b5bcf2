// Package keyfile writes NetworkManager's connection files. Pure: text in, text out.
package keyfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"weft/internal/edit"
)

var uuids = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// New returns a whole new connection for one interface. It comes before others that may
// want the interface. A family without an address is off in IPv4 and link-local in IPv6,
// which RoCE needs for its first GID.
func New(want edit.Netdev, uuid string) (string, error) {
	if err := want.Check(); err != nil {
		return "", err
	}
	if !uuids.MatchString(uuid) {
		return "", fmt.Errorf("%s: %q is not a UUID", want.Name, uuid)
	}
	kind := "ethernet"
	if want.Kind == "infiniband" || want.Mode != "" {
		kind = "infiniband"
		if want.Mode == "" {
			want.Mode = "datagram" // NetworkManager takes no connection without
		}
	}
	text := fmt.Sprintf(`# Written by weft.
[connection]
id=%s
uuid=%s
type=%s
interface-name=%s
autoconnect-priority=100

[%[3]s]

[ipv4]
method=disabled

[ipv6]
method=link-local
`, want.Name, uuid, kind, want.Name)
	return Set(text, want)
}

// Set changes a connection: what is not asked for stays byte for byte. What it does not
// understand, it leaves to a person, by an error with the line.
func Set(text string, want edit.Netdev) (string, error) {
	return edit.Hold(text, want, set)
}

func set(text string, want edit.Netdev) (string, error) {
	f, err := edit.GKey.Read(text)
	if err != nil {
		return "", err
	}
	link, err := linkSection(f, want)
	if err != nil {
		return "", err
	}
	if want.MTU != 0 {
		if err := put(f, link, "mtu", strconv.Itoa(want.MTU)); err != nil {
			return "", err
		}
	}
	if want.Mode != "" {
		if err := put(f, link, "transport-mode", want.Mode); err != nil {
			return "", err
		}
	}
	if err := setFamily(f, want, "ipv4", true); err != nil {
		return "", err
	}
	if err := setFamily(f, want, "ipv6", false); err != nil {
		return "", err
	}
	return f.Text(), nil
}

// put sets a key that is not so already.
func put(f *edit.INI, section, key, value string) error {
	if v, ok := f.Value(section, key); ok && v == value {
		return nil
	}
	return f.Put(section, key, value)
}

// kinds are the types of connection whose link weft changes, with their older names,
// which name the sections as well.
var kinds = map[string]string{"ethernet": "802-3-ethernet", "infiniband": "infiniband"}

// linkSection returns the section of the link, and whether the connection is for the
// interface and no other.
func linkSection(f *edit.INI, want edit.Netdev) (string, error) {
	kind, _ := f.Value("connection", "type")
	if kind == "802-3-ethernet" {
		kind = "ethernet"
	}
	older, ok := kinds[kind]
	switch {
	case kind == "":
		return "", fmt.Errorf("[connection] has no type=")
	case want.Kind != "" && want.Kind != kind, want.Mode != "" && kind != "infiniband":
		return "", fmt.Errorf("[connection] type=%s: %s is of another type", kind, want.Name)
	case !ok && want.MTU != 0:
		return "", fmt.Errorf("[connection] type=%s: weft does not change the MTU of such a connection", kind)
	}
	section := kind
	if older != kind && len(f.All(older)) > 0 {
		if len(f.All(kind)) > 0 {
			return "", fmt.Errorf("line %d: [%s] and [%s] are the same section", f.All(older)[0].Line+1, kind, older)
		}
		section = older
	}
	name, _ := f.Value("connection", "interface-name")
	_, mac := f.Value(section, "mac-address")
	if name != want.Name && (name != "" || !mac) {
		return "", fmt.Errorf("[connection] interface-name=%s: the connection is not for %s alone", name, want.Name)
	}
	return section, nil
}

// yes reads a truth as GKeyFile does, which does not know "yes".
func yes(s string) bool { s = strings.TrimRight(s, " \t"); return s == "true" || s == "1" }
