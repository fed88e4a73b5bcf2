package nccllog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNot is the error for input in which neither NCCL nor RCCL says a word.
var ErrNot = errors.New("no line of NCCL or RCCL in it")

// Read reads one log.
func Read(r io.Reader) (Log, error) {
	var p Parser
	if err := p.Add("", r); err != nil {
		return Log{}, err
	}
	return p.Log()
}

// Parser reads several files of one job into one Log: NCCL_DEBUG_FILE makes one for
// each process. Its zero value is ready.
type Parser struct {
	log Log

	procs              map[string]int // "host:pid" → index in log.Procs
	hosts              map[string]bool
	lastKey            []byte // of the line before: most lines have the same speaker
	last               int
	lastTID, lastStart int
	threads            map[thread]int    // the member that a thread worked on last
	ptrs               map[pointer]int   // the member behind an address
	ranks              map[procRank]int  // the newest member of a process with this rank
	vias               map[string]int    // as printed → index in viaList
	viaAt              map[Via]int       // → index in viaList
	uses               map[memberVia]int // → index in log.Uses
	viaList            []Via
	events             map[eventKey]int

	at       Place
	wrapped  int // event whose line may go on in the next; -1 none
	wrapLine int
	quoted   bool     // the next line is the error that PyTorch quotes
	bare     []string // versions from lines without a speaker
	said     bool     // the file says something of NCCL
}

type (
	thread    struct{ proc, tid int }
	procRank  struct{ proc, rank int }
	memberVia struct{ member, via int }
	pointer   struct {
		proc int
		ptr  string
	}
)

func (p *Parser) init() {
	if p.procs != nil {
		return
	}
	p.procs = map[string]int{}
	p.hosts = map[string]bool{}
	p.threads = map[thread]int{}
	p.ptrs = map[pointer]int{}
	p.ranks = map[procRank]int{}
	p.vias = map[string]int{}
	p.viaAt = map[Via]int{}
	p.uses = map[memberVia]int{}
	p.events = map[eventKey]int{}
	p.log.Over = map[string]int{}
	p.wrapped = -1
}

// over counts something that a limit left out.
func (p *Parser) over(what string) { p.log.Over[what]++ }

// buffer is how much is read at once; longer lines are cut.
const buffer = 256 << 10

// Add reads one more file. Its memory does not grow with the file.
func (p *Parser) Add(name string, r io.Reader) error {
	p.init()
	if len(p.log.Files) == maxFiles {
		return fmt.Errorf("more than %d files", maxFiles)
	}
	p.log.Files = append(p.log.Files, name)
	p.at = Place{File: len(p.log.Files) - 1}
	p.wrapped, p.quoted = -1, false

	b := bufio.NewReaderSize(r, buffer)
	head, err := b.Peek(4 << 10)
	if err != nil && err != io.EOF {
		return err
	}
	if err := foreign(head); err != nil {
		return err
	}
	if looksRAS(head) {
		return p.readRAS(b)
	}
	for {
		line, err := b.ReadSlice('\n')
		p.log.Bytes += int64(len(line))
		if len(line) > 0 {
			p.log.Lines++
			p.at.Line++
			if len(line) > maxLine {
				p.over("bytes of lines longer than 64 KiB")
				line = line[:maxLine]
			}
			p.line(line)
		}
		for err == bufio.ErrBufferFull { // the rest of a line without end
			line, err = b.ReadSlice('\n')
			p.log.Bytes += int64(len(line))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Log returns what was read. Its error is ErrNot when NCCL said nothing.
func (p *Parser) Log() (Log, error) {
	p.init()
	if !p.said {
		return p.log, ErrNot
	}
	return p.log, nil
}

// foreign refuses what people take for a log and is not one.
func foreign(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}), bytes.HasPrefix(head, []byte("\xfd7zXZ")):
		return errors.New("compressed: unpack it first")
	case bytes.Contains(head, []byte("<system version=")):
		return errors.New("the topology that NCCL found (NCCL_TOPO_DUMP_FILE), not its log")
	case bytes.Contains(head, []byte("<graphs version=")):
		return errors.New("the graphs that NCCL made (NCCL_GRAPH_DUMP_FILE), not its log")
	}
	return nil
}

// clip makes a text of bytes from the log: short, and valid UTF-8.
func clip(b []byte, n int) string {
	if len(b) > n {
		b = b[:n]
	}
	return strings.ToValidUTF8(string(b), "")
}
