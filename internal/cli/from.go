package cli

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weft/internal/dump"
	"weft/internal/exec"
	"weft/internal/format"
)

// Limits of a folder or tar of outputs, which may be anything at all.
const (
	maxBundleFiles = 20_000
	maxBundleFile  = 16 << 20
	maxBundle      = 256 << 20
)

// readFrom reads -F: a dump, a folder or tar with one file per command, or the
// output of a single command.
func (a *app) readFrom(path string) (*dump.Dump, []string, error) {
	if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
		files, notes, err := readFolder(path)
		return bundle(path, files, notes, err)
	}
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, fail("weft collect -o "+path, "%s: %v", path, plain(err))
		}
		defer f.Close()
		in = f
	}
	r := bufio.NewReader(in)
	if head, _ := r.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, fail("weft collect -o FILE", "%s: %v", path, err)
		}
		r = bufio.NewReader(z)
	}
	// The ustar magic is at 257 in the first block (POSIX.1-1988).
	if head, _ := r.Peek(262); len(head) == 262 && string(head[257:]) == "ustar" {
		files, notes, err := readTar(r)
		return bundle(path, files, notes, err)
	}
	var head exec.Capped // of a text that turns out to be one command's output
	head.Max = maxBundleFile
	d, err := dump.Read(io.TeeReader(r, &head))
	if errors.Is(err, dump.ErrNot) && head.Dropped == 0 {
		if d, notes := format.Bundle(map[string][]byte{filepath.Base(path): head.Bytes()}); len(d.Nodes) > 0 {
			return d, notes, nil
		}
	}
	if err != nil {
		return nil, nil, fail("weft collect -o FILE", "%s: %v", path, plain(err))
	}
	return d, nil, nil
}

// bundle makes a dump of command outputs.
func bundle(path string, files map[string][]byte, notes []string, err error) (*dump.Dump, []string, error) {
	if err != nil {
		return nil, nil, fail("weft collect -o FILE", "%s: %v", path, plain(err))
	}
	d, more := format.Bundle(files)
	notes = append(notes, more...)
	if len(d.Nodes) == 0 {
		what := fmt.Sprintf("%s: none of %d files is the output of a tool weft knows", path, len(files))
		return nil, nil, fail("weft collect --print", "%s", strings.Join(append([]string{what}, notes...), "\n"))
	}
	return d, notes, nil
}

// readFolder reads the files below a folder; what is too large or not a file is
// left out and noted.
func readFolder(root string) (files map[string][]byte, notes []string, err error) {
	files = map[string][]byte{}
	total := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return nil
		case info.Size() > maxBundleFile:
			notes = append(notes, fmt.Sprintf("%s: larger than %d bytes, left out", name, maxBundleFile))
			return nil
		case len(files) == maxBundleFiles || total > maxBundle:
			return errors.New("too many files for a folder of command outputs")
		}
		b, err := readLimited(path, maxBundleFile)
		files[filepath.ToSlash(name)] = b
		total += len(b)
		return err
	})
	return files, notes, err
}

// readTar reads the files of a tar. Their names are only names: nothing is
// unpacked.
func readTar(r io.Reader) (files map[string][]byte, notes []string, err error) {
	files = map[string][]byte{}
	total := 0
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return files, notes, nil
		case err != nil:
			return files, notes, fmt.Errorf("after %d files: %w", len(files), err)
		case h.Typeflag != tar.TypeReg:
			continue
		case h.Size > maxBundleFile:
			notes = append(notes, fmt.Sprintf("%s: larger than %d bytes, left out", h.Name, maxBundleFile))
			continue
		case len(files) == maxBundleFiles || total > maxBundle:
			return files, notes, errors.New("too many files for a tar of command outputs")
		}
		b, err := io.ReadAll(io.LimitReader(t, maxBundleFile))
		if err != nil {
			return files, notes, fmt.Errorf("%s: %w", h.Name, err)
		}
		files[filepath.ToSlash(filepath.Clean(h.Name))] = b
		total += len(b)
	}
}
