package format

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"weft/internal/dump"
)

// secrets are lines of files as people have them.
var secrets = map[string]string{
	"keyfile, WPA":            "[wifi-security]\nkey-mgmt=wpa-psk\npsk=correct horse\n",
	"keyfile, 802.1X":         "[802-1x]\nidentity=me\npassword=hush\n",
	"keyfile, WireGuard":      "[wireguard]\nprivate-key=6Jt=\n",
	"keyfile, its peer":       "[wireguard-peer.x]\npreshared-key=6Jt=\n",
	"keyfile, WEP":            "wep-key0=abcde\n",
	"keyfile, modem":          "[gsm]\npin=1234\n",
	"keyfile, MACsec":         "mka-cak=00112233\n",
	"netplan, wifi":           "      access-points:\n        home: {}\n",
	"netplan, in one line":    `network: {wifis: {w: {access-points: {"a": {"password": "x"}}}}}`,
	"netplan, 802.1X":         "      auth:\n        key-management: 802.1x\n",
	"netplan, WireGuard":      "      keys:\n        private: 6Jt=\n      key: 4\n",
	"netplan, flow WireGuard": "      peers: [{keys: {shared: x}}]\n",
	"netplan, key":            "      key: 6Jt=\n",
	"networkd":                "[WireGuard]\nPrivateKey=6Jt=\n",
	"interfaces":              "iface wlan0 inet dhcp\n  wpa-psk 123\n",
	"environment, token":      "HF_TOKEN=hf_x\n",
	"environment, export":     "export HUGGINGFACEHUB_API_TOKEN=hf_x\n",
	"environment, cloud":      "AWS_SECRET_ACCESS_KEY=x\nAWS_ACCESS_KEY_ID=y\n",
	"environment, key":        "OPENAI_API_KEY=sk\n",
	"environment, plain key":  "KEY=x\n",
	"environment, pass":       "DB_PASS=x\n",
	"environment, proxy":      "http_proxy=http://me:hush@proxy:3128/\n",
	"opensm":                  "m_key 0x0000000000000010\n",
	"in the middle":           "a\nb\nPassWord = x\nc\n",
	"after a broken byte":     "\xff\xfe psk=x",
	"no newline":              "a=1\nsecret=2",
}

// harmless are files that plan must be able to edit.
var harmless = map[string]string{
	"keyfile":     "[connection]\nid=rail0\nuuid=5a3c0e9d-1b24-4876-a001-000000000002\ntype=infiniband\ninterface-name=ib0\npermissions=\nauth-retries=3\n\n[infiniband]\nmtu=4092\np-key=-1\ntransport-mode=datagram\n\n[ipv6]\naddr-gen-mode=eui64\nip6-privacy=0\n",
	"netplan":     "network:\n  version: 2\n  renderer: NetworkManager\n  ethernets:\n    rail0:\n      addresses: [10.0.0.1/24]\n      ipv6-privacy: true\n      match: {macaddress: 00:11:22:33:44:55}\n      networkmanager:\n        passthrough:\n          infiniband.p-key: \"-1\"\n",
	"networkd":    "[Match]\nName=rail0\n[Link]\nMTUBytes=9000\n[Network]\nAddress=10.0.0.1/24\nIPv6PrivacyExtensions=yes\n[DHCPv4]\nClientIdentifier=mac\n",
	"interfaces":  "auto lo\niface lo inet loopback\nsource /etc/network/interfaces.d/*\n",
	"environment": "PATH=\"/usr/bin:/bin\"\nNCCL_IB_HCA=mlx5_0\nhttp_proxy=http://proxy:3128/\n",
	"opensm":      "# M_Key value sent to all ports\nm_key 0x0000000000000000\nsm_key 0x0000000000000001\nsa_key 0x0000000000000001\nm_key_lease_period 0\nm_key_protection_level 0\n",
	"partitions":  "Default=0x7fff, ipoib, mtu=5 : ALL=full;\n",
}

// Go and the node's grep must agree, or a secret is only found in one place.
func grepFinds(t *testing.T, text string) bool {
	t.Helper()
	cmd := exec.Command("grep", "-aqiE", "-e", SecretLines)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	cmd.Stdin = strings.NewReader(text)
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

func TestSecrets(t *testing.T) {
	for name, text := range secrets {
		if !holdsSecret(text) || !grepFinds(t, text) {
			t.Errorf("%s: Go %v, grep %v", name, holdsSecret(text), grepFinds(t, text))
		}
	}
	for name, text := range harmless {
		if holdsSecret(text) || grepFinds(t, text) {
			t.Errorf("%s: Go finds %q, grep %v", name, secretLines.FindString(text), grepFinds(t, text))
		}
	}
}

// A secret stays out of the dump wherever it may be, and nothing else does.
func TestSecretsAreDropped(t *testing.T) {
	for _, f := range configFiles {
		for _, name := range f.Names {
			path := strings.ReplaceAll(f.Dir+"/"+name, "*", "x")
			for what, text := range secrets {
				d := dump.NewNode("n")
				d.Text[path] = text
				Settle(Readers, d)
				if _, kept := d.Text[path]; kept == f.Secret || (d.Gap[path] == HoldsSecret) != f.Secret {
					t.Errorf("%s with %s: kept %v, gap %q", path, what, kept, d.Gap[path])
				}
			}
		}
	}
}

func TestSecretsAreFoundInTime(t *testing.T) {
	start := time.Now()
	for _, text := range []string{strings.Repeat("a line that says nothing\n", 160_000), strings.Repeat("pin key pass ", 300_000), strings.Repeat("a key and a pin\n", 20_000)} {
		holdsSecret(text)
	}
	if took := time.Since(start); took > 10*time.Second { // a second, on a machine with nothing else to do
		t.Errorf("12 MB took %v", took)
	}
}

// FuzzSecrets: where grep finds a line, Go does.
func FuzzSecrets(f *testing.F) {
	for _, text := range secrets {
		f.Add(text)
	}
	for _, text := range harmless {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if bytes.ContainsRune([]byte(text), 0) {
			return // grep ends lines at NUL in some versions, and no configuration holds one
		}
		if grepFinds(t, text) && !holdsSecret(text) {
			t.Errorf("grep finds a secret in %q, and Go does not", text)
		}
	})
}
