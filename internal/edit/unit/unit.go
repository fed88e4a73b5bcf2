// Package unit writes systemd units: a service that sets something at boot, and a
// drop-in for a service of somebody else. Pure: text in, text out.
package unit

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Dir is where an administrator's units are, Wants where those are that boot starts.
const (
	Dir   = "/etc/systemd/system/"
	Wants = Dir + "multi-user.target.wants/"
)

// unitName is what systemd takes for the name of a unit: letters, digits, ":-_.\" and
// one @ (systemd.unit(5)), with one of the endings.
var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]*)?\.(service|socket|target|device|mount|path|timer|slice)$`)

// Valid reports whether systemd would take a name for that of a unit.
func Valid(name string) bool { return len(name) < 256 && unitName.MatchString(name) }

// Oneshot is a service that runs shell lines once, at boot, in order; the first that
// fails is the last, and the unit has failed then. It starts after the units named,
// and waits for those of them that are devices or network-online.target, which come
// only when somebody wants them. Link it from Wants to have it at boot.
func Oneshot(description string, after, lines []string) (text string, err error) {
	return oneshot(description, after, "", lines)
}

// With is a Oneshot that runs after another unit, and again whenever that one is
// restarted or reloaded: because it forgets then what the lines have set.
func With(description, other string, lines []string) (text string, err error) {
	return oneshot(description, []string{other}, other, lines)
}

func oneshot(description string, after []string, with string, lines []string) (text string, err error) {
	if description, err = plain(description); err != nil {
		return "", fmt.Errorf("description: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by weft; weft undo takes it away.\n[Unit]\nDescription=%s\n", description)
	for _, name := range after {
		if !Valid(name) {
			return "", fmt.Errorf("%q: no name of a unit", name)
		}
		if strings.HasSuffix(name, ".device") || name == "network-online.target" {
			fmt.Fprintf(&b, "Wants=%s\n", name)
		}
		fmt.Fprintf(&b, "After=%s\n", name)
	}
	if with != "" {
		fmt.Fprintf(&b, "PartOf=%s\nReloadPropagatedFrom=%s\n", with, with)
	}
	b.WriteString("\n[Service]\nType=oneshot\nRemainAfterExit=yes\nEnvironment=LC_ALL=C\n")
	if len(lines) == 0 {
		return "", fmt.Errorf("%q: nothing to run", description)
	}
	for _, line := range lines {
		word, err := Quote(line)
		if err != nil {
			return "", fmt.Errorf("%q: %w", line, err)
		}
		fmt.Fprintf(&b, "ExecStart=/bin/sh -c %s\n", word)
		if with != "" {
			fmt.Fprintf(&b, "ExecReload=/bin/sh -c %s\n", word)
		}
	}
	b.WriteString("\n[Install]\nWantedBy=multi-user.target\n")
	return b.String(), nil
}

// Quote makes one argument of ExecStart= of any text. systemd is no shell: it knows
// double quotes with the escapes of C, specifiers that start with % and variables that
// start with $, both also within quotes (systemd.service(5), "COMMAND LINES").
func Quote(s string) (string, error) {
	if err := sound(s); err != nil {
		return "", err
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`, "\t", `\t`, "\n", `\n`).Replace(s) + `"`, nil
}

// plain is text that stands to the right of a = and is not quoted.
func plain(s string) (string, error) {
	if err := sound(s); err != nil {
		return "", err
	}
	if s == "" || strings.ContainsAny(s, "\n\t\\") || strings.TrimSpace(s) != s {
		return "", fmt.Errorf("%q: not one line of plain text", s)
	}
	return strings.ReplaceAll(s, "%", "%%"), nil
}

// sound wants text that systemd reads at all.
func sound(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%q: not UTF-8", s)
	}
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return fmt.Errorf("%q: a control character", s)
		}
	}
	return nil
}

// Device is the name of the unit that comes up with a network interface:
// systemd-escape of its path.
func Device(netdev string) string {
	var b strings.Builder
	for i := range len(netdev) {
		switch c := netdev[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == ':', c == '_', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return "sys-subsystem-net-devices-" + b.String() + ".device"
}

// Name is "weft-" and words, made into the name of a service: what a unit's name may
// not hold is escaped as systemd escapes it.
func Name(words ...string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(Device(strings.Join(words, "-")), "sys-subsystem-net-devices-"), ".device")
	return "weft-" + strings.ReplaceAll(name, `\x2d`, "-") + ".service"
}

// Memlock is a drop-in that lets a service lock all the memory it wants.
const Memlock = "# Written by weft; weft undo takes it away.\n[Service]\nLimitMEMLOCK=infinity\n"

// DropIn is the path of weft's drop-in of a unit.
func DropIn(name, what string) string { return Dir + name + ".d/weft-" + what + ".conf" }
