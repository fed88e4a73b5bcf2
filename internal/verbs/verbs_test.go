package verbs

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestLoad loads the library of this machine where it has one, which needs no RDMA.
func TestLoad(t *testing.T) {
	l, err := Load()
	if errors.Is(err, ErrNoLibrary) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[uint32]string{0: "success", wcRetryExc: "retry", wcFlush: "flush"} {
		if got := l.wcStatusStr(status); !strings.Contains(strings.ToLower(got), want) {
			t.Errorf("status %d is %q, want %q in it", status, got, want)
		}
	}
	names, err := l.Devices()
	if err != nil && !strings.Contains(err.Error(), "no RDMA") {
		t.Errorf("devices: %v", err)
	}
	if _, err := l.Open("weft_none", 1); err == nil {
		t.Errorf("a device opened that is not there, among %v", names)
	}
}

func TestErrno(t *testing.T) {
	l, err := Load()
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		ret, errno int32
		want       error
	}{{0, 5, nil}, {22, 0, syscall.EINVAL}, {-1, 12, syscall.ENOMEM}, {-19, 0, syscall.ENODEV}} {
		got := l.code(func() int32 { *l.errnoLocation() = c.errno; return c.ret })
		if !errors.Is(got, c.want) {
			t.Errorf("%d with errno %d is %v, want %v", c.ret, c.errno, got, c.want)
		}
	}
}

func TestErrorsExplain(t *testing.T) {
	for want, err := range map[string]error{
		"may not use /dev/infiniband/uverbs0":    openError("mlx5_0", "uverbs0", syscall.EACCES),
		"went away":                              openError("mlx5_0", "uverbs0", syscall.ENODEV),
		"modprobe ib_uverbs":                     openError("mlx5_0", "uverbs0", syscall.ENOENT),
		"no completion for 10s":                  &StallError{"completion", 10e9},
		"write: retry exceeded (status 12, vend": &CompletionError{Op: Write, Status: 12, Name: "retry exceeded", Vendor: 0x81, Means: "gone"},
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if !errors.Is(openError("a", "b", syscall.EPERM), syscall.EPERM) {
		t.Error("the cause is lost")
	}
}

func TestMemlock(t *testing.T) {
	var was syscall.Rlimit
	const memlockLimit = 8 // RLIMIT_MEMLOCK
	if err := syscall.Getrlimit(memlockLimit, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(memlockLimit, &syscall.Rlimit{Cur: 64 << 10, Max: was.Max}); err != nil {
		t.Skip(err)
	}
	defer syscall.Setrlimit(memlockLimit, &was)
	if got := memlock(syscall.ENOMEM); !strings.Contains(got, "RLIMIT_MEMLOCK is 64 KiB") {
		t.Errorf("%q", got)
	}
	if got := memlock(syscall.EINVAL); got != "" {
		t.Errorf("%q for something else", got)
	}
}

func TestMemoryIsPlaced(t *testing.T) {
	m, err := newMemory(10000)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.b)%os.Getpagesize() != 0 || uintptr(m.pointer(0))%uintptr(os.Getpagesize()) != 0 {
		t.Errorf("%d bytes at %p", len(m.b), m.pointer(0))
	}
	a, b := place[uint32](m, 3), place[sendWR](m, 2)
	a[2], b[0].wrID = 7, 8
	if address(&b[0]) < address(&a[2])+4 || address(&b[0])%64 != 0 || a[2] != 7 {
		t.Errorf("placed at %#x and %#x", address(&a[0]), address(&b[0]))
	}
	m.free()
	m.free()
	(*memory)(nil).free()
}
