package format

import (
	"testing"

	"weft/internal/dump"
	"weft/internal/fact"
)

// TestOldIptablesAreNotSeenByNFT: an empty nft ruleset lets everything in, unless the
// old iptables have a filter table of their own, which nft does not show.
func TestOldIptablesAreNotSeenByNFT(t *testing.T) {
	for names, want := range map[string]string{"": "allowed", "nat\n": "allowed", "filter\nnat\n": "unknown"} {
		d := dump.NewNode("n1")
		d.Text["$ nft -j list ruleset"] = `{"nftables": [{"metainfo": {"version": "1.0.6", "json_schema_version": 1}}]}`
		d.Text["/proc/net/ip_tables_names"] = names
		n := &fact.Node{Ports: []*fact.Port{{Name: "mlx5_0/1", Netdev: "eth2", Layer: "Ethernet"}}}
		readFirewall(d, n)
		if len(n.Settings.Firewall.Ports) != 3 {
			t.Fatalf("%d verdicts, want 3", len(n.Settings.Firewall.Ports))
		}
		for _, p := range n.Settings.Firewall.Ports {
			if p.Verdict != want {
				t.Errorf("tables %q: %s is %s, want %s", names, p.Port, p.Verdict, want)
			}
		}
	}
}
