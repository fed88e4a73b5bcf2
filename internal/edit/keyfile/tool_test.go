package keyfile

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"weft/internal/edit"
)

// TestRoundTrip lets NetworkManager's own reader and writer take what was written. It
// drops what it does not know without a word, so everything that weft writes is looked
// for in what comes back.
func TestRoundTrip(t *testing.T) {
	nmcli, err := exec.LookPath("nmcli")
	if err != nil {
		t.Skip("nmcli is not installed")
	}
	if out, err := exec.Command(nmcli, "--offline", "--version").CombinedOutput(); err != nil {
		t.Skipf("this nmcli has no --offline: %s", out)
	}
	trip := func(t *testing.T, text string) (string, error) {
		cmd := exec.Command(nmcli, "--offline", "connection", "modify", "connection.autoconnect", "yes")
		cmd.Stdin = strings.NewReader(text)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%v: %s\n%s", err, said.String(), text)
		}
		return string(out), err
	}
	for _, c := range cases {
		if c.err != "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := c.now
			if !strings.Contains(text, "id=") {
				text = strings.Replace(text, "[connection]\n", "[connection]\nid=a\nuuid="+uuid+"\n", 1)
			}
			if !strings.Contains(text, "[ipv6]") {
				text += "\n[ipv6]\nmethod=link-local\n" // else NetworkManager adds what it likes
			}
			if back, err := trip(t, text); err == nil {
				holds(t, text, back, c.want)
			}
		})
	}
	for i, w := range wishes {
		t.Run("new "+strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			text, err := New(w, uuid)
			if err != nil {
				t.Fatal(err)
			}
			back, err := trip(t, text)
			if err != nil {
				return
			}
			holds(t, text, back, w)
			for _, line := range []string{"uuid=" + uuid, "interface-name=" + w.Name, "autoconnect-priority=100"} {
				if !strings.Contains(back, line+"\n") {
					t.Errorf("no %s in\n%s", line, back)
				}
			}
		})
	}
}

// holds tells whether what came back still is the wish: by setting it once more, which
// must find nothing to do, and by looking at each line that may get lost.
func holds(t *testing.T, text, back string, w edit.Netdev) {
	t.Helper()
	if again, err := Set(back, w); err != nil || again != back {
		t.Errorf("NetworkManager understood something else: %v\nwritten:\n%s\ncame back:\n%s", err, text, back)
	}
	was, err := edit.GKey.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	is, err := edit.GKey.Read(back)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range was.Sections {
		for _, k := range s.Keys {
			section, value := s.Name, k.Value
			if section == "802-3-ethernet" {
				section = "ethernet"
			}
			switch k.Name {
			case "method", "mtu", "transport-mode":
				if v, _ := is.Value(section, k.Name); v != value {
					t.Errorf("[%s] %s=%s came back as %q", section, k.Name, value, v)
				}
			case "never-default":
				if v, _ := is.Value(section, k.Name); !yes(v) {
					t.Errorf("[%s] %s=%s came back as %q", section, k.Name, value, v)
				}
			}
			if addressKey.MatchString(k.Name) || routeKey.MatchString(k.Name) {
				// They may get other numbers.
				if !strings.Contains(back, "="+value+"\n") {
					t.Errorf("[%s] %s=%s did not come back:\n%s", section, k.Name, value, back)
				}
			}
		}
	}
}
