package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"weft/internal/edit"
	"weft/internal/edit/keyfile"
	"weft/internal/fact"
)

const keyfileDir = "/etc/NetworkManager/system-connections/"

// keyfile edits the connection of a netdev, or gives it one.
func (d *draft) keyfile(n *fact.Node, dev *fact.Netdev, want edit.Netdev) (b boot, err error) {
	file, name := dev.Config, dev.Name
	if file != "" {
		if path.Dir(file)+"/" != keyfileDir {
			return b, byHand("%s is not one of NetworkManager's keyfiles, and weft edits no other", file)
		}
		b.file, err = d.config(n, file, 0o600, func(text string, _ bool) (string, error) { return keyfile.Set(text, want) })
		b.do = []string{sh("nmcli connection load %s", file), sh("nmcli -w 20 device reapply %s", name), nmSettled(name)}
		b.undo = []string{sh("nmcli connection load %s", file), sh("nmcli -w 20 device reapply %s || true", name), nmSettled(name)}
		if want.Kind == "infiniband" && dev.Profile != "" { // whose link settings NetworkManager does not reapply
			up := sh("nmcli -w 20 device reapply %s || nmcli -w 20 connection up uuid %s", name, dev.Profile)
			b.do[1], b.undo[1], b.risk = up, up+" || true", RiskLink
		}
		return b, err
	}
	if dev.Manager != "" && dev.Profile == "" {
		return b, byHand("more than one connection is for %s: which of them counts is yours to say", name)
	}
	file = keyfileDir + "weft-" + name + ".nmconnection"
	id := uuid("weft", n.Name, name)
	if dev.Manager != "" { // NetworkManager made a connection up, and the new one takes its place
		if want, err = d.whole(n, dev, want); err != nil {
			return b, err
		}
	}
	b.file, err = d.config(n, file, 0o600, func(text string, there bool) (string, error) {
		if there {
			return keyfile.Set(text, want)
		}
		return keyfile.New(want, id)
	})
	b.risk = RiskLink
	b.do = []string{sh("nmcli connection load %s", file), sh("nmcli -w 20 connection up uuid %s", id), nmSettled(name)}
	b.undo = []string{"nmcli connection reload", nmSettled(name)}
	if dev.Profile != "" {
		b.undo = []string{"nmcli connection reload", sh("nmcli -w 20 connection up uuid %s 2>/dev/null || true", dev.Profile), nmSettled(name)}
	}
	return b, err
}

// nmSettled waits until NetworkManager is done with a netdev: 100 is activated, 30 is
// disconnected, 10 and 20 are unmanaged and unavailable (NMDeviceState).
func nmSettled(netdev string) string {
	return settled(sh("nmcli -g GENERAL.STATE device show %s", netdev), "100*|30*|10*|20*")
}

// uuid is the same for the same words: of version 8, whose bits are the maker's own (RFC 9562).
func uuid(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	s := hex.EncodeToString(sum[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
