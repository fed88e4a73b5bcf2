package host

import (
	"errors"
	"strings"
)

// An OSRelease is /etc/os-release.
type OSRelease struct {
	ID       string   // "ubuntu", "fedora"
	Like     []string // "debian", "rhel"
	Name     string   // "Ubuntu"
	Pretty   string   // "Ubuntu 24.04.3 LTS"
	Version  string   // "24.04"
	Codename string   // "noble"
	Variant  string   // "server"
}

// ParseOSRelease reads /etc/os-release.
func ParseOSRelease(b []byte) (OSRelease, error) {
	var o OSRelease
	for _, a := range ParseShellEnv(b) {
		switch a.Key {
		case "ID":
			o.ID = a.Value
		case "ID_LIKE":
			o.Like = strings.Fields(a.Value)
		case "NAME":
			o.Name = a.Value
		case "PRETTY_NAME":
			o.Pretty = a.Value
		case "VERSION_ID":
			o.Version = a.Value
		case "VERSION_CODENAME":
			o.Codename = a.Value
		case "VARIANT_ID":
			o.Variant = a.Value
		}
	}
	if o.ID == "" {
		return o, errors.New("no ID in os-release")
	}
	return o, nil
}
