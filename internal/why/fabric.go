package why

import (
	"fmt"
	"math"
	"strings"

	"weft/internal/forecast"
)

// setFabric decides what carried the job and what should have: a log knows, else a
// person or a proof, else the facts, else it is assumed.
func (a *Ask) setFabric(out *Answer) error {
	ran := a.Fabric
	should := ran
	if !a.many() {
		out.Fabric, out.Should = ran, ran
		return nil
	}
	if a.Engine.Hop == "rpc" { // it does not speak RDMA by itself, so TCP is nobody's mistake
		out.Fabric, out.Should = ran, ran
		return nil
	}
	if a.Facts != nil && a.Facts.Transport == "rdma" && ran.Transport == "tcp" {
		should = *a.Facts
	}
	if a.Log != nil {
		if rdma, ok := a.Log.RDMA.Get(); ok {
			switch {
			case rdma && ran.Transport == "tcp" && a.Told != "":
				return fmt.Errorf("%s, and the log says %s: one of them is about another run", a.Told, a.Log.Between)
			case rdma && ran.Transport == "tcp":
				ran = forecast.Fabric{Transport: "rdma", Gbps: ran.Gbps, Source: "log: " + a.Log.Between}
				should = ran
			case rdma:
				if ran.Sync == 0 {
					ran.Source += ", log: " + a.Log.Between
				}
				should = ran
			default:
				told := a.Told != "" && ran.Transport != "tcp"
				has := a.expectsRDMA() || told || a.Facts != nil && a.Facts.Transport == "rdma"
				if ran.Transport != "tcp" {
					ran = forecast.Fabric{Transport: "tcp", Gbps: ran.Gbps, Source: "log: " + a.Log.Between}
				}
				switch {
				case !has:
					should = ran // nothing says that these nodes have RDMA at all
				case should.Transport == "tcp":
					should = forecast.Fabric{Transport: "rdma", Gbps: ran.Gbps, Source: "the log expects RDMA"}
				}
			}
		}
	}
	out.Fabric, out.Should = ran, should
	return nil
}

// expectsRDMA reports whether the log itself says that sockets are wrong here.
func (a *Ask) expectsRDMA() bool {
	for _, f := range a.Log.Findings {
		if bad(f.Status) && (f.ID == "nccl.socket" || f.ID == "nccl.provider") {
			return true
		}
	}
	return false
}

// known reports whether anybody says what carried it: a log or a person, not facts alone.
func (a *Ask) known() bool {
	if a.Told != "" {
		return true
	}
	if a.Log == nil {
		return false
	}
	_, ok := a.Log.RDMA.Get()
	return ok
}

// infer: the nodes have RDMA, a finding says that it cannot work, and nobody says what
// carried the job. Then the nearer of both forecasts is taken.
func (a *Ask) infer(out *Answer, run *forecast.Plan) {
	if a.known() || !a.many() || out.Fabric.Transport != "rdma" || out.Fabric.Sync > 0 || len(a.blockers()) == 0 {
		return
	}
	tcp := forecast.Fabric{Transport: "tcp", Gbps: out.Fabric.Gbps, Source: "the measurement fits TCP better than RDMA"}
	slow, err := a.run(a.Ask, tcp)
	if err != nil || near(a.Measured, slow.Each) >= near(a.Measured, run.Each) {
		return
	}
	out.Fabric, *run = tcp, slow
}

func near(a, b float64) float64 { return math.Abs(math.Log(a / b)) }

// inferred reports whether TCP was concluded from the measurement alone.
func inferred(f forecast.Fabric) bool { return strings.HasPrefix(f.Source, "the measurement fits") }
