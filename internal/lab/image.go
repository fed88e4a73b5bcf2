package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"weft/internal/lab/own"
)

//go:embed guest/image.sh
var imageScript string

//go:embed guest/identify.sh
var identifyScript string

// packages is what every machine has: a systemd userland, what an RDMA machine
// needs (the check node.packages), and the agent that the lab speaks to.
const packages = "systemd,systemd-sysv,systemd-timesyncd,dbus,udev,libpam-systemd,openssh-server,sudo,kmod,procps,netbase,less," +
	"iproute2,iputils-ping,ethtool,pciutils,numactl,nftables," +
	"rdma-core,ibverbs-utils,ibverbs-providers,infiniband-diags,rdmacm-utils,perftest," +
	"qemu-guest-agent,busybox-static,e2fsprogs"

// nets are the ways a machine's network can be configured, and what each needs.
var nets = map[string]string{"networkd": "", "netplan": ",netplan.io", "networkmanager": ",network-manager"}

// imageDeadline bounds the making of an image: 36 s here, most of it apt's; a slow
// mirror needs more.
const imageDeadline = 20 * time.Minute

var errImageLate = fmt.Errorf("not built within %v", imageDeadline)

// keys makes the lab's ssh keys once: key for the person, host for the machines.
func (l Lab) keys(ctx context.Context) error {
	for _, name := range []string{"key", "host"} {
		file := l.image(name)
		if _, err := os.Stat(file + ".pub"); err == nil {
			continue
		}
		os.Remove(file) // half made
		cmd := osexec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "weft-lab", "-f", file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("ssh-keygen: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// makeImage builds the disk, kernel and initrd of the machines unless they are there
// already, and returns what identifies them.
func (l Lab) makeImage(ctx context.Context, net string) (id string, err error) {
	if err := os.MkdirAll(l.image(), 0o700); err != nil {
		return "", err
	}
	if err := l.keys(ctx); err != nil {
		return "", err
	}
	suite, err := suite()
	if err != nil {
		return "", err
	}
	script, err := l.imageHook(net)
	if err != nil {
		return "", err
	}
	id = fmt.Sprintf("%.8x", sha256.Sum256([]byte(suite+packages+nets[net]+script)))
	if have, _ := os.ReadFile(l.image(net, "id")); string(have) == id {
		return id, nil
	}
	defer l.show("building the machines' image from Debian %s packages (%s; once)", suite, net)()
	list, err := sources(suite)
	if err != nil {
		return "", err
	}
	return id, l.whole(net, func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "sources"), list, 0o644); err != nil {
			return err
		}
		if err := l.mmdebstrap(ctx, dir, suite, net, script); err != nil {
			return err
		}
		if err := extractKernel(ctx, filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")); err != nil {
			return err
		}
		for _, name := range []string{"hook", "sources", "vmlinuz"} {
			os.Remove(filepath.Join(dir, name))
		}
		return os.WriteFile(filepath.Join(dir, "id"), []byte(id), 0o600)
	})
}

// half ends the name of a folder that is not whole.
const half = ".new"

// whole makes a folder of the image cache in another place and moves it in when it
// is whole, so that what is cached is never half.
func (l Lab) whole(name string, make func(dir string) error) error {
	dir := l.image(name + half)
	if err := errors.Join(discard(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	if err := make(dir); err != nil {
		return errors.Join(err, discard(dir))
	}
	return errors.Join(os.RemoveAll(l.image(name)), os.Rename(dir, l.image(name)))
}

// imageHook is the script that runs in the new root.
func (l Lab) imageHook(net string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "NET=%s\nIDENTIFY=%s\n", net, quote(identifyScript))
	for _, key := range []struct{ name, file string }{{"SSH_KEY", "key.pub"}, {"HOST_KEY", "host"}, {"HOST_PUB", "host.pub"}} {
		text, err := os.ReadFile(l.image(key.file))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s=%s\n", key.name, quote(strings.TrimSpace(string(text))))
	}
	return b.String() + imageScript, nil
}

// mmdebstrap installs the packages into a new root and takes the results out of it.
func (l Lab) mmdebstrap(ctx context.Context, dir, suite, net, script string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, imageDeadline, errImageLate)
	defer cancel()
	hook := filepath.Join(dir, "hook")
	if err := os.WriteFile(hook, []byte(script), 0o600); err != nil {
		return err
	}
	argv := []string{"mmdebstrap", "--variant=minbase", "--include=" + packages + nets[net],
		`--aptopt=Acquire::Languages "none"`, `--aptopt=APT::Install-Recommends "false"`,
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
		"--dpkgopt=force-unsafe-io", // a half-made image is thrown away
		`--customize-hook=mkdir "$1/weft"`, "--customize-hook=upload " + quote(hook) + " /weft/hook", `--customize-hook=sh "$1/weft/hook" "$1"`}
	for _, out := range []string{"disk", "vmlinuz", "initrd.cpio", "version"} {
		argv = append(argv, "--customize-hook=download /weft/"+out+" "+quote(filepath.Join(dir, out)))
	}
	argv = append(argv, suite, "/dev/null", filepath.Join(dir, "sources"))
	env := own.Env(l.Dir)
	if os.Geteuid() == 0 { // else the root is made in a user namespace, which may not see the lab's folder
		env = append(env, "TMPDIR="+dir)
	}
	return foreground(ctx, env, filepath.Join(dir, "log"), argv)
}

// foreground runs a command in a process group of its own, with its words in a log,
// and quotes the end of the log when it fails.
func foreground(ctx context.Context, env []string, log string, argv []string) error {
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := osexec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // who did not listen
			return context.Cause(ctx)
		}
		text, _ := os.ReadFile(log)
		return fmt.Errorf("%s: %w:\n%s", argv[0], err, tail(text, 2000))
	}
	return nil
}

func tail(b []byte, n int) []byte {
	b = bytes.TrimSpace(b)
	return b[max(0, len(b)-n):]
}

// quote makes one shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
