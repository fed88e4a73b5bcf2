package why

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// Engine is what an engine's own log says about how it was started.
type Engine struct {
	TP, PP int // 0 not told
	Eager  string
	Line   int // the line that says so
}

// Lines in which vLLM ("… LLM engine … with config: …") and SGLang ("server_args=…")
// print what they were started with, and the words in them.
var (
	configLine = regexp.MustCompile(`LLM engine .*with config|server_args=|non-default args`)
	tpWord     = regexp.MustCompile(`\b(?:tensor_parallel_size|tp_size)['"]?[=:] ?([0-9]{1,5})\b`)
	ppWord     = regexp.MustCompile(`\b(?:pipeline_parallel_size|pp_size)['"]?[=:] ?([0-9]{1,5})\b`)
	eagerWord  = regexp.MustCompile(`\b(enforce_eager|disable_cuda_graph)['"]?[=:] ?True\b`)
)

// Bounds of a log that is searched for an engine's words.
const (
	maxLogLine  = 1 << 20
	maxLogBytes = 1 << 30
)

// ReadEngine searches a log for how the engine was started; ok is false when it does not
// say. The first value of each counts: later ones are of other processes.
func ReadEngine(r io.Reader) (e Engine, ok bool, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxLogBytes), 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if len(line) > 0 && configLine.Match(line) {
			if v, found := number(tpWord, line); found && e.TP == 0 {
				e.TP, ok = v, true
			}
			if v, found := number(ppWord, line); found && e.PP == 0 {
				e.PP, ok = v, true
			}
			if m := eagerWord.FindSubmatch(line); m != nil && e.Eager == "" {
				e.Eager, ok = fmt.Sprintf("%s=True, line %d of the log", m[1], n), true
			}
			if ok && e.Line == 0 {
				e.Line = n
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return e, ok, nil
		case err != nil:
			return e, ok, err
		}
	}
}

// readLine reads a line; of one that is too long it keeps the beginning.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, more, err := in.ReadLine()
		if room := maxLogLine - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if err != nil || !more {
			return line, err
		}
	}
}

func number(word *regexp.Regexp, line []byte) (int, bool) {
	m := word.FindSubmatch(line)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(m[1]))
	return n, err == nil && n >= 1
}
