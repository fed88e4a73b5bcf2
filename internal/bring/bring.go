// Package bring puts the weft program on nodes, where it is run for the node's side of
// weft apply and weft prove. Edge: it decides nothing.
package bring

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
	"sync"
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

// As is who weft is on the node.
type As struct {
	sudo   string // stands before what is run
	folder string // shell words for where weft is put
}

var (
	// Root is for weft apply: weft stays for the undo and for the boot.
	Root = As{`s=; [ "$(id -u)" = 0 ] || s="sudo -n"; $s `, "/var/lib/weft/bin"}
	// User is for what only reads and measures.
	User = As{"", `"$HOME/.cache/weft/bin"`}
)

// Runs is the beginning of a script that runs one command as that user.
func (as As) Runs() string { return as.sudo }

// Name is how a script calls weft on a node of a machine type, where it was put before. The
// name has the hash of the content.
func Name(machine string, binary func(machine string) (string, error), as As) (string, error) {
	p, err := find(machine, binary)
	return as.name(p), err
}

func (as As) name(p program) string { return fmt.Sprintf("%s/weft-%.16s", as.folder, p.sum) }

// Weft puts weft on a node and returns how a script calls it there; a node that has it is
// asked for nothing more. binary finds weft for a machine type, as uname -m says it; machine
// may be empty when that is not known.
func Weft(ctx context.Context, run *exec.Runner, t exec.Target, machine string, binary func(machine string) (string, error), as As) (string, error) {
	if machine == "" {
		var out exec.Capped
		out.Max = 64
		if err := run.Run(ctx, t, exec.Job{Script: "uname -m", Stdout: &out, Deadline: time.Minute}); err != nil {
			return "", err
		}
		machine = strings.TrimSpace(out.String())
	}
	p, err := find(machine, binary)
	if err != nil {
		return "", err
	}
	bin := as.name(p)
	said := exec.Capped{Max: 4096}
	err = run.Run(ctx, t, exec.Job{Script: as.sudo + "test -x " + bin, Deadline: time.Minute, Stderr: &said})
	var failed *exec.Error
	if err == nil || !errors.As(err, &failed) || failed.Class != exec.CommandFailed {
		return bin, err
	}
	if len(said.Bytes()) > 0 {
		return "", fmt.Errorf("only root can change a node, and sudo -n refuses: %s", exec.Sanitise(said.String()))
	}
	packed, err := p.gz()
	if err != nil {
		return "", err
	}
	// SELinux lets systemd start programs with a label of programs only.
	script := as.sudo + fmt.Sprintf(`sh -c 'umask 077; d=%s; mkdir -p "$d" && n=$(mktemp "$d/.new.XXXXXX") && gzip -dc >"$n" && [ "$(sha256sum <"$n")" = "%s  -" ] && chmod 755 "$n" && { chcon -t bin_t "$n" 2>/dev/null || :; } && sync "$n" && mv "$n" %s && sync "$d" && %s version >/dev/null || { e=$?; rm -f "$n"; exit $e; }'`, as.folder, p.sum, bin, bin)
	if err := run.Run(ctx, t, exec.Job{Script: script, Stdin: bytes.NewReader(packed), Stdout: io.Discard, Deadline: 5 * time.Minute}); err != nil {
		return "", fmt.Errorf("weft could not be put on the node: %w", err)
	}
	return bin, nil
}

// program is weft as it travels.
type program struct {
	sum string
	gz  func() ([]byte, error) // packs it, once; most nodes have it already
}

// programs are read once, however many nodes they go to.
var programs sync.Map // path → func() (program, error)

func find(machine string, binary func(machine string) (string, error)) (program, error) {
	path, err := binary(machine)
	if err != nil {
		return program{}, err
	}
	return load(path)
}

func load(path string) (program, error) {
	f, _ := programs.LoadOrStore(path, sync.OnceValues(func() (program, error) {
		_, sum, err := read(path)
		return program{sum, sync.OnceValues(func() ([]byte, error) { return pack(path, sum) })}, err
	}))
	return f.(func() (program, error))()
}

func read(path string) (b []byte, sum string, err error) {
	b, err = os.ReadFile(path)
	hash := sha256.Sum256(b)
	return b, hex.EncodeToString(hash[:]), err
}

// pack reads the program again: it is large, and few need it.
func pack(path, sum string) ([]byte, error) {
	b, now, err := read(path)
	if err != nil {
		return nil, err
	}
	if now != sum {
		return nil, fmt.Errorf("%s changed while weft ran: start weft again", path)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}
