package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"weft/internal/dump"
	"weft/internal/exec"
	"weft/internal/format"
)

// local asks this machine without a shell: the same files and commands as the
// script, read directly, which is many times faster.
func local(ctx context.Context, name string, readers []format.Reader) *dump.Node {
	d := dump.NewNode(name)
	now := time.Now()
	d.Text[clockKey] = fmt.Sprintf("%d.%09d\n", now.Unix(), now.Nanosecond())
	type job struct {
		key  string
		argv []string
	}
	var jobs []job
	for _, r := range readers {
		for _, c := range r.Cmds {
			for _, key := range expand(c) {
				argv := strings.Fields(key[2:])
				if c.Sh != "" {
					argv = []string{"sh", "-c", c.Sh}
				}
				jobs = append(jobs, job{key, argv})
			}
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan job)
	for range max(4, 2*runtime.NumCPU()) {
		wg.Go(func() {
			for j := range next {
				out, why := runLocal(ctx, j.argv)
				mu.Lock()
				if len(out) > 0 {
					d.Text[j.key] = out
				}
				if why != "" {
					d.Gap[j.key] = why
				}
				mu.Unlock()
			}
		})
	}
	wg.Go(func() {
		for _, j := range jobs {
			next <- j
		}
		close(next)
	})
	files := dump.NewNode(name)
	for _, r := range readers {
		for _, f := range r.Files {
			readFiles(ctx, files, f)
		}
	}
	wg.Wait()
	maps.Copy(d.Text, files.Text)
	maps.Copy(d.Gap, files.Gap)
	d.Link = files.Link
	return d
}

// expand returns the dump keys of a command: one, or one per match of For.
func expand(c format.Cmd) []string {
	if c.For == "" {
		return []string{"$ " + c.Run}
	}
	var keys []string
	seen := map[string]bool{}
	matches, _ := filepath.Glob(c.For)
	for _, m := range matches {
		if key := c.Key(m); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// runLocal runs one command with a deadline and bounded output.
func runLocal(ctx context.Context, argv []string) (out, why string) {
	path, err := osexec.LookPath(argv[0])
	if err != nil {
		for _, dir := range []string{"/usr/sbin", "/sbin", "/opt/rocm/bin"} {
			if p, e := osexec.LookPath(filepath.Join(dir, argv[0])); e == nil {
				path, err = p, nil
				break
			}
		}
	}
	if err != nil {
		return "", argv[0] + ": not installed"
	}
	ctx, cancel := context.WithTimeout(ctx, cmdSeconds*time.Second)
	defer cancel()
	cmd := osexec.CommandContext(ctx, path, argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	stdout, stderr := exec.Capped{Max: maxMember}, exec.Capped{Max: 4096}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *osexec.ExitError
	switch {
	case stdout.Dropped > 0:
		why = fmt.Sprintf("more than %d bytes: the rest was left out", maxMember)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		why = fmt.Sprintf("timed out after %d s", cmdSeconds)
	case errors.As(err, &exit):
		why, _, _ = strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		if why == "" {
			why = fmt.Sprintf("exit %d", exit.ExitCode())
		}
	case err != nil:
		why = err.Error()
	}
	return stdout.String(), why
}

// readFiles reads one set of files of this machine into d.
func readFiles(ctx context.Context, d *dump.Node, f format.File) {
	dirs, _ := filepath.Glob(f.Dir)
	for _, dir := range dirs {
		if f.Where != "" && !starts(dir+"/"+f.Where, f.Starts) {
			continue
		}
		for _, name := range f.Names {
			paths := []string{dir + "/" + name}
			if strings.ContainsAny(name, "*?[") {
				paths, _ = filepath.Glob(paths[0])
			}
			for _, p := range paths {
				if ctx.Err() != nil {
					return
				}
				readFile(d, f, p)
			}
		}
	}
}

func starts(path string, prefixes []string) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for _, p := range prefixes {
		if bytes.HasPrefix(b, []byte(p)) {
			return true
		}
	}
	return false
}

// readFile reads one file or link. What is not there is not a gap.
func readFile(d *dump.Node, f format.File, p string) {
	if f.Link {
		if target, err := os.Readlink(p); err == nil {
			d.Link[p] = target
		}
		return
	}
	b, err := readCapped(p)
	var pe *os.PathError
	switch {
	case errors.Is(err, os.ErrNotExist):
	case errors.As(err, &pe):
		d.Gap[p] = pe.Err.Error()
	case err != nil:
		d.Gap[p] = err.Error()
	case len(b) > 0:
		d.Text[p] = string(b)
	}
}

// readCapped reads a file of at most maxMember bytes. It opens without waiting, so
// that a pipe or a device in the way cannot hang weft.
func readCapped(p string) ([]byte, error) {
	file, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return nil, nil // how a file of a folder in /usr/lib is switched off: as empty as to grep
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file")
	}
	buf := exec.Capped{Max: maxMember}
	chunk := make([]byte, 1<<16)
	for {
		n, err := syscall.Read(int(file.Fd()), chunk) // one plain read: sysfs has no use for the poller
		if n > 0 {
			buf.Write(chunk[:n])
		}
		if err != nil && err != syscall.EINTR {
			return nil, &os.PathError{Op: "read", Path: p, Err: err}
		}
		if buf.Dropped > 0 {
			return nil, fmt.Errorf("more than %d bytes", maxMember)
		}
		if n <= 0 && err == nil {
			return buf.Bytes(), nil
		}
	}
}
