package nccllog

import "bytes"

// The wordings in which releases say that there is no net plugin. Two ranks that use
// different ones are of different releases.
const (
	wordNone    = 0
	wordBare    = 1 // NET/Plugin : No plugin found (libnccl-net.so), using internal implementation
	wordLoad    = 2 // NET/Plugin : Plugin load (libnccl-net.so) returned 2 : …       2.18
	wordDlerror = 3 // NET/Plugin : dlerror=libnccl-net.so: … No plugin found …       2.19
	wordUsing   = 4 // NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
	wordFind    = 5 // NET/Plugin: Could not find: libnccl-net.so                     2.27
)

// noPlugin reads a "NET/Plugin" line.
func (p *Parser) noPlugin(s speaker, m, rest []byte) {
	proc := &p.log.Procs[s.proc]
	wording := wordNone
	switch {
	case has(rest, "dlerror="):
		wording = wordDlerror
	case has(rest, "Plugin load (") && bytes.Contains(rest, []byte(") returned ")):
		wording = wordLoad
	case has(rest, "No plugin found, using internal"): // follows wordLoad
		p.without(proc)
		return
	case has(rest, "No plugin found"):
		wording = wordBare
	case has(rest, "Could not find:"):
		wording = wordFind
		if bytes.Contains(rest, []byte("Using internal network plugin")) {
			wording = wordUsing
		}
	case has(rest, "Loaded net plugin "):
		name := rest[len("Loaded net plugin "):]
		if i := bytes.LastIndex(name, []byte(" (v")); i >= 0 {
			name = name[:i]
		}
		p.loaded(proc, name, nil)
		return
	case bytes.HasSuffix(rest, []byte("is statically-linked")):
		p.loaded(proc, nil, nil)
		return
	default:
		return
	}
	if proc.Wording == wordNone {
		proc.Wording, proc.WordAt = wording, p.at
	}
	p.without(proc)
}

// pluginLine reads "Plugin Path : /opt/…", "P2P plugin IBext_v8" and "Successfully
// loaded external network plugin libnccl-net.so".
func (p *Parser) pluginLine(s speaker, m []byte) {
	proc := &p.log.Procs[s.proc]
	if path, ok := after(m, "Plugin Path : "); ok {
		p.loaded(proc, nil, path)
	} else if name, ok := after(m, "P2P plugin "); ok {
		if rest, isV := after(name, "v"); isV { // "P2P plugin v8 IBext_v8"
			if _, tail, ok := leading(rest); ok {
				name = bytes.TrimLeft(tail, " ")
			}
		}
		p.loaded(proc, name, nil)
	} else if path, ok := after(m, "Successfully loaded external network plugin "); ok {
		p.loaded(proc, nil, path)
	}
}

func (p *Parser) loaded(proc *Proc, name, path []byte) {
	if proc.Plugin.State != "loaded" {
		proc.Plugin.State, proc.Plugin.At = "loaded", p.at
	}
	if len(name) > 0 {
		proc.Plugin.Name = clip(name, 64)
	}
	if len(path) > 0 {
		proc.Plugin.Path = clip(path, 200)
	}
}

// without notes that none was found, unless one was.
func (p *Parser) without(proc *Proc) {
	if proc.Plugin.State == "" {
		proc.Plugin.State, proc.Plugin.At = "none", p.at
	}
}

// ofi reads lines of the libfabric plugin.
func (p *Parser) ofi(s speaker, m []byte) {
	proc := &p.log.Procs[s.proc]
	if rest, ok := after(m, "Selected Provider is ", "Selected provider is "); ok {
		proc.Provider = Said{clip(bytes.TrimRight(word(rest), ",;"), 32), p.at}
	} else if rest, ok := after(m, "Using aws-ofi-"); ok {
		p.loaded(proc, append([]byte("aws-ofi-"), word(rest)...), nil)
	}
}
