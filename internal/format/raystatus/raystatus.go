// Package raystatus reads what `ray status` prints: which nodes are there, what they have,
// what is asked for and cannot be placed. Pure: bytes in, structs out.
package raystatus

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Status is the state of a Ray cluster.
type Status struct {
	Time     string   // as it was printed: "2026-06-07 18:12:41.350749"
	Active   []string // nodes; a line that stands for several gives its name as often
	Idle     []string
	Pending  []string // what is still being started
	Failures []string // recent ones, as they were printed
	Uses     map[string]Use
	Demands  []Demand // what waits for a place
}

// Use is one resource.
type Use struct{ Used, Total float64 }

// Demand is a request that has no place yet.
type Demand struct {
	Text      string  // "{'GPU': 1.0} * 2 (PACK)"
	Waiting   int     // how many of them wait
	Placement bool    // placement groups, as vLLM asks for; else tasks or actors
	GPUs      float64 // that one of them asks for; 0 when the text does not say
}

// Nodes is how many nodes there are.
func (s Status) Nodes() int { return len(s.Active) + len(s.Idle) }

// Total is how much of a resource all nodes have together.
func (s Status) Total(name string) float64 { return s.Uses[name].Total }

// ErrNot says that this is no output of ray status.
var ErrNot = errors.New("not the output of ray status")

// Limits of one status: a cluster of any size weft knows, and no more.
const (
	maxBytes = 4 << 20
	maxLines = 65536
	maxNodes = 16384 // in a line that stands for several
)

var (
	nodeLine  = regexp.MustCompile(`^(\d+) (\S.*)$`)
	useLine   = regexp.MustCompile(`^([0-9.eE+]+)([KMGTP]i?B|B)?/([0-9.eE+]+)([KMGTP]i?B|B)? (\S+)`)
	waitLine  = regexp.MustCompile(`^(.*): (\d+)\+? (pending|from|waiting)(.*)$`)
	gpuOf     = regexp.MustCompile(`'GPU': ([0-9.]+)`)
	timesOf   = regexp.MustCompile(`\} \* (\d+)`)
	titleLine = regexp.MustCompile(`^=+ (?:Autoscaler|Cluster) status: (.*?) =+$`)
)

// Parse reads one status. What stands before its title is skipped: a prompt, warnings.
func Parse(b []byte) (Status, error) {
	s := Status{Uses: map[string]Use{}}
	if len(b) > maxBytes {
		return s, fmt.Errorf("larger than %d bytes", maxBytes)
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) > maxLines {
		return s, fmt.Errorf("more than %d lines", maxLines)
	}
	seen, section, resources := false, "", false
	for i, raw := range lines {
		line := strings.TrimSpace(raw)
		if m := titleLine.FindStringSubmatch(line); m != nil {
			s, seen, section = Status{Time: m[1], Uses: map[string]Use{}}, true, "" // of several, the last
			resources = false
			continue
		}
		if !seen || line == "" || strings.Trim(line, "-") == "" || strings.HasPrefix(line, "(") {
			continue
		}
		switch strings.TrimSuffix(line, ":") {
		case "Active", "Idle", "Pending", "Recent failures", "Usage", "Total Usage", "Demands", "Pending Demands", "Total Demands", "From request_resources":
			section = strings.TrimSuffix(line, ":")
			continue
		case "Node status", "Healthy":
			section = ""
			if strings.HasPrefix(line, "Healthy") { // Ray before 2.6
				section = "Active"
			}
			continue
		case "Resources":
			section, resources = "", true
			continue
		}
		if err := s.line(section, resources, line); err != nil {
			return s, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if !seen {
		return s, ErrNot
	}
	return s, nil
}

func (s *Status) line(section string, resources bool, line string) error {
	switch section {
	case "Active", "Idle":
		m := nodeLine.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n > maxNodes-s.Nodes() {
			return fmt.Errorf("more than %d nodes", maxNodes)
		}
		for range n {
			if section == "Active" {
				s.Active = append(s.Active, m[2])
			} else {
				s.Idle = append(s.Idle, m[2])
			}
		}
	case "Pending":
		s.Pending = append(s.Pending, line)
	case "Recent failures":
		s.Failures = append(s.Failures, line)
	case "Usage", "Total Usage":
		if m := useLine.FindStringSubmatch(line); m != nil {
			s.Uses[m[5]] = Use{amount(m[1], m[2]), amount(m[3], m[4])}
		}
	case "Demands", "Pending Demands", "Total Demands":
		if m := waitLine.FindStringSubmatch(line); m != nil {
			d := Demand{Text: m[1], Placement: strings.Contains(m[4], "placement group")}
			d.Waiting, _ = strconv.Atoi(m[2])
			if g := gpuOf.FindStringSubmatch(m[1]); g != nil {
				d.GPUs = amount(g[1], "")
				if t := timesOf.FindStringSubmatch(m[1]); t != nil {
					d.GPUs *= amount(t[1], "")
				}
			}
			s.Demands = append(s.Demands, d)
		}
	}
	return nil
}

// amount is a number with its unit; what is no number is 0.
func amount(number, unit string) float64 {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	for i, u := range []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"} {
		if unit == u {
			for range i {
				f *= 1024
			}
			return f
		}
	}
	for i, u := range []string{"KB", "MB", "GB", "TB", "PB"} {
		if unit == u {
			for range i + 1 {
				f *= 1000
			}
		}
	}
	return f
}
