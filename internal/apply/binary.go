package apply

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"weft/internal/exec"
)

// machines names the architectures as uname -m does.
var machines = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Self finds weft for a machine type: this program where it fits, else one beside it
// called weft-linux-ARCH.
func Self(machine string) (string, error) {
	arch := machines[machine]
	if arch == "" {
		return "", fmt.Errorf("there is no weft for %q", machine)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if arch == runtime.GOARCH && runtime.GOOS == "linux" {
		return self, nil
	}
	other := filepath.Join(filepath.Dir(self), "weft-linux-"+arch)
	if _, err := os.Stat(other); err != nil {
		return "", fmt.Errorf("weft for %s is not at %s: make dist builds it", machine, other)
	}
	return other, nil
}

// install puts weft on a node, where it stays for the undo and for the boot, and returns
// its path there. The name has the hash of the content, so a node that has it is asked
// for nothing more.
func (ns *Nodes) install(ctx context.Context, t exec.Target, machine string) (string, error) {
	if machine == "" {
		var out exec.Capped
		out.Max = 64
		if err := ns.Run.Run(ctx, t, exec.Job{Script: "uname -m", Stdout: &out, Deadline: time.Minute}); err != nil {
			return "", err
		}
		machine = strings.TrimSpace(out.String())
	}
	local, err := ns.Binary(machine)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(local)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(b)
	sum := hex.EncodeToString(hash[:])
	bin := "/var/lib/weft/bin/weft-" + sum[:16]
	said := exec.Capped{Max: 4096}
	err = ns.Run.Run(ctx, t, exec.Job{Script: asRoot + "test -x " + bin, Deadline: time.Minute, Stderr: &said})
	var failed *exec.Error
	if err == nil || !errors.As(err, &failed) || failed.Class != exec.CommandFailed {
		return bin, err
	}
	if len(said.Bytes()) > 0 {
		return "", fmt.Errorf("only root can change a node, and sudo -n refuses: %s", exec.Sanitise(said.String()))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(b); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	// SELinux lets systemd start programs with a label of programs only.
	script := asRoot + fmt.Sprintf(`sh -c 'umask 077; d=/var/lib/weft/bin; mkdir -p $d && n=$d/.new.$$ && gzip -dc >$n && [ "$(sha256sum <$n)" = "%s  -" ] && chmod 755 $n && { chcon -t bin_t $n 2>/dev/null || :; } && sync $n && mv $n %s && sync $d && %s version >/dev/null || { e=$?; rm -f $n; exit $e; }'`, sum, bin, bin)
	if err := ns.Run.Run(ctx, t, exec.Job{Script: script, Stdin: &packed, Stdout: io.Discard, Deadline: 5 * time.Minute}); err != nil {
		return "", fmt.Errorf("weft could not be put on the node: %w", err)
	}
	return bin, nil
}
