package modprobe

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/format/host"
)

func TestFree(t *testing.T) {
	for _, tt := range []struct{ name, text, module, want string }{
		{"install", "install rdma_rxe /bin/false\n", "rdma_rxe", "# weft: install rdma_rxe /bin/false\n"},
		{"blacklist, spelt otherwise, among others", "options a b=1\n  blacklist mlx5-ib\nblacklist mlx5_core", "mlx5_ib",
			"options a b=1\n# weft:   blacklist mlx5-ib\nblacklist mlx5_core"},
		{"without a newline at the end", "blacklist x", "x", "# weft: blacklist x"},
		{"over two lines", "install x \\\n /bin/true\nblacklist y\n", "x", "# weft: install x \\\n# weft:  /bin/true\nblacklist y\n"},
		{"an install that does something", "install x /sbin/modprobe -i x\n", "x", "install x /sbin/modprobe -i x\n"},
		{"a comment", "# blacklist x\n", "x", "# blacklist x\n"},
		{"another module", "blacklist xy\n", "x", "blacklist xy\n"},
		{"nothing", "", "x", ""},
	} {
		got, changed := Free(tt.text, tt.module)
		if got != tt.want || changed != (got != tt.text) {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, changed, tt.want)
		}
	}
}

// FuzzFree: afterwards nothing bars the module, as weft's own reader reads it, every
// other line is the same, and a second time changes nothing.
func FuzzFree(f *testing.F) {
	f.Add("blacklist x\ninstall x /bin/false \\\n y\noptions x a=1\n", "x")
	f.Add("blacklist a-b\r\n", "a_b")
	f.Add("a\\\nb\\", "b")
	f.Fuzz(func(t *testing.T, text, module string) {
		if !Valid(module) {
			return
		}
		out, changed := Free(text, module)
		rules, _ := host.ParseModprobe([]byte(out))
		if host.Barred(rules, module) {
			t.Errorf("%q still bars %s", out, module)
		}
		if back := strings.ReplaceAll(out, mark, ""); !strings.Contains(text, mark) && back != text {
			t.Errorf("%q became %q", text, out)
		}
		if again, more := Free(out, module); more || again != out || !changed && out != text {
			t.Errorf("%q: a second time %q", out, again)
		}
	})
}

func TestSoftdep(t *testing.T) {
	if text, err := Softdep("x y", nil); err == nil {
		t.Errorf("a name with a blank: %q", text)
	}
}

// TestModprobeReadsIt lets the real modprobe read what weft writes.
func TestModprobeReadsIt(t *testing.T) {
	modprobe, err := exec.LookPath("modprobe")
	if err != nil {
		if modprobe, err = exec.LookPath("/usr/sbin/modprobe"); err != nil {
			t.Skip("modprobe is not installed")
		}
	}
	const barring = "blacklist rdma-rxe\ninstall rdma_rxe \\\n  /bin/false\nblacklist nouveau\noptions mlx4_core log_num_mgm_entry_size=-7\n"
	conf := func(text string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.conf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(modprobe, "-C", dir, "-c").CombinedOutput()
		if err != nil {
			t.Skipf("modprobe -c does not run here: %v: %s", err, out)
		}
		head, _, _ := strings.Cut(string(out), "# End of configuration") // the rest is of the kernel's modules
		return head
	}
	before := conf(barring)
	if !strings.Contains(before, "blacklist rdma_rxe") || !strings.Contains(before, "install rdma_rxe") {
		t.Fatalf("modprobe does not read the lines that bar:\n%s", before)
	}
	text, _ := Free(barring, "rdma_rxe")
	after := conf(text)
	if strings.Contains(after, "rdma_rxe") || strings.Contains(after, "rdma-rxe") {
		t.Errorf("rdma_rxe is still barred:\n%s", after)
	}
	for _, want := range []string{"blacklist nouveau", "options mlx4_core log_num_mgm_entry_size=-7"} {
		if !strings.Contains(after, want) {
			t.Errorf("%s is lost:\n%s", want, after)
		}
	}
	soft, err := Softdep("nvidia_peermem", []string{"mlx5_ib", "nvidia"})
	if got := conf(soft); err != nil || !strings.Contains(got, "softdep nvidia_peermem pre: mlx5_ib nvidia") {
		t.Errorf("softdep: %v\n%s", err, got)
	}
}
