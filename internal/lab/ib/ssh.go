package ib

import (
	"bytes"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"time"

	"weft/internal/lab/own"
)

// keyAlias is the name under which the one host key of the lab is known.
const keyAlias = "weft-lab-ib"

// sshConfig leads to any host of the fabric: a real sshd that runs inside it, asked
// through a pipe. No port is opened.
const sshConfig = `Host node*
  User root
  ProxyCommand @FOLDER@/host %n
  HostKeyAlias ` + keyAlias + `
  UserKnownHostsFile @FOLDER@/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  IdentityFile @FOLDER@/user_key
  IdentitiesOnly yes
  IdentityAgent none
`

// sshdConfig lets in root with the lab's key and nobody else. The folder is for its
// owner alone, which sshd cannot tell where a parent, like /tmp, is not.
const sshdConfig = `HostKey ` + inside + `/host_key
AuthorizedKeysFile ` + inside + `/user_key.pub
StrictModes no
AllowUsers root
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PidFile none
AllowTcpForwarding no
LogLevel ERROR
PrintMotd no
ForceCommand cd ` + inside + `/cwd && PATH=` + inside + `/bin:$PATH exec sh ${SSH_ORIGINAL_COMMAND:+-c "$SSH_ORIGINAL_COMMAND"}
`

// hostScript is one connection to a simulated host: sshd in the fabric, with the
// host's name, whose commands see the host's port. The holder's number may be
// another process's by now, so its mark is looked at first.
const hostScript = `#!/bin/sh
grep -qszxF @OWNER@ /proc/@HOLDER@/environ || { echo 'the fabric is not up: weft lab ib up' >&2; exit 1; }
grep -qsF "Hca	1 \"$1\"" @FOLDER@/net || { echo "$1: no such host in the fabric" >&2; exit 1; }
export @OWNER@
exec nsenter --target @HOLDER@ --net --mount unshare --uts sh -c '
hostname "$1"
exec @SSHD@ -i -f ` + inside + `/sshd_config -o "SetEnv SIM_HOST=$1 @OWNER@"' sh "$1"
`

// toolScript is a tool of infiniband-diags as a simulated host has it. Only the tools
// are preloaded: a shell that is ends as soon as it looks at /sys/class/infiniband.
const toolScript = `#!/bin/sh
LD_PRELOAD=@PRELOAD@ exec @TOOL@ "$@"
`

// tools are the programs of infiniband-diags that speak to the fabric themselves; the
// others are scripts around them.
var tools = []string{"ibaddr", "iblinkinfo", "ibnetdiscover", "ibping", "ibportstate", "ibqueryerrors", "ibroute", "ibstat", "ibtracert", "perfquery", "saquery", "sminfo", "smpdump", "smpquery"}

// writeSSH makes the keys and the files of both ends.
func (l *lab) writeSSH(ctx context.Context) error {
	for _, key := range []string{"host_key", "user_key"} {
		if _, err := l.output(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", keyAlias, "-f", l.path(key)); err != nil {
			return err
		}
	}
	key, err := os.ReadFile(l.path("host_key.pub"))
	if err != nil {
		return err
	}
	fill := strings.NewReplacer("@FOLDER@", l.folder, "@HOLDER@", fmt.Sprint(l.state.Holder), "@OWNER@", mark(l.folder), "@SSHD@", find("sshd"))
	if err := os.Mkdir(l.path("bin"), 0o700); err != nil {
		return err
	}
	for _, tool := range tools {
		text := strings.NewReplacer("@PRELOAD@", preload(), "@TOOL@", find(tool)).Replace(toolScript)
		if err := os.WriteFile(l.path("bin/"+tool), []byte(text), 0o700); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"known_hosts", keyAlias + " " + string(key), 0o600},
		{"ssh_config", fill.Replace(sshConfig), 0o600},
		{"sshd_config", fill.Replace(sshdConfig), 0o600},
		{"host", fill.Replace(hostScript), 0o700},
	} {
		if err := os.WriteFile(l.path(f.name), []byte(f.text), f.mode); err != nil {
			return err
		}
	}
	return nil
}

// mark is the variable that own knows the fabric's processes by. sshd starts its
// sessions with an environment of its own, so it has to be told.
func mark(folder string) string {
	env := own.Env(folder)
	return env[len(env)-1]
}

// greet logs in at the first host, so that what is wrong is said by up.
func (l *lab) greet(ctx context.Context) error {
	_, err := l.output(ctx, "ssh", "-F", l.path("ssh_config"), "-o", "BatchMode=yes", hostName(0), "true")
	return err
}

// outputLimit bounds a command that up itself needs: a login takes about 0.3 s.
const outputLimit = 20 * time.Second

// output runs a command of this machine and returns what it printed.
func (l *lab) output(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, outputLimit, fmt.Errorf("no answer within %v", outputLimit))
	defer cancel()
	cmd := osexec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.WaitDelay = own.Env(l.folder), time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case context.Cause(ctx) != nil:
		return "", fmt.Errorf("%s: %w", argv[0], context.Cause(ctx))
	}
	return "", fmt.Errorf("%s: %w: %.300s", argv[0], err, strings.TrimSpace(said.String()))
}
