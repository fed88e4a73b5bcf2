// Package wire is the Ethernet between the machines of a lab: one switch for each
// of its networks, over unix datagram sockets. Edge.
//
// A machine's card is a QEMU "dgram" network: one datagram is one frame. The switch
// has the socket NET.PORT.sw, the machine has NET.PORT.vm, in one folder; nothing
// leaves it.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Net is one broadcast domain and the machines on it, in the order of their ports.
type Net struct {
	Name  string
	Ports []string
}

// pathMax is what sun_path holds beside its closing zero: unix(7).
const pathMax = 107

// Socket returns the path of one end of a port: "vm", the machine's, or "sw", the
// switch's.
func Socket(dir, net, port, end string) string {
	return filepath.Join(dir, net+"."+port+"."+end)
}

// control returns the path of the socket that Set and Ask use.
func control(dir string) string { return filepath.Join(dir, "wire.ctl") }

// Run is the switch: it returns when ctx is done, and its sockets are gone then. The
// control socket comes last and goes first, so that where it is, all others are.
func Run(ctx context.Context, dir string, nets []Net) (err error) {
	if err := valid(dir, nets); err != nil {
		return err
	}
	if c, err := net.Dial("unix", control(dir)); err == nil {
		c.Close()
		return fmt.Errorf("%s: a switch runs here already", dir)
	}
	life, fail := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait() // second, when all it waits for is closed
	var open []io.Closer
	defer func() {
		fail(nil)
		for i := len(open) - 1; i >= 0; i-- {
			err = errors.Join(err, open[i].Close())
		}
	}()

	var all ports
	for _, n := range nets {
		d := &domain{table: map[mac]*port{}}
		for _, name := range n.Ports {
			p, err := plug(dir, n.Name, name)
			if err != nil {
				return err
			}
			open, all, d.ports = append(open, p), append(all, p), append(d.ports, p)
		}
		for _, p := range d.ports {
			running.Go(func() { fail(d.receive(p)) })
			running.Go(func() { p.send(life) })
		}
	}
	if err := sweep(control(dir)); err != nil {
		return err
	}
	l, err := net.Listen("unix", control(dir))
	if err != nil {
		return err
	}
	open = append(open, l)
	running.Go(func() { all.serve(life, l) })
	<-life.Done()
	if ctx.Err() == nil {
		return context.Cause(life)
	}
	return nil
}

// valid says what is wrong with the names, which become those of files.
func valid(dir string, nets []Net) error {
	seen := map[string]bool{}
	paths := []string{control(dir)}
	for _, n := range nets {
		if err := word("net", n.Name); err != nil {
			return err
		}
		if seen[n.Name] {
			return fmt.Errorf("net %q is there twice", n.Name)
		}
		seen[n.Name] = true
		for _, p := range n.Ports {
			if err := word("port", p); err != nil {
				return fmt.Errorf("net %q: %w", n.Name, err)
			}
			path := Socket(dir, n.Name, p, "sw")
			if seen[path] {
				return fmt.Errorf("net %q: port %q is there twice", n.Name, p)
			}
			seen[path] = true
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		if len(path) > pathMax {
			return fmt.Errorf("%s: the folder's name is too long: the socket %s in it needs %d bytes, and a socket's path has at most %d",
				dir, filepath.Base(path), len(path), pathMax)
		}
	}
	return nil
}

func word(what, name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	if name == "" || strings.Trim(name, letters) != "" {
		return fmt.Errorf("%s %q: a name is letters, digits and dashes", what, name)
	}
	return nil
}

// sweep removes the socket that a killed switch has left; of any other kind of file
// it says that it is in the way.
func sweep(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s: not a socket, and in the way of one", path)
	}
	return os.Remove(path)
}

// buffer is how much may be on its way to a machine that has not read it. How many
// frames may, net.unix.max_dgram_qlen says: 10, or 512 where systemd runs. The kernel
// may grant less (net.core.wmem_max). A reader has no such limit: unix datagrams
// count only against who sends.
const buffer = 4 << 20

// plug binds the switch's end of a port and makes the socket that sends to the
// machine. They are two, because one that is connected takes frames only from the
// machine that was there then, and one that is not cannot wait for room at it.
func plug(dir, netName, name string) (*port, error) {
	p := &port{net: netName, name: name, path: Socket(dir, netName, name, "vm"), queue: make(chan *frame, queueMax)}
	own := Socket(dir, netName, name, "sw")
	if err := sweep(own); err != nil {
		return nil, err
	}
	in, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: own, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	p.in, p.own = in, own
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		p.out = os.NewFile(uintptr(fd), own)
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, buffer)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", own, err)
	}
	return p, nil
}

// Close unplugs a port: whoever waits at it stops.
func (p *port) Close() error {
	if p.out != nil {
		p.out.Close()
	}
	err := os.Remove(p.own)
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the folder went before the switch
	}
	return errors.Join(p.in.Close(), err)
}
