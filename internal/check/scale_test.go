package check

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/unit"
)

// large returns a cluster of n nodes with eight NICs and eight GPUs each, with
// faults here and there, as parsed facts.
func large(n int) *Case {
	c := &Case{}
	c.Want.Data.Switch = "lossless"
	for i := range n {
		node := goodNode(1)
		node.Name = fmt.Sprintf("gpu%05d", i)
		node.Ports, node.GPUs, node.Netdevs, node.Peers = nil, nil, node.Netdevs[:1], nil
		node.PCI = node.PCI[:4]
		node.Host.NUMACPUs = map[int]string{0: "0-55,112-167", 1: "56-111,168-223"}
		for k := range 8 {
			p := goodPort(1, 0, fact.Some(400*unit.Gbps))
			p.Name, p.Device = fmt.Sprintf("mlx5_%d/1", k), fmt.Sprintf("mlx5_%d", k)
			p.Netdev, p.BDF = fmt.Sprintf("eth%d", k+2), fmt.Sprintf("0000:2%d:00.0", k)
			addr := fmt.Sprintf("10.%d.%d.%d", k+10, i/250, i%250+1)
			p.GIDs[3].GID = fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0a%02x:%02x%02x", k+10, i/250, i%250+1)
			nic, gpu := *goodNode(1).PCI[4], *goodNode(1).PCI[6]
			nic.BDF, gpu.BDF = p.BDF, fmt.Sprintf("0000:3%d:00.0", k)
			node.PCI = append(node.PCI, &nic, &gpu)
			node.Ports = append(node.Ports, p)
			node.Netdevs = append(node.Netdevs, &fact.Netdev{Name: p.Netdev, Type: "ether", Oper: "up", Carrier: fact.Some(true), MTU: fact.Some(9000), Addrs: []string{addr + "/16"},
				Qdiscs: []fact.Qdisc{{Kind: "mq"}, {Kind: "fq_codel"}}, QdiscsRead: true})
			g := *goodNode(1).GPUs[0]
			g.Index, g.BDF = k, gpu.BDF
			node.GPUs = append(node.GPUs, &g)
		}
		if i%100 == 7 {
			node.Netdevs[1+i%8].MTU = fact.Some(1500)
		}
		if i%100 == 13 {
			node.Ports[i%8].State, node.Ports[i%8].Phys = "DOWN", "Polling"
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c
}

// BenchmarkFigureCluster judges 1,000 and 10,000 nodes. The figures to reach: under
// 3 s and 2 GiB for 10,000, and at most 12 times the cost of 1,000.
func BenchmarkFigureCluster(b *testing.B) {
	for b.Loop() {
		small, _ := timeRun(1000)
		big, memory := timeRun(10_000)
		b.ReportMetric(big.Seconds(), "s/10k-nodes")
		b.ReportMetric(float64(big)/float64(small), "x-the-cost-of-1k")
		b.ReportMetric(memory/(1<<30), "GiB")
	}
}

// timeRun returns the median of seven runs, each on a cluster that was just read,
// and the memory that the process had from the system after them, facts included.
func timeRun(nodes int) (median time.Duration, memory float64) {
	var took []time.Duration
	for range 7 {
		c := large(nodes)
		runtime.GC()
		start := time.Now()
		found := Run(All, c)
		took = append(took, time.Since(start))
		if n := Count(found); n[Fail] == 0 || n[Pass] == 0 {
			panic(fmt.Sprint("the large cluster was not judged: ", n))
		}
	}
	slices.Sort(took)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return took[len(took)/2], float64(m.Sys)
}

// TestLargeClusterScales is the cheap guard of the benchmark above: ten times the
// nodes may not cost a square of it.
func TestLargeClusterScales(t *testing.T) {
	one, _ := timeRun(100)
	ten, _ := timeRun(1000)
	if ten > 30*one && ten > 200*time.Millisecond {
		t.Errorf("1000 nodes cost %v, 100 nodes %v", ten, one)
	}
}
