package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/unit"
)

const pages = "../../docs/trials/"

func page(t *testing.T, id string) string {
	t.Helper()
	b, err := os.ReadFile(pages + id + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryTrialHasAPage(t *testing.T) {
	index := page(t, "README")
	ids := map[string]bool{"README": true}
	at := 0
	for _, tr := range All {
		ids[tr.ID] = true
		text := page(t, tr.ID)
		if want := "# " + tr.ID + ": " + tr.Title + "\n"; !strings.HasPrefix(text, want) {
			t.Errorf("%s: page does not start with %q", tr.ID, want)
		}
		for _, part := range []string{"**Claim.**", "**Why.**", "**How.**", "**Expected.**", "**Falls short.**", "**Skipped**", "**Missing**", "## What it looks like", "## Sources"} {
			if strings.Count(text, part) != 1 {
				t.Errorf("%s: page has %q %d times, want once", tr.ID, part, strings.Count(text, part))
			}
		}
		line := "| [" + tr.ID + "](" + tr.ID + ".md) | " + tr.Title + " |"
		i := strings.Index(index, line)
		if i < at {
			t.Errorf("docs/trials/README.md has no line %q, or not in the order of the table", line)
		}
		at = max(at, i)
	}
	files, _ := filepath.Glob(pages + "*.md")
	for _, f := range files {
		if id := strings.TrimSuffix(filepath.Base(f), ".md"); !ids[id] {
			t.Errorf("%s belongs to no trial", f)
		}
	}
}

// Dotted words in code style are checks or trials; the findings of NCCL's log are in
// docs/nccl.md.
var dotted = regexp.MustCompile("`((?:node|pcie|port|ib|roce|plane|gpu|stack|nccl|fabric|rdma|tcp|path)\\.[a-z.]+)`")

func TestPagesNameWhatThereIs(t *testing.T) {
	found, err := os.ReadFile("../../docs/nccl.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range append(pageFiles(), "../../docs/prove.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range dotted.FindAllStringSubmatch(string(text), -1) {
			n++
			_, isCheck := check.ByID(m[1])
			_, isTrial := ByID(m[1])
			if !isCheck && !isTrial && !strings.Contains(string(found), m[0]) {
				t.Errorf("%s: %s is neither a check, nor a trial, nor a finding of weft nccl", path, m[1])
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d names were found: the pattern does not fit the pages", n)
	}
}

func pageFiles() []string {
	files, _ := filepath.Glob(pages + "*.md")
	return files
}

// wants reports every line that a page should have and has not.
func wants(t *testing.T, id string, lines ...string) {
	t.Helper()
	text := page(t, id)
	for _, l := range lines {
		if !strings.Contains(text, l) {
			t.Errorf("docs/trials/%s.md has no %q", id, l)
		}
	}
}

func TestPageOfBandwidthHasOurNumbers(t *testing.T) {
	gbps := func(l link, rate unit.Rate, mtu int) string {
		return strings.TrimSuffix(BitsPerSecond.Text(l.leaves(rate, mtu)), " Gb/s")
	}
	for _, rate := range []unit.Rate{100 * unit.Gbps, 200 * unit.Gbps, 400 * unit.Gbps} {
		wants(t, "rdma.write.bw", fmt.Sprintf("| %v | %s | %s | %s |\n", rate, gbps(roce, rate, 4096), gbps(roce, rate, 1024), gbps(infiniBand, rate, 4096)))
	}
	healthy, broken := fmt.Sprintf("%.0f %%", 100*healthyShare), fmt.Sprintf("less than %.0f %%", 100*brokenShare)
	for _, tr := range All {
		if tr.Unit == BitsPerSecond && !strings.HasPrefix(tr.ID, "tcp.") {
			if text := strings.Join(strings.Fields(page(t, tr.ID)), " "); !strings.Contains(text, healthy) || !strings.Contains(text, broken+" fails") {
				t.Errorf("docs/trials/%s.md does not say %s passes and %s fails", tr.ID, healthy, broken)
			}
		}
	}
	for _, read := range []int{512, 4096} {
		share := fmt.Sprintf("%.1f %%", 100*float64(duplex.through(unit.Gbps, read))/float64(unit.Gbps))
		wants(t, "rdma.loop.bw", share)
		wants(t, "rdma.write.bibw", share)
	}
}

// ports are the rows of the pages of latencies.
var latencyPorts = []struct {
	words string
	port  fact.Port
}{
	{"mlx4, mlx5 at 400 Gb/s", fact.Port{Driver: "mlx5", Layer: "Ethernet", Rate: fact.Some(400 * unit.Gbps)}},
	{"mlx4, mlx5 at 200 Gb/s", fact.Port{Driver: "mlx5", Layer: "InfiniBand", Rate: fact.Some(200 * unit.Gbps)}},
	{"mlx4, mlx5 at 100 Gb/s", fact.Port{Driver: "mlx5", Layer: "Ethernet", Rate: fact.Some(100 * unit.Gbps)}},
	{"InfiniBand of 56 Gb/s and less", fact.Port{Driver: "mlx4", Layer: "InfiniBand", Rate: fact.Some(56 * unit.Gbps)}},
	{"mlx5 Ethernet of 50 Gb/s and less", fact.Port{Driver: "mlx5", Layer: "Ethernet", Rate: fact.Some(25 * unit.Gbps)}},
	{"irdma (E810), RoCE", fact.Port{Driver: "irdma", Layer: "Ethernet", Rate: fact.Some(100 * unit.Gbps)}},
}

func TestPagesOfLatencyHaveOurNumbers(t *testing.T) {
	us := func(a Amount) string { return Nanoseconds.Text(a) }
	for _, row := range latencyPorts {
		s := &side{port: &row.port, link: linkOf(&row.port)}
		q, ok := quickOf(s)
		if !ok {
			t.Fatalf("%s: no latency is known", row.words)
		}
		for _, id := range []string{"rdma.write.lat", "rdma.read.lat"} {
			tr, _ := ByID(id)
			h := expectLatency(tr, s, s)
			line := fmt.Sprintf("| %s | %s | %s |\n", row.words, us(h.want), us(latencyBroken(tr, s, s, h.want)))
			if id == "rdma.write.lat" {
				line = fmt.Sprintf("| %s | %s | %s | %s |\n", row.words, us(q.typical), us(h.want), us(latencyBroken(tr, s, s, h.want)))
			}
			wants(t, id, line)
		}
	}
}

func TestPageOfGPUMemoryHasOurNumbers(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| (.+) \| (\d+) \| (\d+) \|$`)
	rows := row.FindAllStringSubmatch(page(t, "gpu.membw"), -1)
	if len(rows) < 5 {
		t.Fatalf("%d rows, want the GPUs that people have", len(rows))
	}
	for _, r := range rows {
		g := &fact.GPU{Name: r[1], Arch: strings.Fields(r[1])[0]}
		var gib unit.Size
		if _, err := fmt.Sscanf(r[1], "A100 %d GB", &gib); err == nil {
			g.Memory = fact.Some(gib * unit.GiB)
		}
		rate, _, ok := platform.MemoryRate(g)
		if want := fmt.Sprintf("%d %.0f", rate/8e9, float64(rate)/8e9*memoryShare); !ok || r[2]+" "+r[3] != want {
			t.Errorf("docs/trials/gpu.membw.md: %s has %s and %s, want %s", r[1], r[2], r[3], want)
		}
	}
}

// TestPageHasOurOrderOfLooks holds the table of the page against what Judge asks.
func TestPageHasOurOrderOfLooks(t *testing.T) {
	text := page(t, "rdma.write.bw")
	at := 0
	for _, topic := range topics {
		line := "| " + topic.word + " | `" + strings.Join(topic.ids, "` `") + "`"
		i := strings.Index(text, line)
		if i <= at {
			t.Errorf("docs/trials/rdma.write.bw.md has no line %q, or not in this order", line)
		}
		at = max(at, i)
	}
}

// TestPagesNameCounters wants every counter that a page names to be one that weft knows.
func TestPagesNameCounters(t *testing.T) {
	counter := regexp.MustCompile("`([a-z]+(?:_[a-z]+)+)`")
	known := slices.Concat(lostIn, lostOut, wire, slowHost, congested)
	others := []string{"nvidia_peermem", "ib_write_bw", "device_local_copy", "iboe_get_mtu"} // modules, programs and calls
	n := 0
	for _, path := range pageFiles() {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range counter.FindAllStringSubmatch(string(b), -1) {
			switch {
			case slices.Contains(known, m[1]):
				n++
			case !slices.Contains(others, m[1]) && !strings.HasPrefix(filepath.Base(path), "nccl."):
				t.Errorf("%s: %s is no counter that weft looks at", path, m[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d counters are named", n)
	}
}
