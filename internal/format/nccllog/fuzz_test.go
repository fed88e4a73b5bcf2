package nccllog

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"weft/internal/fixture"
)

// FuzzRead: whatever the bytes, reading ends, everything points to something that is
// there, texts are short and valid, and the same bytes give the same Log, in one file
// or cut into reads of any size.
func FuzzRead(f *testing.F) {
	fixture.Seed(f, "nccl_*", "rccl_*", "vllm_ray_worker*", "nccl-tests_broadcast_socket*")
	f.Add(made(2, 2, 2, direct))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Read(bytes.NewReader(b))
		for _, m := range l.Members {
			if m.Proc < 0 || m.Proc >= len(l.Procs) || m.Rank < -1 || len(m.Ptr) > 24 {
				t.Fatalf("member %+v of %d processes", m, len(l.Procs))
			}
		}
		for _, u := range l.Uses {
			if u.Member < 0 || u.Member >= len(l.Members) || u.Via.Kind == "" || len(u.Peers) > maxPeers || u.At.Line < 1 || u.At.Line > l.Lines {
				t.Fatalf("use %+v of %d members, %d lines", u, len(l.Members), l.Lines)
			}
		}
		for _, e := range l.Events {
			if e.Proc >= len(l.Procs) || e.Count < 1 || len(e.Text) > maxText || e.At.Line < 1 || e.Last.Line < e.At.Line {
				t.Fatalf("event %+v", e)
			}
		}
		for _, p := range l.Procs {
			if !utf8.ValidString(p.Host) || len(p.Host) > 255 {
				t.Fatalf("host %q", p.Host)
			}
		}
		one, jsonErr := json.Marshal(l)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		again, err2 := Read(oneByOne{bytes.NewReader(b)})
		two, _ := json.Marshal(again)
		if !bytes.Equal(one, two) || (err == nil) != (err2 == nil) {
			t.Fatalf("read otherwise in small pieces:\n%s %v\n%s %v", one, err, two, err2)
		}
	})
}

// oneByOne reads few bytes at a time.
type oneByOne struct{ r *bytes.Reader }

func (o oneByOne) Read(b []byte) (int, error) {
	if len(b) > 7 {
		b = b[:7]
	}
	return o.r.Read(b)
}
