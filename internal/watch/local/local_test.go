package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/fixture"
	"weft/internal/history"
	"weft/internal/unit"
	"weft/internal/watch/local/tree"
)

var start = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func machine(t *testing.T, cards int) (tree.Tree, *Reader) {
	t.Helper()
	m, err := tree.Make(t.TempDir(), cards)
	if err != nil {
		t.Fatal(err)
	}
	r := New(string(m))
	t.Cleanup(r.Close)
	return m, r
}

func set(t *testing.T, m tree.Tree, path, text string) {
	t.Helper()
	if err := m.Set(path, text); err != nil {
		t.Fatal(err)
	}
}

func TestLook(t *testing.T) {
	m, r := machine(t, 2)
	l := r.Look(start)
	if len(l.Ports) != 2 || l.Boot == "" {
		t.Fatalf("got %d ports, boot %q", len(l.Ports), l.Boot)
	}
	p := l.Ports[1]
	want := history.PortLook{Name: "mlx5_1/1", Device: "mlx5_1", Num: 1, Netdev: "eth1", Layer: "Ethernet", State: "ACTIVE", Phys: "LinkUp",
		Rate: fact.Some(400 * unit.Gbps), MTU: fact.Some(9000), Carrier: fact.Some(uint64(1)), GIDd: true,
		GIDs: []string{"0 fe80:0000:0000:0000:0000:00ff:fe00:0001 IB/RoCE-v1", "3 0000:0000:0000:0000:0000:ffff:0a00:0001 RoCE-v2"}}
	counts := p.Count
	p.Count = history.Counters{}
	if got, want := fmt.Sprintf("%+v", p), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := len(counts.Names); n != len(tree.Counters)+len(tree.HWCounters)-1 { // lifespan is a setting
		t.Errorf("got %d counters", n)
	}
	if !slices.IsSorted(counts.Names) || slices.Contains(counts.Names, "lifespan") {
		t.Errorf("got %v", counts.Names)
	}
	set(t, m, tree.Port(1)+"/counters/symbol_error", "4711")
	set(t, m, tree.Port(1)+"/state", "1: DOWN")
	l = r.Look(start.Add(time.Second))
	if v, _ := l.Ports[1].Count.Get("symbol_error"); v != 4711 || l.Ports[1].State != "DOWN" {
		t.Errorf("what changed is not seen: %d, %s", v, l.Ports[1].State)
	}
	if l.Ports[1].GIDd {
		t.Error("GIDs were read again after a second")
	}
}

func TestEveryCounterOfMlx5HasAName(t *testing.T) {
	for _, name := range append(slices.Clone(tree.Counters), tree.HWCounters...) {
		if history.CounterOf(name) == nil && !history.NotCounted(name) {
			t.Errorf("%s has no metric of its own", name)
		}
	}
}

func TestDevicesComeAndGo(t *testing.T) {
	m, r := machine(t, 2)
	r.Look(start)
	if err := m.Remove("sys/class/infiniband/mlx5_0"); err != nil {
		t.Fatal(err)
	}
	if err := m.Card(5); err != nil {
		t.Fatal(err)
	}
	l := r.Look(start.Add(findEvery))
	var names []string
	for _, p := range l.Ports {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"mlx5_1/1", "mlx5_5/1"}) {
		t.Errorf("got %v", names)
	}
	if err := m.Remove("sys/class/infiniband"); err != nil {
		t.Fatal(err)
	}
	if l := r.Look(start.Add(2 * findEvery)); len(l.Ports) != 0 {
		t.Errorf("got %d ports of a machine without", len(l.Ports))
	}
	if r.open != 0 {
		t.Errorf("%d files are still open", r.open)
	}
}

// TestRefusedCountersAreLeftAlone: functions that firmware restricts refuse their counters,
// and the kernel logs each refusal, so that asking every few seconds would flood its log.
func TestRefusedCountersAreLeftAlone(t *testing.T) {
	m, r := machine(t, 1)
	set(t, m, tree.Port(0)+"/hw_counters/out_of_buffer", "N/A (no PMA)")
	r.Look(start)
	l := r.Look(start.Add(time.Second))
	if _, ok := l.Ports[0].Count.Get("out_of_buffer"); ok || len(l.Ports[0].Count.Names) != len(tree.Counters)+len(tree.HWCounters)-2 {
		t.Errorf("got %d counters, out_of_buffer among them: %v", len(l.Ports[0].Count.Names), ok)
	}
	set(t, m, tree.Port(0)+"/hw_counters/out_of_buffer", "5")
	if _, ok := r.Look(start.Add(time.Minute)).Ports[0].Count.Get("out_of_buffer"); ok {
		t.Error("it was asked again after a minute")
	}
	if v, ok := r.Look(start.Add(2 * badAgain)).Ports[0].Count.Get("out_of_buffer"); !ok || v != 5 {
		t.Errorf("it is not asked again after an hour: %d, %v", v, ok)
	}
}

func TestOddContent(t *testing.T) {
	m, r := machine(t, 1)
	for i, odd := range []string{"", "\x00\x01", strings.Repeat("9", 30), "-5", "18446744073709551616", strings.Repeat("x", 10000)} {
		for _, f := range []string{"/state", "/rate", "/counters/symbol_error", "/gids/0", "/gid_attrs/types/0"} {
			set(t, m, tree.Port(0)+f, odd)
		}
		l := r.Look(start.Add(time.Duration(i+1) * 2 * badAgain))
		if _, ok := l.Ports[0].Count.Get("symbol_error"); ok && len(l.Ports[0].Count.Names) > 0 {
			t.Errorf("%.20q was taken for a counter", odd)
		}
		l.Bound()
	}
	os.RemoveAll(filepath.Join(string(m), tree.Port(0)+"/counters/symbol_error"))
	if err := os.Mkdir(filepath.Join(string(m), tree.Port(0)+"/counters/symbol_error"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Look(start.Add(1000 * time.Hour))
}

// TestLookIsCheap: a look makes one small thing for each port and no more.
func TestLookIsCheap(t *testing.T) {
	_, r := machine(t, 8)
	r.Look(start)
	n := testing.AllocsPerRun(100, func() { r.Look(start.Add(time.Second)) })
	if n > 20 {
		t.Errorf("a look of 8 ports makes %g allocations, want at most 20", n)
	}
}

func TestNvidiaLook(t *testing.T) {
	out := "index, pci.bus_id, uuid, name, utilization.gpu [%], memory.total [MiB], memory.used [MiB], power.draw [W], temperature.gpu, clocks.current.sm [MHz], clocks_throttle_reasons.hw_slowdown, clocks_throttle_reasons.sw_power_cap\n" +
		"0, 00000000:0F:01.0, GPU-6b1e, NVIDIA GB10, 37 %, 81920 MiB, 1024 MiB, 301.52 W, 45, 1980 MHz, Active, Not Active\n" +
		"1, 00000000:1F:01.0, GPU-6b1f, NVIDIA GB10, [N/A], [N/A], [N/A], [N/A], 45, [N/A], Not Active, [N/A]\n"
	got, ok := NvidiaLook([]byte(out))
	if !ok || len(got) != 2 {
		t.Fatalf("got %d GPUs, %v", len(got), ok)
	}
	g := got[0]
	if g.BDF != "0000:0f:01.0" || g.Use.Or(0) != 0.37 || g.Power.Or(0) != 301.52 || g.Clock.Or(0) != 1980e6 || g.MemoryUse.Or(0) != unit.GiB || !slices.Equal(g.Throttle, []string{"hw_slowdown"}) {
		t.Errorf("got %+v", g)
	}
	if got[1].Use.Known() || got[1].Memory.Known() || len(got[1].Throttle) != 0 {
		t.Errorf("what is not told is known: %+v", got[1])
	}
	newer, _ := NvidiaLook([]byte(strings.ReplaceAll(out, "throttle_reasons", "event_reasons"))) // as an H200 answers
	if len(newer) != 2 || !slices.Equal(newer[0].Throttle, g.Throttle) {
		t.Errorf("by their newer name: %+v", newer)
	}
	for _, bad := range []string{"", "No devices were found\n", "\x00"} {
		if all, ok := NvidiaLook([]byte(bad)); ok && len(all) > 0 {
			t.Errorf("%q is %d GPUs", bad, len(all))
		}
	}
}

func TestNvidiaLookOfAGB10(t *testing.T) {
	if all, ok := NvidiaLook(fixture.Read(t, "nvidia-smi_gb10_query_csv.txt")); !ok || len(all) == 0 {
		t.Error("the recorded answer has no GPU")
	}
}

func TestAMD(t *testing.T) {
	m, r := machine(t, 0)
	dir := "sys/devices/pci0000:00/0000:c3:00.0"
	for path, text := range map[string]string{"/gpu_busy_percent": "40", "/mem_info_vram_total": "1073741824", "/mem_info_vram_used": "4096", "/hwmon/hwmon3/power1_average": "55000000", "/hwmon/hwmon3/temp1_input": "61000", "/hwmon/hwmon3/freq1_input": "2900000000"} {
		set(t, m, dir+path, text)
	}
	set(t, m, "sys/class/drm/card1/x", "")
	if err := os.Symlink(filepath.Join(string(m), dir), filepath.Join(string(m), "sys/class/drm/card1/device")); err != nil {
		t.Fatal(err)
	}
	r.Look(start)
	var got []history.GPULook
	for i := 0; i < 100; i++ {
		if l := r.Look(start.Add(time.Second)); l.GPUd {
			got = l.GPUs
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(got) != 1 || got[0].BDF != "0000:c3:00.0" || got[0].Use.Or(0) != 0.4 || got[0].Power.Or(0) != 55 || got[0].Temp.Or(0) != 61 || got[0].Memory.Or(0) != unit.GiB {
		t.Errorf("got %+v", got)
	}
}

// TestMTUOfInfiniBand: the packet size in force is in no file, and IPoIB's is another thing.
func TestMTUOfInfiniBand(t *testing.T) {
	m, r := machine(t, 1)
	set(t, m, tree.Port(0)+"/link_layer", "InfiniBand")
	if mtu := r.Look(start).Ports[0].MTU; mtu.Known() {
		t.Errorf("it is %v, and nobody was asked", mtu)
	}
	asked := 0
	r.MTU = func(device string, port int) (int, bool) { asked++; return 4096, device == "mlx5_0" && port == 1 }
	for i := range 10 {
		l := r.Look(start.Add(gidsEvery + time.Duration(i)*time.Second))
		if mtu := l.Ports[0].MTU.Or(0); mtu != 4096 || asked != 1 {
			t.Fatalf("look %d: %d, asked %d times", i, mtu, asked)
		}
	}
}
