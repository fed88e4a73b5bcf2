package cmdline

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

var gtt = Change{Add: []string{"ttm.pages_limit=32505856", "ttm.page_pool_size=32505856"}, Drop: []string{"ttm.pages_limit=*", "ttm.page_pool_size=*", "amdgpu.gttsize=*"}}

func TestSet(t *testing.T) {
	pt := Change{Add: []string{"iommu=pt"}, Drop: []string{"iommu=nopt", "iommu.passthrough=0"}}
	for _, tt := range []struct {
		name, in, want string
		c              Change
	}{
		{"empty", "", "iommu=pt", pt},
		{"at the end", "ro quiet", "ro quiet iommu=pt", pt},
		{"before the newline", "ro quiet\n", "ro quiet iommu=pt\n", pt},
		{"odd spaces stay", "  ro\t quiet  ", "  ro\t quiet iommu=pt  ", pt},
		{"there already", "ro iommu=pt quiet", "ro iommu=pt quiet", pt},
		{"a key that ends alike", "amd_iommu=off", "amd_iommu=off iommu=pt", pt},
		{"another value of the key that may stay", "iommu=noagp ro", "iommu=noagp ro iommu=pt", pt},
		{"a contradiction", "ro iommu=nopt quiet", "ro quiet iommu=pt", pt},
		{"a contradiction first", "iommu.passthrough=0 quiet", "quiet iommu=pt", pt},
		{"a contradiction alone", "iommu=nopt", "iommu=pt", pt},
		{"a contradiction last", "ro iommu=nopt\n", "ro iommu=pt\n", pt},
		{"quoted spaces", `dyndbg="file x iommu=nopt +p" ro`, `dyndbg="file x iommu=nopt +p" ro iommu=pt`, pt},
		{"for init", "ro -- iommu=pt single", "ro iommu=pt -- iommu=pt single", pt},
		{"for init alone", "-- x", "iommu=pt -- x", pt},
		{"other values", "ro ttm.pages_limit=1 amdgpu.gttsize=4096 ttm.pages_limit=2", "ro ttm.pages_limit=32505856 ttm.page_pool_size=32505856", gtt},
		{"one is right", "ttm.pages_limit=32505856 ro", "ttm.pages_limit=32505856 ro ttm.page_pool_size=32505856", gtt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Set(tt.in, tt.c)
			if err != nil || got != tt.want {
				t.Errorf("Set(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
			if again, err := Set(got, tt.c); err != nil || again != got {
				t.Errorf("a second time: %q, %v", again, err)
			}
		})
	}
	if got, err := Set(`a="b`, pt); err == nil {
		t.Errorf("an open quote: %q", got)
	}
	for _, bad := range []string{"", "a b", `a"`, "a\n", "$(x)", "a`", "a;b", "a#", "ä"} {
		if got, err := Set("ro", Change{Add: []string{bad}}); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func TestHas(t *testing.T) {
	for line, want := range map[string]bool{"ro iommu=pt": true, "iommu=pt,x": false, "amd_iommu=pt": false, `x="a iommu=pt"`: false, "ro -- iommu=pt": false, "": false} {
		if got := Has(line, "iommu=pt"); got != want {
			t.Errorf("Has(%q) = %v", line, got)
		}
	}
}

const grubFile = `# If you change this file, run 'update-grub' afterwards.
GRUB_DEFAULT=0
GRUB_DISTRIBUTOR=` + "`" + `( . /etc/os-release; echo ${NAME:-Debian} ) 2>/dev/null || echo Debian` + "`" + `
GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"
GRUB_CMDLINE_LINUX=""
#GRUB_CMDLINE_LINUX="console=ttyS0"
`

func TestGrub(t *testing.T) {
	c := Change{Add: []string{"iommu=pt"}, Drop: []string{"iommu=nopt"}}
	for _, tt := range []struct{ in, want string }{
		{grubFile, strings.Replace(grubFile, `"quiet splash"`, `"quiet splash iommu=pt"`, 1)},
		{"", `V="iommu=pt"` + "\n"},
		{"A=1", "A=1\nV=\"iommu=pt\"\n"},
		{"V=\n", "V=\"iommu=pt\"\n"},
		{"V=quiet # a word\n", "V=\"quiet iommu=pt\" # a word\n"},
		{"V='a \"b c\" d'\n", "V='a \"b c\" d iommu=pt'\n"},
		{`V="a=\"x iommu=nopt\" b"` + "\n", `V="a=\"x iommu=nopt\" b iommu=pt"` + "\n"},
		{`V="$V a" # more` + "\n", `V="$V a iommu=pt" # more` + "\n"},
		{"V=\"a\"\nV='iommu=nopt b'", "V=\"a\"\nV='b iommu=pt'"},
		{"export V=\"a\"\n", "export V=\"a iommu=pt\"\n"},
		{"V=\"a iommu=pt\"\n", "V=\"a iommu=pt\"\n"},
		{"VX=\"a\"\n", "VX=\"a\"\nV=\"iommu=pt\"\n"},
	} {
		variable := "V"
		if tt.in == grubFile {
			variable = "GRUB_CMDLINE_LINUX_DEFAULT"
		}
		got, err := Grub(tt.in, variable, c)
		if err != nil || got != tt.want {
			t.Errorf("Grub(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			continue
		}
		if again, err := Grub(got, variable, c); err != nil || again != got {
			t.Errorf("a second time: %q, %v", again, err)
		}
	}
	for _, bad := range []string{
		"V+=\" b\"\n", "  V=\"a\"\n", "if true; then\n\tV=a\nfi\n", "V=\"a\n b\"\n", "V=\"a\\\nb\"\n", "V=\"a\" b\n", "V=\"a\"'b'\n", "V=$X\n", "V=\"a\n", "V=a\\ b\n",
		"V=\"$(echo \"a\")\"\n", "V=\"`echo a`\"\n", "A=\\\nV=\"a\"\n", "V=\"a\"; export V\n", "V=\"a\"#x\n",
	} {
		if got, err := Grub(bad, "V", c); err == nil {
			t.Errorf("Grub(%q) = %q, want an error", bad, got)
		}
	}
}

// TestShellAgrees: what Grub writes means to a real shell what Set says.
func TestShellAgrees(t *testing.T) {
	words := []string{"ro", "quiet", "iommu=nopt", "iommu=pt", "amd_iommu=off", `a=\"b c\"`, "root=/dev/sda1", "console=ttyS0,115200", "$HOME", "x=1'2", `\\`, `\$A`, "--", "ttm.pages_limit=5"}
	n := 0
	err := quick.Check(func(seed int64) bool {
		r := rand.New(rand.NewSource(seed))
		var some []string
		for range r.Intn(6) {
			some = append(some, words[r.Intn(len(words))])
		}
		raw := strings.Join(some, strings.Repeat(" ", 1+r.Intn(2)))
		line := `V="` + raw + `"`
		if r.Intn(3) == 0 && !strings.Contains(raw, "'") {
			line = "V='" + strings.ReplaceAll(raw, `\"`, `"`) + "'"
		}
		text := "A=1\n" + line + "\nB=2\n"
		c := Change{Add: []string{"iommu=pt", "ttm.pages_limit=7"}, Drop: []string{"iommu=nopt", "ttm.pages_limit=*"}}
		now, err := Grub(text, "V", c)
		if err != nil {
			t.Logf("%q: %v", text, err)
			return false
		}
		n++
		want, err := Set(eval(t, text), c)
		if got := eval(t, now); err != nil || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Logf("%q became %q, which is %q, want %q, %v", text, now, got, want, err)
			return false
		}
		return true
	}, &quick.Config{MaxCount: 150})
	if err != nil || n == 0 {
		t.Error(err, n)
	}
}

// eval asks the shell for V.
func eval(t *testing.T, text string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", text+"\nprintf %s \"$V\"")
	cmd.Env = []string{"HOME=/h"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return string(out)
}

// TestGrubMkconfig: the real grub gives its normal entries the arguments of the edited
// file, leaves the recovery entry as it was, and lets the folder beside the file win.
func TestGrubMkconfig(t *testing.T) {
	if os.Getuid() != 0 || exec.Command("unshare", "-m", "true").Run() != nil {
		t.Skip("grub-mkconfig knows one /boot: another needs root and a mount namespace")
	}
	for _, tool := range []string{"/usr/sbin/grub-mkconfig", "/etc/grub.d/10_linux"} {
		if _, err := os.Stat(tool); err != nil {
			t.Skip(tool + " is not here: scripts/test-setup installs it as root")
		}
	}
	change := Change{Add: []string{"iommu=pt"}}
	const variable = "GRUB_CMDLINE_LINUX_DEFAULT"
	edited, err := Grub(grubFile, variable, change)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := Grub(variable+"='console=ttyS0 quiet'\n", variable, change)
	if err != nil {
		t.Fatal(err)
	}
	if got := mkconfig(t, map[string]string{"grub": edited}); !slices.Equal(got, []string{"quiet splash iommu=pt", "quiet splash iommu=pt", "single"}) {
		t.Errorf("got %q", got)
	}
	if got := mkconfig(t, map[string]string{"grub": grubFile, "grub.d/50-cloud.cfg": beside}); !slices.Equal(got, []string{"console=ttyS0 quiet iommu=pt", "console=ttyS0 quiet iommu=pt", "single"}) {
		t.Errorf("got %q", got)
	}
}

// mkconfig runs grub-mkconfig with files in place of /etc/default and returns what the
// entries for a kernel that is not there tell it after ro. No disk here is one that grub
// could name, so grub-probe is played.
func mkconfig(t *testing.T, files map[string]string) (args []string) {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"boot/vmlinuz-6.1.0-1-amd64": "kernel", "boot/initrd.img-6.1.0-1-amd64": "ramdisk",
		"probe": "#!/bin/sh\ncase \"$*\" in *fs_uuid*) echo 1234-abcd;; *--target=fs*) echo ext2;; *device*) echo /dev/sda1;; *) echo x;; esac\n",
	}
	linux, err := os.ReadFile("/etc/grub.d/10_linux")
	if err != nil {
		t.Fatal(err)
	}
	all["grub.d/10_linux"] = string(linux)
	for name, text := range files {
		all["default/"+name] = text
	}
	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "-m", "sh", "-ec", "mount --bind boot /boot; mount --bind default /etc/default; mount --bind grub.d /etc/grub.d; mount --bind probe /usr/sbin/grub-probe; exec grub-mkconfig")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "linux" {
			args = append(args, strings.Join(f[4:], " "))
		}
	}
	return args
}

const entry = "title Fedora Linux\nversion 6.19.7-200.fc43.x86_64\nlinux /vmlinuz-6.19.7\ninitrd /initramfs-6.19.7.img $tuned_initrd\noptions root=UUID=1 ro rhgb iommu=nopt $tuned_params\ngrub_class fedora\n"

func TestEntry(t *testing.T) {
	c := Change{Add: []string{"iommu=pt"}, Drop: []string{"iommu=nopt"}}
	got, err := Entry(entry, c)
	if want := strings.Replace(entry, "iommu=nopt $tuned_params", "$tuned_params iommu=pt", 1); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if Options(got) != "root=UUID=1 ro rhgb $tuned_params iommu=pt" {
		t.Errorf("options %q", Options(got))
	}
	if again, err := Entry(got, c); err != nil || again != got {
		t.Errorf("a second time: %q, %v", again, err)
	}
	if got, err := Entry("linux\t/vmlinuz\noptions\troot=x", c); err != nil || got != "linux\t/vmlinuz\noptions\troot=x iommu=pt" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "title x\n", "options a\n", "linux /x\n", "efi /EFI/BOOT.EFI\noptions a\n", "linux /x\noptions a\noptions b\n"} {
		if got, err := Entry(bad, c); err == nil {
			t.Errorf("Entry(%q) = %q, want an error", bad, got)
		}
	}
}

// FuzzSet: what is added is there, what is dropped is not, the rest is as it was and in
// its order, and a second time changes nothing.
func FuzzSet(f *testing.F) {
	f.Add("ro quiet iommu=nopt -- x")
	f.Add(`a="b c" amdgpu.gttsize=3`)
	f.Fuzz(func(t *testing.T, line string) {
		now, err := Set(line, gtt)
		if err != nil {
			return // an open quote
		}
		if again, _ := Set(now, gtt); again != now {
			t.Fatalf("%q, and a second time %q", now, again)
		}
		var was, is []string
		before, _ := words(line, `"`)
		after, _ := words(now, `"`)
		for _, w := range before {
			if w.text == "--" {
				break
			}
			if !dropped(w.text, gtt) && !slices.Contains(gtt.Add, w.text) {
				was = append(was, w.text)
			}
		}
		for _, w := range after {
			if w.text == "--" {
				break
			}
			if dropped(w.text, gtt) {
				t.Fatalf("%q still has %q", now, w.text)
			}
			if !slices.Contains(gtt.Add, w.text) {
				is = append(is, w.text)
			}
		}
		if !slices.Equal(was, is) {
			t.Fatalf("%q became %q", line, now)
		}
		for _, arg := range gtt.Add {
			if !Has(now, arg) {
				t.Fatalf("%q has no %s", now, arg)
			}
		}
	})
}

// FuzzGrub: what can be read can be changed, once, and nothing around it moves.
func FuzzGrub(f *testing.F) {
	f.Add(grubFile)
	f.Add("V='a'\nV=\"b\\\"c d\\\"\"")
	f.Fuzz(func(t *testing.T, text string) {
		c := Change{Add: []string{"iommu=pt"}}
		now, err := Grub(text, "V", c)
		if err != nil {
			return
		}
		if again, err := Grub(now, "V", c); err != nil || again != now {
			t.Fatalf("%q became %q, and a second time %q, %v", text, now, again, err)
		}
		value, there, err := Value(now, "V")
		if err != nil || !there || !strings.Contains(value, "iommu=pt") {
			t.Fatalf("%q became %q, whose value is %q, %v", text, now, value, err)
		}
		if now == text {
			return
		}
		if _, there, _ := Value(text, "V"); there && (strings.Count(now, "\n") != strings.Count(text, "\n")) {
			t.Fatalf("%q became %q: lines moved", text, now)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add(entry)
	f.Fuzz(func(t *testing.T, text string) {
		c := Change{Add: []string{"iommu=pt"}}
		now, err := Entry(text, c)
		if err != nil {
			return
		}
		if again, err := Entry(now, c); err != nil || again != now {
			t.Fatalf("%q became %q, and a second time %q, %v", text, now, again, err)
		}
		if strings.Count(now, "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q became %q: lines moved", text, now)
		}
	})
}

func ExampleSet() {
	line, _ := Set("ro quiet", Change{Add: []string{"iommu=pt"}})
	fmt.Println(line)
	// Output: ro quiet iommu=pt
}
