package lab

import "context"

// Inside runs a script in a machine as root, for tests outside of this package.
func (l Lab) Inside(ctx context.Context, node, script string) (string, error) {
	return l.inside(ctx, node, script, "")
}

// Feed runs a script in a machine as root, with something to read.
func (l Lab) Feed(ctx context.Context, node, script, stdin string) (string, error) {
	return l.inside(ctx, node, script, stdin)
}

// PowerCycle cuts a machine's power and gives it back, without the lab's lock, so that
// two can be cut at once.
func (l Lab) PowerCycle(ctx context.Context, node string) error {
	s, err := l.State()
	if err != nil {
		return err
	}
	n, err := s.node(node)
	if err != nil {
		return err
	}
	if err := l.kill(node); err != nil {
		return err
	}
	return l.boot(ctx, s, *n)
}

// Key is the file of the key that the machines let in.
func (l Lab) Key() string { return l.image("key") }
