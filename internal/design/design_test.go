package design

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"weft/internal/unit"
)

func must(t *testing.T, a Ask) *Design {
	t.Helper()
	d, err := Make(a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return d
}

// TestProperties holds every design from 1 to 2000 nodes to what must be true of any:
// each n plainly, and small ones and every 64th with all there is to ask.
func TestProperties(t *testing.T) {
	for n := 1; n <= 2000; n++ {
		if n > 200 && testing.Short() && n%37 != 0 {
			continue
		}
		try(t, Ask{Nodes: n, GPUs: 1 + n%2, Workload: Workloads()[n%4], NoBMC: true})
		if n > 70 && n%64 != 0 {
			continue
		}
		a := Ask{Nodes: n, GPUs: 8, Workload: Workloads()[n%3], Rails: n % 9, BFD: n%2 == 0} // training, as inference may stand beside
		if n%3 == 0 {
			a.InferenceNodes = 1 + n%40
		}
		if n%5 == 0 {
			a.Fabric = "infiniband ndr"
		}
		if n%7 == 0 {
			a.Oversubscription = 3
		}
		if n > 8 && n <= 16 && n%2 == 0 {
			a.Fabric = "switch"
		}
		try(t, a)
		a.Ports, a.Fabric = 32+n%64, "roce"
		try(t, a)
	}
}

// try makes a design and holds it; one that two tiers cannot carry must say so.
func try(t *testing.T, a Ask) {
	t.Helper()
	d, err := Make(a)
	var b *Bad
	switch {
	case errors.As(err, &b) && b.Field == "nodes" && strings.Contains(b.Why, "two tiers") && a.Nodes*max(1, a.Rails) > 200:
		return
	case err != nil:
		t.Fatalf("%+v: %v", a, err)
	}
	holds(t, d)
	if t.Failed() {
		t.Fatalf("at %+v", a)
	}
}

// holds checks one design.
func holds(t *testing.T, d *Design) {
	t.Helper()
	used := make(map[End]bool, 2*len(d.Cables))
	for _, c := range d.Cables {
		used[c.A], used[c.B] = true, true
		if c.A.Device != c.from.Name || c.B.Device != c.to.Name || c.A.Port == "" || c.B.Port == "" {
			t.Errorf("cable %+v: no such device or port", c)
		}
		if c.A.Device == c.B.Device || c.Rate <= 0 || c.Metres <= 0 || c.Medium == "" {
			t.Errorf("cable %+v", c)
		}
	}
	if len(used) != 2*len(d.Cables) {
		t.Errorf("%d cables use %d ports: some port is used twice", len(d.Cables), len(used))
	}
	roomy(t, d)
	seen := make(map[netip.Addr]string, len(d.Addresses))
	for _, a := range d.Addresses {
		if other, ok := seen[a.Address.Addr()]; ok {
			t.Errorf("%v belongs to %s and %s", a.Address, a.Device, other)
		}
		seen[a.Address.Addr()] = a.Device
		if !d.Net.Block.Contains(a.Address.Addr()) {
			t.Errorf("%v is outside %v", a.Address, d.Net.Block)
		}
		if a.Gateway.IsValid() && !a.Address.Contains(a.Gateway) {
			t.Errorf("%s %s: gateway %v is not in %v", a.Device, a.Port, a.Gateway, a.Address)
		}
	}
	for _, a := range d.Addresses {
		if a.Gateway.IsValid() && seen[a.Gateway] == "" {
			t.Errorf("%s %s: nobody has its gateway %v", a.Device, a.Port, a.Gateway)
		}
	}
	apart(t, d)
	counts(t, d)
	numbers(t, d)
	ratios(t, d)
}

// roomy wants every switch to have the ports that its cables use.
func roomy(t *testing.T, d *Design) {
	t.Helper()
	for _, x := range d.Devices {
		if x.Ports == 0 {
			continue
		}
		n := 0
		for _, i := range x.cables {
			c := d.Cables[i]
			port := c.A.Port
			if c.to == x {
				port = c.B.Port
			}
			if port == "mgmt" {
				continue
			}
			n++
			if k, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(port, "port"), d.ask.PortName)); err != nil || k < 1 || k > x.Ports {
				t.Errorf("%s has %d ports, and no %s", x.Name, x.Ports, port)
			}
		}
		if n > x.Ports {
			t.Errorf("%s has %d ports and %d cables", x.Name, x.Ports, n)
		}
	}
}

// apart wants subnets of data ports not to overlap within a node, and the two ends of
// a data cable in one subnet.
func apart(t *testing.T, d *Design) {
	t.Helper()
	of := make(map[End]netip.Prefix, len(d.Addresses))
	perNode := map[string][]netip.Prefix{}
	for _, a := range d.Addresses {
		of[End{a.Device, a.Port}] = a.Address
		if x := d.Device(a.Device); x.Role == RoleNode && strings.HasPrefix(a.Port, "rail") {
			for _, p := range perNode[a.Device] {
				if p.Overlaps(a.Address) {
					t.Errorf("%s has %v and %v", a.Device, p, a.Address)
				}
			}
			perNode[a.Device] = append(perNode[a.Device], a.Address)
		}
	}
	for _, c := range d.Cables {
		a, okA := of[c.A]
		b, okB := of[c.B]
		if c.Plane == Data && okA && okB && a.Masked() != b.Masked() {
			t.Errorf("%v %v and %v %v share a cable and no subnet", c.A, a, c.B, b)
		}
	}
}

// counts wants what is printed to be what is there.
func counts(t *testing.T, d *Design) {
	t.Helper()
	roles := map[string]int{}
	for _, x := range d.Devices {
		roles[x.Fabric+" "+x.Role]++
	}
	planes := map[string]int{}
	rails := map[string]int{} // node to data ports
	for _, c := range d.Cables {
		planes[c.Plane]++
		for _, e := range []*Device{c.from, c.to} {
			if c.Plane == Data && e.Role == RoleNode {
				rails[e.Name]++
			}
		}
	}
	uplinks := 0
	for _, f := range d.Fabrics {
		if f.Shape == "clos" && (roles[f.Name+" leaf"] != f.Leaves || roles[f.Name+" spine"] != f.Spines) {
			t.Errorf("%s: %d leaves and %d spines, want %d and %d", f.Name, roles[f.Name+" leaf"], roles[f.Name+" spine"], f.Leaves, f.Spines)
		}
		if got := roles[f.Name+" node"]; got != f.Nodes {
			t.Errorf("%s: %d nodes, want %d", f.Name, got, f.Nodes)
		}
		each := map[string]int{"none": 0, "direct": 2 * f.Rails, "switch": f.Rails, "clos": f.Rails}[f.Shape]
		if f.Shape == "direct" && f.Nodes == 2 {
			each = f.Rails
		}
		for i := range f.Nodes {
			if got := rails[f.name(i)]; got != each {
				t.Errorf("%s has %d data cables, want %d", f.name(i), got, each)
			}
		}
		got := unit.Rate(0)
		for _, c := range d.Cables {
			if c.Plane == UplinkLine && c.from.Fabric == f.Name {
				got += c.Rate
				uplinks++
			}
		}
		if got < f.Uplink.Burst || f.Uplink.Burst < f.Uplink.Sustained {
			t.Errorf("%s: uplink cables of %v, sustained %v, burst %v", f.Name, got, f.Uplink.Sustained, f.Uplink.Burst)
		}
	}
	if planes[UplinkLine] != uplinks {
		t.Errorf("%d uplink cables, want %d", planes[UplinkLine], uplinks)
	}
	billed, nics, switches := 0, 0, 0
	for _, i := range d.Bill {
		switch {
		case strings.HasSuffix(i.What, " m"):
			billed += i.Count
		case strings.HasPrefix(i.What, "NIC,") || d.Card.Name != "" && strings.HasPrefix(i.What, d.Card.Name+","):
			nics += i.Count
		case strings.Contains(i.What, " switch,"):
			switches += i.Count
		}
	}
	if billed != len(d.Cables) {
		t.Errorf("the bill has %d cables, there are %d", billed, len(d.Cables))
	}
	wantNICs, wantSwitches := 0, 0
	for _, f := range d.Fabrics {
		if f.Shape != "none" {
			wantNICs += f.Nodes * f.Rails
		}
	}
	for _, x := range d.Devices {
		switch x.Role {
		case RoleLeaf, RoleSpine, RoleSwitch, RoleAccess, RoleManage:
			wantSwitches++
		}
	}
	if nics != wantNICs || switches != wantSwitches {
		t.Errorf("the bill has %d NICs and %d switches, want %d and %d", nics, switches, wantNICs, wantSwitches)
	}
}

// numbers wants an AS and a loopback of its own for every device that routes.
func numbers(t *testing.T, d *Design) {
	t.Helper()
	as := map[uint32]bool{}
	routed := 0
	for _, x := range d.Devices {
		if !x.Routed() {
			continue
		}
		routed++
		private := x.AS >= firstAS16 && x.AS <= lastAS16 || x.AS >= firstAS32 && x.AS <= 4294967294
		if as[x.AS] || !private || !d.Net.Loopbacks.Contains(x.Loopback) {
			t.Errorf("%s: AS %d, loopback %v", x.Name, x.AS, x.Loopback)
		}
		as[x.AS] = true
	}
	want := 0
	for _, f := range d.Fabrics {
		if f.Shape == "clos" && f.Layer == "Ethernet" {
			want += f.Leaves + f.Spines
		}
	}
	if want > 0 {
		want++ // the router
	}
	if routed != want {
		t.Errorf("%d devices route, want %d", routed, want)
	}
}

// ratios wants the oversubscription that was asked for, and the same number of links
// from every leaf to every spine of its plane.
func ratios(t *testing.T, d *Design) {
	t.Helper()
	for _, f := range d.Fabrics {
		for _, p := range f.Planes {
			most := d.ask.Oversubscription
			if d.loose {
				most = slack
			}
			if p.Ratio > most+1e-9 || p.Spines < 2 || p.Leaves < 2 {
				t.Errorf("%s: %+v", f.Name, p)
			}
		}
	}
	between := map[[2]string]int{}
	for _, c := range d.Cables {
		if c.to.Role == RoleSpine && c.from.Role == RoleLeaf {
			between[[2]string{c.A.Device, c.B.Device}]++
			if c.from.Plane != c.to.Plane || c.from.Fabric != c.to.Fabric {
				t.Errorf("%v and %v are of different planes", c.A, c.B)
			}
		}
	}
	want := 0
	for _, f := range d.Fabrics {
		for _, p := range f.Planes {
			want += p.Leaves * p.Spines
		}
	}
	if len(between) != want {
		t.Errorf("%d leaf and spine pairs have cables, want %d", len(between), want)
	}
	for pair, n := range between {
		f := d.fabric(d.Device(pair[0]).Fabric)
		if p := f.Planes[d.Device(pair[0]).Plane-1]; n != p.Parallel {
			t.Errorf("%v have %d cables, want %d", pair, n, p.Parallel)
		}
	}
}
