package topo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/fact"
)

// railNode has RoCE ports on netdevs eth0, eth1, … with the given addresses.
func railNode(name string, addrs ...string) (*fact.Node, []PortAt) {
	n := &fact.Node{Name: name}
	var ports []PortAt
	for i, a := range addrs {
		d := &fact.Netdev{Name: fmt.Sprintf("eth%d", i), Addrs: strings.Fields(a)}
		p := &fact.Port{Name: fmt.Sprintf("mlx5_%d/1", i), Netdev: d.Name, Layer: "Ethernet"}
		n.Netdevs, n.Ports = append(n.Netdevs, d), append(n.Ports, p)
		ports = append(ports, PortAt{n, p})
	}
	return n, ports
}

func TestSubnets(t *testing.T) {
	tests := []struct {
		name, addrs, want string
	}{
		{"one", "192.168.200.1/24", "[192.168.200.0/24]"},
		{"IPv4 first, link-local IPv6 left out", "fe80::1/64 fd00::1/64 10.0.0.1/30", "[10.0.0.0/30 fd00::/64]"},
		{"link-local IPv4 stays: Sparks use it", "169.254.3.4/16", "[169.254.0.0/16]"},
		{"not an address", "192.168.200.1 what/24", "[]"},
		{"none", "", "[]"},
	}
	for _, tt := range tests {
		n, ports := railNode("n1", tt.addrs)
		if got := fmt.Sprint(Subnets(n, ports[0].Port)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	n, _ := railNode("n1", "10.0.0.1/24")
	if got := Subnets(n, &fact.Port{Netdev: "gone"}); got != nil {
		t.Errorf("a netdev that is not there: got %v", got)
	}
}

func TestRails(t *testing.T) {
	_, one := railNode("n1", "192.168.201.1/24", "192.168.200.1/24", "")
	_, two := railNode("n2", "192.168.201.2/24", "192.168.200.2/24 10.9.0.2/16")
	ib := func(gids ...fact.GID) PortAt {
		return PortAt{&fact.Node{Name: "ib"}, &fact.Port{Name: "mlx4_0/1", Layer: "InfiniBand", GIDs: gids}}
	}
	ports := slices.Concat(one, two, []PortAt{
		ib(fact.GID{GID: "fec0:0000:0000:0001:0002:c903:00aa:bbcc"}),
		ib(), // table not read: the default prefix
		ib(fact.GID{GID: "odd"}),
	})
	var got []string
	for _, r := range Rails(ports) {
		line := r.Name + ":"
		for _, pa := range r.Ports {
			line += " " + pa.Node.Name + ":" + pa.Port.Name
		}
		got = append(got, line)
	}
	want := []string{
		"192.168.200.0/24: n1:mlx5_1/1 n2:mlx5_1/1",
		"192.168.201.0/24: n1:mlx5_0/1 n2:mlx5_0/1",
		"InfiniBand fe80:0000:0000:0000: ib:mlx4_0/1 ib:mlx4_0/1",
		"InfiniBand fec0:0000:0000:0001: ib:mlx4_0/1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
