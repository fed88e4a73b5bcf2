package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// wakeDeadline bounds the time from a machine's start to ssh and RDMA: 5 s for two
// under emulation on an idle machine.
const wakeDeadline = 3 * time.Minute

// Up brings a lab up: builds what is not cached, starts the machines and waits until
// ssh answers and RDMA is up. What it started is gone again if it does not succeed.
func (l Lab) Up(ctx context.Context, o Options) (State, error) {
	p, err := o.profile()
	if err != nil {
		return State{}, err
	}
	if err := errors.Join(ready(), l.usable()); err != nil {
		return State{}, err
	}
	lock, err := l.lock()
	if err != nil {
		return State{}, err
	}
	defer lock.Close()
	if _, err := os.Stat(l.run()); err == nil {
		return State{}, stop("weft lab down", "a lab is up, or was left half up, in %s", l.Dir)
	}
	if _, err := os.Stat(o.YAML); err == nil {
		return State{}, stop("mkdir lab && cd lab && weft lab up", "%s is there already, and the lab writes one of its own", o.YAML)
	}
	if err := os.MkdirAll(l.run(), 0o700); err != nil {
		return State{}, err
	}
	s, err := l.bringUp(ctx, p, o)
	if err != nil {
		return s, errors.Join(err, l.sweep())
	}
	return s, nil
}

func (l Lab) bringUp(ctx context.Context, p Profile, o Options) (State, error) {
	s := State{Profile: p.Name, Net: p.Net, Rails: p.Rails, MTU: p.MTU, Accel: accelerator(), Nodes: p.nodes(), Started: time.Now().UTC(), WeftYAML: o.YAML}
	looks := filepath.Join(filepath.Dir(o.YAML), ".weft")
	if _, err := os.Stat(looks); os.IsNotExist(err) {
		s.Looks = looks
	}
	if err := l.save(s); err != nil {
		return s, err
	}
	template, err := l.makeTemplate(ctx, s.Net, s.Rails, s.Accel)
	if err != nil && s.Accel == "kvm" && ctx.Err() == nil {
		l.show("KVM does not work here (%v): emulating", err)()
		s.Accel = "tcg"
		template, err = l.makeTemplate(ctx, s.Net, s.Rails, s.Accel)
	}
	if err != nil {
		return s, err
	}
	begin := time.Now()
	defer l.show("waking %d machines (%s)", len(s.Nodes), s.Accel)()
	if err := l.startWire(ctx, o.Weft); err != nil {
		return s, err
	}
	if err := l.wakeAll(ctx, &s, template); err != nil {
		return s, err
	}
	s.Ready = time.Since(begin).Seconds()
	return s, errors.Join(l.save(s), l.writeYAML(s))
}

// wakeAll starts every machine at once.
func (l Lab) wakeAll(ctx context.Context, s *State, template string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wakeDeadline, fmt.Errorf("not within %v", wakeDeadline))
	defer cancel()
	hosts := s.hosts()
	err := each(ctx, s.Nodes, func(ctx context.Context, n *Node) error {
		err := l.startClone(ctx, s.machine(l, *n), n, template)
		if err == nil {
			err = l.restore(ctx, n.Name, filepath.Join(template, "state"))
		}
		if err == nil {
			err = l.identify(ctx, n, s.Rails, s.MTU, hosts)
		}
		if err != nil {
			return fmt.Errorf("%w%s", err, l.logged(n.Name+".qemu"))
		}
		return nil
	})
	if err := errors.Join(err, l.save(*s), l.writeSSH(*s)); err != nil {
		return err
	}
	return each(ctx, s.Nodes, func(ctx context.Context, n *Node) error { return l.answers(ctx, n.Name) })
}

// each does something with all machines at once, and stops at the first error.
func each(ctx context.Context, nodes []Node, do func(context.Context, *Node) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range nodes {
		g.Go(func() error {
			if err := do(ctx, &nodes[i]); err != nil {
				return fmt.Errorf("%s: %w", nodes[i].Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (s State) machine(l Lab, n Node) machine {
	return machine{Node: n, image: l.image(s.Net), disk: l.run(n.Name + ".disk"), rails: s.Rails, accel: s.Accel}
}

// startClone starts a machine that waits for the template's state. Its port for ssh
// is one that is free now; should another program take it first, the next is tried.
func (l Lab) startClone(ctx context.Context, m machine, n *Node, template string) error {
	if err := overlay(ctx, m.disk, filepath.Join(template, "disk")); err != nil {
		return err
	}
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		n.Port, m.Port, m.saved = port, port, true
		if err := l.start(m); err != nil {
			return err
		}
		err = l.listening(ctx, n.Name)
		if err == nil || try == 3 || ctx.Err() != nil {
			return err
		}
	}
}

// listening waits until QEMU answers, which it does when everything is set up, or
// has ended.
func (l Lab) listening(ctx context.Context, node string) error {
	for {
		soon, cancel := context.WithTimeout(ctx, time.Second)
		t, err := l.monitor(soon, node)
		cancel()
		if err == nil {
			return t.close()
		}
		if pid, err := l.pid(node); err != nil || pid == 0 {
			return errors.Join(errors.New("QEMU ended at once"), err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// restore gives a machine the template's state and lets it go on.
func (l Lab) restore(ctx context.Context, node, state string) error {
	t, err := l.monitor(ctx, node)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.ask("migrate-incoming", map[string]any{"uri": "exec:cat " + quote(state)}, nil); err != nil {
		return err
	}
	for {
		var now struct{ Status string }
		if err := t.ask("query-status", nil, &now); err != nil {
			return fmt.Errorf("restoring: %w", err)
		}
		if now.Status != "inmigrate" && now.Status != "prelaunch" {
			return t.ask("cont", nil, nil)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// identify gives a machine its own names and addresses, the time, and its RDMA
// devices.
func (l Lab) identify(ctx context.Context, n *Node, rails, mtu int, hosts string) error {
	var seed [32]byte
	rand.Read(seed[:])
	script := fmt.Sprintf("date -s @%.3f >/dev/null\nlab-identify node %s %d %d %d %x %x", float64(time.Now().UnixMilli())/1e3, n.Name, n.ID, rails, mtu, seed[:16], seed[16:])
	_, err := l.inside(ctx, n.Name, script, hosts)
	return err
}

// hosts is every machine's /etc/hosts: names lead to the data plane.
func (s State) hosts() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "%s %s\n", railAddress(0, n), n.Name)
	}
	return b.String()
}

// freePort returns a port of loopback that nobody listens at.
func freePort() (int, error) {
	c, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.Addr().(*net.TCPAddr).Port, nil
}
