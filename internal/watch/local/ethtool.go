package local

import (
	"bytes"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"weft/internal/history"
)

// Of include/uapi/linux/ethtool.h.
const (
	ethtoolGStrings  = 0x1b
	ethtoolGStats    = 0x1d
	ethtoolGSSetInfo = 0x37
	ssStats          = 1  // ETH_SS_STATS
	stringLen        = 32 // ETH_GSTRING_LEN
)

// Bounds: mlx5 with a queue for each of 256 processors has some fifteen thousand.
const (
	maxStats = 65536
	// slack is room for counters that appear between the count and the read: the kernel
	// writes as many as there are then, whatever was asked for.
	slack = 8192
)

// stats reads the counters of a network interface that weft follows, through the ioctl
// behind ethtool -S. It needs no privilege.
type stats struct {
	fd     int
	netdev string
	total  uint32
	names  []string // that weft follows
	index  []int    // where they are among all
	buf    []uint64
}

// ifreq is struct ifreq with its pointer; the rest of the union is larger than that.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// openStats looks which counters an interface has; nil when none is followed.
func openStats(netdev string) *stats {
	if netdev == "" || len(netdev) >= unix.IFNAMSIZ {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	s := &stats{fd: fd, netdev: netdev}
	if !s.list() || len(s.names) == 0 {
		s.close()
		return nil
	}
	return s
}

func (s *stats) close() {
	if s != nil && s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
}

// ioctl asks about the interface; p is a structure of ethtool.h.
func (s *stats) ioctl(p unsafe.Pointer) bool {
	r := ifreq{data: p}
	copy(r.name[:], s.netdev)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
	runtime.KeepAlive(p)
	return errno == 0
}

// count is how many counters the interface has.
func (s *stats) count() (uint32, bool) {
	info := struct {
		cmd, reserved uint32
		mask          uint64
		data          [1]uint32
		_             uint32
	}{cmd: ethtoolGSSetInfo, mask: 1 << ssStats}
	if !s.ioctl(unsafe.Pointer(&info)) || info.mask == 0 || info.data[0] > maxStats {
		return 0, false
	}
	return info.data[0], true
}

// list reads the names of all counters and notes where those are that weft follows.
func (s *stats) list() bool { return s.listWhere(history.Ethernet) }

func (s *stats) listWhere(wanted func(string) bool) bool {
	n, ok := s.count()
	if !ok {
		return false
	}
	const head = 12 // cmd, string_set, len
	text := make([]uint32, (head+(int(n)+slack)*stringLen)/4)
	text[0], text[1], text[2] = ethtoolGStrings, ssStats, n
	if !s.ioctl(unsafe.Pointer(&text[0])) || text[2] != n {
		return false
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&text[0])), len(text)*4)[head:]
	s.total, s.names, s.index = n, nil, nil
	for i := range int(n) {
		name, _, _ := bytes.Cut(b[i*stringLen:(i+1)*stringLen], []byte{0})
		if wanted(string(name)) {
			s.names, s.index = append(s.names, string(name)), append(s.index, i)
		}
	}
	s.buf = make([]uint64, 1+int(n)+slack)
	return true
}

// read reads all counters and gives those that weft follows, in the order of names. It
// fails when the interface has others than before.
func (s *stats) read(put func(i int, v uint64)) bool {
	if n, ok := s.count(); !ok || n != s.total {
		return false
	}
	head := (*[2]uint32)(unsafe.Pointer(&s.buf[0]))
	head[0], head[1] = ethtoolGStats, s.total
	if !s.ioctl(unsafe.Pointer(&s.buf[0])) || head[1] != s.total {
		return false
	}
	for i, at := range s.index {
		put(i, s.buf[1+at])
	}
	return true
}

// drop leaves counters out by their name.
func (s *stats) drop(names []string) {
	var kept []string
	var index []int
	for i, name := range s.names {
		if _, ok := slices.BinarySearch(names, name); !ok {
			kept, index = append(kept, name), append(index, s.index[i])
		}
	}
	s.names, s.index = kept, index
}
