package iproute

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What tc of iproute2 6.1 answered on Linux 6.1, one element a line.
const qdiscSample = `[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
{"kind":"mq","handle":"8010:","dev":"d1","root":true,"options":{}},
{"kind":"fq_codel","handle":"0:","dev":"d1","parent":"8010:1","options":{"limit":10240,"flows":1024,"quantum":1514,"target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64}},
{"kind":"netem","handle":"8002:","dev":"d2","root":true,"refcnt":5,"options":{"limit":1000,"delay":{"delay":0.005,"jitter":0.001,"correlation":0.25},"loss-random":{"loss":0.01,"correlation":0},"rate":{"rate":12500000,"packetoverhead":0,"cellsize":0,"celloverhead":0},"ecn":false,"gap":0}},
{"kind":"netem","handle":"8003:","dev":"d3","parent":"1:10","options":{"limit":1000,"delay":{"delay":0.01,"jitter":0,"correlation":0},"duplicate":{"duplicate":0.01,"correlation":0},"reorder":{"reorder":0.25,"correlation":0},"corrupt":{"corrupt":0.001,"correlation":0},"ecn":false,"gap":5}},
{"kind":"netem","handle":"8004:","dev":"d4","root":true,"refcnt":5,"options":{"limit":1000,"loss-gemodel":{"p":0.01,"r":0.1,"1-h":1,"1-k":0},"ecn":false,"gap":0}},
{"kind":"netem","handle":"8006:","dev":"d5","root":true,"refcnt":5,"options":{"limit":1000,"slot":{"min-delay":0.0008,"max-delay":0.01,"packets":32,"bytes":0},"ecn":false,"gap":0}},
{"kind":"tbf","handle":"8009:","dev":"d6","root":true,"refcnt":5,"options":{"rate":5000000000,"burst":10485000,"lat":400000}},
{"kind":"hfsc","handle":"800c:","dev":"d7","root":true,"refcnt":5,"options":{default 1 }},
{"kind":"cake","handle":"800d:","dev":"d8","root":true,"refcnt":5,"options":{"bandwidth":125000000,"diffserv":"diffserv3","rtt":100000,"fwmark":"0"}},
{"kind":"cake","handle":"800e:","dev":"d9","root":true,"refcnt":5,"options":{"bandwidth":"unlimited","diffserv":"diffserv3"}},
{"kind":"htb","handle":"1:","dev":"d10","root":true,"refcnt":5,"options":{"r2q":10,"default":"0x10","direct_packets_stat":0,"direct_qlen":1000}},
{"kind":"ingress","handle":"ffff:","dev":"d10","parent":"ffff:fff1","options":{}}]
`

func TestParseQdiscs(t *testing.T) {
	rate := func(n uint64) *uint64 { return &n }
	want := []Qdisc{
		{Kind: "noqueue", Dev: "lo", Root: true},
		{Kind: "mq", Dev: "d1", Root: true},
		{Kind: "fq_codel", Dev: "d1", Parent: "8010:1"},
		{Kind: "netem", Dev: "d2", Root: true, Rate: rate(12500000), Netem: &Netem{Delay: 0.005, Jitter: 0.001, Loss: 0.01}},
		{Kind: "netem", Dev: "d3", Parent: "1:10", Netem: &Netem{Delay: 0.01, Duplicate: 0.01, Reorder: 0.25, Corrupt: 0.001}},
		{Kind: "netem", Dev: "d4", Root: true, Netem: &Netem{Bursts: true}},
		{Kind: "netem", Dev: "d5", Root: true, Netem: &Netem{Slots: true}},
		{Kind: "tbf", Dev: "d6", Root: true, Rate: rate(5000000000)},
		{Kind: "hfsc", Dev: "d7", Root: true},
		{Kind: "cake", Dev: "d8", Root: true, Rate: rate(125000000)},
		{Kind: "cake", Dev: "d9", Root: true},
		{Kind: "htb", Dev: "d10", Root: true},
		{Kind: "ingress", Dev: "d10", Parent: "ffff:fff1"},
	}
	got, err := ParseQdiscs([]byte(qdiscSample))
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Qdisc{}, "Again")); d != "" || err != nil {
		t.Errorf("%v; -want +got:\n%s", err, d)
	}
}

func TestParseQdiscsKeepsWhatItCanRead(t *testing.T) {
	for name, c := range map[string]struct {
		in, err string
		want    []Qdisc
	}{
		"nothing":            {"[]\n", "", nil},
		"text of an old tc":  {`[{"kind":"tbf","dev":"d0","root":true,"options":{rate 100Mbit burst 4Kb lat 400ms }}]`, "", []Qdisc{{Kind: "tbf", Dev: "d0", Root: true}}},
		"cut":                {`[{"kind":"fq","dev":"d0","root":true,"options":{}},{"kind":"net`, "line 1: ", []Qdisc{{Kind: "fq", Dev: "d0", Root: true}}},
		"odd options":        {`[{"kind":"netem","dev":"d0","root":true,"options":{"delay":"5ms","loss-random":{"loss":0.5}}}]`, "", []Qdisc{{Kind: "netem", Dev: "d0", Root: true, Netem: &Netem{Loss: 0.5}}}},
		"a negative rate":    {`[{"kind":"netem","dev":"d0","root":true,"options":{"rate":{"rate":-5}}}]`, "", []Qdisc{{Kind: "netem", Dev: "d0", Root: true, Netem: &Netem{}}}},
		"one device, no dev": {`[{"kind":"fq","handle":"8013:","root":true,"options":{}}]`, "", nil},
		"no JSON":            {"qdisc noqueue 0: dev lo root refcnt 2\n", "line 1: ", nil},
	} {
		got, err := ParseQdiscs([]byte(c.in))
		if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Qdisc{}, "Again")); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
	}
}

func FuzzQdiscs(f *testing.F) {
	f.Add([]byte(qdiscSample))
	f.Add([]byte("qdisc noqueue 0: dev lo root refcnt 2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := ParseQdiscs(b)
		for _, q := range got {
			if q.Dev == "" || (q.Netem != nil) != (q.Kind == "netem") {
				t.Errorf("odd qdisc kept: %+v", q)
			}
		}
	})
}
