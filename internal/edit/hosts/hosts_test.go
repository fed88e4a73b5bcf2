package hosts

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func names(pairs ...string) (out []Name) {
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, Name{pairs[i], netip.MustParseAddr(pairs[i+1])})
	}
	return out
}

var two = names("node1", "10.20.0.1", "node2", "10.20.0.2")

const block = "# weft: begin\n10.20.0.1 node1\n10.20.0.2 node2\n# weft: end\n"

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		names      []Name
		want       string
	}{
		{"no file", "", two, block},
		{"at the end", "127.0.0.1 localhost\n", two, "127.0.0.1 localhost\n" + block},
		{"no final newline", "127.0.0.1 localhost", two, "127.0.0.1 localhost\n" + block},
		{"where it was", "a\n# weft: begin\n10.9.9.9 old\n# weft: end\nb\n", two, "a\n" + block + "b\n"},
		{"already so", "a\n" + block + "b", two, "a\n" + block + "b"},
		{"goes", "a\n" + block + "b\n", nil, "a\nb\n"},
		{"never was", "a\r\nb", nil, "a\r\nb"},
		{"six", "", names("n", "2001:db8::1"), "# weft: begin\n2001:db8::1 n\n# weft: end\n"},
	} {
		if got, err := Set(tt.text, tt.names); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, do := range map[string]func() (string, error){
		"a line too many":  func() (string, error) { return Set("", names("a\n6.6.6.6 b", "10.0.0.1")) },
		"a comment":        func() (string, error) { return Set("", names("a#b", "10.0.0.1")) },
		"two words":        func() (string, error) { return Set("", names("a b", "10.0.0.1")) },
		"no name":          func() (string, error) { return Set("", names("", "10.0.0.1")) },
		"no address":       func() (string, error) { return Set("", []Name{{Name: "a"}}) },
		"a zone":           func() (string, error) { return Set("", names("a", "fe80::1%eth0")) },
		"no end":           func() (string, error) { return Set("# weft: begin\n1.1.1.1 a\n", two) },
		"no beginning":     func() (string, error) { return Set("# weft: end\n", two) },
		"two blocks":       func() (string, error) { return Set(block+block, two) },
		"an end after all": func() (string, error) { return Set(block+"# weft: end\n", two) },
	} {
		if got, err := do(); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestOthers(t *testing.T) {
	text := "127.0.0.1 localhost\n10.90.0.2 node2-mgmt node2 # old\n# 10.90.0.2 node2\n" + block + "10.20.0.1 NODE1\n127.0.1.1\tNode1\n10.90.0.3 node3\n"
	got, err := Others(text, two)
	if err != nil || len(got) != 2 || got[0].Num != 2 || got[0].Addr != "10.90.0.2" || got[1].Num != 9 || got[1].Text != "127.0.1.1\tNode1" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, l := range got {
		if line := strings.Split(text, "\n")[l.Num-1]; strings.TrimSpace(line) != l.Text {
			t.Errorf("line %d is %q, not %q", l.Num, line, l.Text)
		}
	}
}

// FuzzSet: a text that is taken is unchanged outside the block, is the same when it is
// set again, and is as before when the block goes.
func FuzzSet(f *testing.F) {
	f.Add("127.0.0.1 localhost\n"+block+"x", "node3", []byte{10, 0, 0, 1})
	f.Add("a", "b", []byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, text, name string, ip []byte) {
		addr, ok := netip.AddrFromSlice(ip)
		if !ok {
			return
		}
		want := append([]Name{{name, addr}}, two...)
		got, err := Set(text, want)
		if err != nil {
			return
		}
		if again, err := Set(got, want); err != nil || again != got {
			t.Errorf("set again: %q, %v, was %q", again, err, got)
		}
		bare, err := Set(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		without, err := Set(got, nil)
		flat := func(s string) string { return strings.ReplaceAll(s, "\n", "") }
		if more := len(without) - len(bare); err != nil || flat(without) != flat(bare) || more < 0 || more > 1 { // a newline may have been missing
			t.Errorf("without the block: %q, %v, want %q", without, err, bare)
		}
		if !strings.Contains(got, "\n"+addr.Unmap().String()+" "+name+"\n") {
			t.Errorf("%q does not name %s", got, name)
		}
		if _, err := Others(got, want); err != nil {
			t.Error(err)
		}
	})
}

// TestResolverReadsIt lets glibc look names up in the file.
func TestResolverReadsIt(t *testing.T) {
	getent, err := exec.LookPath("getent")
	if err != nil {
		t.Skip("getent is not installed")
	}
	text, err := Set("127.0.0.1 localhost\n", two)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// A mount namespace of its own lets the file stand where glibc looks for it.
	out, err := exec.Command("unshare", "-m", "sh", "-c", `mount --bind "$1" /etc/hosts && `+getent+` hosts node1 node2`, "sh", file).CombinedOutput()
	if err != nil {
		t.Skipf("no mount namespace here: %v: %s", err, out)
	}
	if got := strings.Join(strings.Fields(string(out)), " "); got != "10.20.0.1 node1 10.20.0.2 node2" {
		t.Errorf("getent says %q", got)
	}
}
