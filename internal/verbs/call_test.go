package verbs

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libc is a function of the C library that takes up to three arguments.
func libc(t testing.TB, name string) uintptr {
	t.Helper()
	h, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW)
	if err != nil {
		t.Skip(err)
	}
	fn, err := purego.Dlsym(h, name)
	if err != nil {
		t.Fatal(err)
	}
	return fn
}

func TestCall(t *testing.T) {
	pid := call{fn: libc(t, "getpid")}
	if got := pid.do(); int(got) != os.Getpid() {
		t.Errorf("getpid() is %d, want %d", got, os.Getpid())
	}
	minus := call{fn: libc(t, "abs"), a1: ^uintptr(41)} // -42
	if got := minus.do(); got != 42 {
		t.Errorf("abs(-42) is %d", got)
	}
	a, b := []byte("weft and warp"), make([]byte, 13)
	move := call{fn: libc(t, "memcpy"), a1: uintptr(unsafe.Pointer(&b[0])), a2: uintptr(unsafe.Pointer(&a[0])), a3: 13}
	if move.do(); string(b) != string(a) {
		t.Errorf("memcpy moved %q", b)
	}
}

// TestCallWhileGoWorks calls from many goroutines while stacks grow, memory is collected
// and threads are preempted.
func TestCallWhileGoWorks(t *testing.T) {
	fn := libc(t, "labs")
	done := make(chan int)
	for g := range 8 {
		go func() {
			bad := 0
			c := &call{fn: fn}
			for i := range 20000 {
				want := uintptr(g*1000003 + i)
				c.a1 = -want
				if c.do(); c.ret != want {
					bad++
				}
				if i%500 == 0 {
					grow(200)
					runtime.Gosched()
				}
			}
			done <- bad
		}()
	}
	for range 4 {
		runtime.GC()
	}
	for range 8 {
		if bad := <-done; bad > 0 {
			t.Errorf("%d wrong answers", bad)
		}
	}
}

//go:noinline
func grow(n int) byte {
	var room [256]byte
	if n > 0 {
		room[n%256] = grow(n - 1)
	}
	return room[n%256]
}

func TestCallAllocatesNothing(t *testing.T) {
	c := &call{fn: libc(t, "labs"), a1: 7}
	if n := testing.AllocsPerRun(1000, func() { c.do() }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func TestSpin(t *testing.T) {
	fn := libc(t, "abs")
	var stop atomic.Uint32
	s := &spin{call: call{fn: fn, a1: 5}}
	if got := s.run(&stop, 1000); got != 5 || s.left != 1000 {
		t.Errorf("abs(5) is %d, with %d turns left of 1000", got, s.left)
	}
	s.a1 = 0
	if got := s.run(&stop, 1000); got != 0 || s.left != 0 {
		t.Errorf("abs(0) is %d, with %d turns left", got, s.left)
	}
	go stop.Store(1)
	for stop.Load() == 0 {
		s.run(&stop, 1<<10)
	}
	if got := s.run(&stop, 1<<40); got != 0 || s.left != 1<<40 {
		t.Errorf("stopped: %d, with %d turns left", got, s.left)
	}
}

func TestWatcher(t *testing.T) {
	var stop atomic.Uint32
	words := []uint32{0x44332211, 0x88776655}
	w := &watcher{}
	for i := range 8 {
		shift, want := uint(i%4*8), byte((i+1)*0x11)
		if !w.run(&words[i/4], shift, want, &stop, 10) || w.run(&words[i/4], shift, want+1, &stop, 10) {
			t.Errorf("byte %d of %#x is not seen as %#x", i, words, want)
		}
	}
	go atomic.StoreUint32(&words[0], 0x99332211)
	for !w.run(&words[0], 24, 0x99, &stop, 1<<10) {
	}
	stop.Store(1)
	if w.run(&words[0], 24, 0xaa, &stop, 1<<40) {
		t.Error("seen what is not there")
	}
}

// BenchmarkFigureCall is one post or poll without its work, beside purego's way.
func BenchmarkFigureCall(b *testing.B) {
	fn := libc(b, "labs")
	var stop atomic.Uint32
	s := &spin{call: call{fn: fn, a1: 7}}
	const times = 200000
	for name, once := range map[string]func(){
		"quick":  func() { s.do() },
		"spin":   func() { s.run(&stop, 1) },
		"purego": func() { purego.SyscallN(fn, 7, 0, 0) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for range times {
					once()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/times, "ns/call")
			b.ReportMetric(0, "ns/op")
		})
	}
}
