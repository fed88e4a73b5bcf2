package verbs

import (
	"sync/atomic"
	"unsafe"
)

// call is one call of a C function with up to three arguments. Posting and polling are
// the only calls inside a measurement: through purego they would cost 150 ns and an
// allocation each, which is more than the 5 % by which a 1 µs latency may differ from
// perftest's. This way it is about 10 ns. The assembly knows the layout.
type call struct {
	fn, a1, a2, a3 uintptr
	ret            uintptr
}

// do calls fn on the thread's own stack, without telling Go's scheduler: fn must be
// short and must not call back. What may block (waiting for an event) goes elsewhere.
func (c *call) do() int32 {
	quick(callerAddr, unsafe.Pointer(c))
	return int32(c.ret)
}

// spin repeats a call until it returns something else than 0, a flag is set, or it was
// done often enough. Were Go's scheduler told of it as of a system call, a second thread
// would take the processor from it and give it back, for every message: where there is one
// slow processor, that makes latency half as long again.
type spin struct {
	call
	stop uintptr // of a uint32
	left uint64
}

func (s *spin) run(stop *atomic.Uint32, times uint64) int32 {
	s.stop, s.left = uintptr(unsafe.Pointer(stop)), times
	quick(spinnerAddr, unsafe.Pointer(s))
	return int32(s.ret)
}

// watcher repeats to look at a word of memory until one byte of it has a value.
type watcher struct {
	word  uintptr // of a uint32
	shift uint64
	want  uint64
	seen  uint64
	stop  uintptr
	left  uint64
}

func (w *watcher) run(word *uint32, shift uint, want byte, stop *atomic.Uint32, times uint64) bool {
	*w = watcher{uintptr(unsafe.Pointer(word)), uint64(shift), uint64(want), 0, uintptr(unsafe.Pointer(stop)), times}
	quick(watcherAddr, unsafe.Pointer(w))
	return w.seen != 0
}

// Where caller, spinner and watch stand, which are not Go functions.
var callerAddr, spinnerAddr, watcherAddr uintptr

// quick runs one of them on the system stack, as the runtime does with C functions of its own.
//
//go:noescape
func quick(fn uintptr, arg unsafe.Pointer)
