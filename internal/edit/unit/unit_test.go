package unit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// odd are texts that mean something to systemd, to a shell, or to both.
var odd = []string{
	`true`, `echo "a b" 'c'`, `echo 100%`, `echo %i %n %%`, `echo $HOME ${HOME} $$`, `printf 'a\nb\\'`, `a; b && c || d`,
	`echo it\'s`, `ip link set dev 'x$(id)"' mtu 9000`, "tab\there", "two\nlines", `ends with \`, `"`, `;`, `# x`, `-foo`, `ü`, `\x41\u00e9\s`, `{a,b}*?[!`,
}

// unquote reads an argument as systemd.service(5) and systemd.syntax(7) tell, on its
// own: extract a word, then specifiers, then variables.
func unquote(t *testing.T, word string) string {
	t.Helper()
	in, opens := strings.CutPrefix(word, `"`)
	in, closes := strings.CutSuffix(in, `"`)
	if !opens || !closes {
		t.Fatalf("%s: not in quotes", word)
	}
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		c := in[i]
		switch {
		case c == '"' || c == '\n':
			t.Fatalf("%s: the word ends early", word)
		case c == '\\' || c == '%' || c == '$':
			i++
			if i == len(in) {
				t.Fatalf("%s: %c at the end", word, c)
			}
			after, ok := map[string]string{`\\`: `\`, `\"`: `"`, `\t`: "\t", `\n`: "\n", `%%`: `%`, `$$`: `$`}[in[i-1:i+1]]
			if !ok {
				t.Fatalf("%s: %q means something else", word, in[i-1:i+1])
			}
			b.WriteString(after)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func TestQuote(t *testing.T) {
	for _, line := range odd {
		word, err := Quote(line)
		if got := unquote(t, word); err != nil || got != line {
			t.Errorf("%q became %q, %v", line, got, err)
		}
	}
	for _, bad := range []string{"a\x00b", "\xff", "\x1b[2J", "\r"} {
		if word, err := Quote(bad); err == nil {
			t.Errorf("%q became %s", bad, word)
		}
	}
}

func FuzzOneshot(f *testing.F) {
	for _, line := range odd {
		f.Add(line, line, "nftables.service")
	}
	f.Fuzz(func(t *testing.T, description, line, after string) {
		text, err := Oneshot(description, []string{after}, []string{line})
		if err != nil {
			return
		}
		// Whatever the line holds, the unit has as many lines, none continued on the next.
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		want := 13
		if strings.Contains(text, "\nWants=") {
			want++
		}
		if len(lines) != want {
			t.Errorf("%d lines:\n%s", len(lines), text)
		}
		for _, l := range lines {
			if strings.HasSuffix(l, `\`) {
				t.Errorf("%q goes on in the next line", l)
			}
			if word, ok := strings.CutPrefix(l, "ExecStart=/bin/sh -c "); ok && unquote(t, word) != line {
				t.Errorf("%q became %s", line, word)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	for name, do := range map[string]func() (string, error){
		"no lines":            func() (string, error) { return Oneshot("x", nil, nil) },
		"no description":      func() (string, error) { return Oneshot("", nil, []string{"true"}) },
		"a line too many":     func() (string, error) { return Oneshot("x\n[Service]", nil, []string{"true"}) },
		"a line that goes on": func() (string, error) { return Oneshot(`x\`, nil, []string{"true"}) },
		"no unit":             func() (string, error) { return Oneshot("x", []string{"a b.service"}, []string{"true"}) },
		"a unit too many": func() (string, error) {
			return Oneshot("x", []string{"a.service\nRequires=b.service"}, []string{"true"})
		},
	} {
		if text, err := do(); err == nil {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestNames(t *testing.T) {
	for netdev, want := range map[string]string{
		"eth0": "sys-subsystem-net-devices-eth0.device", "br-lan": `sys-subsystem-net-devices-br\x2dlan.device`,
		"eth0.7": "sys-subsystem-net-devices-eth0.7.device", "a b": `sys-subsystem-net-devices-a\x20b.device`,
	} {
		if got := Device(netdev); got != want || !Valid(got) {
			t.Errorf("%s: %s, want %s", netdev, got, want)
		}
		if path, err := exec.LookPath("systemd-escape"); err == nil {
			out, err := exec.Command(path, "--path", "--suffix=device", "/sys/subsystem/net/devices/"+netdev).Output()
			if err != nil || strings.TrimSpace(string(out)) != want {
				t.Errorf("%s: systemd-escape says %s, %v", netdev, out, err)
			}
		}
	}
	for want, words := range map[string][]string{"weft-firewall-eth0.service": {"firewall", "eth0"}, `weft-qos-br-a\x20b.service`: {"qos", "br-a b"}} {
		if got := Name(words...); got != want || !Valid(got) {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

// TestSystemdReadsIt lets the real systemd read units with odd lines: without a word of
// complaint, and with every command as one argument.
func TestSystemdReadsIt(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := Oneshot("odd: 100% of it; \"so\" $HOME", []string{"nftables.service", Device("br-lan"), "network-online.target"}, odd)
	if err != nil {
		t.Fatal(err)
	}
	dir := shared(t)
	file := filepath.Join(dir, Name("odd", "br-lan"))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	dump := load(t, dir, filepath.Base(file))
	for _, want := range []string{`Description: odd: 100% of it; "so" $HOME`, `Command Line: /bin/sh -c "echo 100%"`, `Command Line: /bin/sh -c "ends with \\"`} {
		if !strings.Contains(dump, want) {
			t.Errorf("systemd did not read %s", want)
		}
	}
	if n := strings.Count(dump, "Command Line: /bin/sh -c "); n != len(odd) {
		t.Errorf("systemd read %d lines, want %d", n, len(odd))
	}
}

func TestWith(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := With("rules of its own", "nftables.service", []string{`nft insert rule inet filter input iifname '"eth0"' accept`})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "weft-firewall-eth0.service")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	for _, want := range []string{"After=nftables.service", "PartOf=nftables.service", "ReloadPropagatedFrom=nftables.service", "ExecReload=/bin/sh"} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s:\n%s", want, text)
		}
	}
}

// shared is a folder that another user may read.
func shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load is what systemd says of a unit that it was asked to start, and did not.
func load(t *testing.T, dir, name string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root: only root can become the user that systemd --test wants")
	}
	systemd := ""
	for _, path := range []string{"/lib/systemd/systemd", "/usr/lib/systemd/systemd"} {
		if _, err := os.Stat(path); err == nil {
			systemd = path
		}
	}
	if systemd == "" {
		t.Skip("systemd is not installed")
	}
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o777); err == nil {
		err = os.Chown(run, 65534, 65534)
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(systemd, "--test", "--user", "--unit="+name)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + run, "XDG_RUNTIME_DIR=" + run, "SYSTEMD_UNIT_PATH=" + dir + ":", "SYSTEMD_PAGER="}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("systemd --test does not run here: %v: %s", err, out)
	}
	return string(out)
}
