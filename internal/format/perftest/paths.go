package perftest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"weft/internal/format/printed"
	"weft/internal/unit"
)

// Path is one way between two nodes, as scripts that compare Ethernet with RDMA print it.
type Path struct {
	Name    string // "RDMA (RoCE)"
	Latency time.Duration
	Rate    unit.Rate
}

var pathRow = regexp.MustCompile(`^(.+?)\s+([0-9.]+) (ms|us|µs|ns)\s+([0-9.]+) ?(Gbps|Mbps|Gb/s|Mb/s)$`)

// ReadPaths reads a table of paths with latency and bandwidth.
func ReadPaths(text []byte) ([]Path, error) {
	var paths []Path
	var faults printed.Faults
	head := false
	for num, line := range printed.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "Path" && words[1] == "Latency" && words[2] == "Bandwidth" {
			head = true
			continue
		}
		m := pathRow.FindStringSubmatch(line)
		if !head || m == nil {
			if strings.Trim(line, "-") != "" {
				faults.Unknown(num, line, "a table of paths")
			}
			continue
		}
		wait, err1 := strconv.ParseFloat(m[2], 64)
		rate, err2 := unit.ParseRate(m[4] + m[5])
		scale := map[string]float64{"ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1}[m[3]]
		if err1 != nil || err2 != nil || wait*scale > maxTime || len(paths) == 1<<10 {
			faults.Add(num, "path %.60q: %s %s, %s %s", m[1], m[2], m[3], m[4], m[5])
			continue
		}
		paths = append(paths, Path{m[1], time.Duration(math.Round(wait * scale)), rate})
	}
	return paths, faults.Err(len(paths) > 0)
}
