package exec

import (
	"strings"
	"testing"
)

// TestClassify has the messages that the lab cannot bring about.
func TestClassify(t *testing.T) {
	tests := []struct {
		said string
		want Class
	}{
		{"ssh: connect to host gpu1 port 22: No route to host", Unreachable},
		{"ssh: connect to host gpu1 port 22: Network is unreachable", Unreachable},
		{"ssh: connect to host gpu1 port 22: Connection timed out", Unreachable},
		{"ssh: connect to host gpu1 port 22: Operation timed out", Unreachable},
		{"ssh: connect to host gpu1 port 22: Connection refused", Refused},
		{"ssh: Could not resolve hostname gpu1: Temporary failure in name resolution", Unresolved},
		{"Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\nDisconnected from 10.0.0.1 port 22", AuthFailed},
		{"ann@gpu1: Permission denied (publickey,password).", AuthFailed},
		{"No ED25519 host key is known for gpu1 and you have requested strict checking.\nHost key verification failed.", HostKeyUnknown},
		{"Connection to 10.0.0.1 port 22 timed out", TimedOut},
		{"kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.1 port 22", Lost},
		{"ssh_exchange_identification: Connection closed by remote host", Lost},
		{"", Lost},
		{"Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa", SSHFailed},
		{"/home/ann/.ssh/config: line 3: Bad configuration option: foo", SSHFailed},
		{"cat: /sys/x: Permission denied", SSHFailed},
	}
	for _, tt := range tests {
		if got := classify(tt.said); got != tt.want {
			t.Errorf("classify(%q) = %s, want %s", tt.said, got, tt.want)
		}
	}
}

func TestErrorWords(t *testing.T) {
	gpu1 := Target{"gpu1", "gpu1"}
	at := route{user: "ann", host: "gpu1.lan", port: "22"}
	changed := "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n" +
		"Offending ED25519 key in /home/ann/.ssh/known_hosts:7\n" +
		"Host key for gpu1.lan has changed and you have requested strict checking.\nHost key verification failed."
	tests := []struct {
		err           Error
		message, next string
	}{
		{Error{Target: gpu1, Class: Unreachable, Detail: "no answer in 1.3s", at: at},
			"gpu1: no way to gpu1.lan port 22: no answer in 1.3s", "ping -c 3 gpu1.lan"},
		{Error{Target: gpu1, Class: Unreachable, Detail: "ssh: connect to host gpu1.lan port 22: No route to host", at: at},
			"gpu1: no way to gpu1.lan port 22: connect to host gpu1.lan port 22: No route to host", "ping -c 3 gpu1.lan"},
		{Error{Target: gpu1, Class: Refused, at: at},
			"gpu1: connection refused by gpu1.lan port 22", "systemctl status ssh sshd"},
		{Error{Target: gpu1, Class: Refused}, // made by hand
			"gpu1: connection refused by gpu1", "systemctl status ssh sshd"},
		{Error{Target: gpu1, Class: HostKeyChanged, Detail: changed, at: at},
			"gpu1: host key changed", "ssh-keygen -R gpu1.lan"},
		{Error{Target: gpu1, Class: HostKeyChanged, at: route{host: "gpu1.lan", port: "2200"}},
			"gpu1: host key changed", "ssh-keygen -R '[gpu1.lan]:2200'"},
		{Error{Target: gpu1, Class: HostKeyUnknown, at: at},
			"gpu1: host key not accepted yet", "ssh gpu1 true"},
		{Error{Target: gpu1, Class: AuthFailed, Detail: "ann@gpu1.lan: Permission denied (publickey).", at: at},
			"gpu1: login refused: ann@gpu1.lan: Permission denied (publickey).", "ssh-copy-id gpu1"},
		{Error{Target: Target{"gpu1", "ssh://ann@gpu1.lan:2200"}, Class: AuthFailed, at: route{user: "ann", host: "gpu1.lan", port: "2200"}},
			"gpu1: login refused", "ssh-copy-id -p 2200 ann@gpu1.lan"},
		{Error{Target: gpu1, Class: AuthFailed, Detail: "bob@door: Permission denied (publickey).",
			at: route{host: "gpu1.lan", jump: "bob@door:2200", proxied: true}},
			"gpu1: login refused: bob@door: Permission denied (publickey).", "ssh-copy-id bob@door"},
		{Error{Target: gpu1, Class: Unresolved, at: at},
			"gpu1: name gpu1.lan does not resolve", "getent hosts gpu1.lan"},
		{Error{Target: gpu1, Class: SSHMissing},
			"gpu1: ssh client not found", "sudo apt install openssh-client"},
		{Error{Target: Target{"gpu1", "it's; rm"}, Class: SSHFailed, Detail: "bad"},
			"gpu1: ssh gave up: bad", `ssh -v 'it'\''s; rm' true`},
		{Error{Target: gpu1, Class: Lost, Started: true, Detail: "one\nclient_loop: send disconnect: Broken pipe"},
			"gpu1: connection cut off: client_loop: send disconnect: Broken pipe", "ssh gpu1 uptime"},
		{Error{Target: gpu1, Class: TimedOut}, "gpu1: timed out", "ssh gpu1 uptime"},
		{Error{Target: gpu1, Class: Interrupted, Started: true, Detail: "half way"}, "gpu1: interrupted", ""},
		{Error{Target: gpu1, Class: Unstarted, Detail: "pipe2: too many open files"},
			"gpu1: process not started: pipe2: too many open files", "ulimit -n -u"},
		{Error{Target: Target{Name: "here"}, Class: CommandFailed, Exit: 127, Detail: "sh: 1: ibstat: not found"},
			"here: exit status 127: sh: 1: ibstat: not found", ""},
		{Error{Target: gpu1, Class: CommandFailed, Exit: 1, Detail: strings.Repeat("x", 300)},
			"gpu1: exit status 1: " + strings.Repeat("x", 200) + "…", ""},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.message {
			t.Errorf("message %q\nwant    %q", got, tt.message)
		}
		if got := tt.err.Next(); got != tt.next {
			t.Errorf("%s: next %q, want %q", tt.message, got, tt.next)
		}
		if (tt.err.Hint() == "") != (tt.next == "") {
			t.Errorf("%s: hint %q with next %q", tt.message, tt.err.Hint(), tt.next)
		}
	}
}
