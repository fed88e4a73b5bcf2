package job

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"weft/internal/fact"
)

// sudo stands before what only root may do: weft may be a plain user on the node.
const sudo = `s=; [ "$(id -u)" = 0 ] || s="sudo -n"; `

// Starts is how often a part is started within an hour: crash loops are bounded.
const Starts = 3

const (
	window = "1h"
	pause  = 15 // seconds before it is started again
)

// part wraps a program as the order says and adds its files to the node.
func (l *Launch) part(o *Order, at *NodeLaunch, n *fact.Node, p program) {
	part := Part{Name: p.name, Role: p.role, Command: l.argv(p), Inside: p.inside != ""}
	if p.port > 0 {
		l.Ports = append(l.Ports, PortUse{at.Node, p.port, p.portFor})
	}
	if l.Bare == "" {
		part.Container = p.name
		if part.Inside {
			part.Container = p.inside
		}
	}
	switch l.Units {
	case "run":
		l.byHand(o, n, &part, p)
	case "quadlet":
		part.Unit = p.name + ".service"
		if part.Inside { // a quadlet is a container of its own
			at.Files = append(at.Files, File{Path: "/etc/systemd/system/" + part.Unit, Mode: 0o644, Text: l.service(o, n, &part, p)})
		} else {
			at.Files = append(at.Files, File{Path: "/etc/containers/systemd/" + p.name + ".container", Mode: 0o644, Text: l.quadlet(o, n, &part, p)})
		}
	default:
		part.Unit = p.name + ".service"
		at.Files = append(at.Files, File{Path: "/etc/systemd/system/" + part.Unit, Mode: 0o644, Text: l.service(o, n, &part, p)})
	}
	if part.Unit != "" {
		part.Start = sudo + "$s systemctl daemon-reload && $s systemctl reset-failed " + part.Unit + " 2>/dev/null; $s systemctl start --no-block " + part.Unit
		part.Stop = sudo + "$s systemctl stop " + part.Unit
		part.State = "systemctl show -p LoadState,ActiveState,SubState,Result,Job,NRestarts,ExecMainStatus,CPUUsageNSec " + part.Unit
		part.Log = sudo + "$s journalctl -u " + part.Unit + " -o cat --no-pager -q --show-cursor -n 4000 {since} | tail -c 1000000"
		part.Remove = sudo + "$s systemctl reset-failed " + part.Unit + " 2>/dev/null || :"
	}
	at.Parts = append(at.Parts, part)
}

// argv is the command with the full path that systemd wants, where there is no container.
func (l *Launch) argv(p program) []string {
	if l.Bare == "" {
		return p.command
	}
	return append([]string{path.Join(l.Bare, p.command[0])}, p.command[1:]...)
}

// unitHead is the first section of every unit.
func (l *Launch) unitHead(part *Part, p program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by weft serve up, run %s. weft serve down %s removes it.\n[Unit]\n", l.ID, l.Name)
	fmt.Fprintf(&b, "Description=weft serve %s: %s\n", l.Name, part.Role)
	// Not at boot, so nothing is said of the network: weft comes over it.
	var after []string
	if l.Runtime == "docker" {
		after = append(after, "docker.service")
		b.WriteString("Wants=docker.service\n") // where docker comes otherwise, there is none of this name
	}
	if p.after != "" {
		after = append(after, p.after+".service")
		fmt.Fprintf(&b, "BindsTo=%s.service\n", p.after)
	}
	if len(after) > 0 {
		fmt.Fprintf(&b, "After=%s\n", strings.Join(after, " "))
	}
	fmt.Fprintf(&b, "StartLimitIntervalSec=%s\nStartLimitBurst=%d\n", window, Starts)
	return b.String()
}

// service is a systemd service: a container run in the foreground, a command inside one, or
// a program of the node itself.
func (l *Launch) service(o *Order, n *fact.Node, part *Part, p program) string {
	var b strings.Builder
	b.WriteString(l.unitHead(part, p))
	b.WriteString("\n[Service]\nType=exec\nLimitMEMLOCK=infinity\nLimitNOFILE=1048576\nTasksMax=infinity\nCPUAccounting=yes\n")
	run := "/usr/bin/" + l.Runtime
	switch {
	case l.Bare != "":
		fmt.Fprintf(&b, "EnvironmentFile=%s/env\n", l.Folder)
		if len(l.Secrets) > 0 {
			fmt.Fprintf(&b, "EnvironmentFile=%s/secret.env\n", l.Folder)
		}
		fmt.Fprintf(&b, "Environment=%s\n", systemdWord("PATH="+l.Bare+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
		for _, v := range p.env {
			fmt.Fprintf(&b, "Environment=%s\n", systemdWord(v.Name+"="+v.Value))
		}
		fmt.Fprintf(&b, "ExecStart=%s\n", systemdLine(part.Command))
		b.WriteString("TimeoutStopSec=60\n")
	case part.Inside:
		fmt.Fprintf(&b, "ExecStart=%s\n", systemdLine(append(append(append([]string{run, "exec"}, execEnv(p)...), part.Container), l.inside(part)...)))
		fmt.Fprintf(&b, "ExecStop=%s\n", systemdLine([]string{run, "exec", part.Container, "sh", "-c", killInside}))
		b.WriteString("TimeoutStopSec=60\n")
	default:
		fmt.Fprintf(&b, "ExecStartPre=-%s\n", systemdLine(l.removeArgs(run, part.Container)))
		fmt.Fprintf(&b, "ExecStart=%s\n", systemdLine(append([]string{run, "run", "--rm"}, l.runArgs(o, n, part)...)))
		fmt.Fprintf(&b, "ExecStop=-%s\n", systemdLine([]string{run, "stop", "-t", "30", part.Container}))
		fmt.Fprintf(&b, "ExecStopPost=-%s\n", systemdLine(l.removeArgs(run, part.Container)))
		b.WriteString("TimeoutStopSec=90\n")
	}
	fmt.Fprintf(&b, "Restart=on-failure\nRestartSec=%d\n", pause)
	return b.String()
}

func (l *Launch) removeArgs(run, container string) []string {
	if l.Runtime == "docker" {
		return []string{run, "rm", "-f", container}
	}
	return []string{run, "rm", "-f", "-i", container}
}

// pidInside is where a command inside a container says which process it is: ending podman
// exec or docker exec does not end what it started.
const (
	pidInside  = "/tmp/weft-engine.pid"
	killInside = `kill "$(cat ` + pidInside + `)"`
)

// execEnv are the variables of a command inside a container, beside the container's own.
func execEnv(p program) (args []string) {
	for _, v := range p.env {
		args = append(args, "-e", v.Name+"="+v.Value)
	}
	return args
}

// inside runs a command in a container that is already there.
func (l *Launch) inside(part *Part) []string {
	return append([]string{"sh", "-c", `echo $$ >` + pidInside + ` && exec "$@"`, "sh"}, part.Command...)
}

// runArgs is what stands between "run" and the end: options, image, command.
func (l *Launch) runArgs(o *Order, n *fact.Node, part *Part) []string {
	args := []string{"--name", part.Container, "--network=host", "--ipc=host", "--ulimit=memlock=-1:-1", "--ulimit=stack=67108864:67108864", "--pids-limit=-1", "--cap-add=IPC_LOCK"}
	if l.Runtime == "docker" {
		args = append(args, "--init") // podman's needs a program that many nodes do not have
	}
	for _, d := range l.devices(n) {
		args = append(args, d.args(l.Runtime)...)
	}
	args = append(args, "--env-file", l.Folder+"/env")
	if len(l.Secrets) > 0 {
		args = append(args, "--env-file", l.Folder+"/secret.env")
	}
	for _, m := range l.mounts(o) {
		args = append(args, "-v", m)
	}
	// The engines' images have entry points that add to the command; here it is whole.
	args = append(args, "--entrypoint", part.Command[0], l.Image)
	return append(args, part.Command[1:]...)
}

// device is what a container is given of the node.
type device struct{ kind, value string }

// devices are the RDMA cards and the GPUs. GPUs come by CDI (podman), by docker's --gpus,
// or as the device files that AMD's and Intel's libraries open.
func (l *Launch) devices(n *fact.Node) (out []device) {
	if len(n.Ports) > 0 {
		out = append(out, device{"device", "/dev/infiniband"})
	}
	switch vendor(n) {
	case "NVIDIA":
		if l.Runtime == "docker" {
			out = append(out, device{"gpus", "all"})
		} else {
			out = append(out, device{"device", "nvidia.com/gpu=all"})
		}
	case "AMD":
		if l.Runtime == "podman" && slices.Contains(n.Settings.CDI, "amd.com/gpu") {
			out = append(out, device{"device", "amd.com/gpu=all"})
		} else {
			// ROCm opens /dev/kfd; both files belong to the groups video and render.
			out = append(out, device{"device", "/dev/kfd"}, device{"device", "/dev/dri"}, device{"group", "video"}, device{"group", "render"}, device{"security", "seccomp=unconfined"})
		}
	case "Intel":
		out = append(out, device{"device", "/dev/dri"})
	}
	if l.Runtime == "podman" {
		// SELinux keeps containers from device files that have no label of theirs.
		out = append(out, device{"security", "label=disable"})
	}
	return out
}

func (d device) args(runtime string) []string {
	switch d.kind {
	case "gpus":
		return []string{"--gpus", d.value}
	case "group":
		return []string{"--group-add", d.value}
	case "security":
		return []string{"--security-opt", d.value}
	}
	return []string{"--device", d.value}
}

// mounts are the folders that a container sees.
func (l *Launch) mounts(o *Order) (out []string) {
	if o.Cache != "" {
		out = append(out, o.Cache+":/root/.cache/huggingface")
	}
	if l.Executor == "ray" {
		out = append(out, l.Folder+"/vllm:/etc/weft/vllm:ro")
	}
	if o.Models != "" {
		out = append(out, o.Models+":"+o.Models+":ro")
	} else if strings.HasPrefix(o.Model, "/") {
		dir := path.Clean(o.Model)
		if strings.HasSuffix(dir, ".gguf") {
			dir = path.Dir(dir)
		}
		out = append(out, dir+":"+dir+":ro")
	}
	return out
}

// quadlet is podman's own kind of unit, from which its generator makes a service.
func (l *Launch) quadlet(o *Order, n *fact.Node, part *Part, p program) string {
	var b strings.Builder
	b.WriteString(l.unitHead(part, p))
	fmt.Fprintf(&b, "\n[Container]\nContainerName=%s\nImage=%s\n", part.Container, quadletValue(l.Image))
	fmt.Fprintf(&b, "Exec=%s\n", systemdLine(part.Command[1:]))
	b.WriteString("Network=host\nLogDriver=passthrough\nAddCapability=IPC_LOCK\n")
	// Entrypoint=, Pull= and others came later than PodmanArgs= (podman 4.5).
	args := []string{"--entrypoint=" + quadletValue(part.Command[0]), "--pull=never", "--ipc=host", "--ulimit=memlock=-1:-1", "--ulimit=stack=67108864:67108864", "--pids-limit=-1"}
	for _, d := range l.devices(n) {
		switch {
		case d.kind == "device":
			fmt.Fprintf(&b, "AddDevice=%s\n", d.value)
		case d.value == "label=disable":
			b.WriteString("SecurityLabelDisable=true\n")
		default:
			args = append(args, strings.Join(d.args("podman"), "="))
		}
	}
	fmt.Fprintf(&b, "EnvironmentFile=%s/env\n", l.Folder)
	if len(l.Secrets) > 0 {
		fmt.Fprintf(&b, "EnvironmentFile=%s/secret.env\n", l.Folder)
	}
	for _, m := range l.mounts(o) {
		fmt.Fprintf(&b, "Volume=%s\n", m)
	}
	for _, a := range args {
		fmt.Fprintf(&b, "PodmanArgs=%s\n", a)
	}
	fmt.Fprintf(&b, "\n[Service]\nLimitMEMLOCK=infinity\nTasksMax=infinity\nCPUAccounting=yes\nRestart=on-failure\nRestartSec=%d\nTimeoutStartSec=15min\nTimeoutStopSec=90\n", pause)
	return b.String()
}

// byHand is without systemd: nothing starts it again, neither after a crash nor a reboot.
func (l *Launch) byHand(o *Order, n *fact.Node, part *Part, p program) {
	run := sudo + "$s " + l.Runtime
	if part.Inside {
		// What a command inside says would be lost; the first process's output is kept.
		cmd := []string{"sh", "-c", `echo $$ >` + pidInside + ` && exec "$@" >/proc/1/fd/1 2>&1`, "sh"}
		part.Start = run + " exec -d " + shellLine(execEnv(p)) + " " + part.Container + " " + shellLine(append(cmd, part.Command...))
		part.Stop = run + " exec " + part.Container + " sh -c " + shellWord(killInside) + " || :"
		// The engine runs as long as its process does.
		part.State = run + " exec " + part.Container + " sh -c " + shellWord(`if [ ! -e `+pidInside+` ]; then echo ActiveState=activating; elif kill -0 "$(cat `+pidInside+`)" 2>/dev/null; then echo ActiveState=active; else echo ActiveState=failed; fi`)
		part.Log = "" // with the container's
		part.Remove = ":"
		return
	}
	part.Start = run + " run -d " + shellLine(l.runArgs(o, n, part))
	part.Stop = run + " stop -t 30 " + part.Container
	part.State = run + ` container inspect --format 'ActiveState={{if .State.Running}}active{{else if .State.ExitCode}}failed{{else}}inactive{{end}}{{"\n"}}ExecMainStatus={{.State.ExitCode}}' ` + part.Container
	part.Log = run + " logs " + part.Container + " 2>&1 | tail -n +{since} | head -c 1000000"
	part.Remove = sudo + "$s " + shellLine(l.removeArgs(l.Runtime, part.Container)) + " >/dev/null"
}

// systemdLine writes arguments as ExecStart= reads them.
func systemdLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = systemdWord(a)
	}
	return strings.Join(words, " ")
}

// systemdWord quotes one argument: %, $ and \ mean something to systemd (systemd.service(5),
// COMMAND LINES; systemd.unit(5), SPECIFIERS).
func systemdWord(s string) string {
	s = strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`).Replace(s)
	if s == "" || strings.ContainsAny(s, " \t'\";#&|<>(){}*?[]!~`") {
		return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
	}
	return s
}

// quadletValue is a value of which quadlet expands the specifiers of systemd.
func quadletValue(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// shellLine writes arguments as a shell reads them.
func shellLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = shellWord(a)
	}
	return strings.Join(words, " ")
}

func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("=_-./:,@+", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
