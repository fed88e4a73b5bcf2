package exec

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Class says in which way a node did not do what it was asked.
type Class string

// The classes. Only CommandFailed means that the script ran to its end.
const (
	Unresolved     Class = "unresolved"       // its name has no address
	Unreachable    Class = "unreachable"      // nothing answers at its address
	Refused        Class = "refused"          // it answers, and nothing listens on the ssh port
	HostKeyUnknown Class = "host key unknown" // nobody here has accepted its key yet
	HostKeyChanged Class = "host key changed" // its key is not the one accepted before
	AuthFailed     Class = "auth failed"      // it does not accept this person
	SSHMissing     Class = "ssh missing"      // there is no ssh client here
	SSHFailed      Class = "ssh failed"       // ssh gave up for a reason of its own, see Detail
	Unstarted      Class = "unstarted"        // this machine could not start a process
	Lost           Class = "lost"             // the connection, or the shell at its end, was cut off
	TimedOut       Class = "timed out"        // the script did not end, or the ssh server did not speak, in time
	Interrupted    Class = "interrupted"      // the person or the caller stopped it
	CommandFailed  Class = "command failed"   // the script ran and its status was not 0
)

// Error is the one type for a job that did not end with status 0.
type Error struct {
	Target  Target
	Class   Class
	Started bool          // the script was seen to start, so it may have changed something
	Detail  string        // what ssh or the script said last, made safe to print; may have many lines
	Exit    int           // the script's status, for CommandFailed
	limit   time.Duration // the deadline that TimedOut passed, if it was the job's
	at      route
}

var errDeadline = errors.New("deadline")

// stopped is the error for a context that was done before there was a script.
func stopped(t Target, to route, cause error) *Error {
	e := &Error{Target: t, at: to}
	e.stop(cause, 0)
	return e
}

// stop classifies a context that is done.
func (e *Error) stop(cause error, limit time.Duration) {
	switch {
	case errors.Is(cause, errDeadline):
		e.Class, e.limit = TimedOut, limit
	case errors.Is(cause, context.DeadlineExceeded):
		e.Class = TimedOut
	default:
		e.Class = Interrupted
	}
}

// messages are what ssh says, in the C locale, for each class, the more telling
// first: a refused host key also ends in a closed connection.
var messages = []struct {
	class Class
	text  *regexp.Regexp
}{
	{HostKeyChanged, regexp.MustCompile(`(?m)^@ +WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! +@`)},
	{HostKeyUnknown, regexp.MustCompile(`(?m)^Host key verification failed\.`)},
	{AuthFailed, regexp.MustCompile(`(?m)^(\S+@\S+: Permission denied \(.*|.*: Too many authentication failures)`)},
	{Unresolved, regexp.MustCompile(`(?m)^ssh: Could not resolve hostname .*`)},
	{Refused, regexp.MustCompile(`(?m)^ssh: connect to host .*: Connection refused`)},
	{Unreachable, regexp.MustCompile(`(?m)^ssh: connect to host .*`)},
	{TimedOut, regexp.MustCompile(`(?m)^Connection (timed out during banner exchange|to \S+ port \d+ timed out)`)},
	{Lost, regexp.MustCompile(`(?m)^.*Connection (closed|reset|to \S+ closed) by .*`)},
}

// classify reads why ssh ended with its own status before the script started.
func classify(said string) Class {
	for _, m := range messages {
		if m.text.MatchString(said) {
			return m.class
		}
	}
	if said == "" {
		return Lost // the shell was killed before a word of it arrived
	}
	return SSHFailed
}

// Error is one line: the node, what happened and, where it adds something, what
// was said last.
func (e *Error) Error() string {
	line := e.what()
	if s := e.said(); s != "" {
		line += ": " + s
	}
	if e.Target.Name != "" {
		line = e.Target.Name + ": " + line
	}
	return line
}

func (e *Error) what() string {
	host, port := e.host(), e.at.port
	if port != "" {
		port = " port " + port
	}
	switch e.Class {
	case Unresolved:
		return "name " + host + " does not resolve"
	case Unreachable:
		return "no way to " + host + port
	case Refused:
		return "connection refused by " + host + port
	case HostKeyUnknown:
		return "host key not accepted yet"
	case HostKeyChanged:
		return "host key changed"
	case AuthFailed:
		return "login refused"
	case Lost:
		return "connection cut off"
	case TimedOut:
		if e.limit > 0 {
			return "no end in " + e.limit.String()
		}
	case Unstarted:
		return "process not started"
	case SSHMissing:
		return "ssh client not found"
	case SSHFailed:
		return "ssh gave up"
	case CommandFailed:
		return fmt.Sprintf("exit status %d", e.Exit)
	}
	return string(e.Class)
}

// said is the line of Detail that belongs to the class, or the last one.
func (e *Error) said() string {
	switch e.Class {
	case Unresolved, Refused, HostKeyUnknown, HostKeyChanged, Interrupted:
		return "" // what() says all of it
	}
	for _, m := range messages {
		if m.class == e.Class && !e.Started {
			// The last, because a jump host's banner may come before it.
			if all := m.text.FindAllString(e.Detail, -1); len(all) > 0 {
				return strings.TrimPrefix(strings.TrimSpace(all[len(all)-1]), "ssh: ")
			}
		}
	}
	last := e.Detail[strings.LastIndexByte(e.Detail, '\n')+1:]
	const long = 200 // a line of Error still fits a terminal or two
	if r := []rune(last); len(r) > long {
		last = string(r[:long]) + "…"
	}
	return last
}

func (e *Error) host() string {
	if e.at.host != "" {
		return Sanitise(e.at.host)
	}
	return Sanitise(e.Target.SSH)
}

// detail makes what was said safe to print and drops blank lines at its end.
func detail(s string) string {
	return strings.TrimRight(Sanitise(s), " \t\n")
}

var (
	sentKey    = regexp.MustCompile(`(?m)^The fingerprint for the (\S+) key sent by the remote host is\n(\S+?)\.?$`)
	knownAs    = regexp.MustCompile(`(?m)^Host key for (\S+) has changed`)
	knownIn    = regexp.MustCompile(`(?m)^Offending \S+ key in (.+):\d+$`)
	refusedFor = regexp.MustCompile(`(?m)^(\S+)@(\S+): Permission denied`)
)

// Hint is one line that says what the command of Next is for. It is "" when
// Next is.
func (e *Error) Hint() string {
	switch e.Class {
	case Unresolved:
		return "see what this machine knows about the name:"
	case Unreachable:
		return "see whether the node is on and on the network:"
	case Refused:
		return "on the node's own console, see whether its ssh server runs:"
	case HostKeyUnknown:
		return "compare the fingerprint this shows with the node's own, and accept it once:"
	case HostKeyChanged:
		file, shows := "/etc/ssh/ssh_host_*_key.pub", "the key it sends now"
		if m := sentKey.FindStringSubmatch(e.Detail); m != nil {
			file, shows = "/etc/ssh/ssh_host_"+strings.ToLower(m[1])+"_key.pub", m[2]
		}
		return "it was installed anew, or another machine answers for it: on its own console run ssh-keygen -lf " +
			file + ", and only if that shows " + shows + " forget the old key:"
	case AuthFailed:
		return "give the node your public key:"
	case Lost:
		return "see whether the node has restarted or run out of memory:"
	case TimedOut:
		return "see whether the node is busy:"
	case SSHMissing:
		return "install one (dnf install openssh-clients on Fedora and its kin):"
	case SSHFailed:
		return "see what ssh tries:"
	case Unstarted:
		return "see the limits on open files and processes:"
	}
	return ""
}

// Next is the command to paste next, or "" where only the caller knows it: for
// a script that said no, and after an interrupt. None of them weakens the check
// of host keys.
func (e *Error) Next() string {
	switch e.Class {
	case Unresolved:
		return "getent hosts " + quote(e.host())
	case Unreachable:
		return "ping -c 3 " + quote(e.host())
	case Refused:
		return "systemctl status ssh sshd" // Debian's name and everybody else's
	case HostKeyUnknown:
		return e.ssh("true")
	case HostKeyChanged:
		return e.forget()
	case AuthFailed:
		return e.copyID()
	case Lost, TimedOut:
		if e.Target.SSH == "" {
			return "uptime"
		}
		return e.ssh("uptime")
	case SSHMissing:
		return "sudo apt install openssh-client"
	case SSHFailed:
		return "ssh -v " + e.config() + quote(e.Target.SSH) + " true"
	case Unstarted:
		return "ulimit -n -u"
	}
	return ""
}

func (e *Error) config() string {
	if e.at.config == "" {
		return ""
	}
	return "-F " + quote(e.at.config) + " "
}

func (e *Error) ssh(command string) string {
	return "ssh " + e.config() + quote(e.Target.SSH) + " " + command
}

// copyID names the jump host when that is who refused.
func (e *Error) copyID() string {
	to := quote(e.Target.SSH)
	all := refusedFor.FindAllStringSubmatch(e.Detail, -1)
	m := []string{"", "", e.at.host}
	if len(all) > 0 {
		m = all[len(all)-1]
	}
	switch {
	case e.at.jump != "" && m[2] != e.at.host:
		to = quote(m[1] + "@" + m[2])
		if !strings.ContainsAny(e.at.jump, ",:") { // one alias, which also knows the port
			to = quote(e.at.jump)
		}
	case strings.HasPrefix(e.Target.SSH, "ssh://") && e.at.host != "":
		to = "-p " + e.at.port + " " + quote(e.at.user+"@"+e.at.host)
	}
	return "ssh-copy-id " + e.config() + to
}

// forget removes the old key under the name, and in the file, that ssh gave.
func (e *Error) forget() string {
	name := e.at.host
	if e.at.port != "" && e.at.port != "22" {
		name = "[" + name + "]:" + e.at.port
	}
	if m := knownAs.FindStringSubmatch(e.Detail); m != nil {
		name = m[1]
	}
	file := ""
	if m := knownIn.FindStringSubmatch(e.Detail); m != nil && !strings.HasSuffix(m[1], "/.ssh/known_hosts") {
		file = "-f " + quote(m[1]) + " "
	}
	return "ssh-keygen " + file + "-R " + quote(name)
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quote makes one shell word of s.
func quote(s string) string {
	s = Sanitise(s)
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
