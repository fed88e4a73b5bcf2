package perftest

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// Read reads what a run printed to its standard output and error, together or apart.
// Two sides that share a terminal are read as one run, whose header is that of the first.
func Read(text []byte) (Report, error) {
	r := reader{}
	for num, line := range printed.Lines(text) {
		if printed.Prompt(line) || strings.HasPrefix(line, "# ") {
			continue
		}
		r.line(num, strings.TrimSpace(strings.Trim(line, "*"))) // bold, in pages that quote it
	}
	r.settle()
	return r.rep, r.faults.Err(r.found)
}

type reader struct {
	rep    Report
	faults printed.Faults
	found  bool // something of perftest was there
	last   *Address
	cols   []column
	side   string // of the rows that follow
	usage  bool   // inside the list of options that follows a bad one
	weak   *Problem
}

func (r *reader) line(num int, line string) {
	if strings.Trim(line, "-") == "" {
		r.usage = false
		return
	}
	switch {
	case r.title(line):
		r.usage = false
	case r.usage:
		return
	case line == "Usage:":
		r.usage = true
	case strings.HasPrefix(line, "#bytes"):
		r.header(num, line)
	case r.cols != nil && numbers(line):
		r.row(num, strings.Fields(line))
	case strings.HasPrefix(line, "local address:"), strings.HasPrefix(line, "remote address:"):
		r.address(line)
	case strings.HasPrefix(line, "GID:"), strings.HasPrefix(line, "MGID:"):
		r.gid(line)
	case line == "Local results:":
		r.side = "local"
	case line == "Remote results:":
		r.side = "remote"
	case r.pairs(line), r.said(num, line), r.memory(line):
	case strings.Contains(line, "Waiting for client to connect"):
	default:
		r.faults.Unknown(num, line, "perftest")
		return
	}
	r.found = true
}

// settle takes the message that follows from others when nothing better was said, and
// names the raw Ethernet programs, whose titles are those of the others.
func (r *reader) settle() {
	if r.rep.Problem == nil {
		r.rep.Problem = r.weak
	}
	if kind, ok := strings.CutPrefix(r.rep.Test, "ib_send_"); ok && r.rep.Connection == "RawEth" {
		r.rep.Test = "raw_ethernet_" + kind
	}
}

// verbs are the first words of titles, with what the programs are called after.
var verbs = []struct{ title, name string }{
	{"RDMA Write imm ", "write"},
	{"RDMA Write ", "write"},
	{"RDMA Read ", "read"},
	{"Send ", "send"},
	{"Atomic ", "atomic"},
}

// title reads "RDMA_Write Bidirectional BW Test", which JSON spells with underscores.
func (r *reader) title(line string) bool {
	words, ok := strings.CutSuffix(strings.ReplaceAll(line, "_", " "), " Test")
	if !ok {
		return false
	}
	for _, v := range verbs {
		rest, ok := strings.CutPrefix(words, v.title)
		if !ok {
			continue
		}
		rest = " " + rest + " "
		kind := ""
		switch {
		case strings.Contains(rest, " BW "):
			kind = "bw"
		case strings.Contains(rest, " Latency "):
			kind = "lat"
		}
		if kind != "" && r.rep.Test == "" {
			r.rep.Test = "ib_" + v.name + "_" + kind
			r.rep.Bidirectional = strings.Contains(rest, " Bidirectional ")
		}
		return true
	}
	return false
}

// keys are what a header tells, and where it goes.
var keys = []struct {
	name string
	set  func(r *Report, v string)
}{
	{"Device", func(r *Report, v string) { word(&r.Device, v) }},
	{"Transport type", func(r *Report, v string) { word(&r.Transport, v) }},
	{"Connection type", func(r *Report, v string) { word(&r.Connection, v) }},
	{"Link type", func(r *Report, v string) { word(&r.LinkType, v) }},
	{"Mtu", func(r *Report, v string) { count(&r.MTU, v) }},
	{"GID index", func(r *Report, v string) { place(&r.GIDIndex, v) }},
	{"Number of qps", func(r *Report, v string) { count(&r.QPs, v) }},
	{"TX depth", func(r *Report, v string) { count(&r.TXDepth, v) }},
	{"RX depth", func(r *Report, v string) { count(&r.RXDepth, v) }},
	{"CQ Moderation", func(r *Report, v string) { count(&r.CQModeration, v) }},
	{"Recv Post List", ignore},
	{"Post List", func(r *Report, v string) { count(&r.PostList, v) }},
	{"Outstand reads", func(r *Report, v string) { count(&r.Outstanding, v) }},
	{"Max inline data", func(r *Report, v string) { place(&r.Inline, v) }},
	{"rdma_cm QPs", func(r *Report, v string) {
		if r.RDMACM == nil && v != "" {
			r.RDMACM = new(v == "ON")
		}
	}},
	{"Data ex. method", func(r *Report, v string) { word(&r.Exchange, v) }},
	{"Use ROCm memory", func(r *Report, v string) {
		if v == "ON" {
			word(&r.Memory, "rocm")
		}
	}},
	// Known, so that they end the value before them.
	{"Dual-port", ignore}, {"Using SRQ", ignore}, {"PCIe relax order", ignore}, {"Lock-free", ignore},
	{"ibv_wr* API", ignore}, {"Using DDP", ignore}, {"Using Enhanced Reorder", ignore}, {"CQE Poll Batch", ignore},
	{"Buffer size", ignore}, {"GID index2", ignore}, {"TOS", ignore},
}

func ignore(*Report, string) {}

func word(to *string, v string) {
	if *to == "" {
		*to = v
	}
}

// count reads "4096[B]".
func count(to *int, v string) {
	v, _, _ = strings.Cut(v, "[")
	if n, ok := printed.Number(v); ok && *to == 0 {
		*to = n
	}
}

// place is a count whose zero means something.
func place(to **int, v string) {
	v, _, _ = strings.Cut(v, "[")
	if n, ok := printed.Number(v); ok && *to == nil {
		*to = new(n)
	}
}

// pairs reads "Dual-port : OFF   Device : mlx5_0": one or two keys with their values.
// Between two colons stand a value and the next key.
func (r *reader) pairs(line string) bool {
	key, rest, ok := strings.Cut(line, ":")
	known := false
	for ok {
		var value, next string
		value, rest, ok = strings.Cut(rest, ":")
		if ok {
			value, next = beforeKey(value)
		}
		if i := keyIndex(key); i >= 0 {
			keys[i].set(&r.rep, strings.Trim(value, " \t*\""))
			known = true
		}
		key = next
	}
	if strings.HasPrefix(line, "Test with events") {
		r.rep.Events, known = true, true
	}
	return known
}

func keyIndex(key string) int {
	key = strings.Trim(key, " \t*")
	for i, k := range keys {
		if strings.EqualFold(k.name, key) {
			return i
		}
	}
	return -1
}

// beforeKey cuts the known key off the end of s.
func beforeKey(s string) (value, key string) {
	s = strings.TrimRight(s, " \t")
	for _, k := range keys {
		if before, ok := strings.CutSuffix(s, k.name); ok && strings.TrimRight(before, " \t") != before {
			return before, k.name
		}
	}
	return s, ""
}

// memory reads what a test on a GPU says of its buffers.
func (r *reader) memory(line string) bool {
	switch {
	case strings.HasPrefix(line, "initializing CUDA"), strings.HasPrefix(line, "CUDA device"):
		word(&r.rep.Memory, "cuda")
	case strings.HasPrefix(line, "Using ROCm Device"):
		word(&r.rep.Memory, "rocm")
	case strings.HasPrefix(line, "using DMA-BUF for GPU buffer"):
		r.rep.DMABuf = true
	default:
		return false
	}
	return true
}

var addressField = regexp.MustCompile(`\b(LID|QPN|PSN|RKey) (0x[0-9a-fA-F]+|[0-9]+)`)

func (r *reader) address(line string) {
	to := &r.rep.Remote
	if strings.HasPrefix(line, "local") {
		to = &r.rep.Local
	}
	r.last = nil
	if to.QPN != 0 || to.PSN != 0 {
		return // of a further queue pair, or of the other side
	}
	for _, m := range addressField.FindAllStringSubmatch(line, 4) {
		n, err := strconv.ParseUint(m[2], 0, 32)
		if err != nil {
			continue
		}
		switch m[1] {
		case "LID":
			to.LID = int(n)
		case "QPN":
			to.QPN = int(n)
		case "PSN":
			to.PSN = int(n)
		case "RKey":
			to.RKey = uint32(n)
		}
	}
	r.last = to
}

// gid reads "GID: 00:…:255:255:10:10:00:01", sixteen bytes in decimal.
func (r *reader) gid(line string) {
	_, value, _ := strings.Cut(line, ":")
	parts := strings.Split(strings.TrimSpace(value), ":")
	if r.last == nil || len(parts) != 16 {
		return
	}
	var b [16]byte
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return
		}
		b[i] = byte(n)
	}
	r.last.GID = netip.AddrFrom16(b)
	r.last = nil
}
