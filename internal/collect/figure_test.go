package collect

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	wexec "weft/internal/exec"
	"weft/internal/format"
)

// BenchmarkFigureCollect collects this machine and runs, one after the other, the
// tools that a person would: ibstat, ibv_devinfo -v, lspci -vv, ip, rdma, ethtool
// and dcb. The figure to reach: at most half their time. Best of several, because
// the first run of either warms the caches of both.
func BenchmarkFigureCollect(b *testing.B) {
	tools := peer(b)
	run := wexec.New(wexec.Options{})
	defer run.Close()
	best := func(f func()) time.Duration {
		var least time.Duration
		for range 7 {
			start := time.Now()
			f()
			if took := time.Since(start); least == 0 || took < least {
				least = took
			}
		}
		return least
	}
	for b.Loop() {
		theirs := best(func() {
			for _, argv := range tools {
				_ = exec.Command(argv[0], argv[1:]...).Run() // many refuse on a machine without RDMA: that costs them too
			}
		})
		ours := best(func() {
			Cluster(b.Context(), run, []Ask{{Target: wexec.Target{Name: "here"}, Readers: format.Readers}}, func(_ string, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		})
		b.ReportMetric(float64(ours)/float64(theirs), "x-the-tools")
		b.ReportMetric(float64(ours.Milliseconds()), "ms-weft")
		b.ReportMetric(float64(theirs.Milliseconds()), "ms-tools")
		b.ReportMetric(float64(len(tools)), "commands")
	}
}

// peer returns the commands of a person who looks at this machine by hand.
func peer(b *testing.B) [][]string {
	tools := [][]string{
		{"ibstat"}, {"ibv_devinfo", "-v"}, {"lspci", "-vv"},
		{"ip", "-d", "addr"}, {"ip", "route"}, {"ip", "neigh"}, {"rdma", "link"}, {"rdma", "dev"},
	}
	devs, _ := filepath.Glob("/sys/class/net/*")
	for _, d := range devs {
		dev := filepath.Base(d)
		if dev == "lo" {
			continue
		}
		for _, flag := range []string{"-i", "-a", "-S", "-m", "-k"} {
			tools = append(tools, []string{"ethtool", flag, dev})
		}
		tools = append(tools, []string{"ethtool", dev}, []string{"dcb", "pfc", "show", "dev", dev}, []string{"dcb", "app", "show", "dev", dev})
	}
	for _, argv := range tools {
		if _, err := exec.LookPath(argv[0]); err != nil {
			b.Skipf("%s is not installed: there is no peer to compare with", argv[0])
		}
	}
	return tools
}
