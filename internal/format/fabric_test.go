package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/dump"
	"weft/internal/fact"
)

// Two mlx4 cards on one cable, as the tools tell it: the ports' GUIDs count on from
// the node's.
const (
	cableTopology = `# Initiated from node 0002c90300000010 port 0002c90300000011

vendid=0x2c9
devid=0x1003
sysimgguid=0x2c90300000023
caguid=0x2c90300000020
Ca	2 "H-0002c90300000020"		# "pc2 mlx4_0"
[1](2c90300000021) 	"H-0002c90300000010"[1] (2c90300000011) 		# lid 2 lmc 0 "pc1 mlx4_0" lid 1 4xFDR

vendid=0x2c9
devid=0x1003
sysimgguid=0x2c90300000013
caguid=0x2c90300000010
Ca	2 "H-0002c90300000010"		# "pc1 mlx4_0"
[1](2c90300000011) 	"H-0002c90300000020"[1] (2c90300000021) 		# lid 1 lmc 0 "pc2 mlx4_0" lid 2 4xFDR
`
	cableLinks = `0x0002c90300000021 "                    pc2 mlx4_0"      2    1[  ] ==( 4X       14.0625 Gbps Active/  LinkUp)==>  0x0002c90300000011      1    1[  ] "pc1 mlx4_0" ( )
0x0002c90300000011 "                    pc1 mlx4_0"      1    1[  ] ==( 4X       14.0625 Gbps Active/  LinkUp)==>  0x0002c90300000021      2    1[  ] "pc2 mlx4_0" ( )
`
	cableMaster = "sminfo: sm lid 1 sm guid 0x2c90300000011, activity count 20 priority 0 state 3 SMINFO_MASTER\n"
)

func TestFabric(t *testing.T) {
	link := fact.FabricLink{
		A:     fact.End{GUID: "0x0002c90300000020", Name: "pc2 mlx4_0", Port: 1},
		B:     fact.End{GUID: "0x0002c90300000010", Name: "pc1 mlx4_0", Port: 1},
		Width: "4x", Speed: "FDR",
	}
	failing := link
	failing.Errors = map[string]uint64{"SymbolErrorCounter": 500}
	master := fact.SM{GUID: "0x0002c90300000011", Name: "pc1 mlx4_0", LID: 1, State: "MASTER"}
	tests := []struct {
		name string
		cmds map[string]string
		want *fact.Fabric
	}{
		{"nobody was asked", nil, nil},
		{"a manager on a port whose GUID is not its node's", map[string]string{"ibnetdiscover": cableTopology, "iblinkinfo -l": cableLinks, "sminfo": cableMaster},
			&fact.Fabric{Links: []fact.FabricLink{link}, SMs: []fact.SM{master}, SMsRead: true}},
		{"a manager known by its LID alone", map[string]string{"ibnetdiscover": cableTopology, "sminfo": "sminfo: sm lid 2 sm guid 0x77, activity count 1 priority 0 state 3 SMINFO_MASTER\n"},
			&fact.Fabric{Links: []fact.FabricLink{link}, SMs: []fact.SM{{GUID: "0x0000000000000077", Name: "pc2 mlx4_0", LID: 2, State: "MASTER"}}, SMsRead: true}},
		{"a second master, which the first does not know", map[string]string{"ibnetdiscover": cableTopology, "sminfo": cableMaster,
			everySM: cableMaster + "sminfo: sm lid 2 sm guid 0x2c90300000021, activity count 7 priority 0 state 3 SMINFO_MASTER\n"},
			&fact.Fabric{Links: []fact.FabricLink{link}, SMs: []fact.SM{master, {GUID: "0x0002c90300000021", Name: "pc2 mlx4_0", LID: 2, State: "MASTER"}}, SMsRead: true}},
		{"a manager knows its own state better than another", map[string]string{"ibnetdiscover": cableTopology,
			"saquery SMIR": "SMInfoRecord dump:\n\t\tRID\n\t\tLID...................1\n\t\tSMInfo dump:\n\t\tGUID..................0x0002c90300000011\n\t\tPriority..............0\n\t\tSMState...............2\n",
			everySM:        cableMaster},
			&fact.Fabric{Links: []fact.FabricLink{link}, SMs: []fact.SM{master}, SMsRead: true}},
		{"errors of a host, named by the GUID of its port", map[string]string{"ibnetdiscover": cableTopology,
			"ibqueryerrors": "Errors for \"pc2 mlx4_0\"\n   GUID 0x2c90300000021 port 1: [SymbolErrorCounter == 500]\n"},
			&fact.Fabric{Links: []fact.FabricLink{failing}}},
		{"errors that two looks tell are counted once", map[string]string{"ibnetdiscover": cableTopology,
			"ibqueryerrors":    "Errors for \"pc2 mlx4_0\"\n   GUID 0x2c90300000021 port 1: [SymbolErrorCounter == 500]\n",
			"ibqueryerrors -c": "Errors for \"pc2 mlx4_0\"\n   GUID 0x2c90300000021 port 1: [SymbolErrorCounter == 500]\n"},
			&fact.Fabric{Links: []fact.FabricLink{failing}}},
		{"no manager answers", map[string]string{"ibnetdiscover": cableTopology, "sminfo": "sminfo: iberror: failed: query\n"},
			&fact.Fabric{Links: []fact.FabricLink{link}, SMsRead: true}},
		{"the port could not be opened to ask", map[string]string{"sminfo": "sminfo: iberror: failed: Failed to open '(null)' port '0'\n", "ibnetdiscover": "ibnetdiscover: iberror: failed: discover failed\n"}, nil},
	}
	for _, tt := range tests {
		n := dump.NewNode("pc1")
		for cmd, text := range tt.cmds {
			n.Text["$ "+cmd] = text
		}
		if d := cmp.Diff(tt.want, Fabric(&dump.Dump{Nodes: []*dump.Node{n}})); d != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, d)
		}
	}
}

// That no subnet manager answers is no gap; that root alone may ask the fabric is.
func TestFabricGaps(t *testing.T) {
	n := dump.NewNode("pc1")
	n.Gap["$ sminfo"] = "ibwarn: [4711] mad_rpc: _do_madrpc failed; dport (Lid 1)"
	n.Gap["$ ibnetdiscover"] = "needs root, and sudo -n was refused"
	Settle(Readers, n)
	want := []fact.Gap{{Path: "$ ibnetdiscover", Why: "needs root, and sudo -n was refused"}}
	if d := cmp.Diff(want, Node(n).Gaps); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// The fabric is asked of a node that can see it.
func TestHasInfiniBand(t *testing.T) {
	port := func(layer, state string) *dump.Node {
		n := dump.NewNode("pc1")
		n.Text[ibDir+"/mlx4_0/ports/1/link_layer"] = layer + "\n"
		n.Text[ibDir+"/mlx4_0/ports/1/state"] = state + "\n"
		return n
	}
	simulated := dump.NewNode("node0001")
	simulated.Text["$ ibstat"] = simPort
	for _, tt := range []struct {
		name string
		node *dump.Node
		want bool
	}{
		{"nothing", dump.NewNode("pc1"), false},
		{"a port that is up", port("InfiniBand", "4: ACTIVE"), true},
		{"a port without a subnet manager", port("InfiniBand", "2: INIT"), true},
		{"a port without a cable", port("InfiniBand", "1: DOWN"), false},
		{"Ethernet", port("Ethernet", "4: ACTIVE"), false},
		{"a port that ibstat alone sees", simulated, true},
	} {
		if got := hasInfiniBand(tt.node); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
