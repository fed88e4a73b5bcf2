package nvsmi

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// ParseXML reads `nvidia-smi -q -x`, document versions 11 to 13. A document
// that ends early, or a value that makes no sense, leaves an error beside
// what was read.
func ParseXML(b []byte) (Log, error) {
	b = dropSupportedClocks(b)
	start := bytes.IndexByte(b, '<')
	if start < 0 {
		return Log{}, fmt.Errorf("no XML: %q", firstLine(b))
	}
	r := xmlReader{dec: xml.NewDecoder(bytes.NewReader(b[start:])), skipped: bytes.Count(b[:start], []byte("\n"))}
	r.dec.Strict = false // an unknown entity in a product name is not worth the rest
	for {
		// RawToken keeps no element stack of its own: this one is enough.
		t, err := r.dec.RawToken()
		if err != nil {
			break // the end, or the place where the text stops being XML
		}
		r.token(t)
	}
	if len(r.path) > 0 || r.gpu == nil && r.log.Driver == "" {
		r.fail(errors.New("document ends early"))
	}
	return r.log, errors.Join(r.errs...)
}

type xmlReader struct {
	dec     *xml.Decoder
	skipped int // lines before the document
	log     Log
	gpu     *GPU     // the one being read
	path    []string // open elements; inside a GPU, from there
	value   strings.Builder
	errs    []error
}

func (r *xmlReader) fail(err error) {
	line, _ := r.dec.InputPos()
	r.errs = append(r.errs, fmt.Errorf("line %d: %w", line+r.skipped, err))
}

func (r *xmlReader) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		r.value.Reset()
		r.path = append(r.path, t.Name.Local)
		switch {
		case len(r.path) == 2 && t.Name.Local == "gpu":
			r.log.GPUs = append(r.log.GPUs, GPU{})
			r.gpu = &r.log.GPUs[len(r.log.GPUs)-1]
			for _, a := range t.Attr {
				if bdf, ok := printed.BDF(a.Value); ok && a.Name.Local == "id" {
					r.gpu.BDF = bdf
				}
			}
		case r.gpu == nil:
		case r.at("processes"):
			r.gpu.Processes = new(int)
		case r.at("processes", "process_info") && r.gpu.Processes != nil:
			*r.gpu.Processes++
		}
	case xml.CharData:
		r.value.Write(t)
	case xml.EndElement:
		if len(r.path) == 0 {
			return
		}
		if err := r.close(strings.TrimSpace(r.value.String())); err != nil {
			r.fail(err)
		}
		r.value.Reset()
		r.path = r.path[:len(r.path)-1]
		if len(r.path) < 2 {
			r.gpu = nil
		}
	}
}

// at reports whether the open elements inside the GPU are these.
func (r *xmlReader) at(names ...string) bool {
	if len(r.path) != 2+len(names) {
		return false
	}
	for i, n := range names {
		if r.path[2+i] != n {
			return false
		}
	}
	return true
}

// close reads the value of the element that ends here.
func (r *xmlReader) close(v string) error {
	name := r.path[len(r.path)-1]
	if r.gpu == nil {
		if len(r.path) != 2 || absent(v) {
			return nil
		}
		switch name {
		case "driver_version":
			r.log.Driver = v
		case "cuda_version":
			r.log.CUDA = v
		case "attached_gpus":
			n, err := strconv.Atoi(v)
			if err != nil {
				return fmt.Errorf("attached_gpus: %q is not a number", v)
			}
			r.log.Attached = &n
		}
		return nil
	}
	if len(r.path) == 4 {
		// Renamed in driver 535: a clock that is held down need not be a fault.
		reason, ok := strings.CutPrefix(name, "clocks_event_reason_")
		if !ok {
			reason, ok = strings.CutPrefix(name, "clocks_throttle_reason_")
		}
		if ok {
			addReason(r.gpu, reason, v)
			return nil
		}
	}
	if len(r.path) < 3 {
		return nil
	}
	return put(byXML, r.gpu, strings.Join(r.path[2:], "/"), v)
}

// addReason notes a reason that holds the clocks down, and that reasons were
// told at all.
func addReason(g *GPU, reason, v string) {
	if absent(v) {
		return
	}
	if g.ClockReasons == nil {
		g.ClockReasons = []string{}
	}
	if v == "Active" {
		g.ClockReasons = append(g.ClockReasons, reason)
	}
}

// dropSupportedClocks blanks the lists of every clock a GPU could run at:
// four fifths of the document, and nothing weft asks. Lines stay counted.
func dropSupportedClocks(b []byte) []byte {
	open, end := []byte("<supported_clocks>"), []byte("</supported_clocks>")
	if !bytes.Contains(b, open) {
		return b
	}
	out := make([]byte, 0, len(b))
	for {
		before, rest, found := bytes.Cut(b, open)
		out = append(out, before...)
		if !found {
			return out
		}
		list, after, closed := bytes.Cut(rest, end)
		if !closed {
			return append(append(out, open...), rest...)
		}
		out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(list, []byte("\n")))...)
		b = after
	}
}

// firstLine is what a tool said instead of its answer.
func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line[:min(len(line), 200)]
}
