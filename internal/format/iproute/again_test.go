package iproute

import (
	"strings"
	"testing"
)

// What ip 6.1 and tc 6.1 answered on Linux 6.1, and what they were told to make it.
func TestAgain(t *testing.T) {
	addr := func(s string) string { return addrAgain([]byte(s)) }
	route := func(s string) string { return routeAgain([]byte(s)) }
	qdisc := func(s string) string { return qdiscAgain([]byte(s)) }
	const ever = `"valid_life_time":4294967295,"preferred_life_time":4294967295`
	for _, tt := range []struct {
		read       func(string) string
		told, want string
	}{
		{addr, `{"family":"inet","local":"10.20.0.2","prefixlen":24,"broadcast":"10.20.0.255","scope":"global","label":"rail0",` + ever + `}`,
			"10.20.0.2/24 brd 10.20.0.255 scope global"},
		{addr, `{"family":"inet","local":"10.20.0.3","prefixlen":24,"metric":7,"broadcast":"10.20.0.255","scope":"global","secondary":true,"noprefixroute":true,"label":"rail0:1",` + ever + `}`,
			"10.20.0.3/24 brd 10.20.0.255 scope global label rail0:1 metric 7 noprefixroute"},
		{addr, `{"family":"inet","local":"10.1.0.1","address":"10.1.0.2","prefixlen":32,"scope":"global","label":"rail0",` + ever + `}`,
			"10.1.0.1 peer 10.1.0.2/32 scope global"},
		{addr, `{"family":"inet6","local":"2001:db8::2","prefixlen":64,"scope":"global","nodad":true,` + ever + `}`, "2001:db8::2/64 scope global nodad"},
		{addr, `{"family":"inet","local":"10.0.0.7","prefixlen":24,"scope":"global","dynamic":true,"label":"e","valid_life_time":3001,"preferred_life_time":3001}`, ""},
		{addr, `{"family":"inet","local":"10.0.0.7","prefixlen":24,"scope":"global","label":"a:b dev mgmt0",` + ever + `}`, ""},
		{addr, `{"family":"inet","local":"10.0.0.7","prefixlen":24,"scope":"17",` + ever + `}`, ""},
		{addr, `{"family":"inet","local":"10.0.0.7","scope":"global",` + ever + `}`, ""},
		{addr, `[]`, ""},

		{route, `{"dst":"default","gateway":"10.20.0.254","dev":"rail0","flags":[]}`, "default via 10.20.0.254 dev rail0 proto boot"},
		{route, `{"dst":"10.20.0.0/24","dev":"rail0","protocol":"kernel","scope":"link","prefsrc":"10.20.0.2","metric":100,"flags":["linkdown"]}`,
			"10.20.0.0/24 dev rail0 proto kernel scope link src 10.20.0.2 metric 100"},
		{route, `{"dst":"10.9.0.1","gateway":"10.20.0.9","dev":"rail0","protocol":"static","flags":["onlink"]}`, "10.9.0.1 via 10.20.0.9 dev rail0 proto static onlink"},
		{route, `{"dst":"10.9.0.0/16","dev":"rail0","metrics":[{"mtu":9000}],"flags":[]}`, ""},
		{route, `{"type":"blackhole","dst":"10.9.0.0/16","flags":[]}`, ""},
		{route, `{"dst":"10.9.0.0/16","flags":[],"nexthops":[{"gateway":"10.20.0.9","dev":"rail0"}]}`, ""},
		{route, `{"dst":"10.9.0.0/16","dev":"a b","flags":[]}`, ""},

		{qdisc, `{"kind":"netem","handle":"8001:","dev":"rail0","root":true,"refcnt":2,"options":{"limit":1000,"loss-random":{"loss":0.01,"correlation":0},"ecn":false,"gap":0}}`,
			"root handle 8001: netem limit 1000 loss 1%"},
		{qdisc, `{"kind":"netem","handle":"8002:","dev":"rail0","root":true,"refcnt":2,"options":{"limit":1000,"delay":{"delay":0.005,"jitter":0,"correlation":0},"rate":{"rate":12500000,"packetoverhead":0,"cellsize":0,"celloverhead":0},"ecn":false,"gap":0}}`,
			"root handle 8002: netem limit 1000 delay 5000us rate 100000000bit"},
		{qdisc, `{"kind":"netem","handle":"8002:","dev":"rail0","root":true,"options":{"limit":1000,"delay":{"delay":0.005,"jitter":0.001,"correlation":0},"ecn":false,"gap":0}}`, ""},
		{qdisc, `{"kind":"netem","handle":"8002:","dev":"rail0","root":true,"refcnt":2,"options":{"limit":77,"delay":{"delay":0.002499,"jitter":0,"correlation":0},"ecn":false,"gap":0}}`, ""},
		{qdisc, `{"kind":"netem","handle":"8002:","dev":"rail0","parent":"1:1","options":{"limit":1000,"ecn":false,"gap":0}}`, ""},
		{qdisc, `{"kind":"netem","handle":"8002:","dev":"rail0","root":true,"options":{"limit":1000,"loss-random":{"loss":0.0123456,"correlation":0}}}`, ""},
		{qdisc, `{"kind":"netem","handle":"8002:","dev":"rail0","root":true,"options":{"limit":1000,"loss-state":{"p13":1}}}`, ""},
		{qdisc, `{"kind":"tbf","handle":"8002:","dev":"rail0","root":true,"options":{"rate":125000}}`, ""},
	} {
		if got := tt.read(tt.told); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.told, got, tt.want)
		}
	}
}

// FuzzAgain: whatever a node says, the words are words of ip and tc and no more: one
// line, printable, and each as it was told.
func FuzzAgain(f *testing.F) {
	f.Add(`{"local":"10.0.0.1","prefixlen":24,"scope":"global","label":"a:b","valid_life_time":4294967295,"preferred_life_time":4294967295}`)
	f.Add(`{"dst":"default","gateway":"10.20.0.254","dev":"rail0","flags":["onlink"],"metric":1}`)
	f.Add(`{"kind":"netem","handle":"1:","root":true,"options":{"limit":1,"seed":12,"loss-random":{"loss":0.5,"correlation":0}}}`)
	f.Fuzz(func(t *testing.T, told string) {
		for _, got := range []string{addrAgain([]byte(told)), routeAgain([]byte(told)), qdiscAgain([]byte(told))} {
			if strings.Join(strings.Fields(got), " ") != got || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%q", got)
			}
		}
	})
}
