package raystatus

import (
	"errors"
	"strings"
	"testing"

	"weft/internal/fixture"
)

func TestFixtures(t *testing.T) {
	for _, x := range []struct {
		name                  string
		nodes                 int
		gpus, tpus, cpus, mem float64
		waiting               int
	}{
		{"ray_status_1node_template.txt", 1, 1, 0, 20, 0, 0},
		{"ray_status_2node_16gpu_idle.txt", 2, 16, 0, 448, 5.52 * (1 << 40), 0},
		{"ray_status_gpu_seen_as_tpu.txt", 2, 1, 1, 34, 136.89 * (1 << 30), 1},
	} {
		s, err := Parse(fixture.Read(t, x.name))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		waiting := 0
		for _, d := range s.Demands {
			waiting += d.Waiting
		}
		if s.Nodes() != x.nodes || s.Total("GPU") != x.gpus || s.Total("TPU") != x.tpus || s.Total("CPU") != x.cpus || s.Total("memory") != x.mem || waiting != x.waiting {
			t.Errorf("%s: %+v", x.name, s)
		}
	}
	s, _ := Parse(fixture.Read(t, "ray_status_gpu_seen_as_tpu.txt"))
	if d := s.Demands[0]; !d.Placement || d.GPUs != 2 || d.Text != "{'GPU': 1.0} * 2 (PACK)" {
		t.Errorf("demand %+v", d)
	}
}

func TestOddities(t *testing.T) {
	const healthy = "x\n======== Autoscaler status: t ========\nNode status\n---\nHealthy:\n 2 node_a\nPending:\n 10.0.0.3: worker, launching\nRecent failures:\n 10.0.0.4: NodeTerminated (ip: 10.0.0.4)\nResources\n---\nUsage:\n 1.0/4.0 GPU (1.0 used of 2.0 reserved in placement groups)\nDemands:\n {'CPU': 1.0}: 3+ pending tasks/actors\n"
	s, err := Parse([]byte(healthy))
	if err != nil || s.Nodes() != 2 || len(s.Pending) != 1 || len(s.Failures) != 1 || s.Uses["GPU"] != (Use{1, 4}) || s.Demands[0].Waiting != 3 || s.Demands[0].Placement {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := Parse([]byte(healthy + strings.ReplaceAll(healthy, "2 node_a", "1 node_b"))); err != nil || s.Nodes() != 1 {
		t.Errorf("of two the last counts: %+v, %v", s, err)
	}
	if _, err := Parse([]byte("Could not read '/tmp/ray'.\nNo cluster status.\n")); !errors.Is(err, ErrNot) {
		t.Errorf("%v", err)
	}
	if _, err := Parse([]byte("== Autoscaler status: t ==\nActive:\n 99999999 node\n")); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("== Autoscaler status: t ==\nActive:\n 1 n\nUsage:\n 0B/1GiB memory\nDemands:\n {'GPU': 1.0} * 2 (PACK): 1+ pending placement groups\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if err == nil && (s.Nodes() > maxNodes || s.Total("GPU") < 0) {
			t.Errorf("%+v", s)
		}
	})
}
