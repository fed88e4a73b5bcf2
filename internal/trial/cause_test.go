package trial

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/sample"
	"weft/internal/unit"
)

// full are cells of a trial over all pairs of each rail; number says what each gives.
func full(c *check.Case, id string, number func(from, to End) float64) (cells []Cell) {
	t, _ := ByID(id)
	rails, _ := Rails(c)
	for _, r := range rails {
		for i, a := range r.Ends {
			for k, b := range r.Ends {
				if a.Node == b.Node || !t.Both && k < i {
					continue
				}
				cells = append(cells, Cell{Trial: id, Pair: Pair{a, b}, Got: fact.Some(Amount(number(a, b))), Tests: 3})
			}
		}
	}
	return cells
}

// rxe makes a cluster's ports software ones, as in the lab.
func rxe(c *check.Case) *check.Case {
	for _, n := range c.Nodes {
		for _, p := range n.Ports {
			p.Driver, p.BDF = "rxe", ""
		}
	}
	return c
}

func TestWhyAndWhatToLookAt(t *testing.T) {
	const rate = 191e9
	slow := func(node string, times float64) func(from, to End) float64 {
		return func(from, to End) float64 {
			if from.Node == node && from.Port == "mlx5_0/1" || to.Node == node && to.Port == "mlx5_0/1" {
				return rate / times
			}
			return rate
		}
	}
	mtu := func(n int, at int) func() *check.Case {
		return func() *check.Case {
			s := sample.RoCE("n", n)
			s.Machines[at].Netdev("ens1f0np0").MTU = 1500
			return made(s)
		}
	}
	tests := []struct {
		name  string
		c     func() *check.Case
		cells func(c *check.Case) []Cell
		want  string // kind, at, way
		why   string
		ruled []string
		look  string // the first
	}{
		{"two nodes, and the MTU of one", mtu(2, 1), func(c *check.Case) []Cell { return full(c, "rdma.write.bw", slow("n2", 1.4)) },
			"port n2 mlx5_0/1", "MTU 1500 at n2 mlx5_0/1 where 9000 is usual on its rail, so RDMA packets carry 1024 bytes instead of 4096",
			[]string{"PFC on priority 3 alike", "PCIe 16 GT/s x16"}, "sudo ip link set dev ens1f0np0 mtu 9000   # on n2"},
		{"four nodes, and the MTU of one", mtu(4, 2), func(c *check.Case) []Cell { return full(c, "rdma.write.bw", slow("n3", 1.2)) },
			"port n3 mlx5_0/1", "MTU 1500 at n3 mlx5_0/1", []string{"PFC on priority 3 alike"}, "sudo ip link set dev ens1f0np0 mtu 9000   # on n3"},
		{"two nodes and nothing to tell them apart", func() *check.Case { return made(sample.RoCE("n", 2)) },
			func(c *check.Case) []Cell { return full(c, "rdma.write.bw", slow("n2", 2)) },
			"pair n1 mlx5_0/1, n2 mlx5_0/1", "either end", []string{"MTU 9000 at both ends", "PFC on priority 3 alike at both ends", "PCIe 16 GT/s x16 at both ends"}, "change the cable"},
		{"a PCIe link that fell back at one of two", func() *check.Case {
			s := sample.RoCE("n", 2)
			for _, p := range s.Machines[0].PCI {
				if p.BDF == "0000:17:00.0" {
					p.Cur = sample.Link{GTs: 16, Width: 4}
				}
			}
			return made(s)
		}, func(c *check.Case) []Cell { return full(c, "rdma.write.bw", slow("n1", 6)) },
			"port n1 mlx5_0/1", "16 GT/s x4 where 16 GT/s x16 is right", []string{"MTU 9000"}, "power off, reseat"},
		{"full-size packets are lost on the way", func() *check.Case { return made(sample.RoCE("n", 4)) },
			func(c *check.Case) []Cell {
				return append(full(c, "path.mtu", func(from, to End) float64 {
					if from == (End{"n2", "mlx5_1/1"}) || to == (End{"n2", "mlx5_1/1"}) {
						return 1500
					}
					return 9000
				}), full(c, "rdma.write.bw", func(from, to End) float64 { return rate })...)
			},
			"port n2 mlx5_1/1", "packets larger than 1500 bytes are lost between n2 mlx5_1/1 and others although both ends take more", nil, "set the MTU of the switch port of n2 mlx5_1/1 to 9216"},
		{"a wire that damages packets", func() *check.Case { return made(sample.RoCE("n", 4)) },
			func(c *check.Case) []Cell {
				cells := full(c, "rdma.write.bw", func(from, to End) float64 {
					if to == (End{"n4", "mlx5_0/1"}) {
						return rate / 3
					}
					return rate
				})
				for i := range cells {
					if e := (End{"n4", "mlx5_0/1"}); cells[i].B == e {
						cells[i].Moved = []Moved{{End: cells[i].A, Sent: 1 << 30, Grew: map[string]uint64{"packet_seq_err": 50}},
							{End: e, Received: 1 << 30, Grew: map[string]uint64{"rx_icrc_encapsulated": 40, "out_of_sequence": 40}}}
					}
				}
				return cells
			},
			"port n4 mlx5_0/1 receiving", "the wire into n4 mlx5_0/1 damages packets: rx_icrc_encapsulated +120", []string{"MTU 9000", "PFC on priority 3 alike", "PCIe 16 GT/s x16"}, "change the cable or transceiver of n4 mlx5_0/1"},
		{"a queue of the kernel holds packets back", func() *check.Case {
			c := rxe(made(sample.RoCE("n", 4)))
			c.Nodes[1].Netdev("ens1f0np0").Qdiscs = []fact.Qdisc{{Kind: "netem", Rate: fact.Some(100 * unit.Mbps)}}
			return c
		}, func(c *check.Case) []Cell {
			return full(c, "rdma.write.bw", func(from, to End) float64 {
				if from == (End{"n2", "mlx5_0/1"}) {
					return 90e6
				}
				return 400e6
			})
		},
			"port n2 mlx5_0/1 sending", "netem rate 100 Mb/s on ens1f0np0 of n2 holds its packets back", []string{"MTU 9000"}, "sudo tc qdisc del dev ens1f0np0 root   # on n2"},
		{"the whole rail", func() *check.Case { return made(sample.RoCE("n", 4)) },
			func(c *check.Case) []Cell {
				return full(c, "rdma.write.bw", func(from, to End) float64 {
					if from.Port == "mlx5_1/1" {
						return rate / 2
					}
					return rate
				})
			},
			"rail 10.10.2.0/24", "every pair of the rail is bad", []string{"MTU 9000 everywhere", "PFC on priority 3 alike everywhere", "PCIe 16 GT/s x16 everywhere"}, "the switch of the rail"},
		{"the whole cluster, and why", func() *check.Case {
			s := sample.RoCE("n", 4)
			for _, m := range s.Machines {
				m.Netdev("ens1f0np0").MTU, m.Netdev("ens2f0np0").MTU = 1500, 1500
			}
			return made(s)
		}, func(c *check.Case) []Cell {
			return full(c, "rdma.write.bw", func(from, to End) float64 { return rate / 2 })
		},
			"cluster", "mtu 1500 on 8 of 8 ports", nil, "sudo ip link set"},
		{"a node that died", func() *check.Case { return made(sample.RoCE("n", 4)) },
			func(c *check.Case) []Cell {
				cells := full(c, "rdma.write.bw", func(from, to End) float64 { return rate })
				for i := range cells {
					if cells[i].A.Node == "n3" || cells[i].B.Node == "n3" {
						cells[i].Got, cells[i].Missing = fact.Val[Amount]{}, "n3: the connection was lost"
					}
				}
				return cells
			},
			"node n3", "n3: the connection was lost", nil, ""},
		{"a path that breaks", func() *check.Case { return made(sample.RoCE("n", 4)) },
			func(c *check.Case) []Cell {
				cells := full(c, "rdma.write.bw", func(from, to End) float64 { return rate })
				for i := range cells {
					if p := cells[i].Pair; p.A == (End{"n1", "mlx5_0/1"}) && p.B == (End{"n4", "mlx5_0/1"}) {
						cells[i].Got, cells[i].Missing, cells[i].Broken = fact.Val[Amount]{}, "transport retry counter exceeded", true
					}
				}
				return cells
			},
			"pair n1 mlx5_0/1, n4 mlx5_0/1", "transport retry counter exceeded", []string{"MTU 9000 at both ends"}, ""},
		{"another port moved the bytes", func() *check.Case {
			c := made(sample.RoCE("n", 3))
			for _, n := range c.Nodes {
				for _, p := range n.Ports {
					p.Counters = map[string]uint64{"port_xmit_data": 5}
				}
			}
			return c
		}, func(c *check.Case) []Cell {
			cells := full(c, "rdma.write.bw", func(from, to End) float64 { return rate })
			for i := range cells {
				for _, e := range []End{cells[i].A, cells[i].B} {
					if e.Node == "n1" && e.Port == "mlx5_1/1" {
						e.Port = "mlx5_0/1"
					}
					cells[i].Moved = append(cells[i].Moved, Moved{End: e, Sent: 8 << 30, Received: 1 << 20})
				}
			}
			return cells
		},
			"port n1 mlx5_1/1", "the trial's bytes did not go through it: n1 mlx5_0/1 moved them", nil, ""},
		{"losses that cost nothing yet", func() *check.Case { return rxe(made(sample.RoCE("n", 4))) },
			func(c *check.Case) []Cell {
				cells := full(c, "rdma.write.bw", func(from, to End) float64 { return 400e6 })
				for i := range cells {
					lost := uint64(1) // a busy host resends a little
					if cells[i].B == (End{"n3", "mlx5_1/1"}) {
						lost = 30
					}
					cells[i].Moved = []Moved{{End: cells[i].A, Sent: 3000, Packets: true, Grew: map[string]uint64{"rcvd_seq_err": lost}},
						{End: cells[i].B, Received: 3000, Packets: true, Grew: map[string]uint64{"out_of_seq_request": lost}}}
				}
				return cells
			},
			"port n3 mlx5_1/1 receiving", "packets on their way to n3 mlx5_1/1 are lost: out_of_seq_request +90", nil, "change the cable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.c()
			_, problems := Judge(c, tt.cells(c))
			if got := said(problems); !slices.Equal(got, []string{tt.want}) {
				t.Fatalf("got %q, want %q\n%+v", got, tt.want, problems)
			}
			p := problems[0]
			if !strings.Contains(p.Why, tt.why) {
				t.Errorf("why: %q, want %q", p.Why, tt.why)
			}
			for _, r := range tt.ruled {
				if !slices.ContainsFunc(p.Ruled, func(s string) bool { return strings.HasPrefix(s, r) }) {
					t.Errorf("%q is not ruled out: %q", r, p.Ruled)
				}
			}
			if tt.look != "" && (len(p.Look) == 0 || !strings.Contains(p.Look[0], tt.look)) {
				t.Errorf("first look at %q, got %q", tt.look, p.Look)
			}
			if p.Got == "" || p.Want == "" || p.Cells == 0 || p.Status != "fail" && p.Status != "warn" {
				t.Errorf("incomplete: %+v", p)
			}
		})
	}
}

// Full-size packets that cross are said with the MTU.
func TestRuledOutWithWhatWasMeasured(t *testing.T) {
	c := made(sample.RoCE("n", 2))
	cells := append(full(c, "path.mtu", func(from, to End) float64 { return 9000 }), full(c, "rdma.write.bw", func(from, to End) float64 {
		if from.Port == "mlx5_0/1" {
			return 90e9
		}
		return 191e9
	})...)
	_, problems := Judge(c, cells)
	for _, p := range problems {
		if !slices.Contains(p.Ruled, "MTU 9000 at both ends and full-size packets cross") {
			t.Errorf("%v: ruled out %q", p.At, p.Ruled)
		}
	}
	if len(problems) == 0 {
		t.Error("half the rate is no problem")
	}
}

// A cluster that is well is not told that it is ill.
func TestHealthyClustersHaveNoProblems(t *testing.T) {
	for name, s := range map[string]*sample.Cluster{"RoCE": sample.RoCE("n", 4), "InfiniBand": sample.InfiniBand("i", 3), "Strix": sample.Strix("s", 4), "Sparks": sample.Sparks("k")} {
		c := made(s)
		var cells []Cell
		for _, trial := range All {
			if trial.Over != Pairs {
				continue
			}
			cells = append(cells, full(c, trial.ID, func(from, to End) float64 {
				want := float64(Expect(c, trial, Pair{from, to}).Want.Or(5e9))
				if trial.Unit == Bytes || !trial.Unit.More() {
					return want
				}
				return want * 0.97
			})...)
		}
		judged, problems := Judge(c, cells)
		for _, p := range problems {
			t.Errorf("%s: %+v", name, p)
		}
		count := map[check.Status]int{}
		for i := range judged {
			count[judged[i].Status]++
		}
		if count[check.Pass] == 0 || count[check.Warn]+count[check.Fail] > 0 {
			t.Errorf("%s: %v", name, count)
		}
	}
}

// The same cells give the same words, in the same order.
func TestJudgingIsRepeatable(t *testing.T) {
	w := newWorld(3, 8, 2, 0, true)
	w.faults = []ill{{hits: receives(w.ends[0][2]), times: 2, loss: 30}, {hits: sends(w.ends[1][5]), times: 3}}
	bw, _ := ByID("rdma.write.bw")
	cells := w.measure(bw)
	kept := fmt.Sprintf("%+v", cells)
	_, first := Judge(w.c, cells)
	for range 5 {
		if _, again := Judge(w.c, cells); fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", first) {
			t.Fatalf("got\n%+v\nand\n%+v", first, again)
		}
	}
	if fmt.Sprintf("%+v", cells) != kept {
		t.Error("judging changed the cells it was given")
	}
	if len(first) != 2 {
		t.Errorf("problems: %q", said(first))
	}
}
