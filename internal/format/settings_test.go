package format

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/dump"
)

// TestSoftwareDevicesAtBoot runs the shell line in a folder that stands for /etc: it
// finds what makes a software device at boot, and nothing that is switched off.
func TestSoftwareDevicesAtBoot(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	enable := func(unit, as string) {
		t.Helper()
		wants := filepath.Join(root, "etc/systemd/system/multi-user.target.wants")
		if err := os.MkdirAll(wants, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, "etc/systemd/system", unit), filepath.Join(wants, as)); err != nil {
			t.Fatal(err)
		}
	}
	found := func() []string {
		t.Helper()
		out, err := exec.Command("sh", "-c", strings.ReplaceAll(softAtBoot, "/etc/", root+"/etc/")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		files, ok := strings.CutPrefix(string(out), "looked\n")
		if !ok {
			t.Fatalf("got %q", out)
		}
		return strings.Fields(strings.ReplaceAll(files, root, ""))
	}
	write("etc/systemd/system/off.service", "[Service]\nExecStart=/usr/sbin/rdma link add rxe0 type rxe netdev eth0\n")
	write("etc/systemd/system/other.service", "[Service]\nExecStart=/bin/true\n")
	write("bin/make-rxe", "#!/bin/sh\n/usr/sbin/rdma link add \"$1\" type rxe netdev eth0\n")
	write("bin/binary", "\x7fELF\x00rdma link add\n")
	write("etc/systemd/system/rxe@.service", "[Service]\nExecStart=-"+root+"/bin/make-rxe rxe%i\nExecStartPost="+root+"/bin/binary\n")
	enable("other.service", "other.service")
	if got := found(); len(got) != 0 {
		t.Errorf("found %q where nothing is switched on", got)
	}
	enable("off.service", "on.service")
	enable("rxe@.service", "rxe@0.service")
	write("etc/udev/rules.d/90-siw.rules", `ACTION=="add", SUBSYSTEM=="net", RUN+="/usr/sbin/rdma link add siw0 type siw netdev %k"`)
	want := []string{"/etc/systemd/system/multi-user.target.wants/on.service", "/etc/udev/rules.d/90-siw.rules", "/bin/make-rxe"}
	if got := found(); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestReadModprobe(t *testing.T) {
	d := dump.NewNode("n")
	d.Text[DateKey] = "1\n"
	d.Text["/etc/modprobe.d/lab.conf"] = "blacklist rdma-rxe\noptions mlx4_core log_num_mgm_entry_size=-1\ninstall mlx4_core /sbin/modprobe --ignore-install mlx4_core\ninstall siw /bin/false\n"
	d.Text["$ software RDMA at boot"] = "looked\n/etc/rc.local\n"
	s := Node(d).Settings
	if !slices.Equal(s.ModBarred, []string{"rdma_rxe", "siw"}) || !slices.Equal(s.SoftBoot, []string{"/etc/rc.local"}) || !s.SoftBootRead || s.ModOptions["mlx4_core"] != "log_num_mgm_entry_size=-1" {
		t.Errorf("got %q, %q, %v, %v", s.ModBarred, s.SoftBoot, s.SoftBootRead, s.ModOptions)
	}
}
