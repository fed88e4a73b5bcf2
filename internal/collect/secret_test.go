package collect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/dump"
	"weft/internal/exec"
	"weft/internal/format"
)

// A file with a secret is a gap that says so, asked directly and by script, and the
// secret is nowhere in the dump.
func TestSecretsStay(t *testing.T) {
	dir, r := tree(t, map[string]string{
		"rail0.nmconnection": "[infiniband]\np-key=-1\n", "home: x.nmconnection": "[wifi-security]\npsk=hush hush\n", "$(touch pwned).nmconnection": "password=hush\n",
		"empty.nmconnection": "", "latin.nmconnection": "id=caf\xe9\n", "late.nmconnection": strings.Repeat("a line that says nothing\n", 100_000) + "secret=hush",
	})
	if err := os.Symlink("home: x.nmconnection", filepath.Join(dir, "link.nmconnection")); err != nil {
		t.Fatal(err)
	}
	r.Files = []format.File{{Dir: dir, Names: []string{"*.nmconnection", "not there"}, Secret: true}}
	for _, root := range []bool{false, true} {
		if root && os.Getuid() != 0 {
			t.Skip("not root: what root alone may read is not tried")
		}
		r.Files[0].Root = root
		both(t, r, func(t *testing.T, d *dump.Node) {
			for name, want := range map[string]string{"rail0": "[infiniband]\np-key=-1\n", "latin": "id=caf\xe9\n"} {
				path := dir + "/" + name + ".nmconnection"
				if d.Text[path] != want || d.Gap[path] != "" {
					t.Errorf("%s: %q, gap %q", name, d.Text[path], d.Gap[path])
				}
			}
			for _, name := range []string{"home: x", "$(touch pwned)", "late", "link"} {
				path := dir + "/" + name + ".nmconnection"
				if text, there := d.Text[path]; there || d.Gap[path] != format.HoldsSecret {
					t.Errorf("%s: %.40q, gap %q", name, text, d.Gap[path])
				}
			}
			if strings.Contains(string((&dump.Dump{Nodes: []*dump.Node{d}}).Format()), "hush") {
				t.Error("the secret is in the dump")
			}
			if len(d.Gap) != 4 {
				t.Errorf("gaps %q", d.Gap)
			}
		})
	}
	if _, err := os.Stat("pwned"); err == nil {
		t.Error("a file name ran as a command")
	}
}

// The secret does not even leave the node: not a byte of it is in what the script prints.
func TestSecretsAreNotSent(t *testing.T) {
	dir, r := tree(t, map[string]string{"a.yaml": "password: hush\n", "b.yaml": "mtu: 9000\n"})
	r.Files = []format.File{{Dir: dir, Names: []string{"*.yaml"}, Secret: true}}
	run := exec.New(exec.Options{})
	defer run.Close()
	out, errs := exec.Capped{Max: 1 << 20}, exec.Capped{Max: 1 << 20}
	err := run.Run(t.Context(), exec.Target{Name: "n"}, exec.Job{Script: script([]format.Reader{r}, "NONCE"), Stdout: &out, Stderr: &errs})
	if err != nil {
		t.Fatal(err)
	}
	if all := out.String() + errs.String(); strings.Contains(all, "hush") || !strings.Contains(all, "mtu: 9000") {
		t.Errorf("the script prints %q", all)
	}
}

// An unreadable file is a gap with the system's reason, not a file without secrets.
func TestUnreadableIsNotHarmless(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir, r := tree(t, map[string]string{"a.yaml": "mtu: 9000\n"})
	if err := os.Chmod(filepath.Join(dir, "a.yaml"), 0); err != nil {
		t.Fatal(err)
	}
	r.Files = []format.File{{Dir: dir, Names: []string{"*.yaml"}, Secret: true}}
	both(t, r, func(t *testing.T, d *dump.Node) {
		if got := d.Gap[dir+"/a.yaml"]; got != "permission denied" {
			t.Errorf("gap %q", got)
		}
	})
}
