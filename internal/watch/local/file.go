package local

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// file is a small file that stays open. A nil file is one that is not there.
type file struct {
	path string
	fd   int // -1: opened for each read
	gone bool
	last string // what text returned last, so that a state that stays costs no memory
}

// file opens a file below the root.
func (r *Reader) file(path string) *file {
	f := &file{path: filepath.Join(r.root, path), fd: -1}
	if r.open < maxOpen {
		if fd, err := openFile(f.path); err == nil {
			f.fd = fd
			r.open++
		} else if err == unix.ENOENT {
			return nil
		}
	}
	return f
}

// openFile opens without waiting, so that a pipe in the way cannot hang weft.
func openFile(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (f *file) close(r *Reader) {
	if f != nil && f.fd >= 0 {
		unix.Close(f.fd)
		f.fd = -1
		r.open--
	}
}

// bytes reads the file from its beginning. sysfs writes an attribute anew for that.
func (f *file) bytes(r *Reader) ([]byte, bool) {
	if f == nil {
		return nil, false
	}
	fd := f.fd
	if fd < 0 {
		var err error
		if fd, err = openFile(f.path); err != nil {
			f.gone = f.gone || err == unix.ENOENT
			r.lost = r.lost || err == unix.ENOENT
			return nil, false
		}
		defer unix.Close(fd)
	}
	for {
		n, err := unix.Pread(fd, r.buf[:], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			if err == unix.ENODEV || err == unix.ENOENT { // the device went away
				f.gone, r.lost = true, true
			}
			return nil, false
		}
		b := r.buf[:n]
		for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == ' ') {
			b = b[:len(b)-1]
		}
		return b, true
	}
}

// text is the content without the end of the line; "" when it cannot be read.
func (f *file) text(r *Reader) string {
	b, ok := f.bytes(r)
	if !ok {
		return ""
	}
	if f.last != string(b) { // compares without a copy
		f.last = string(b)
	}
	return f.last
}

// number is a content that is one decimal number.
func (f *file) number(r *Reader) (uint64, bool) {
	b, ok := f.bytes(r)
	if !ok || len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || v > (1<<64-1-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}

// word reads a file once.
func (r *Reader) word(path string) string {
	f := &file{path: filepath.Join(r.root, path), fd: -1}
	lost := r.lost
	b, _ := f.bytes(r)
	r.lost = lost // that a file is not there is no change
	return strings.TrimSpace(string(b))
}
