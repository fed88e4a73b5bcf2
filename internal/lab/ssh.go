package lab

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
)

// writeSSH writes an ssh configuration that knows the machines, and only their key:
// a lab changes nothing in the person's own.
func (l Lab) writeSSH(s State) error {
	host, err := os.ReadFile(l.image("host.pub"))
	if err != nil {
		return err
	}
	if err := replace(l.run("known_hosts"), []byte("weft-lab "+string(host))); err != nil {
		return err
	}
	var b strings.Builder
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "Host %s\n    Port %d\n", n.Name, n.Port)
	}
	fmt.Fprintf(&b, "Host *\n    HostName 127.0.0.1\n    HostKeyAlias weft-lab\n    User lab\n    IdentityFile %s\n    IdentitiesOnly yes\n"+
		"    IdentityAgent none\n    UserKnownHostsFile %s\n    GlobalKnownHostsFile /dev/null\n    StrictHostKeyChecking yes\n    CheckHostIP no\n",
		sshWord(l.image("key")), sshWord(l.run("known_hosts")))
	return replace(l.run("ssh_config"), []byte(b.String()))
}

func sshWord(s string) string { return `"` + s + `"` }

// SSH returns the command line that logs in to a machine.
func (l Lab) SSH(node string) ([]string, error) {
	s, err := l.State()
	if err != nil {
		return nil, err
	}
	if _, err := s.node(node); err != nil {
		return nil, err
	}
	return []string{"ssh", "-F", l.run("ssh_config"), node}, nil
}

// answers waits until a machine answers over ssh, its RDMA devices are up and its
// clock is set. One
// patient try: each given up would cost the machine a second of emulated processor.
func (l Lab) answers(ctx context.Context, node string) error {
	cmd := osexec.CommandContext(ctx, "ssh", "-F", l.run("ssh_config"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=60", node,
		"for i in $(seq 100); do "+
			"[ ! -e /run/systemd/timesync/synchronized ] || grep -L ACTIVE /sys/class/infiniband/*/ports/1/state | grep -q . || exit 0; sleep 0.2; done; "+
			"echo 'RDMA is not up, or the clock not set'; exit 1")
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("ssh: %w: %s", err, tail(out, 300))
	}
	return nil
}
