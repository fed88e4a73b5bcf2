package verbs

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Device is an open RDMA device and one of its ports.
type Device struct {
	lib  *Lib
	name string
	port int
	ctx  unsafe.Pointer
	attr deviceAttr
	link portAttr

	mu     sync.Mutex
	made   map[interface{ Close() }]bool // connections and groups
	closed bool
}

// Open opens a device for measuring over one of its ports.
func (l *Lib) Open(name string, port int) (*Device, error) {
	var d *Device
	var err error
	walk := l.each(func(p unsafe.Pointer, info *device) bool {
		if cString(info.name[:]) != name {
			return true
		}
		d, err = l.open(p, info, name, port)
		return false
	})
	switch {
	case walk != nil:
		return nil, walk
	case err != nil:
		return nil, err
	case d == nil:
		return nil, l.missing(name)
	}
	return d, nil
}

func (l *Lib) open(p unsafe.Pointer, info *device, name string, port int) (*Device, error) {
	if info.transportType == transportIWARP {
		return nil, fmt.Errorf("%s: is iWARP, whose connections need librdmacm: measure it with perftest -R", name)
	}
	uverbs := cString(info.devName[:])
	ctx, err := l.pointer(func() unsafe.Pointer { return l.openDevice(p) })
	if err != nil {
		return nil, openError(name, uverbs, err)
	}
	d := &Device{lib: l, name: name, port: port, ctx: ctx, made: map[interface{ Close() }]bool{}}
	if err := d.look(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func openError(name, uverbs string, err error) error {
	why := ""
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		why = ": this user may not use /dev/infiniband/" + uverbs
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EIO):
		why = ": the device went away"
	case errors.Is(err, syscall.ENOENT):
		why = ": /dev/infiniband/" + uverbs + " is missing: modprobe ib_uverbs"
	}
	return fmt.Errorf("%s: %w%s", name, err, why)
}

// look reads what the device and its port can do.
func (d *Device) look() error {
	if err := d.lib.code(func() int32 { return d.lib.queryDevice(d.ctx, &d.attr) }); err != nil {
		return fmt.Errorf("%s: ibv_query_device: %w", d.name, err)
	}
	if d.port < 1 || d.port > int(d.attr.physPortCnt) {
		return fmt.Errorf("%s/%d: no such port; it has %d", d.name, d.port, d.attr.physPortCnt)
	}
	if err := d.lib.code(func() int32 { return d.lib.queryPort(d.ctx, uint8(d.port), &d.link) }); err != nil {
		return fmt.Errorf("%s/%d: ibv_query_port: %w", d.name, d.port, err)
	}
	return nil
}

// What the kernel's own devices give as their maker: RXE_VENDOR_ID in rxe_param.h,
// SIW_VENDOR_ID in siw.h.
const (
	makerRXE = 0xffffff
	makerSIW = 0x626d74
)

// software reports whether a device is no card: the kernel does its work.
func (d *Device) software() bool { return d.attr.vendorID == makerRXE || d.attr.vendorID == makerSIW }

// spare reports whether a processor can be given to a busy loop: not where the same
// processor must do the network's work.
func (d *Device) spare() bool {
	return runtime.NumCPU() > 2 || runtime.NumCPU() == 2 && !d.software()
}

// ethernet reports whether the port is RoCE's rather than InfiniBand's.
func (d *Device) ethernet() bool { return d.link.linkLayer == linkEthernet }

// MTU is the port's active MTU in bytes.
func (d *Device) MTU() int { return mtuBytes(d.link.activeMTU) }

// Close closes the device and what was made on it. It may be called twice.
func (d *Device) Close() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.closed = true
	made := d.made
	d.made = nil
	d.mu.Unlock()
	for c := range made {
		c.Close()
	}
	d.lib.closeDevice(d.ctx)
}

func (d *Device) remove(c interface{ Close() }) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.made, c)
}

// mtuBytes is enum ibv_mtu in bytes: 1 is 256, 5 is 4096.
func mtuBytes(code uint32) int {
	if code < 1 || code > 5 {
		return 0
	}
	return 128 << code
}

// mtuCode is the other way round, 0 for what is no MTU of InfiniBand's.
func mtuCode(bytes int) uint32 {
	for code := uint32(1); code <= 5; code++ {
		if mtuBytes(code) == bytes {
			return code
		}
	}
	return 0
}
