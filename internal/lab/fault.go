package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is something that can be broken in a machine, and healed again.
type Fault struct {
	Name  string `json:"name"`
	What  string `json:"what"`  // what it does, in a few words
	Check string `json:"check"` // the check of weft that should say so
	Says  string `json:"says"`  // fail or warn

	// How: either scripts that run inside the machine as root, or what is done to it
	// from outside.
	Break string `json:"-"`
	Heal  string `json:"-"`
	act   func(ctx context.Context, l Lab, s *State, n *Node, heal bool) error
}

// faultDeadline bounds a fault: the longest boot a machine twice.
const faultDeadline = 5 * time.Minute

// FaultNamed finds a fault.
func FaultNamed(name string) (Fault, error) {
	i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, stop("weft lab faults", "no fault is called %q", name)
	}
	return Faults[i], nil
}

// Break makes a fault in a machine.
func (l Lab) Break(ctx context.Context, fault, node string) (Fault, error) {
	return l.change(ctx, fault, node, false)
}

// Heal heals a fault.
func (l Lab) Heal(ctx context.Context, fault, node string) (Fault, error) {
	return l.change(ctx, fault, node, true)
}

func (l Lab) change(ctx context.Context, fault, node string, heal bool) (Fault, error) {
	f, err := FaultNamed(fault)
	if err != nil {
		return f, err
	}
	lock, err := l.lock()
	if err != nil {
		return f, err
	}
	defer lock.Close()
	s, err := l.State()
	if err != nil {
		return f, err
	}
	n, err := s.node(node)
	if err != nil {
		return f, err
	}
	this := Broken{fault, node}
	at := slices.Index(s.Faults, this)
	switch {
	case !heal && at >= 0:
		return f, stop("weft lab heal "+fault+" "+node, "%s is broken on %s already", fault, node)
	case heal && at < 0:
		return f, stop("weft lab status", "%s is not broken on %s", fault, node)
	case !heal: // written down first: a fault half made can be healed
		s.Faults = append(s.Faults, this)
		err = l.save(s)
	}
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, faultDeadline, fmt.Errorf("not within %v", faultDeadline))
	defer cancel()
	if err := l.apply(ctx, f, &s, n, heal); err != nil {
		return f, fmt.Errorf("%s on %s: %w", fault, node, err)
	}
	if heal {
		s.Faults = slices.Delete(s.Faults, at, at+1)
	}
	return f, l.save(s)
}

func (l Lab) apply(ctx context.Context, f Fault, s *State, n *Node, heal bool) error {
	if f.act != nil {
		return f.act(ctx, l, s, n, heal)
	}
	script := f.Break
	if heal {
		script = f.Heal
	}
	var others []string
	for _, o := range s.Nodes {
		if o.ID != n.ID {
			others = append(others, fmt.Sprint(o.ID))
		}
	}
	_, err := l.inside(ctx, n.Name, fmt.Sprintf("set -eu\nid=%d other=%s mtu=%d net=%s\n", n.ID, others[0], s.MTU, s.Net)+script, "")
	return err
}

// setLink plugs or pulls the cable of a machine's first rail.
func setLink(ctx context.Context, l Lab, _ *State, n *Node, heal bool) error {
	return l.tell(ctx, n.Name, "set_link", map[string]any{"name": "rail0", "up": heal})
}

// freeze stops a machine's processor and lets it go on.
func freeze(ctx context.Context, l Lab, s *State, n *Node, heal bool) error {
	if !heal {
		return l.tell(ctx, n.Name, "stop", nil)
	}
	if err := l.tell(ctx, n.Name, "cont", nil); err != nil {
		return err
	}
	return l.setClock(ctx, n.Name)
}

// powerOff takes the power from a machine, and gives it back.
func powerOff(ctx context.Context, l Lab, s *State, n *Node, heal bool) error {
	if !heal {
		return l.kill(n.Name)
	}
	if pid, err := l.pid(n.Name); err != nil || pid != 0 {
		return err // another fault gave it power again
	}
	return l.boot(ctx, *s, *n)
}

// reboot presses a machine's reset button; healed it is when it is back.
func reboot(ctx context.Context, l Lab, s *State, n *Node, heal bool) error {
	if !heal {
		return l.tell(ctx, n.Name, "system_reset", nil)
	}
	return l.back(ctx, n.Name)
}

// moveCard puts the card of the first rail into another slot: off, changed, on.
func moveCard(slot string) func(context.Context, Lab, *State, *Node, bool) error {
	return func(ctx context.Context, l Lab, s *State, n *Node, heal bool) error {
		if err := l.kill(n.Name); err != nil {
			return err
		}
		n.Slot = slot
		if heal {
			n.Slot = ""
		}
		return l.boot(ctx, *s, *n)
	}
}

// boot starts a machine from its own disk and waits until it is back.
func (l Lab) boot(ctx context.Context, s State, n Node) error {
	if err := l.start(s.machine(l, n)); err != nil {
		return err
	}
	if err := l.listening(ctx, n.Name); err != nil {
		return fmt.Errorf("%w%s", err, l.logged(n.Name+".qemu"))
	}
	return l.back(ctx, n.Name)
}

// back waits until a machine has booted: its units are started, ssh answers, and
// RDMA is up.
func (l Lab) back(ctx context.Context, node string) error {
	for { // an agent that is just starting loses words
		out, err := l.inside(ctx, node, "systemctl is-system-running --wait || true", "")
		if state := strings.TrimSpace(out); err == nil && (state == "running" || state == "degraded") {
			return l.answers(ctx, node)
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return errors.Join(err, fmt.Errorf("%s is not back", node))
		}
	}
}

// setClock sets a machine's clock, which stood still.
func (l Lab) setClock(ctx context.Context, node string) error {
	_, err := l.inside(ctx, node, fmt.Sprintf("date -s @%.3f >/dev/null", float64(time.Now().UnixMilli())/1e3), "")
	return err
}

// tell gives one command to a machine's QEMU.
func (l Lab) tell(ctx context.Context, node, command string, arguments any) error {
	t, err := l.monitor(ctx, node)
	if err != nil {
		return err
	}
	defer t.close()
	return t.ask(command, arguments, nil)
}
