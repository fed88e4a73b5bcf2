package plan

import (
	"fmt"
	"testing"
	"time"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
)

// BenchmarkFigurePlan plans for 1,000 nodes that all have the wrong MTU and too little
// lockable memory. Its peer is the judging, twice, that a plan rests on.
func BenchmarkFigurePlan(b *testing.B) {
	made := func() *check.Case { return wrongEverywhere(1000) }
	for b.Loop() {
		c, again := made(), made()
		start := time.Now()
		findings := check.Run(check.All, c)
		judged := 2 * time.Since(start)
		start = time.Now()
		p := Make(c, again, check.All, findings)
		took := time.Since(start)
		if len(p.Steps) != 3000 {
			b.Fatalf("%d steps, want two MTUs and a limit for each node", len(p.Steps))
		}
		b.ReportMetric(took.Seconds(), "s/1k-nodes")
		b.ReportMetric(float64(took)/float64(judged), "x-the-cost-of-judging")
	}
}

// wrongEverywhere has as many nodes as asked for, all alike and all wrong.
func wrongEverywhere(nodes int) *check.Case {
	one := sample.RoCE("gpu", 2)
	c := &check.Case{Want: one.Want}
	d := one.Dump()
	for i := range nodes {
		n := format.Node(d.Nodes[i%2])
		n.Name = fmt.Sprintf("gpu%04d", i)
		n.Peers = nil
		for _, dev := range n.Netdevs {
			if dev.MTU.Or(0) == 9000 {
				dev.MTU = fact.Some(1500)
			}
		}
		n.Settings.Memlock = fact.Memlock{Login: fact.Some(fact.Limit(65536)), LoginHard: fact.Some(fact.Limit(65536)), Wish: fact.Some(fact.Limit(65536))}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}
