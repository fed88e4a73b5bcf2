package lab

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// bootDeadline bounds a boot: 20 s under emulation on an idle machine. With KVM it
// is seconds, and one that does not work hangs.
var bootDeadline = map[string]time.Duration{"tcg": 4 * time.Minute, "kvm": time.Minute}

// settle brings a fresh machine to rest, so that those made from it wake up quiet.
const settle = `systemctl is-system-running --wait >/dev/null || true
[ -z "$(systemctl --failed --no-legend)" ] || { systemctl --failed --no-legend; exit 1; }
ip link set rail0 up
rdma link add first type rxe netdev rail0 # rdma-core loads its modules with the first device
udevadm settle
systemctl is-active -q --wait rdma-hw.target || systemctl start rdma-hw.target
rdma link delete first
ip link set rail0 down
sync; echo 3 > /proc/sys/vm/drop_caches; sync`

// makeTemplate boots a machine once and saves its state, unless that was done before.
func (l Lab) makeTemplate(ctx context.Context, net string, rails int, accel string) (dir string, err error) {
	id, err := l.makeImage(ctx, net)
	if err != nil {
		return "", err
	}
	version, err := osexec.CommandContext(ctx, "qemu-system-x86_64", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("qemu-system-x86_64 --version: %w", err)
	}
	name := fmt.Sprintf("%s-%d-%s", net, rails, accel)
	m := machine{Node: Node{Name: "template", ID: 199}, image: l.image(net), disk: l.image(name, "disk"), rails: rails, accel: accel}
	key := fmt.Sprintf("%.8x", sha256.Sum256([]byte(id+string(version)+strings.Join(l.args(m), " "))))
	if have, _ := os.ReadFile(l.image(name, "id")); string(have) == key {
		return l.image(name), nil
	}
	defer l.show("booting the template (once)")()
	return l.image(name), l.whole(name, func(dir string) error {
		m.disk = filepath.Join(dir, "disk")
		if err := l.saveTemplate(ctx, m, dir); err != nil {
			return fmt.Errorf("template: %w%s", err, l.logged(m.Name+".qemu"))
		}
		return os.WriteFile(filepath.Join(dir, "id"), []byte(key), 0o600)
	})
}

func (l Lab) saveTemplate(ctx context.Context, m machine, dir string) error {
	limit := bootDeadline[m.accel]
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %v", limit))
	defer cancel()
	if err := overlay(ctx, m.disk, filepath.Join(m.image, "disk")); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	m.Port = port
	if err := l.start(m); err != nil {
		return err
	}
	defer l.kill(m.Name)
	if err := l.listening(ctx, m.Name); err != nil {
		return err
	}
	if _, err := l.inside(ctx, m.Name, settle, ""); err != nil {
		return err
	}
	t, err := l.monitor(ctx, m.Name)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.ask("stop", nil, nil); err != nil {
		return err
	}
	if err := t.ask("migrate", map[string]any{"uri": "exec:cat > " + quote(filepath.Join(dir, "state"))}, nil); err != nil {
		return err
	}
	for {
		var state struct {
			Status string `json:"status"`
			Why    string `json:"error-desc"`
		}
		if err := t.ask("query-migrate", nil, &state); err != nil {
			return err
		}
		switch state.Status {
		case "completed":
			return t.ask("quit", nil, nil)
		case "failed":
			return fmt.Errorf("its state was not saved: %s", state.Why)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// overlay makes a disk that holds only what differs from another.
func overlay(ctx context.Context, disk, base string) error {
	out, err := osexec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", "qcow2", disk).CombinedOutput()
	if err != nil {
		return fmt.Errorf("qemu-img: %w: %s", err, tail(out, 500))
	}
	return nil
}

// kill ends one machine and waits until it is gone.
func (l Lab) kill(node string) error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pid, err := l.pid(node)
		switch {
		case err != nil || pid == 0:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("%s: QEMU, process %d, does not end", node, pid)
		}
		if err := l.signal(pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
}
