package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/unit"
)

func TestReadQdiscs(t *testing.T) {
	const netem = `[{"kind":"mq","dev":"eth0","root":true,"options":{}},{"kind":"fq_codel","dev":"eth0","parent":":1","options":{}},{"kind":"fq_codel","dev":"eth0","parent":":2","options":{}},` +
		`{"kind":"netem","dev":"eth0","parent":":3","options":{"limit":1000,"delay":{"delay":0.005,"jitter":0.0005,"correlation":0},"loss-random":{"loss":0.01,"correlation":0},"rate":{"rate":12500000}}}]`
	const addr = `[{"ifindex":2,"ifname":"eth0","qdisc":"mq"}]`
	for name, x := range map[string]struct {
		addr, tc string
		want     []fact.Qdisc
		read     bool
	}{
		"equal ones once":            {addr, netem, []fact.Qdisc{{Kind: "mq"}, {Kind: "fq_codel"}, {Kind: "netem", Rate: fact.Some(100 * unit.Mbps), Does: []string{"delay 5ms 500µs", "loss 1%"}}}, true},
		"no tc":                      {addr, "", []fact.Qdisc{{Kind: "mq"}}, false},
		"neither":                    {"", "", nil, false},
		"a broken answer":            {addr, netem[:len(netem)-20], []fact.Qdisc{{Kind: "mq"}}, false},
		"a netdev that is left out":  {addr, `[{"kind":"fq","dev":"eth9","root":true,"options":{}}]`, nil, true},
		"what ip knows is not added": {addr, `[{"kind":"fq","dev":"eth0","root":true,"options":{}}]`, []fact.Qdisc{{Kind: "fq"}}, true},
	} {
		d := dump.NewNode("n")
		d.Text[netDir+"/eth0/ifindex"] = "2\n"
		d.Text[netDir+"/eth0/type"] = "1\n"
		if x.addr != "" {
			d.Text["$ ip -j -d addr"] = x.addr
		}
		if x.tc != "" {
			d.Text["$ tc -j qdisc show"] = x.tc
		}
		dev := Node(d).Netdev("eth0")
		if diff := cmp.Diff(x.want, dev.Qdiscs, cmp.AllowUnexported(fact.Val[unit.Rate]{})); diff != "" || dev.QdiscsRead != x.read {
			t.Errorf("%s: read %v, want %v; -want +got:\n%s", name, dev.QdiscsRead, x.read, diff)
		}
	}
}
