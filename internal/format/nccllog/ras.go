package nccllog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// RAS is what NCCL's and RCCL's own health service answers (ncclras, rcclras).
type RAS struct {
	File    int    `json:"file"`
	Library string `json:"library"` // "NCCL", "RCCL"; "" not told
	Version string `json:"version"`
	Failed  string `json:"failed,omitempty"` // why its client has no answer

	Nodes  int        `json:"nodes"`
	GPUs   int        `json:"gpus"`
	Groups []RASGroup `json:"groups"`
	Said   []RASSaid  `json:"said"` // its errors and warnings
}

// RASGroup is communicators that are alike.
type RASGroup struct {
	Comms   int    `json:"comms"`
	Nodes   int    `json:"nodes"`
	Ranks   int    `json:"ranks"` // per communicator
	Present int    `json:"present"`
	Status  string `json:"status"` // "RUNNING"
	Errors  string `json:"errors"` // "OK", "INCOMPLETE"
}

// RASSaid is one error or warning.
type RASSaid struct {
	Warning bool     `json:"warning,omitempty"`
	Word    string   `json:"word"` // "INCOMPLETE", "DEAD", "MISMATCH", "TIMEOUT"
	Comm    string   `json:"comm,omitempty"`
	Ranks   []int    `json:"ranks,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Text    string   `json:"text"`
	Line    int      `json:"line"`
}

// maxRAS bounds an answer: a rank is 400 bytes of it.
const maxRAS = 64 << 20

func looksRAS(head []byte) bool {
	text := uncomment(head)
	return bytes.Contains(head, []byte("Job summary")) && bytes.Contains(head, []byte("compiled with")) ||
		bytes.HasPrefix(text, []byte("{")) && bytes.Contains(head, []byte(`"communicators"`)) && bytes.Contains(head, []byte(`"nccl_version"`)) ||
		bytes.HasPrefix(text, []byte("read socket: ")) && len(text) < 200
}

// uncomment leaves out lines that somebody put before the answer.
func uncomment(b []byte) []byte {
	for bytes.HasPrefix(b, []byte("#")) {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return nil
		}
		b = b[i+1:]
	}
	return bytes.TrimLeft(b, " \t\r\n")
}

// readRAS reads a whole answer.
func (p *Parser) readRAS(r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, maxRAS+1))
	if err != nil {
		return err
	}
	if len(b) > maxRAS {
		return fmt.Errorf("an answer of RAS with more than %d bytes", maxRAS)
	}
	p.log.Bytes += int64(len(b))
	p.log.Lines += bytes.Count(b, []byte("\n"))
	p.said = true
	a := RAS{File: p.at.File}
	text := uncomment(b)
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		if err := a.fromJSON(text); err != nil {
			return fmt.Errorf("RAS: %w", err)
		}
	case bytes.HasPrefix(text, []byte("read socket: ")):
		a.Failed = clip(bytes.TrimSpace(text), maxText)
	default:
		a.fromText(string(b))
	}
	p.log.RAS = append(p.log.RAS, a)
	return nil
}

// fromJSON reads the answer of 2.28.9 on.
func (a *RAS) fromJSON(b []byte) error {
	var doc struct {
		Version string `json:"nccl_version"`
		Comms   []struct {
			Hash  string `json:"hash"`
			Size  int    `json:"size"`
			Ranks []struct {
				Rank   int    `json:"rank"`
				Host   string `json:"host"`
				Status struct {
					Init  int  `json:"init_state"`
					Async int  `json:"async_error"`
					Abort bool `json:"abort_flag"`
				} `json:"status"`
				Counts map[string]int `json:"collective_counts"`
			} `json:"ranks"`
		} `json:"communicators"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); err != nil {
		return err
	}
	a.Version = clip([]byte(doc.Version), 64) // it does not say whose
	hosts := map[string]bool{}
	for _, c := range doc.Comms {
		if c.Size < 0 || c.Size > maxMembers || len(c.Ranks) > maxMembers {
			return fmt.Errorf("communicator %q: %d ranks", clip([]byte(c.Hash), 24), c.Size)
		}
		comm := clip([]byte(c.Hash), 24)
		seen := make([]bool, c.Size)
		most := 0
		for _, r := range c.Ranks {
			n := 0
			for _, k := range r.Counts {
				n += k
			}
			most = max(most, n)
		}
		g := RASGroup{Comms: 1, Ranks: c.Size, Present: len(c.Ranks), Status: "RUNNING", Errors: "OK"}
		own := map[string]bool{}
		for _, r := range c.Ranks {
			if r.Rank >= 0 && r.Rank < c.Size {
				seen[r.Rank] = true
			}
			host := clip([]byte(r.Host), 255)
			hosts[host], own[host] = true, true
			n := 0
			for _, k := range r.Counts {
				n += k
			}
			say := func(warning bool, word, text string) {
				a.say(RASSaid{Warning: warning, Word: word, Comm: comm, Ranks: []int{r.Rank}, Nodes: []string{host}, Text: text})
			}
			switch {
			case r.Status.Async != 0:
				say(false, "ERROR", "asynchronous error "+strconv.Itoa(r.Status.Async))
			case r.Status.Init != 0:
				say(false, "INIT", "init state "+strconv.Itoa(r.Status.Init))
			case r.Status.Abort:
				say(false, "ABORT", "told to abort")
			case n < most:
				say(true, "MISMATCH", fmt.Sprintf("%d operations, others %d", n, most))
			}
		}
		var missing []int
		for r, ok := range seen {
			if !ok {
				missing = append(missing, r)
			}
		}
		if len(missing) > 0 {
			g.Errors = "INCOMPLETE"
			a.say(RASSaid{Word: "INCOMPLETE", Comm: comm, Ranks: missing, Text: "no data from it"})
		}
		g.Nodes = len(own)
		a.Groups = append(a.Groups, g)
		a.GPUs = max(a.GPUs, len(c.Ranks))
	}
	a.Nodes = len(hosts)
	return nil
}

func (a *RAS) say(s RASSaid) {
	if len(a.Said) < maxEvents {
		a.Said = append(a.Said, s)
	}
}

// fromText reads the tables of NCCL 2.24 and RCCL 2.28 on.
func (a *RAS) fromText(text string) {
	section, said := "", -1
	table := false
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \r")
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
			said = -1
		case len(f) > 3 && f[1] == "version" && strings.Contains(line, "compiled with"):
			a.Library, a.Version = clip([]byte(f[0]), 8), clip([]byte(f[2]), 64)
		case strings.HasPrefix(line, "==="):
		case line == "Errors" || line == "Warnings" || line == "Job summary" || strings.HasPrefix(line, "Communicators..."):
			section, table = line, false
		case strings.HasPrefix(line, "(total)") || strings.HasPrefix(strings.TrimSpace(line), "#  in group"):
			table = true
		case section == "Job summary" && table && len(f) == 5:
			a.Nodes, a.GPUs = atoi(f[0]), atoi(f[4])
		case strings.HasPrefix(section, "Communicators") && table && len(f) >= 8:
			if len(a.Groups) < maxEvents {
				a.Groups = append(a.Groups, RASGroup{Comms: atoi(f[1]), Nodes: atoi(f[2]), Ranks: atoi(f[4]), Present: atoi(f[5]), Status: clip([]byte(f[6]), 16), Errors: clip([]byte(f[7]), 24)})
			}
		case (section == "Errors" || section == "Warnings") && line[0] != ' ':
			s := RASSaid{Warning: section == "Warnings", Word: clip([]byte(f[len(f)-1]), 24), Line: n + 1}
			if strings.HasPrefix(f[0], "#") {
				s.Comm = clip([]byte(f[0]), 24)
			}
			a.say(s)
			said = len(a.Said) - 1
		case said >= 0:
			a.Said[said].detail(strings.TrimSpace(line))
		}
	}
}

// detail reads one indented line below an error.
func (s *RASSaid) detail(line string) {
	if s.Text == "" {
		s.Text = clip([]byte(line), maxText)
	}
	if _, node, ok := strings.Cut(line, " on node "); ok && len(s.Nodes) < maxPeers {
		node, _, _ = strings.Cut(node, " ")
		s.Nodes = append(s.Nodes, clip([]byte(node), 255))
	}
	rank, isRank := strings.CutPrefix(line, "Rank ")
	if !isRank {
		if _, rank, isRank = strings.Cut(line, "missing rank: "); !isRank {
			_, rank, isRank = strings.Cut(line, "missing ranks: ")
		}
	}
	if !isRank {
		return
	}
	rank, _, _ = strings.Cut(rank, " --")
	for _, part := range strings.FieldsFunc(rank, func(r rune) bool { return r == ',' || r == ' ' }) {
		lo, hi, _ := strings.Cut(part, "-")
		a, b := atoi(lo), atoi(lo)
		if hi != "" {
			b = atoi(hi)
		}
		for r := a; r >= 0 && r <= b && len(s.Ranks) < maxPeers; r++ {
			s.Ranks = append(s.Ranks, r)
		}
	}
}

// atoi reads a number of a table; what is none is -1.
func atoi(s string) int {
	n, ok := number([]byte(s))
	if !ok {
		return -1
	}
	return n
}
