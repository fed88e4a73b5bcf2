package report

import (
	"strings"
	"testing"

	"weft/internal/fact"
)

func TestLinksOfAFabric(t *testing.T) {
	port := &fact.Port{Name: "mlx5_0/1", Layer: "InfiniBand", State: "ACTIVE", LID: fact.Some(4)}
	end := func(name string, port int) fact.End { return fact.End{Name: name, Port: port} }
	c := &fact.Cluster{Nodes: []*fact.Node{{Name: "n1", Ports: []*fact.Port{port}}}, Fabric: &fact.Fabric{
		Switches: []fact.Switch{{Name: "leaf1", LID: 2, Ports: 40}, {Name: "leaf2", LID: 3, Ports: 40}},
		SMs:      []fact.SM{{Name: "n1", LID: 4, State: "MASTER", Priority: 14}, {GUID: "0x1b", LID: 9, State: "STANDBY"}},
		Links: []fact.FabricLink{
			{A: end("leaf1", 1), B: end("n1", 1), Width: "4x", Speed: "HDR"},
			{A: end("leaf1", 20), B: end("leaf2", 20), Width: "1x", Speed: "HDR", Errors: map[string]uint64{"SymbolErrorCounter": 520, "PortRcvErrors": 7}},
		},
	}}
	var b strings.Builder
	if err := Links(&b, c); err != nil {
		t.Fatal(err)
	}
	want := `
SUBNET MANAGER  LID  STATE    PRIORITY
n1              4    MASTER   14
0x1b            9    STANDBY  0

SWITCH  LID  PORTS
leaf1   2    40
leaf2   3    40

FROM   PORT  TO     PORT  WIDTH  SPEED  ERRORS
leaf1  1     n1     1     4x     HDR    –
leaf1  20    leaf2  20    1x     HDR    PortRcvErrors 7, SymbolErrorCounter 520
`
	if _, fabric, _ := strings.Cut(b.String(), "mlx5_0/1  –     –\n"); fabric != want {
		t.Errorf("got\n%s\nwant, below the rail,\n%s", b.String(), want)
	}
	c.Fabric = &fact.Fabric{SMsRead: true}
	b.Reset()
	if err := Links(&b, c); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.String(), "\n\nSUBNET MANAGER  LID  STATE  PRIORITY\nnone\n") {
		t.Errorf("without a manager: %s", b.String())
	}
	b.Reset()
	if err := Ports(&b, c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), " LID 4 ") {
		t.Errorf("ports: %s", b.String())
	}
}
