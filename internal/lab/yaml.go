package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// writeYAML writes the weft.yaml of the lab, so that every command of weft works on it
// as on hardware. A copy stays in the lab, to tell at the end whether it was changed.
func (l Lab) writeYAML(s State) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The lab of weft lab up; weft lab down removes it.\nname: lab\nssh_config: %s\n\ndata:\n  layer: roce\n  mtu: %d\n  switch: plain\n\nnodes:\n", l.run("ssh_config"), s.MTU)
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "  - name: %s\n    data:\n", n.Name)
		for r := range s.Rails {
			fmt.Fprintf(&b, "      - port: rdma%d/1\n        netdev: %s\n        address: %s/24\n", r, railName(r), railAddress(r, n))
		}
	}
	if err := replace(l.run("weft.yaml"), []byte(b.String())); err != nil {
		return err
	}
	f, err := os.OpenFile(s.WeftYAML, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(b.String())
	return errors.Join(err, f.Close())
}

// yamlChanged returns the weft.yaml that was written for the person if it is no longer
// what was written.
func (l Lab) yamlChanged() string {
	s, err := l.State()
	if err != nil {
		return ""
	}
	now, err := os.ReadFile(s.WeftYAML)
	was, unwritten := os.ReadFile(l.run("weft.yaml"))
	if err != nil || unwritten == nil && bytes.Equal(now, was) {
		return ""
	}
	return s.WeftYAML
}
