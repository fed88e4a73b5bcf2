package lab

import "context"

// Inside runs a script in a machine as root, for tests outside of this package.
func (l Lab) Inside(ctx context.Context, node, script string) (string, error) {
	return l.inside(ctx, node, script, "")
}
