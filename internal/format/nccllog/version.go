package nccllog

import (
	"bytes"
	"slices"
)

// version keeps " 2.27.6+cuda13.0", " : 2.30.4-HEAD:2b22ab0" and
// " 2.16.5+hip5.6 HEAD:3dcebc7+".
func (p *Parser) version(library string, b []byte, proc int) {
	b = bytes.TrimLeft(b, " :=")
	text := clip(b, 64)
	if w := clip(word(b), 64); library == "NCCL" || !bytes.Contains(b, []byte(" HEAD:")) {
		text = w
	}
	if text == "" || text[0] < '0' || text[0] > '9' {
		return
	}
	told := &p.bare // by lines that do not say who speaks
	if proc >= 0 {
		told = &p.log.Procs[proc].Versions
	}
	if slices.Contains(*told, text) || len(*told) >= maxVersions {
		return
	}
	*told = append(*told, text)
	p.log.Versions = append(p.log.Versions, Version{Library: library, Text: text, Proc: proc, At: p.at})
}

// maxVersions is how many versions of one speaker are kept: a process may load two
// libraries, PyTorch's and its own.
const maxVersions = 8
