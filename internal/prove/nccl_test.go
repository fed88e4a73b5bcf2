package prove

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/trial"
)

// recorded are logs of two ranks of collective.py with NCCL 2.28.9 on one H200, told apart
// by NCCL_HOSTID, or not.
func recorded(t *testing.T, name string) string {
	t.Helper()
	var all []string
	for _, rank := range []string{"0", "1"} {
		b, err := os.ReadFile("testdata/" + name + "." + rank + ".log")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return strings.Join(all, "\n")
}

// rdmaNodes have an RDMA port that is up, or none.
func rdmaNodes(up bool) *check.Case {
	c := &check.Case{}
	for _, name := range []string{"a", "b"} {
		n := &fact.Node{Name: name}
		if up {
			n.Ports = []*fact.Port{{Name: "mlx5_0/1", Device: "mlx5_0", Num: 1, Driver: "mlx5", State: "ACTIVE", Layer: "InfiniBand"}}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// TestCollectiveAgreesWithPyTorch: the bus bandwidth that weft computes is the one that
// PyTorch printed in the same run, and the transport is the one that NCCL logged.
func TestCollectiveAgreesWithPyTorch(t *testing.T) {
	out := recorded(t, "socket")
	p := &prover{Order: Order{Case: rdmaNodes(false)}}
	c, err := p.collected(out, []string{"a", "b"}, 2, "PyTorch", nil)
	if err != nil {
		t.Fatal(err)
	}
	var printed []float64
	for line := range strings.Lines(out) {
		var said struct {
			Weft  string
			Busbw float64
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Weft == "collective" {
			printed = append(printed, said.Busbw)
		}
	}
	if len(printed) != 4 || len(c.Rows) != 4 {
		t.Fatalf("%d rows of %d", len(c.Rows), len(printed))
	}
	for i, row := range c.Rows {
		got := median(row.Bus) / 8e9
		t.Logf("%d bytes: weft %.6f GB/s, PyTorch %.6f GB/s", row.Bytes, got, printed[i])
		if math.Abs(got/printed[i]-1) > 0.001 {
			t.Errorf("%d bytes: weft %.6f GB/s, PyTorch printed %.6f", row.Bytes, got, printed[i])
		}
	}
	if c.Transport != "NET/Socket" || c.Socket || !strings.Contains(c.Versions, "NCCL 2.28.9") || !strings.Contains(c.Versions, "H200") {
		t.Errorf("transport %q, socket %v, versions %q", c.Transport, c.Socket, c.Versions)
	}
}

// median is the upper one, as the script prints it.
func median(all []trial.Amount) float64 {
	s := append([]trial.Amount(nil), all...)
	for i := range s {
		for j := range s[:i] {
			if s[i] < s[j] {
				s[i], s[j] = s[j], s[i]
			}
		}
	}
	return float64(s[(len(s)-1)/2])
}

// TestSocketWhereRDMAIs: the same log on nodes with RDMA ports is a failure.
func TestSocketWhereRDMAIs(t *testing.T) {
	p := &prover{Order: Order{Case: rdmaNodes(true)}}
	c, err := p.collected(recorded(t, "socket"), []string{"a", "b"}, 2, "PyTorch", nil)
	if err != nil || !c.Socket || !strings.Contains(strings.Join(c.Says, "\n"), "nccl.socket") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestLastLine(t *testing.T) {
	for out, want := range map[string]string{
		"a\nweft: no PyTorch\n":                       "weft: no PyTorch",
		"x\ntorch.DistBackendError: NCCL\nINFO bye\n": "torch.DistBackendError: NCCL",
		"one\ntwo": "two",
		"":         "",
	} {
		if got := lastLine(out); got != want {
			t.Errorf("lastLine(%q) = %q, want %q", out, got, want)
		}
	}
}

// TestFailedCollective: why NCCL refused is said, not its last line.
func TestFailedCollective(t *testing.T) {
	p := &prover{Order: Order{Case: rdmaNodes(false)}}
	_, err := p.collected(recorded(t, "twice"), []string{"a", "b"}, 2, "PyTorch", errors.New("a, rank 0 ended with 1"))
	if err == nil || !strings.Contains(err.Error(), "two ranks were given the same GPU") {
		t.Errorf("%v", err)
	}
}
