package nccltests

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"weft/internal/format/printed"
	"weft/internal/unit"
)

// Read reads the output of a run, as its terminal, mpirun, srun or torchrun showed it,
// with NCCL's own messages between. Runs that follow each other are read as one: their
// rows have their operations, the rest is of the last.
func Read(text []byte) (Report, error) {
	r := reader{}
	for num, line := range printed.Lines(text) {
		r.line(num, line)
	}
	r.settle()
	return r.rep, r.faults.Err(r.found)
}

type reader struct {
	rep     Report
	faults  printed.Faults
	found   bool
	cols    *columns
	pipes   []string // the names over a table of a PyTorch script
	payload int64    // of that table, where it is not in it
	begun   string   // a row that one of NCCL's messages has cut
	op      string   // of the rows that follow
	heads   int      // runs that began since the last row
	weak    *Problem
}

var (
	ncclVersion = regexp.MustCompile(`\b[NR]CCL version\s*:?\s*v?(\d+\.\d+(?:\.\d+)?)`)
	program     = regexp.MustCompile(`(?:^|[/\s])([a-z_]{4,32})_perf(?:_mpi)?\b`)
)

func (r *reader) line(num int, line string) {
	line = launched(line)
	if m, ok := messageIn(line); ok {
		r.nccl(num, m.level, m.text)
		if m.before == "" {
			return
		}
		if r.cols != nil && digit(m.before[0]) && len(r.begun)+len(m.before) < 400 {
			// The program had printed a part of a row, without an end of line.
			r.begun += " " + m.before + " " + r.glued(m.host)
			return
		}
		line = m.before
	}
	line = strings.TrimSpace(line)
	if line == "" || strings.Trim(line, "-=") == "" {
		return
	}
	if r.begun != "" {
		whole := strings.Fields(r.begun + " " + line)
		r.begun = ""
		if r.row(num, whole) {
			r.found = true
			return
		}
	}
	bare := strings.TrimSpace(strings.TrimLeft(line, "#"))
	switch {
	case bare == "":
	case line[0] == '{' && r.weft(num, line):
	case line[0] == '|' && r.pipe(num, line):
	case r.cols != nil && r.row(num, strings.Fields(line)):
	case r.header(bare), r.device(num, bare), r.options(num, bare), r.summary(num, bare), r.torch(num, bare):
	case r.said(num, line):
		r.version(line)
	case r.version(bare):
	case bare == "Using devices", strings.HasPrefix(bare, "out-of-place"), strings.HasPrefix(bare, "(B)"):
	default:
		if m := program.FindStringSubmatch(line); m != nil && factors[key(m[1])] != nil {
			r.starts(m[1]) // a command line
			return
		}
		r.faults.Unknown(num, bare, "nccl-tests")
		return
	}
	r.found = true
}

// glued returns the number that a message's host name was printed right after: the end of
// "-1gpu7", if gpu7 is one of the hosts.
func (r *reader) glued(host string) string {
	for _, d := range r.rep.Devices {
		if before, ok := strings.CutSuffix(host, d.Host); ok && before != "" {
			if _, err := strconv.ParseFloat(before, 64); err == nil {
				return before
			}
		}
	}
	return ""
}

// starts takes the operation of the rows that follow.
func (r *reader) starts(op string) {
	r.op = op
	if r.rep.Op == "" {
		r.rep.Op = op
	}
}

// nccl reads what a message of the library says about the run; nccllog reads them all.
func (r *reader) nccl(num int, level, text string) {
	r.version(text)
	if level == "WARN" && len(r.rep.Warnings) < maxWarnings {
		r.rep.Warnings = append(r.rep.Warnings, Problem{Kind: NCCLWarns, Line: num, Said: clean(text), Why: "NCCL warns", Next: "read it with weft nccl"})
	}
}

func (r *reader) version(text string) bool {
	if !strings.Contains(text, "CCL version") {
		return false
	}
	m := ncclVersion.FindStringSubmatch(text)
	if m != nil && r.rep.NCCL == "" {
		r.rep.NCCL = m[1]
	}
	return m != nil
}

var optionNumber = regexp.MustCompile(`\b(nThread|nGpus|minBytes|maxBytes|warmup iters:|iters:|validation:) (\d{1,18})`)

// options reads what a run begins with: the program's version, its name and its options.
func (r *reader) options(num int, line string) bool {
	switch {
	case strings.HasPrefix(line, "nThread "):
		r.begins(num)
	case strings.HasPrefix(line, "nccl-tests version "), strings.HasPrefix(line, "rccl-tests: Version "):
		words := strings.Fields(line)
		r.rep.Version = words[2]
		for _, w := range words[3:] {
			if code, ok := strings.CutPrefix(w, "nccl-library="); ok {
				r.rep.NCCL = cmp.Or(versionOf(code), r.rep.NCCL)
			}
		}
		return true
	case strings.HasPrefix(line, "Collective test starting: "):
		if m := program.FindStringSubmatch(line); m != nil {
			r.starts(m[1])
		}
		return true
	default:
		return false
	}
	for _, m := range optionNumber.FindAllStringSubmatchIndex(line, 16) {
		n, err := strconv.ParseInt(line[m[4]:m[5]], 10, 64)
		if err != nil {
			continue
		}
		switch line[m[2]:m[3]] {
		case "nThread":
			r.rep.Threads = int(n)
		case "nGpus":
			r.rep.GPUsPerThread = int(n)
		case "minBytes":
			r.rep.Min = unit.Size(n)
		case "maxBytes":
			r.rep.Max = unit.Size(n)
		case "warmup iters:":
			r.rep.Warmup = int(n)
		case "iters:":
			if !strings.HasSuffix(line[:m[2]], "agg ") {
				r.rep.Iterations = int(n)
			}
		case "validation:":
			r.rep.Checked = new(n != 0)
		}
	}
	return true
}

// versionOf spells NCCL's number: 22803 is 2.28.3, and 2708 was 2.7.8 before 2.9.
func versionOf(code string) string {
	n, err := strconv.Atoi(code)
	switch {
	case err != nil || n < 1000 || n > 999999:
		return ""
	case n < 10000:
		return strconv.Itoa(n/1000) + "." + strconv.Itoa(n/100%10) + "." + strconv.Itoa(n%100)
	}
	return strconv.Itoa(n/10000) + "." + strconv.Itoa(n/100%100) + "." + strconv.Itoa(n%100)
}

// begins is called where a run does. Two that begin before either has a row are two that
// know nothing of each other: the program was built without MPI.
func (r *reader) begins(num int) {
	if r.heads++; r.heads == 1 {
		r.rep.Devices = nil
	} else {
		r.problem(num, "", noMPI)
	}
}

var deviceLine = regexp.MustCompile(`^Rank\s+(\d{1,9})(?:\s+Group\s+(\d{1,9}))?(?:\s+Pid\s+(\d{1,10}))?\s+on\s+(\S+)\s+device\s+(\d{1,4})\s+\[([0-9a-fA-Fx:.]+)\]\s+(.+)$`)

func (r *reader) device(num int, line string) bool {
	if !strings.HasPrefix(line, "Rank ") {
		return false
	}
	m := deviceLine.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	n := func(s string) int { i, _ := strconv.Atoi(s); return i }
	d := Device{Rank: n(m[1]), Group: n(m[2]), PID: n(m[3]), Host: m[4], Number: n(m[5]), Bus: strings.ToLower(m[6]), Name: clean(m[7])}
	if len(r.rep.Devices) == maxDevices {
		r.faults.Add(num, "more than %d devices", maxDevices)
		return true
	}
	r.rep.Devices = append(r.rep.Devices, d)
	if r.rep.GPU == "" {
		r.rep.GPU = d.Name
	}
	return true
}

// summary reads the last lines.
func (r *reader) summary(num int, line string) bool {
	name, rest, ok := strings.Cut(line, ":")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return strings.HasPrefix(line, "Collective test concluded")
	}
	switch strings.TrimSpace(name) {
	case "Out of bounds values":
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 0 {
			r.faults.Add(num, "out of bounds values: %.20q is not a number", words[0])
			return true
		}
		r.rep.OutOfBounds = &n
		if n > 0 || words[len(words)-1] == "FAILED" {
			r.problem(num, line, corrupt)
		}
	case "Avg bus bandwidth":
		rate, err := rateOf(words[0], 8e9)
		if err != nil {
			r.faults.Add(num, "average bus bandwidth: %w", err)
			return true
		}
		r.rep.AverageBus = &rate
		if words[len(words)-1] == "FAILED" {
			r.problem(num, line, belowLimit)
		}
	case "Collective test concluded", "GPU memory usage":
	default:
		return false
	}
	return true
}

// settle counts ranks and nodes, and takes the message that follows from others when
// nothing better was said.
func (r *reader) settle() {
	hosts, processes, last := map[string]bool{}, map[Device]bool{}, -1
	ranks := map[int]bool{}
	twice := 0
	for _, d := range r.rep.Devices {
		if ranks[d.Rank] {
			twice++
		}
		ranks[d.Rank] = true
		hosts[d.Host] = true
		processes[Device{Host: d.Host, PID: d.PID}] = true
		last = max(last, d.Rank)
	}
	if n := len(r.rep.Devices); n > 0 {
		if twice > 0 {
			r.problem(0, "", noMPI)
		}
		// The list may be cut; then a process has more GPUs than it shows.
		r.rep.Ranks = last + 1
		if each := r.rep.Threads * r.rep.GPUsPerThread; twice == 0 && each > 0 && each < 1<<20 {
			r.rep.Ranks = max(r.rep.Ranks, each*len(processes))
		}
		if n == r.rep.Ranks {
			r.rep.Nodes = len(hosts)
		}
	}
	if r.rep.Problem == nil {
		r.rep.Problem = r.weak
	}
}
