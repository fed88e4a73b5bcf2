// Package verbs is weft's own RDMA engine: libibverbs, loaded at run time, and
// reliable connections over it whose bandwidth and latency are measured. Edge.
//
// Two machines each open a Device and make a Conn, exchange what Local returns (over any
// channel, as JSON) and Connect. Then one side runs Stream (bandwidth) or Ping (latency),
// while the other runs Receive or Pong where the operation needs it:
//
//	            Write            Send             Read
//	bandwidth   Stream, nothing  Stream, Receive  Stream, nothing
//	latency     Ping, Pong       Ping, Pong       Ping, nothing
//
// Both sides may Stream at once. A Conn measures one thing at a time.
package verbs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Lib is libibverbs.
type Lib struct {
	getDeviceList  func(n *int32) unsafe.Pointer
	freeDeviceList func(list unsafe.Pointer)
	openDevice     func(dev unsafe.Pointer) unsafe.Pointer
	closeDevice    func(ctx unsafe.Pointer) int32
	queryDevice    func(ctx unsafe.Pointer, attr *deviceAttr) int32
	queryPort      func(ctx unsafe.Pointer, port uint8, attr *portAttr) int32
	queryGID       func(ctx unsafe.Pointer, port uint8, index int32, g *gid) int32
	allocPD        func(ctx unsafe.Pointer) unsafe.Pointer
	deallocPD      func(pd unsafe.Pointer) int32
	regMR          func(pd, addr unsafe.Pointer, length uintptr, access int32) unsafe.Pointer
	regMRIova2     func(pd, addr unsafe.Pointer, length uintptr, iova uint64, access uint32) unsafe.Pointer // nil before rdma-core 28
	deregMR        func(mr unsafe.Pointer) int32
	createChannel  func(ctx unsafe.Pointer) unsafe.Pointer
	destroyChannel func(ch unsafe.Pointer) int32
	createCQ       func(ctx unsafe.Pointer, cqe int32, cqContext, ch unsafe.Pointer, vector int32) unsafe.Pointer
	destroyCQ      func(cq unsafe.Pointer) int32
	ackCQEvents    func(cq unsafe.Pointer, n uint32)
	createQP       func(pd unsafe.Pointer, attr *qpInitAttr) unsafe.Pointer
	modifyQP       func(qp unsafe.Pointer, attr *qpAttr, mask int32) int32
	destroyQP      func(qp unsafe.Pointer) int32
	wcStatusStr    func(status uint32) string
	errnoLocation  func() *int32
}

// ErrNoLibrary says that there is no libibverbs on this machine.
var ErrNoLibrary = errors.New("libibverbs.so.1 is not installed: apt install libibverbs1 ibverbs-providers, or dnf install libibverbs")

// Load loads libibverbs. It stays loaded: drivers that it loads in turn cannot be unloaded.
func Load() (*Lib, error) {
	h, err := purego.Dlopen("libibverbs.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		if strings.Contains(err.Error(), "libibverbs.so.1: cannot open shared object file") {
			return nil, ErrNoLibrary
		}
		return nil, fmt.Errorf("libibverbs.so.1: %w", err)
	}
	l := &Lib{}
	for _, f := range []struct {
		to   any
		name string
	}{
		{&l.getDeviceList, "ibv_get_device_list"},
		{&l.freeDeviceList, "ibv_free_device_list"},
		{&l.openDevice, "ibv_open_device"},
		{&l.closeDevice, "ibv_close_device"},
		{&l.queryDevice, "ibv_query_device"},
		{&l.queryPort, "ibv_query_port"},
		{&l.queryGID, "ibv_query_gid"},
		{&l.allocPD, "ibv_alloc_pd"},
		{&l.deallocPD, "ibv_dealloc_pd"},
		{&l.regMR, "ibv_reg_mr"},
		{&l.deregMR, "ibv_dereg_mr"},
		{&l.createChannel, "ibv_create_comp_channel"},
		{&l.destroyChannel, "ibv_destroy_comp_channel"},
		{&l.createCQ, "ibv_create_cq"},
		{&l.destroyCQ, "ibv_destroy_cq"},
		{&l.ackCQEvents, "ibv_ack_cq_events"},
		{&l.createQP, "ibv_create_qp"},
		{&l.modifyQP, "ibv_modify_qp"},
		{&l.destroyQP, "ibv_destroy_qp"},
		{&l.wcStatusStr, "ibv_wc_status_str"},
		{&l.errnoLocation, "__errno_location"}, // libc's, which libibverbs brings
	} {
		sym, err := purego.Dlsym(h, f.name)
		if err != nil {
			return nil, fmt.Errorf("libibverbs.so.1 has no %s: %w", f.name, err)
		}
		purego.RegisterFunc(f.to, sym)
	}
	if sym, err := purego.Dlsym(h, "ibv_reg_mr_iova2"); err == nil {
		purego.RegisterFunc(&l.regMRIova2, sym)
	}
	return l, nil
}

// pointer calls something that returns a pointer, or nil and errno.
func (l *Lib) pointer(fn func() unsafe.Pointer) (unsafe.Pointer, error) {
	runtime.LockOSThread() // errno is the thread's
	defer runtime.UnlockOSThread()
	errno := l.errnoLocation()
	*errno = 0
	if p := fn(); p != nil {
		return p, nil
	}
	if *errno == 0 {
		return nil, errors.New("no reason given")
	}
	return nil, syscall.Errno(*errno)
}

// code makes an error of a call that returns 0 or an errno; some return -1 and set errno.
func (l *Lib) code(fn func() int32) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	errno := l.errnoLocation()
	*errno = 0
	switch r := fn(); {
	case r == 0:
		return nil
	case r > 0:
		return syscall.Errno(r)
	case *errno != 0:
		return syscall.Errno(*errno)
	default:
		return syscall.Errno(-r)
	}
}

// each gives every device to fn, until it returns false, and then forgets the list; a
// device that fn opened stays open.
func (l *Lib) each(fn func(p unsafe.Pointer, d *device) bool) error {
	var n int32
	list, err := l.pointer(func() unsafe.Pointer { return l.getDeviceList(&n) })
	switch {
	case errors.Is(err, syscall.ENOSYS):
		return errors.New("the kernel has no RDMA: modprobe ib_uverbs")
	case err != nil:
		return fmt.Errorf("ibv_get_device_list: %w", err)
	}
	defer l.freeDeviceList(list)
	for _, p := range unsafe.Slice((*unsafe.Pointer)(list), max(n, 0)) {
		if !fn(p, (*device)(p)) {
			break
		}
	}
	return nil
}

// Devices returns the devices that libibverbs can open, sorted.
func (l *Lib) Devices() (names []string, err error) {
	err = l.each(func(_ unsafe.Pointer, d *device) bool {
		names = append(names, cString(d.name[:]))
		return true
	})
	slices.Sort(names)
	return names, err
}

// sysClass is where the kernel lists its RDMA devices.
const sysClass = "/sys/class/infiniband"

// missing says why a device is not in libibverbs' list.
func (l *Lib) missing(name string) error {
	if !safeName(name) {
		return fmt.Errorf("%q is not the name of an RDMA device", name)
	}
	if _, err := os.Stat(filepath.Join(sysClass, name)); err == nil {
		return fmt.Errorf("%s: the kernel has it and libibverbs no driver for it, or its /dev/infiniband/uverbs* is missing: apt install ibverbs-providers (dnf: libibverbs), modprobe ib_uverbs", name)
	}
	all, _ := l.Devices()
	if len(all) == 0 {
		return fmt.Errorf("%s: no such RDMA device, nor any other", name)
	}
	return fmt.Errorf("%s: no such RDMA device; there is %s", name, strings.Join(all, ", "))
}

// safeName keeps a name from leaving its folder.
func safeName(name string) bool {
	return name != "" && len(name) < 64 && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

func cString(b []byte) string {
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
