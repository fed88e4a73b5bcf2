package ib

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// listed is how many hosts weft.yaml names: all of a small fabric, else the first
// two. Each costs a login and a look; the fabric is asked once for all of them.
func (s shape) listed() int {
	if s.hosts <= 8 {
		return s.hosts
	}
	return 2
}

// hostPort is what every simulated host calls its port.
const hostPort = "ibsim0/1"

func (l *lab) specText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A simulated InfiniBand fabric, made by weft lab ib up and removed by weft lab ib down:\n# %s.\n", l.state.Shape)
	fmt.Fprintf(&b, "name: lab-ib\nssh_config: %s\ndata:\n  layer: infiniband\n", l.path("ssh_config"))
	if n := l.shape.listed(); n < l.shape.hosts {
		fmt.Fprintf(&b, "# %d of %d hosts: each is a login and a look of its own, and the fabric is asked once for\n# all. Any other of node0001 to %s can be added here.\n", n, l.shape.hosts, hostName(l.shape.hosts-1))
	}
	b.WriteString("nodes:\n")
	for i := range l.shape.listed() {
		fmt.Fprintf(&b, "  - name: %s\n    data:\n      - port: %s\n", hostName(i), hostPort)
	}
	b.WriteString("accept:\n")
	for _, a := range accepts {
		fmt.Fprintf(&b, "  - check: %s\n    reason: %s\n", a.check, a.reason)
	}
	return b.String()
}

// accepts are the checks that see, beside the simulated port, the machine that
// simulates it.
var accepts = []struct{ check, reason string }{
	{"node.devices", "a simulated port has no kernel device"},
	{"node.modules", "a simulated port needs no kernel module"},
	{"node.memlock", "nothing locks memory for a simulated port"},
	{"node.packages", "the packages are those of the machine that runs the lab"},
	{"node.kernel", "the kernel is that of the machine that runs the lab"},
	{"node.iommu", "the IOMMU is that of the machine that runs the lab"},
	{"node.clock", "all simulated hosts have the clock of the machine that runs the lab"},
}

// writeSpec notes what it will write before it writes, so that Down knows the file
// again whenever weft is killed.
func (l *lab) writeSpec(context.Context) error {
	text := l.specText()
	l.state.Sum = sum([]byte(text))
	if err := l.save(); err != nil {
		return err
	}
	f, err := os.OpenFile(l.state.Spec, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s %w", l.state.Spec, ErrSpec)
	} else if err != nil {
		return err
	}
	_, werr := f.WriteString(text)
	return errors.Join(werr, f.Close())
}

// removeSpec removes the weft.yaml if it is as it was written, and with it what weft
// saw of the fabric.
func (l *lab) removeSpec() (kept string, err error) {
	b, err := os.ReadFile(l.state.Spec)
	switch {
	case l.state.Sum == "":
		return "", nil // never written
	case err == nil && sum(b) != l.state.Sum && !strings.HasPrefix(l.specText(), string(b)): // a part: the writing was cut off
		return l.state.Spec, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	if err := os.Remove(l.state.Spec); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if !l.state.Looks {
		return "", nil
	}
	return "", os.RemoveAll(l.looks())
}

// looks is where weft keeps what it saw of the clusters of a weft.yaml.
func (l *lab) looks() string { return filepath.Join(filepath.Dir(l.state.Spec), ".weft") }

func sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
