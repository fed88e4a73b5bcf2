package verbs

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory is a mapping of its own: page-aligned, at one place, unknown to Go's collector,
// so that a card may write into it at any time.
type memory struct {
	b    []byte
	used int
}

func newMemory(size int) (*memory, error) {
	page := unix.Getpagesize()
	b, err := unix.Mmap(-1, 0, (size+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	return &memory{b: b}, nil
}

func (m *memory) free() {
	if m != nil && m.b != nil {
		unix.Munmap(m.b)
		m.b = nil
	}
}

// pointer is the address of a byte.
func (m *memory) pointer(at int) unsafe.Pointer { return unsafe.Pointer(&m.b[at]) }

// place makes room for n values, on a cache line of their own.
func place[T any](m *memory, n int) []T {
	var v T
	at := (m.used + 63) &^ 63
	m.used = at + n*int(unsafe.Sizeof(v))
	return unsafe.Slice((*T)(unsafe.Pointer(&m.b[at:m.used][0])), n)
}

// address is where a value that was placed stands.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
