package format

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/unit"
)

// What the tools say of a simulated port: ibstat has the same rate for every speed.
const (
	simPort = `CA 'ibsim0'
	CA type: simulator
	Number of ports: 1
	Firmware version: 1
	Hardware version: a1
	Node GUID: 0x0000000000100004
	System image GUID: 0x0000000000100004
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 104
		Base lid: 10
		LMC: 0
		SM lid: 9
		Capability mask: 0x0050c048
		Port GUID: 0x0000000000100005
		Link layer: IB
`
	simInfo = `# Port info: DR path slid 65535; dlid 65535; 0 port 0
Lid:.............................10
SMLid:...........................9
LinkWidthActive:.................4X
LinkState:.......................Active
LinkSpeedActive:.................10.0 Gbps
NeighborMTU:.....................2048
MtuCap:..........................4096
LinkSpeedExtActive:..............53.125 Gbps
`
	simCounters = `# Port counters: Lid 10 port 1 (CapMask: 0x1200)
PortSelect:......................1
CounterSelect:...................0x0000
SymbolErrorCounter:..............7
PortXmitWait:....................3
QP1Dropped:......................0
`
)

func TestAPortThatOnlyTheToolsSee(t *testing.T) {
	known := fact.Port{Name: "ibsim0/1", Device: "ibsim0", Num: 1, Layer: "InfiniBand", State: "ACTIVE", Phys: "LinkUp", Firmware: "1",
		HCAType: "simulator", NodeGUID: "0x0000000000100004", Rate: fact.Some(104 * unit.Gbps), LID: fact.Some(10), SMLID: fact.Some(9)}
	whole := known
	whole.Width, whole.Speed, whole.Rate = "4X", "HDR", fact.Some(200*unit.Gbps)
	whole.ActiveMTU, whole.MaxMTU = fact.Some(2048), fact.Some(4096)
	whole.Counters = map[string]uint64{"symbol_error": 7, "port_xmit_wait": 3}
	for _, tt := range []struct {
		name string
		cmds map[string]string
		want []*fact.Port
	}{
		{"nothing answered", nil, nil},
		{"ibstat alone", map[string]string{"ibstat": simPort}, []*fact.Port{&known}},
		{"all three", map[string]string{"ibstat": simPort, "smpquery -D portinfo 0": simInfo, "perfquery": simCounters}, []*fact.Port{&whole}},
		{"of another port", map[string]string{"ibstat": simPort, "smpquery -D portinfo 0": "# Port info: DR path slid 65535; dlid 65535; 0 port 0\nLid:....11\nLinkWidthActive:....1X\n",
			"perfquery": "# Port counters: Lid 11 port 1 (CapMask: 0x1200)\nSymbolErrorCounter:....1\n"}, []*fact.Port{&known}},
		{"of a port nobody told of", map[string]string{"smpquery -D portinfo 0": simInfo, "perfquery": simCounters}, nil},
	} {
		d := dump.NewNode("node0001")
		for cmd, text := range tt.cmds {
			d.Text["$ "+cmd] = text
		}
		n := &fact.Node{}
		readRDMA(d, n)
		if diff := cmp.Diff(tt.want, n.Ports, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}

// What sysfs says of a card stays as it is.
func TestUmadDoesNotOverrideSysfs(t *testing.T) {
	d := dump.NewNode("pc1")
	d.Text[ibDir+"/mlx5_0/ports/1/link_layer"] = "InfiniBand\n"
	d.Text[ibDir+"/mlx5_0/ports/1/rate"] = "100 Gb/sec (4X EDR)\n"
	d.Text[ibDir+"/mlx5_0/ports/1/lid"] = "0xa\n"
	d.Text[ibDir+"/mlx5_0/ports/1/counters/symbol_error"] = "1\n"
	d.Text["$ smpquery -D portinfo 0"] = simInfo
	d.Text["$ perfquery"] = simCounters
	n := &fact.Node{}
	readRDMA(d, n)
	p := n.Ports[0]
	if p.Rate.Or(0) != 100*unit.Gbps || p.Speed != "EDR" || p.Counters["symbol_error"] != 1 || p.MaxMTU.Or(0) != 4096 {
		t.Errorf("got rate %v, speed %s, counters %v, mtu %v", p.Rate, p.Speed, p.Counters, p.MaxMTU)
	}
}
