package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Snap is a path as it is or will be: everything that must come back. Its contents are
// in a file of the run's folder.
type Snap struct {
	Kind   string            `json:"kind"` // absent, file, link, dir
	Mode   uint32            `json:"mode,omitempty"`
	UID    int               `json:"uid,omitempty"`
	GID    int               `json:"gid,omitempty"`
	MTime  int64             `json:"mtime,omitempty"`  // ns; 0 is whenever it is written
	Xattrs map[string][]byte `json:"xattrs,omitempty"` // the SELinux label and access lists among them
	SHA256 string            `json:"sha256,omitempty"`
	Link   string            `json:"link,omitempty"`
	Copy   string            `json:"copy,omitempty"` // file below the run's folder that holds the content
}

// The kinds of things that can be at a path.
const (
	absent = "absent"
	file   = "file"
	dir    = "dir"
	symlnk = "link"
)

// maxFile bounds what is kept of one file: an initial ramdisk is the largest.
const maxFile = 512 << 20

// look returns what is at a path, and its content where that is a file.
func look(path string) (Snap, []byte, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return Snap{Kind: absent}, nil, nil
	}
	if err != nil {
		return Snap{}, nil, err
	}
	st := info.Sys().(*syscall.Stat_t)
	s := Snap{Mode: uint32(st.Mode) & 0o7777, UID: int(st.Uid), GID: int(st.Gid)}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		s.Kind = symlnk
		s.Mode = 0
		s.Link, err = os.Readlink(path)
		return s, nil, err
	case info.IsDir():
		s.Kind = dir
		return s, nil, nil
	case !info.Mode().IsRegular():
		return s, nil, fmt.Errorf("%s: neither a file nor a folder", path)
	case info.Size() > maxFile:
		return s, nil, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	s.Kind, s.MTime = file, info.ModTime().UnixNano()
	if s.Xattrs, err = xattrs(path); err != nil {
		return s, nil, err
	}
	b, err := os.ReadFile(path)
	s.SHA256 = sum(b)
	return s, b, err
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// same reports whether what is at a path is what a snapshot says: content, owner, mode
// and attributes. The time of a file that weft wrote anew is no matter.
func same(path string, want Snap) (bool, error) {
	is, _, err := look(path)
	if err != nil || is.Kind != want.Kind {
		return false, err
	}
	switch is.Kind {
	case absent, dir:
		return true, nil
	case symlnk:
		return is.Link == want.Link, nil
	}
	if is.SHA256 != want.SHA256 || is.Mode != want.Mode || is.UID != want.UID || is.GID != want.GID || len(is.Xattrs) != len(want.Xattrs) {
		return false, nil
	}
	for k, v := range want.Xattrs {
		if !bytes.Equal(is.Xattrs[k], v) {
			return false, nil
		}
	}
	return true, nil
}

// xattrs reads the extended attributes of a file. File systems without any have none.
func xattrs(path string) (map[string][]byte, error) {
	buf := make([]byte, 64<<10) // XATTR_LIST_MAX
	n, err := syscall.Listxattr(path, buf)
	if err != nil {
		if errors.Is(err, syscall.ENOTSUP) {
			return nil, nil
		}
		return nil, &os.PathError{Op: "listxattr", Path: path, Err: err}
	}
	var all map[string][]byte
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10) // XATTR_SIZE_MAX
		m, err := syscall.Getxattr(path, name, value)
		if errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOTSUP) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "getxattr " + name, Path: path, Err: err}
		}
		if all == nil {
			all = map[string][]byte{}
		}
		all[name] = value[:m]
	}
	return all, nil
}

// staged is the name under which what will be at a path is got ready, in the same
// folder, so that to put it there is one rename: it takes no space and cannot be half
// done. Programs that read all files of a folder leave out names with a leading dot.
func staged(path, run, tag string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".weft-%s-%s-%s", run, tag, filepath.Base(path)))
}

// The tags of what is staged: the new of a change, the way back, what commands rewrite.
func newTag(change int) string  { return fmt.Sprintf("new%d", change) }
func backTag(change int) string { return fmt.Sprintf("back%d", change) }

const keptTag, mergedTag = "kept", "merged"

// stage writes a snapshot beside its path and returns when it is on disk.
func stage(tmp string, s Snap, content []byte) error {
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	switch s.Kind {
	case absent, dir:
		return nil
	case symlnk:
		if err := os.Symlink(s.Link, tmp); err != nil {
			return err
		}
		return os.Lchown(tmp, s.UID, s.GID)
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chown(s.UID, s.GID), syscall.Fchmod(int(f.Fd()), s.Mode))
	for name, value := range s.Xattrs {
		if err == nil {
			if e := syscall.Setxattr(tmp, name, value, 0); e != nil && !errors.Is(e, syscall.ENOTSUP) {
				err = &os.PathError{Op: "setxattr " + name, Path: tmp, Err: e}
			}
		}
	}
	if s.MTime != 0 && err == nil {
		err = os.Chtimes(tmp, time.Time{}, time.Unix(0, s.MTime))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// put makes a path what a snapshot says, from what was staged.
func put(path, tmp string, s Snap) error {
	var err error
	switch s.Kind {
	case dir:
		if err = os.Mkdir(path, 0o755); errors.Is(err, os.ErrExist) {
			err = nil
		}
	case absent:
		if err = os.Remove(path); errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
			err = nil // a folder that somebody else put something into stays
		}
	default:
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return err
	}
	if d := filepath.Dir(path); exists(d) {
		return syncDir(d)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
