// Package own starts processes that belong to a lab folder, finds them again and
// ends them, and no others. Edge.
//
// A process belongs to a folder when its environment says so: the mark is there
// before the program runs, and its children have it too, so that nothing is lost
// when weft is killed between a start and the note of it.
package own

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mark is the variable that says to which folder a process belongs.
const mark = "WEFT_LAB_OWNER"

// Env returns this process's environment with the mark of a folder.
func Env(folder string) []string { return append(os.Environ(), mark+"="+folder) }

// Start runs argv in the background, in a session of its own, so that it outlives
// weft and its terminal. What it says goes to the end of the log file. It returns
// the process, which the caller may wait for.
func Start(folder, log string, argv ...string) (*os.Process, error) {
	out, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := osexec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = Env(folder), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd.Process, nil
}

// Proc is a process that belongs to a folder.
type Proc struct {
	PID  int
	Args []string
}

// List returns the processes that belong to a folder, but not this one.
func List(folder string) ([]Proc, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var procs []Proc
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !belongs(pid, folder) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		var args []string
		for arg := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{0}), []byte{0}) {
			args = append(args, string(arg))
		}
		procs = append(procs, Proc{pid, args})
	}
	return procs, nil
}

// belongs reports whether a live process has the mark of a folder. One that has
// ended and waits for its parent has no environment any more.
func belongs(pid int, folder string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == mark+"="+folder {
			return true
		}
	}
	return false
}

// End ends every process that belongs to a folder: politely, and after grace with
// SIGKILL. It returns when none is left, or says which would not go.
func End(folder string, grace time.Duration) error {
	const patience = 10 * time.Second // a killed process that writes out its memory map
	begin := time.Now()
	for none := 0; none < 2; time.Sleep(20 * time.Millisecond) {
		procs, err := List(folder)
		if err != nil {
			return err
		}
		none++
		if len(procs) > 0 {
			none = 0 // a process in the middle of exec shows no environment: one look is not enough
		}
		sig := syscall.SIGTERM
		switch since := time.Since(begin); {
		case len(procs) > 0 && since > grace+patience:
			return fmt.Errorf("process %d (%s) does not end", procs[0].PID, procs[0].Args)
		case since > grace:
			sig = syscall.SIGKILL
		}
		for _, p := range procs {
			if err := Signal(p.PID, folder, sig); err != nil {
				return err
			}
		}
	}
	return nil
}

// Signal sends a signal to one process of a folder; that it is gone already is no
// error. It holds the process by a descriptor before it looks whose it is, so that
// the number cannot become another's in between.
func Signal(pid int, folder string, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	} else if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if !belongs(pid, folder) {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	return nil
}
