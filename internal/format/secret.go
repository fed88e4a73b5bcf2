package format

import (
	"regexp"
	"slices"
	"strings"

	"weft/internal/dump"
)

// SecretLines is a POSIX extended expression, without regard to case, for lines that
// may hold a password, a key or a token: in keyfiles of NetworkManager, in netplan's
// files, in environments and in opensm.conf, where a management key that is not zero
// opens every port. It would rather find one too many: the file is then left alone.
const SecretLines = `passw|passphrase|secret|psk|preshared|private[-_]?key|wep[-_]?key|access-points|credential|mka-cak` +
	`|api[-_]?key|_key[a-z0-9_]*=|(^|[[:space:]])key=|[a-z_]token[a-z0-9_]*=|(^|[[:space:]])token=|pass"?[[:space:]]*[=:]|(^|[^a-z])pin"?[[:space:]]*[=:]` +
	`|(^|[^a-z])auth"?[[:space:]]*:|(^|[^-_a-z])(private|keys?)"?[[:space:]]*:` +
	`|://[^/@[:space:]]*:[^/@[:space:]]*@|(^|[^a-z])(m|vs|cc|n2n|am)_key[[:space:]]+0x0*[1-9a-f]`

// HoldsSecret is the gap of a file with such a line.
const HoldsSecret = "holds a secret, so it is not read"

var secretLines = regexp.MustCompile("(?i)" + SecretLines)

// secretWords are the words of which every such line has one: most lines have none, and
// the expression takes a thousand times as long.
var secretWords = []string{"pass", "secret", "psk", "preshared", "private", "key", "access-points", "credential", "mka-cak", "token", "pin", "auth", "://"}

// maxSecretLine is the longest line that is looked at: no configuration has a longer one,
// and a node must not keep weft busy.
const maxSecretLine = 1 << 16

// holdsSecret reports whether a text has a line that may be a secret.
func holdsSecret(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > maxSecretLine {
			return true
		}
		lower := strings.ToLower(line)
		if slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(lower, w) }) && secretLines.MatchString(strings.TrimSuffix(line, "\n")) {
			return true
		}
	}
	return false
}

// dropSecrets takes files with a secret out of a node's answers. The node's script does
// not send them; this is for what is read without it, and for a file that somebody
// wrote between the script's two looks.
func dropSecrets(readers []Reader, d *dump.Node) {
	var sets []File
	for _, r := range readers {
		for _, f := range r.Files {
			if f.Secret {
				sets = append(sets, f)
			}
		}
	}
	for key, text := range d.Text {
		if slices.ContainsFunc(sets, func(f File) bool { return f.Covers(key) }) && holdsSecret(text) {
			delete(d.Text, key)
			d.Gap[key] = HoldsSecret
		}
	}
}
