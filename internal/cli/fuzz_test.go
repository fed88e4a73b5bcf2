package cli

import (
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/intent"
	"weft/internal/job"
	"weft/internal/report"
	"weft/internal/spec"
)

// FuzzJudge feeds a dump of any content through everything that weft concludes from
// one: facts, checks, environment, draft, tables and text. It may find nonsense; it
// may not panic, and nothing that a node said may reach the terminal raw.
func FuzzJudge(f *testing.F) {
	f.Add("-- n1/sys/class/infiniband/mlx5_0/ports/1/state --\n4: ACTIVE\n-- n1/sys/class/infiniband/mlx5_0/ports/1/link_layer --\nEthernet\n-- n1/sys/class/infiniband/mlx5_0/ports/1/gids/3 --\n0000:0000:0000:0000:0000:ffff:c0a8:c801\n-- n1/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3 --\nRoCE v2\n-- @n1/sys/class/infiniband/mlx5_0/device --\n../../../0000:01:00.0\n")
	f.Add("-- n1/sys/bus/pci/devices/0000:01:00.0/class --\n0x020000\n-- n1/sys/bus/pci/devices/0000:01:00.0/vendor --\n0x15b3\n-- @n1/sys/bus/pci/devices/0000:01:00.0 --\n../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0\n-- n1/sys/class/net/eth2/mtu --\n9000\n-- n1/$ ip -j -d addr --\n[{\"ifname\":\"eth2\",\"addr_info\":[{\"local\":\"10.0.0.1\",\"prefixlen\":24}]}]\n")
	f.Add("-- n1/$ nccl environment --\n/etc/environment:NCCL_IB_HCA=^mlx5_0:1,=x\n-- n1/$ dcb -j pfc show dev eth2 --\n{\"pfc\":[]}\n-- n1/proc/self/limits --\nMax locked memory 65536 65536 bytes\n-- !n2/weft/reach --\nn2: refused\nssh n2\n-- n1/$ sminfo --\nsminfo: sm lid 1 sm guid 0x1, activity count 1 priority 0 state 3 SMINFO_MASTER\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := dump.Parse([]byte(text))
		if err != nil || len(d.Nodes) > 8 {
			return
		}
		c := &check.Case{Cluster: format.Facts(d)}
		l := &look{source: "fuzz.dump", dump: d, kase: c}
		r := judge(l, check.All)
		var b strings.Builder
		for _, write := range []func() error{
			func() error { return r.Text(&b, report.Options{All: true, Width: 100}) },
			func() error { return report.StatusOf(c, r).Text(&b, report.Options{}) },
			func() error { return report.JSON(&b, "check", r) },
			func() error { return report.Topo(&b, &c.Cluster) },
			func() error { return report.Ports(&b, &c.Cluster) },
			func() error { return report.GPUs(&b, &c.Cluster) },
			func() error { return report.Links(&b, &c.Cluster) },
			func() error { return report.Nodes(&b, &c.Cluster) },
		} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range c.Nodes {
			job.Env(c, n)
		}
		for _, w := range []intent.Given{{}, {Subnets: []string{"192.168.200.0/24"}}, {Layer: "infiniband", Subnets: []string{"10.9.0.0/30", "10.9.0.4/30"}}} {
			wish, err := intent.Parse(w)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := intent.Draft(c, wish, nil, "", "2026-11-15"); err == nil {
				if _, err := spec.Parse([]byte(text)); err != nil {
					t.Fatalf("the draft is wrong: %v\n%s", err, text)
				}
			}
		}
		if i := strings.IndexAny(b.String(), "\x1b\x07\x08\u202e"); i >= 0 {
			t.Fatalf("raw control character at %q", b.String()[max(0, i-40):min(b.Len(), i+20)])
		}
	})
}
