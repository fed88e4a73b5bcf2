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
