package ib

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"weft/internal/lab/own"
)

// How long things may take before something is wrong. Measured on two slow cores
// with 1000 hosts: namespace 0.05 s, ibsim 0.3 s, opensm 1.5 s.
const (
	holdLimit = 10 * time.Second
	simLimit  = 20 * time.Second
	smLimit   = 60 * time.Second
	endLimit  = 10 * time.Second
)

// inside is where the folder is within the fabric's mount namespace.
const inside = "/run/lab"

func in(name string) string { return inside + "/" + name }

// holdScript makes the namespace's files and stays. This machine's services, root's own
// dotfiles and RDMA cards are not the simulated hosts': /run and root's home are empty
// in there, except for what sshd wants and the folder itself, and /sys/class is copied,
// class by class, without infiniband and its kin.
const holdScript = `exec 9<"$0"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/sshd "$1"
mount --bind /proc/self/fd/9 "$1"
exec 9<&-
mount -t tmpfs -o mode=700 tmpfs ~root
if [ -e /sys/class/infiniband ]; then
	mkdir /run/class
	mount --bind /sys/class /run/class
	mount -t tmpfs -o mode=755 tmpfs /sys/class
	for class in /run/class/*; do
		case $class in */infiniband*) continue ;; esac
		mkdir "/sys/class/${class##*/}"
		mount --bind "$class" "/sys/class/${class##*/}"
	done
fi
ip link set lo up
: >"$1/held"
exec sleep infinity`

// hold makes the namespaces and a process that keeps them.
func (l *lab) hold(ctx context.Context) error {
	if err := os.Mkdir(l.path("cwd"), 0o700); err != nil {
		return err
	}
	p, held, err := l.start("holder.log", "unshare", "--net", "--mount", "--", "sh", "-ec", holdScript, l.folder, inside)
	if err != nil {
		return err
	}
	l.state.Holder = p.Pid
	if err := l.save(); err != nil {
		return err
	}
	return l.await(ctx, holdLimit, "the network namespace", held, func() bool { return exists(l.path("held")) })
}

// startAll starts the simulator and the managers as the faults of the state want
// them, and waits until the subnet is up.
func (l *lab) startAll(ctx context.Context) error {
	if err := l.startSim(ctx); err != nil {
		return err
	}
	if err := l.startSMs(ctx); err != nil {
		return err
	}
	return l.quiet(ctx)
}

func (l *lab) startSim(ctx context.Context) error {
	if err := os.WriteFile(l.path("net"), []byte(netText(l.shape, l.slow())), 0o600); err != nil {
		return err
	}
	os.Remove(l.path("console"))
	if err := syscall.Mkfifo(l.path("console"), 0o600); err != nil {
		return fmt.Errorf("%s: %w", l.path("console"), err)
	}
	os.Remove(l.path("ibsim.log"))
	nodes := l.shape.hosts + l.shape.switches()
	ports := 2*l.shape.hosts + (l.shape.radix+1)*l.shape.switches()
	// The console is opened for reading and writing, so that it never ends.
	const script = `exec "$5" -s -N "$1" -S "$2" -P "$3" "$4" <>"$0"`
	sim, err := l.run("ibsim.log", "sh", "-c", script, in("console"), strconv.Itoa(nodes+1), strconv.Itoa(l.shape.switches()+1), strconv.Itoa(ports+1), in("net"), find("ibsim"))
	if err != nil {
		return err
	}
	return l.await(ctx, simLimit, "ibsim", sim, func() bool { return l.said("ibsim.log", "simulator ready") })
}

// as is the start of a command line that runs as a simulated host.
func (l *lab) as(host string) []string {
	return []string{"env", "LD_PRELOAD=" + preload(), "SIM_HOST=" + host}
}

// preload is the library that makes libibumad talk to ibsim.
func preload() string {
	for _, dir := range []string{"/usr/lib/*-linux-gnu/umad2sim", "/usr/lib64/umad2sim", "/usr/local/lib/umad2sim"} {
		if found, _ := filepath.Glob(dir + "/libumad2sim.so"); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// enter is the start of a command line that runs inside the fabric. The libraries
// of simulated hosts write into the folder where they run.
func (l *lab) enter() []string {
	return []string{"nsenter", "--target", strconv.Itoa(l.state.Holder), "--net", "--mount", "env", "--chdir=" + in("cwd")}
}

// run starts a process inside the fabric.
func (l *lab) run(log string, argv ...string) (job, error) {
	_, j, err := l.start(log, append(l.enter(), argv...)...)
	return j, err
}

// Process is one process of a fabric.
type Process struct {
	PID  int
	Name string // "ibsim", "opensm"
}

func (l *lab) processes() ([]Process, error) {
	procs, err := own.List(l.folder)
	var out []Process
	for _, p := range procs {
		out = append(out, Process{p.PID, filepath.Base(p.Args[0])})
	}
	return out, err
}

// end ends some processes, politely at first, and waits until they are gone.
func (l *lab) end(ctx context.Context, what string, which func(own.Proc) bool) error {
	began, err := time.Now(), error(nil)
	gone := func() bool {
		sig, some := syscall.SIGTERM, 0
		if time.Since(began) > endGrace {
			sig = syscall.SIGKILL
		}
		some, err = l.signal(sig, which)
		return some == 0 || err != nil
	}
	if wait := l.await(ctx, endLimit, "the end of "+what, job{}, gone); wait != nil {
		return wait
	}
	return err
}

// signal sends a signal to some processes and returns to how many.
func (l *lab) signal(sig syscall.Signal, which func(own.Proc) bool) (some int, err error) {
	procs, err := own.List(l.folder)
	for _, p := range procs {
		if which(p) {
			some++
			err = errors.Join(err, own.Signal(p.PID, l.folder, sig))
		}
	}
	return some, err
}

func named(names ...string) func(own.Proc) bool {
	return func(p own.Proc) bool { return slices.Contains(names, filepath.Base(p.Args[0])) }
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
