package meter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"weft/internal/trial"
)

// GPUBandwidth is how fast a GPU copies inside its own memory.
type GPUBandwidth struct {
	Index   int            `json:"index"`
	Name    string         `json:"name"`
	Samples []trial.Amount `json:"samples"` // bits read and written a second
}

// gpuAPI is the few calls of CUDA's driver or of HIP that a copy needs.
type gpuAPI struct {
	kind   string // "CUDA", "HIP"
	count  func(*int32) int32
	use    func(device int32) int32
	name   func(buf *byte, length int32, device int32) int32
	alloc  func(*uintptr, uintptr) int32
	free   func(uintptr) int32
	copy   func(dst, src, bytes uintptr) int32
	settle func() int32
}

// loadGPU finds the driver's library: it is there wherever the driver is, without a toolkit.
func loadGPU() (*gpuAPI, error) {
	if lib, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
		return cuda(lib)
	}
	for _, name := range []string{"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"} {
		if lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
			return hip(lib)
		}
	}
	return nil, class("library", errors.New("neither libcuda.so.1 nor libamdhip64.so can be loaded: no GPU driver library on this node"))
}

func cuda(lib uintptr) (*gpuAPI, error) {
	var start func(uint32) int32
	var retain func(*uintptr, int32) int32
	var current func(uintptr) int32
	g := &gpuAPI{kind: "CUDA"}
	err := bind(lib, map[string]any{
		"cuInit": &start, "cuDeviceGetCount": &g.count, "cuDeviceGetName": &g.name, "cuDevicePrimaryCtxRetain": &retain, "cuCtxSetCurrent": &current,
		"cuMemAlloc_v2": &g.alloc, "cuMemFree_v2": &g.free, "cuMemcpyDtoD_v2": &g.copy, "cuCtxSynchronize": &g.settle,
	})
	if err != nil {
		return nil, err
	}
	g.use = func(device int32) int32 {
		var ctx uintptr
		if e := retain(&ctx, device); e != 0 {
			return e
		}
		return current(ctx)
	}
	if e := start(0); e != 0 {
		return nil, class("device", fmt.Errorf("cuInit answers %d: the driver does not work", e))
	}
	return g, nil
}

func hip(lib uintptr) (*gpuAPI, error) {
	const deviceToDevice = 3
	var copyKind func(dst, src, bytes uintptr, kind int32) int32
	g := &gpuAPI{kind: "HIP"}
	err := bind(lib, map[string]any{
		"hipGetDeviceCount": &g.count, "hipDeviceGetName": &g.name, "hipSetDevice": &g.use,
		"hipMalloc": &g.alloc, "hipFree": &g.free, "hipMemcpy": &copyKind, "hipDeviceSynchronize": &g.settle,
	})
	g.copy = func(dst, src, bytes uintptr) int32 { return copyKind(dst, src, bytes, deviceToDevice) }
	return g, err
}

// bind finds functions by name; a library without one of them is an error, not a panic.
func bind(lib uintptr, names map[string]any) error {
	for name, f := range names {
		at, err := purego.Dlsym(lib, name)
		if err != nil {
			return class("library", err)
		}
		purego.RegisterFunc(f, at)
	}
	return nil
}

const (
	gpuCopy  = 512 << 20 // bytes a copy: far more than any cache
	gpuEvery = 8         // copies a sample
)

// gpuMemory copies inside the memory of each GPU and counts what is read and written.
func (s *server) gpuMemory(ctx context.Context, a Ask) (Answer, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g, err := loadGPU()
	if err != nil {
		return Answer{}, err
	}
	var n int32
	if e := g.count(&n); e != 0 || n == 0 {
		return Answer{}, class("device", fmt.Errorf("%s sees no GPU (%d)", g.kind, e))
	}
	var ans Answer
	for i := range n {
		b, err := g.measure(ctx, i, a)
		if err != nil {
			return ans, class("device", fmt.Errorf("GPU %d: %w", i, err))
		}
		ans.GPUs = append(ans.GPUs, b)
	}
	return ans, nil
}

func (g *gpuAPI) measure(ctx context.Context, device int32, a Ask) (GPUBandwidth, error) {
	b := GPUBandwidth{Index: int(device)}
	if e := g.use(device); e != 0 {
		return b, fmt.Errorf("%s does not open it (%d)", g.kind, e)
	}
	var name [256]byte
	g.name(&name[0], int32(len(name)), device)
	b.Name = unsafeString(name[:])
	var from, to uintptr
	if e := g.alloc(&from, gpuCopy); e != 0 {
		return b, fmt.Errorf("%d MiB of its memory cannot be had (%d): in use?", gpuCopy>>20, e)
	}
	defer g.free(from)
	if e := g.alloc(&to, gpuCopy); e != 0 {
		return b, fmt.Errorf("%d MiB of its memory cannot be had (%d): in use?", 2*gpuCopy>>20, e)
	}
	defer g.free(to)
	effort, _ := trial.EffortByWord(a.Effort)
	for start := time.Now(); ctx.Err() == nil && !effort.Enough(b.Samples) && time.Since(start).Seconds() < a.Seconds; {
		t := time.Now()
		for range gpuEvery {
			if e := g.copy(to, from, gpuCopy); e != 0 {
				return b, fmt.Errorf("a copy answers %d", e)
			}
		}
		if e := g.settle(); e != 0 {
			return b, fmt.Errorf("a copy answers %d", e)
		}
		b.Samples = append(b.Samples, trial.Amount(2*8*gpuEvery*gpuCopy/time.Since(t).Seconds()))
	}
	if len(b.Samples) > 1 {
		b.Samples = b.Samples[1:] // the first copy wakes the clocks
	}
	return b, ctx.Err()
}

func unsafeString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return unsafe.String(&b[0], i)
		}
	}
	return string(b)
}
