package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"weft/internal/fact"
	"weft/internal/format/nvsmi"
	"weft/internal/history"
	"weft/internal/unit"
)

// gpus asks GPUs in the background, because nvidia-smi takes a second or more.
type gpus struct {
	root string
	ask  func() ([]history.GPULook, bool)

	mu      sync.Mutex
	asked   time.Time
	running bool
	got     []history.GPULook
	fresh   bool // not told yet
	closed  bool
}

func newGPUs(root string) *gpus {
	g := &gpus{root: root}
	g.ask = g.askAll
	return g
}

func (g *gpus) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// get returns what was answered since the last call, and has GPUs asked when it is time.
func (g *gpus) get(now time.Time) ([]history.GPULook, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.running && !g.closed && (g.asked.IsZero() || now.Sub(g.asked) >= gpusEvery || now.Before(g.asked)) {
		g.asked, g.running = now, true
		go func() {
			got, ok := g.ask()
			g.mu.Lock()
			defer g.mu.Unlock()
			g.running = false
			if ok {
				g.got, g.fresh = got, true
			}
		}()
	}
	fresh := g.fresh
	g.fresh = false
	return g.got, fresh
}

// askAll asks NVIDIA's tool and amdgpu's files. It returns false when neither is there.
func (g *gpus) askAll() ([]history.GPULook, bool) {
	nvidia, a := g.nvidia()
	amd, b := g.amd()
	return append(nvidia, amd...), a || b
}

// query is what nvidia-smi is asked for.
var query = "index,pci.bus_id,uuid,name,utilization.gpu,memory.total,memory.used,power.draw,temperature.gpu,clocks.sm," +
	throttle + strings.Join(reasons, ","+throttle)

// throttle stands before the reasons that a clock is held down for; newer drivers call them
// clocks_event_reasons, and still know this name.
const throttle = "clocks_throttle_reasons."

var reasons = []string{"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sw_power_cap"}

func (g *gpus) nvidia() ([]history.GPULook, bool) {
	if _, err := os.Stat(filepath.Join(g.root, "proc/driver/nvidia/version")); err != nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu="+query, "--format=csv")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil || len(out) > 1<<20 {
		return nil, false
	}
	return NvidiaLook(out)
}

// NvidiaLook reads what nvidia-smi answered.
func NvidiaLook(out []byte) ([]history.GPULook, bool) {
	log, err := nvsmi.ParseCSV(out)
	if err != nil && len(log.GPUs) == 0 {
		return nil, false
	}
	var all []history.GPULook
	held := throttled(out)
	for i, q := range log.GPUs {
		l := history.GPULook{Index: i, BDF: q.BDF, UUID: q.UUID, Name: q.Name, Power: val(q.PowerDrawW)}
		if i < len(held) {
			l.Throttle = held[i]
		}
		if q.UtilPercent != nil {
			l.Use = fact.Some(float64(*q.UtilPercent) / 100)
		}
		if q.MemoryTotalBytes != nil {
			l.Memory = fact.Some(unit.Size(*q.MemoryTotalBytes))
		}
		if q.MemoryUsedBytes != nil {
			l.MemoryUse = fact.Some(unit.Size(*q.MemoryUsedBytes))
		}
		if q.TempC != nil {
			l.Temp = fact.Some(float64(*q.TempC))
		}
		if q.ClockSMMHz != nil {
			l.Clock = fact.Some(float64(*q.ClockSMMHz) * 1e6)
		}
		all = append(all, l)
	}
	return all, true
}

// throttled reads the columns of reasons, GPU by GPU.
func throttled(out []byte) (all [][]string) {
	var names []string
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if names == nil {
			names = cells
			continue
		}
		var held []string
		for i, c := range cells {
			if i >= len(names) || strings.TrimSpace(c) != "Active" {
				continue
			}
			name := strings.TrimSpace(names[i])
			for _, prefix := range []string{throttle, "clocks_event_reasons."} { // asked for by the old name, newer drivers answer with theirs
				if reason, ok := strings.CutPrefix(name, prefix); ok {
					held = append(held, reason)
				}
			}
		}
		if strings.TrimSpace(line) != "" {
			all = append(all, held)
		}
	}
	return all
}

func val[T any](p *T) fact.Val[T] {
	if p == nil {
		return fact.Val[T]{}
	}
	return fact.Some(*p)
}

// amd reads what the amdgpu driver puts beside its devices.
func (g *gpus) amd() ([]history.GPULook, bool) {
	cards, _ := filepath.Glob(filepath.Join(g.root, "sys/class/drm/card[0-9]*/device/gpu_busy_percent"))
	var all []history.GPULook
	for _, busy := range cards {
		dir := filepath.Dir(busy)
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		l := history.GPULook{Index: len(all), BDF: filepath.Base(real), Name: small(dir + "/product_name")}
		if v, ok := num(busy); ok {
			l.Use = fact.Some(v / 100)
		}
		if v, ok := num(dir + "/mem_info_vram_total"); ok {
			l.Memory = fact.Some(unit.Size(v))
		}
		if v, ok := num(dir + "/mem_info_vram_used"); ok {
			l.MemoryUse = fact.Some(unit.Size(v))
		}
		mons, _ := filepath.Glob(dir + "/hwmon/hwmon*")
		for _, mon := range mons {
			for _, f := range []string{"/power1_average", "/power1_input"} {
				if v, ok := num(mon + f); ok && !l.Power.Known() {
					l.Power = fact.Some(v / 1e6)
				}
			}
			if v, ok := num(mon + "/temp1_input"); ok {
				l.Temp = fact.Some(v / 1e3)
			}
			if v, ok := num(mon + "/freq1_input"); ok {
				l.Clock = fact.Some(v)
			}
		}
		all = append(all, l)
	}
	return all, len(all) > 0
}

func small(path string) string {
	f := &file{path: path, fd: -1}
	b, _ := f.bytes(&Reader{})
	return strings.TrimSpace(string(b))
}

func num(path string) (float64, bool) {
	v, err := strconv.ParseFloat(small(path), 64)
	return v, err == nil && v >= 0 && v < 1e18
}
