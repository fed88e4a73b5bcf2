package lab

import (
	"errors"
	"reflect"
	"testing"

	"weft/internal/lab/wire"
)

func TestProfile(t *testing.T) {
	for name, c := range map[string]struct {
		asked Options
		want  Profile
	}{
		"plain":  {Options{}, Profile{"pair", "two machines and a cable", 2, "node", 1, 9000, "networkd"}},
		"pair":   {Options{Profile: "pair"}, Profile{"pair", "two machines and a cable", 2, "node", 1, 9000, "networkd"}},
		"spark2": {Options{Profile: "spark2"}, Profile{"spark2", "two DGX Sparks: two rails, netplan", 2, "spark", 2, 9000, "netplan"}},
		"strix4": {Options{Profile: "strix4"}, Profile{"strix4", "four Strix Halo mini PCs: one rail, NetworkManager", 4, "strix", 1, 9000, "networkmanager"}},
		"rack8":  {Options{Profile: "rack8"}, Profile{"rack8", "eight servers of a rack: two rails, systemd-networkd", 8, "gpu", 2, 9000, "networkd"}},
		"everything asked for": {
			Options{Profile: "spark2", Nodes: 3, Rails: 1, MTU: 4200, Net: "networkmanager"},
			Profile{"spark2", "two DGX Sparks: two rails, netplan", 3, "spark", 1, 4200, "networkmanager"},
		},
		"the least": {Options{Profile: "rack8", Nodes: 2, Rails: 1, MTU: 1280}, Profile{"rack8", "eight servers of a rack: two rails, systemd-networkd", 2, "gpu", 1, 1280, "networkd"}},
		"the most":  {Options{Nodes: 8, Rails: 2, MTU: 9216, Net: "netplan"}, Profile{"pair", "two machines and a cable", 8, "node", 2, 9216, "netplan"}},
	} {
		if got, err := c.asked.profile(); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if Profiles[0].Nodes != 2 {
		t.Error("what a profile is asked for stays in it")
	}
}

func TestProfileRefuses(t *testing.T) {
	for _, c := range []struct {
		asked Options
		want  string
	}{
		{Options{Profile: "rack"}, `no profile is called "rack": there are pair, spark2, strix4, rack8`},
		{Options{Nodes: 1}, "a lab has 2 to 8 machines, not 1"},
		{Options{Nodes: 9}, "a lab has 2 to 8 machines, not 9"},
		{Options{Nodes: -1}, "a lab has 2 to 8 machines, not -1"},
		{Options{Rails: 3}, "a machine has 1 or 2 rails, not 3"},
		{Options{Rails: -1}, "a machine has 1 or 2 rails, not -1"},
		{Options{MTU: 1279}, "an MTU is 1280 to 9216, not 1279"},
		{Options{MTU: 9217}, "an MTU is 1280 to 9216, not 9217"},
		{Options{Net: "ifupdown"}, `a network is configured by netplan, networkd, networkmanager, not by "ifupdown"`},
	} {
		_, err := c.asked.profile()
		var e *Error
		if !errors.As(err, &e) || e.What != c.want || e.Next != "weft lab up --help" {
			t.Errorf("%+v: %v, want %s and weft lab up --help", c.asked, err, c.want)
		}
	}
}

func TestNodesHaveNamesAndNumbers(t *testing.T) {
	got := Profile{Nodes: 3, Host: "gpu"}.nodes()
	want := []Node{{Name: "gpu1", ID: 1}, {Name: "gpu2", ID: 2}, {Name: "gpu3", ID: 3}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestHosts(t *testing.T) {
	s := State{Nodes: []Node{{Name: "spark1", ID: 1}, {Name: "spark2", ID: 2}}, Rails: 2}
	want := "127.0.0.1 localhost\n::1 localhost\n10.20.0.1 spark1\n10.20.0.2 spark2\n"
	if got := s.hosts(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNetworks(t *testing.T) {
	s := State{Nodes: []Node{{Name: "spark1"}, {Name: "spark2"}}, Rails: 2}
	got := s.networks()
	want := []wire.Net{
		{Name: "mgmt", Ports: []string{"spark1", "spark2", "clock"}},
		{Name: "rail0", Ports: []string{"spark1", "spark2"}},
		{Name: "rail1", Ports: []string{"spark1", "spark2"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNodeByName(t *testing.T) {
	s := State{Nodes: []Node{{Name: "node1", ID: 1}, {Name: "node2", ID: 2}}}
	n, err := s.node("node2")
	if err != nil || n != &s.Nodes[1] {
		t.Errorf("%v, %v, want the second machine itself", n, err)
	}
	_, err = s.node("node3")
	if want := `no machine of the lab is called "node3": there are node1, node2`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
