package clock

import (
	"context"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	askARP = `ffffffffffff 525400000001 0806 0001 0800 06 04 0001 525400000001 0a5a0001 000000000000 0a5a00fa`
	sayARP = `525400000001 5254000000fa 0806 0001 0800 06 04 0002 5254000000fa 0a5a00fa 525400000001 0a5a0001`
	// NTP version 4, client; its own time is 1.5 s.
	askNTP = `5254000000fa 525400000001 0800 4500004c 00004000 4011 263c 0a5a0001 0a5a00fa 3039 007b 0038 0000
		23 00 06 ec 00000000 00000000 00000000 0000000000000000 0000000000000000 0000000000000000 0000000180000000`
	// At 1970-01-01 00:00:02.25: 0x83aa7e82.
	sayNTP = `525400000001 5254000000fa 0800 4500004c 00004000 4011 24f3 0a5a00fa 0a5a0001 007b 3039 0038 0000
		24 02 06 ec 00000000 00000040 7f000001 83aa7e8240000000 0000000180000000 83aa7e8240000000 83aa7e8240000000`
)

func TestReply(t *testing.T) {
	now := time.Unix(2, 250e6)
	edit := func(frame string, at int, b ...byte) string {
		f := bytesOf(t, frame)
		copy(f[at:], b)
		return hex.EncodeToString(f)
	}
	for name, c := range map[string]struct{ ask, want string }{
		"arp":                 {askARP, sayARP},
		"arp for another":     {edit(askARP, 41, 0xfb), ""},
		"an arp reply":        {edit(askARP, 21, 2), ""},
		"ntp":                 {askNTP, sayNTP},
		"ntp to another":      {edit(askNTP, 33, 0xfb), ""},
		"ntp to another port": {edit(askNTP, 37, 0x7c), ""},
		"an ntp server":       {edit(askNTP, 42, 0x24), ""},
		"tcp":                 {edit(askNTP, 23, 6), ""},
		"ip options":          {edit(askNTP, 14, 0x46), ""},
		"short ntp":           {askNTP[:len(askNTP)-8], ""},
		"ipv6":                {edit(askNTP, 12, 0x86, 0xdd), ""},
		"nothing":             {"", ""},
	} {
		// The sum of the question does not matter: the switch does not alter frames.
		if got := hex.EncodeToString(reply(bytesOf(t, c.ask), now)); got != strings.Join(strings.Fields(c.want), "") {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, strings.Join(strings.Fields(c.want), ""))
		}
	}
}

func TestServe(t *testing.T) {
	dir, err := os.MkdirTemp("", "c") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	own, peer := filepath.Join(dir, "vm"), filepath.Join(dir, "sw")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: peer, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, own, peer) }()
	buf := make([]byte, 2048)
	for deadline := time.Now().Add(5 * time.Second); ; {
		conn.WriteTo(bytesOf(t, askARP), &net.UnixAddr{Name: own, Net: "unixgram"})
		conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := conn.Read(buf)
		if err == nil {
			if got := hex.EncodeToString(buf[:n]); got != strings.Join(strings.Fields(sayARP), "") {
				t.Errorf("got %s", got)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no answer within 5 s")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(own); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if a := reply(frame, time.Unix(0, 0)); len(a) > 0 && len(a) > len(frame) {
			t.Errorf("an answer of %d bytes to %d", len(a), len(frame))
		}
	})
}
