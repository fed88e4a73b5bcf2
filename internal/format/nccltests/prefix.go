package nccltests

import "strings"

func digit(c byte) bool { return c >= '0' && c <= '9' }

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// launched takes off what a launcher puts before a line: "[1,0]<stdout>:" of mpirun, with
// a date before it or a name in it, "[rank0]:" and "[default0]:" of torchrun, "0: " of
// srun -l.
func launched(line string) string {
	if before, after, ok := strings.Cut(line, "]<std"); ok && len(before) < 200 && strings.Contains(before, "[") {
		if stream, rest, ok := strings.Cut(after, ">:"); ok && len(stream) <= 4 {
			return strings.TrimSpace(rest)
		}
	}
	if rank, rest, ok := strings.Cut(line, "]:"); ok && (strings.HasPrefix(rank, "[rank") || strings.HasPrefix(rank, "[default")) && len(rank) < 20 {
		return strings.TrimSpace(rest)
	}
	if digit(line[0]) {
		if label, rest, ok := strings.Cut(line, ": "); ok && len(label) <= 5 && digits(label) {
			return strings.TrimSpace(rest)
		}
	}
	return line
}

// ncclMessage is one of NCCL's own messages, and what stood on its line before it.
type ncclMessage struct {
	before, host string
	level, text  string
}

// messageIn finds "gpu1:3442:3460 [0] NCCL INFO …" and "gpu1:3442:3460 [0]
// misc/ibvwrap.cc:63 NCCL WARN …", with a date before it in newer versions. Logs are
// mostly that, so that no expression is used.
func messageIn(line string) (m ncclMessage, ok bool) {
	at := strings.Index(line, "CCL ")
	if at < 2 || line[at-2] != ' ' || line[at-1] != 'N' && line[at-1] != 'R' {
		return m, false
	}
	m.level, m.text, _ = strings.Cut(line[at+4:], " ")
	switch m.level {
	case "INFO", "WARN", "TRACE", "VERSION", "ABORT":
	default:
		return m, false
	}
	left := line[:at-2]
	if !strings.HasSuffix(left, "]") { // the place in the source
		i := strings.LastIndexByte(left, ' ')
		if i < 0 {
			return m, false
		}
		left = left[:i]
	}
	i := strings.LastIndex(left, " [")
	if i < 0 || !strings.HasSuffix(left, "]") || !digits(left[i+2:len(left)-1]) {
		return m, false
	}
	left = left[:i]
	i = strings.LastIndexByte(left, ' ') + 1
	host, ids, ok := strings.Cut(left[i:], ":")
	pid, tid, ok2 := strings.Cut(ids, ":")
	if !ok || !ok2 || host == "" || !digits(pid) || !digits(tid) {
		return m, false
	}
	m.host, m.before = host, strings.TrimSpace(left[:i])
	if open := strings.LastIndexByte(m.before, '['); open >= 0 && strings.HasSuffix(m.before, "]") {
		m.before = strings.TrimSpace(m.before[:open]) // the date
	}
	return m, true
}
