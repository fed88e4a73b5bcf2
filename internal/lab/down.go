package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"weft/internal/lab/own"
)

// grace is how long what is neither machine nor switch may tidy up: mmdebstrap
// unmounts what it mounted.
const grace = 3 * time.Second

// Down ends everything that belongs to the lab and removes what it left, whatever
// state it is in. With all, what is cached goes too. It reports whether there was
// anything, and a weft.yaml that was changed and therefore kept.
func (l Lab) Down(all bool) (was bool, kept string, err error) {
	lock, err := l.lock()
	if err != nil {
		return false, "", err
	}
	defer lock.Close()
	procs, err := own.List(l.Dir)
	if err != nil {
		return false, "", err
	}
	_, gone := os.Stat(l.run())
	was = len(procs) > 0 || gone == nil
	kept = l.yamlChanged()
	if err := l.sweep(); err != nil {
		return was, kept, err
	}
	if all {
		err = errors.Join(os.RemoveAll(l.image()), os.Remove(filepath.Join(l.Dir, "lock")))
	}
	return was, kept, err
}

// sweep ends what runs and removes what is left of it.
func (l Lab) sweep() error {
	var mine []string // beside weft.yaml
	if s, err := l.State(); err == nil && l.yamlChanged() == "" {
		mine = []string{s.WeftYAML, s.Looks}
	}
	procs, err := own.List(l.Dir)
	if err != nil {
		return err
	}
	for _, p := range procs { // machines need no time to say goodbye: their disks go with them
		if strings.HasPrefix(filepath.Base(p.Args[0]), "qemu-system-") {
			err = errors.Join(err, own.Signal(p.PID, l.Dir, syscall.SIGKILL))
		}
	}
	if err := errors.Join(err, own.End(l.Dir, grace)); err != nil {
		return err
	}
	entries, _ := os.ReadDir(l.image())
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), half) {
			err = errors.Join(err, discard(l.image(e.Name())))
		}
	}
	for _, path := range mine {
		if path != "" {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return errors.Join(err, os.RemoveAll(l.run()))
}

// discard removes a folder of the image cache that is not whole. What a killed
// mmdebstrap left mounted below it goes first, /proc, /sys and /dev of the new root:
// removing the folder with them in it would remove this machine's devices.
func discard(dir string) error {
	if err := unmount(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

func unmount(dir string) error {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	var mounts []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 1 && strings.HasPrefix(f[1], dir+"/") {
			mounts = append(mounts, f[1])
		}
	}
	for _, m := range slices.Backward(mounts) {
		if err := syscall.Unmount(m, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("%s: still mounted: %w", m, err)
		}
	}
	return nil
}

// pid is the number of a machine's QEMU process, 0 when it is not running.
func (l Lab) pid(node string) (int, error) {
	procs, err := own.List(l.Dir)
	if err != nil {
		return 0, err
	}
	for _, p := range procs {
		if slices.Contains(p.Args, "weft-lab-"+node) && strings.HasPrefix(filepath.Base(p.Args[0]), "qemu-system-") {
			return p.PID, nil
		}
	}
	return 0, nil
}

func (l Lab) signal(pid int, sig syscall.Signal) error { return own.Signal(pid, l.Dir, sig) }
