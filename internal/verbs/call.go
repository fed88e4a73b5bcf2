package verbs

import "unsafe"

// call is one call of a C function with up to three arguments. Posting and polling are
// the only calls inside a measurement: through purego they would cost 150 ns and an
// allocation each, which is more than the 5 % by which a 1 µs latency may differ from
// perftest's. This way it is about 10 ns.
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

// callerAddr is where caller, which is not a Go function, stands.
var callerAddr uintptr

// quick runs caller on the system stack, as the runtime does with C functions of its own.
//
//go:noescape
func quick(fn uintptr, arg unsafe.Pointer)
