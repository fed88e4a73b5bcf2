package journal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The units that put the old state back at boot, should the power go before a run is
// confirmed: the files before anything reads them, the rest when the machine is up.
const (
	earlyUnit = "/etc/systemd/system/weft-boot.service"
	lateUnit  = "/etc/systemd/system/weft-boot-late.service"
	earlyWant = "/etc/systemd/system/sysinit.target.wants/weft-boot.service"
	lateWant  = "/etc/systemd/system/multi-user.target.wants/weft-boot-late.service"
	cronHook  = "/etc/cron.d/weft-boot" // where there is no systemd
)

// hook makes sure that a boot reverts. It is on disk when hook returns.
func (j *Journal) hook(r *Run) error {
	if j.systemd() {
		for _, f := range []struct{ path, text string }{{earlyUnit, j.early(r)}, {lateUnit, late(r)}} {
			if err := writeFile(j.path(f.path), []byte(f.text), 0o644); err != nil {
				return err
			}
		}
		for _, want := range []string{earlyWant, lateWant} {
			if err := j.link(want); err != nil {
				return err
			}
		}
		return nil
	}
	if !exists(j.path("/etc/cron.d")) {
		return errors.New("there is neither systemd nor cron")
	}
	return writeFile(j.path(cronHook), fmt.Appendf(nil, "# weft: puts back what was not confirmed before the power went\n@reboot root %s node boot && %s node boot --late\n", r.Binary, r.Binary), 0o644)
}

// link enables a unit. A folder that it has to make is noted, to go again.
func (j *Journal) link(want string) error {
	d := filepath.Dir(j.path(want))
	if err := os.Mkdir(d, 0o755); err == nil {
		if err := writeFile(j.path(home+"/made-"+filepath.Base(d)), []byte(d), 0o600); err != nil {
			return err
		}
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Symlink("../"+filepath.Base(want), j.path(want)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDir(d)
}

// early is the unit that puts files back. Modules and their options are read by
// systemd-modules-load and udev, so it comes before them, unless the journal lies on a
// file system that udev has to find first.
func (j *Journal) early(r *Run) string {
	before := "network-pre.target sysinit.target systemd-modules-load.service systemd-sysctl.service"
	var root, runs syscall.Stat_t
	if syscall.Stat(j.path("/"), &root) == nil && syscall.Stat(j.runs(), &runs) == nil && root.Dev == runs.Dev {
		before += " systemd-udev-trigger.service"
	}
	return fmt.Sprintf(`# Written by weft run %s and gone when it is confirmed or reverted.
[Unit]
Description=weft: put back what was not confirmed before the power went
DefaultDependencies=no
RequiresMountsFor=%s /etc
After=systemd-remount-fs.service
Before=%s shutdown.target
Wants=network-pre.target
Conflicts=shutdown.target

[Service]
Type=oneshot
ExecStart=%s node boot
TimeoutStartSec=120

[Install]
WantedBy=sysinit.target
`, r.ID, home, before, r.Binary)
}

// late is the unit that runs the undo of what no file holds: packages and the like.
func late(r *Run) string {
	return fmt.Sprintf(`# Written by weft run %s and gone when it is confirmed or reverted.
[Unit]
Description=weft: undo what was not confirmed before the power went
After=network.target

[Service]
Type=oneshot
ExecStart=%s node boot --late
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
`, r.ID, r.Binary)
}

// unhook takes the units away.
func (j *Journal) unhook() {
	for _, f := range []string{earlyWant, lateWant, earlyUnit, lateUnit, cronHook} {
		if os.Remove(j.path(f)) == nil {
			syncDir(filepath.Dir(j.path(f)))
		}
	}
	made, _ := filepath.Glob(j.path(home + "/made-*"))
	for _, m := range made {
		if b, err := os.ReadFile(m); err == nil {
			os.Remove(string(b)) // only if it is empty
			os.Remove(m)
		}
	}
	if j.systemd() && j.Root == "" {
		// A step that had systemd read its units again had it read these, too.
		if out, _ := exec.Command("systemctl", "show", "--property=LoadState", "--value", filepath.Base(earlyUnit)).Output(); strings.TrimSpace(string(out)) == "loaded" {
			exec.Command("systemctl", "daemon-reload").Run()
		}
	}
}

// systemd reports whether the machine runs systemd: sd_booted(3) looks there, too.
func (j *Journal) systemd() bool { return exists(j.path("/run/systemd/system")) }

func guardUnit(id string) string { return "weft-guard-" + id }
func runUnit(id string) string   { return "weft-run-" + id }

// Start starts a run's supervisor and, in case it is lost, a guard that reverts after
// all deadlines. Both outlive the login that starts them.
func (j *Journal) Start(r *Run) error {
	last := r.longest()
	if !j.systemd() {
		if err := detach(r.Binary, "node", "guard", r.ID, fmt.Sprint(int(last.Seconds()))); err != nil {
			return err
		}
		return detach(r.Binary, "node", "supervise", r.ID)
	}
	// Without AccuracySec a timer may come a minute late: systemd.timer(5).
	guard := exec.Command("systemd-run", "--quiet", "--collect", "--unit="+guardUnit(r.ID),
		fmt.Sprintf("--on-active=%d", int(last.Seconds())), "--timer-property=AccuracySec=1s", r.Binary, "node", "guard", r.ID, "0")
	run := exec.Command("systemd-run", "--quiet", "--collect", "--unit="+runUnit(r.ID), "--property=Restart=on-failure", "--property=RestartSec=1",
		"--property=TimeoutStopSec=300", r.Binary, "node", "supervise", r.ID)
	for _, cmd := range []*exec.Cmd{guard, run} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args[:1], " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// longest is when a run must be over, whatever happens: every command at its limit, in
// both directions, and the deadline.
func (r *Run) longest() time.Duration {
	seconds := r.Deadline + 60
	for _, a := range r.Acts {
		seconds += a.Seconds * (len(a.Do) + len(a.Undo))
	}
	return time.Duration(seconds)*time.Second + settle*time.Duration(len(r.Worked))
}

// detach starts a process that belongs to nobody's login.
func detach(args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// label gives a new file the SELinux label of the place where it will be.
func label(tmp, path string) {
	if exists("/sys/fs/selinux/enforce") {
		exec.Command("sh", "-c", `chcon "$(matchpathcon -n "$1")" "$2"`, "sh", path, tmp).Run()
	}
}
