package format

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/spec"
)

// TestSysctl wants the settings that weft.yaml names asked for and read, and no other.
func TestSysctl(t *testing.T) {
	want := spec.Spec{Sysctl: map[string]string{"vm.swappiness": "1", "net.ipv4.conf.eth0/100.rp_filter": "2", "no.such": "1", "net.ipv4.tcp_rmem": "1 2 3", "$(reboot).x": "1"}}
	readers := For(want, "n1")
	r := readers[len(readers)-2]
	if len(r.Files) != 1 {
		t.Fatalf("files %+v", r.Files)
	}
	if d := cmp.Diff([]string{"net/ipv4/conf/eth0.100/rp_filter", "net/ipv4/tcp_rmem", "no/such", "vm/swappiness"}, r.Files[0].Names); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	n := dump.NewNode("n1")
	n.Text["/proc/sys/vm/swappiness"] = "60\n"
	n.Text["/proc/sys/net/ipv4/tcp_rmem"] = "4096\t131072\t6291456\n"
	n.Text["/proc/sys/net/ipv4/conf/eth0.100/rp_filter"] = "0\n"
	n.Text["/proc/sys/kernel/other"] = "7\n"
	if got := Node(n).Settings; got.SysctlRead || got.Sysctl != nil {
		t.Errorf("nothing was asked, got %v", got.Sysctl)
	}
	for key, text := range r.Given {
		n.Text[key] = text
	}
	s := Node(n).Settings
	if d := cmp.Diff(map[string]string{"vm.swappiness": "60", "net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.conf.eth0/100.rp_filter": "0"}, s.Sysctl); d != "" || !s.SysctlRead {
		t.Errorf("-want +got:\n%s", d)
	}
	n.Gap[CutKey] = "the connection broke"
	if Node(n).Settings.SysctlRead {
		t.Error("an answer that broke off counts as whole")
	}
}

func TestTrafficClass(t *testing.T) {
	for text, want := range map[string]fact.Val[int]{
		"106": fact.Some(106), "Global tclass=106": fact.Some(106), "Global tclass=106\ntclass=32,src_ip=10.0.0.1": fact.Some(106),
		"tclass=32,src_ip=10.0.0.1": fact.Some(-1), "": {}, "huh": {},
	} {
		if got := trafficClass(text); got != want {
			t.Errorf("trafficClass(%q) = %v, want %v", text, got, want)
		}
	}
	const file = "/sys/class/infiniband/mlx5_0/tc/1/traffic_class"
	n := dump.NewNode("n1")
	n.Text["/sys/class/infiniband/mlx5_0/ports/1/state"] = "4: ACTIVE\n"
	n.Text["$ "+unsetClasses] = "/sys/class/infiniband/mlx5_10/tc/1/traffic_class\n"
	if got := Node(n).Ports[0].TrafficClass; got.Known() {
		t.Errorf("nothing was told of it, got %v", got)
	}
	n.Text["$ "+unsetClasses] += file + "\n"
	if got := Node(n).Ports[0].TrafficClass; got != fact.Some(-1) {
		t.Errorf("an empty file: got %v", got)
	}
	n.Text[file] = "Global tclass=96\n"
	if got := Node(n).Ports[0].TrafficClass; got != fact.Some(96) {
		t.Errorf("got %v", got)
	}
}

func TestQueues(t *testing.T) {
	n := dump.NewNode("n1")
	n.Text["/sys/class/infiniband/rocep1s0/ports/1/link_layer"] = "Ethernet\n"
	n.Text["/sys/class/infiniband/rocep1s0/ports/1/gids/0"] = "fe80:0000:0000:0000:0000:00ff:fe00:0101\n"
	n.Text["/sys/class/infiniband/rocep1s0/ports/1/gid_attrs/ndevs/0"] = "eth2\n"
	n.Text["$ ethtool --show-priv-flags eth2"] = "Private flags for eth2:\nlink-down-on-close     : off\nfw-lldp-agent          : on\nchannel-pkt-inspect-optimize: off\n"
	n.Text["$ mlnx_qos -i eth2"] = "tc: 0 ratelimit: unlimited, tsa: vendor\n\t priority:  0\n\t priority:  1\n\t priority:  2\n\t priority:  3\n\t priority:  4\n\t priority:  5\n\t priority:  6\n\t priority:  7\n"
	q := Node(n).Ports[0].QoS
	if q.FWAgent != fact.Some(true) || !slices.Equal(q.PrioTC, make([]int, 8)) || q.TSA != nil {
		t.Errorf("got %+v", q)
	}
	n.Text["$ dcb -j ets show dev eth2"] = `{"willing":false,"ets_cap":8,"cbs":false,"tc_bw":[50,0,0,50,0,0,0,0],"pg_bw":[0,0,0,0,0,0,0,0],"tc_tsa":["ets","strict","strict","ets","strict","strict","strict","strict"],"prio_tc":[0,0,0,3,0,0,0,0]}`
	q = Node(n).Ports[0].QoS
	if !slices.Equal(q.PrioTC, []int{0, 0, 0, 3, 0, 0, 0, 0}) || q.TSA[3] != "ets" || q.TCBW[3] != 50 {
		t.Errorf("got %+v", q)
	}
}
