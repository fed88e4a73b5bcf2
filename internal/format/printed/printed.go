// Package printed reads what the texts of many tools have in common: numbered
// lines and the faults in them, numbers, PCI addresses, JSON. Pure: bytes in, values out.
package printed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// Lines yields the lines that are not blank, trimmed at both ends, with their
// numbers from 1.
func Lines(b []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		num := 0
		for line := range strings.Lines(string(b)) {
			num++
			if line = strings.TrimSpace(line); line != "" && !yield(num, line) {
				return
			}
		}
	}
}

// Prompt recognises "$ ethtool …", "root@host:~# …" and "[root@host ~]# …", with
// which outputs are pasted.
func Prompt(line string) bool {
	first, _, _ := strings.Cut(line, " ")
	return first == "$" || strings.Contains(first, "@") && !strings.ContainsAny(first, `"{`)
}

// Number reads decimal, or hex with 0x.
func Number(s string) (int, bool) {
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		s, base = hex, 16
	}
	n, err := strconv.ParseUint(s, base, 32) // takes no sign
	return int(n), err == nil
}

// BDF spells a PCI address as the kernel does: nvidia-smi writes the domain
// with eight digits and capitals, sysfs with four, or with five and more behind
// Intel's VMD, and none.
func BDF(s string) (string, bool) {
	domain, rest, _ := strings.Cut(s, ":")
	bus, rest, _ := strings.Cut(rest, ":")
	dev, fn, _ := strings.Cut(rest, ".")
	if len(domain) < 4 || len(bus) != 2 || len(dev) != 2 || len(fn) != 1 {
		return "", false
	}
	d, err0 := strconv.ParseUint(domain, 16, 32)
	b, err1 := strconv.ParseUint(bus, 16, 8)
	v, err2 := strconv.ParseUint(dev, 16, 8)
	f, err3 := strconv.ParseUint(fn, 16, 8)
	if errors.Join(err0, err1, err2, err3) != nil || v > 0x1f || f > 7 {
		return "", false
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", d, b, v, f), true
}

// JSON reads the first value of doc into v, numbers as they are written. It
// returns io.EOF when there is none, and otherwise says the line of what is wrong.
func JSON(doc []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	err := dec.Decode(v)
	if err == nil || err == io.EOF {
		return err
	}
	at := dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		at = int64(len(bytes.TrimRight(doc, " \t\r\n"))) // the tail is what is missing
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(doc[:min(max(at, 0), int64(len(doc)))], []byte("\n")), err)
}
