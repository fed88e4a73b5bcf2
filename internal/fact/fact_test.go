package fact

import (
	"encoding/json"
	"testing"
)

func TestUnknownIsNull(t *testing.T) {
	type doc struct {
		A Val[int]    `json:"a"`
		B Val[string] `json:"b"`
	}
	b, err := json.Marshal(doc{A: Some(0)})
	if err != nil || string(b) != `{"a":0,"b":null}` {
		t.Fatalf("%s, %v", b, err)
	}
	var again doc
	if err := json.Unmarshal(b, &again); err != nil || !again.A.Known() || again.B.Known() {
		t.Errorf("read back %+v, %v", again, err)
	}
	if again.A.Or(7) != 0 || again.B.Or("x") != "x" {
		t.Errorf("Or: %d, %q", again.A.Or(7), again.B.Or("x"))
	}
}

func TestLookUpWithAndWithoutIndex(t *testing.T) {
	n := &Node{PCI: []*PCI{{BDF: "0000:01:00.0"}, {BDF: "0000:02:00.0"}}, Netdevs: []*Netdev{{Name: "eth0"}}}
	for range 2 {
		if n.At("0000:02:00.0") != n.PCI[1] || n.At("0000:03:00.0") != nil || n.Netdev("eth0") != n.Netdevs[0] || n.Netdev("eth1") != nil {
			t.Error("looked up the wrong thing")
		}
		n.Index()
	}
	n.Netdevs = append(n.Netdevs, &Netdev{Name: "eth1"}) // since the index was made
	if n.Netdev("eth1") == nil {
		t.Error("an interface that came after the index is not found")
	}
}

func TestKindsOfPort(t *testing.T) {
	for _, c := range []struct {
		port              Port
		roce, iwarp, soft bool
	}{
		{Port{Layer: "Ethernet", NodeType: "1: CA", Driver: "mlx5"}, true, false, false},
		{Port{Layer: "Ethernet", NodeType: "4: RNIC", Driver: "irdma"}, false, true, false},
		{Port{Layer: "Ethernet", NodeType: "1: CA", Driver: "rxe"}, true, false, true},
		{Port{Layer: "Ethernet", Driver: "siw"}, false, true, true},
		{Port{Layer: "InfiniBand", Driver: "hfi1"}, false, false, false},
	} {
		if p := &c.port; p.RoCE() != c.roce || p.IWARP() != c.iwarp || p.Soft() != c.soft {
			t.Errorf("%+v: RoCE %v, iWARP %v, soft %v", c.port, p.RoCE(), p.IWARP(), p.Soft())
		}
	}
}
