package nccllog

import (
	"bytes"
	"strconv"
)

// netLine reads a line that begins with N: networks, variables, versions.
func (p *Parser) netLine(s speaker, m []byte) {
	switch {
	case has(m, "NET/"):
		p.netOf(s, m)
	case has(m, "NCCL_"):
		p.setting(s, m)
	case has(m, "NCCL version"):
		p.version("NCCL", m[len("NCCL version"):], s.proc)
	case has(m, "NVLS comm 0x"):
		p.comm(s, m)
	case has(m, "NET : Using interface "): // up to 2.2
		proc := &p.log.Procs[s.proc]
		if f, ok := iface(m[len("NET : Using interface "):]); ok && len(proc.Boot) == 0 {
			proc.Boot, proc.BootAt = []Iface{f}, p.at
		}
	}
}

// netOf reads "NET/IB : …", "NET/Socket : …", "NET/Plugin: …", "NET/OFI …".
func (p *Parser) netOf(s speaker, m []byte) {
	proc := &p.log.Procs[s.proc]
	name, rest := m[len("NET/"):], []byte(nil)
	if i := bytes.IndexAny(name, " :"); i >= 0 {
		name, rest = name[:i], bytes.TrimLeft(name[i:], " :")
	}
	if i := bytes.Index(rest, []byte("GPU Direct RDMA ")); i >= 0 && i < 64 {
		p.direct(s, rest[i:])
		return
	}
	switch {
	case string(name) == "Plugin":
		p.noPlugin(s, m, rest)
	case string(name) == "OFI":
		p.ofi(s, rest)
	case string(name) == "Socket" || string(name) == "FastSocket":
		if list, ok := after(rest, "Using "); ok {
			proc.Sockets = ifaces(list)
		}
	case has(rest, "Using ") || string(rest) == "Using":
		if hcas, virtual := hcaList(rest[len("Using"):]); len(hcas) > 0 {
			proc.HCAs, proc.HCAsAt = hcas, p.at
			proc.Virtual = append(proc.Virtual, virtual...)
			proc.Virtual = proc.Virtual[:min(len(proc.Virtual), maxHCAs)]
		}
	case has(rest, "No device found"):
		p.event(s, Event{Kind: NoDevice}, m)
	case has(rest, "Made virtual device ["):
		p.virtual(proc, rest[len("Made virtual device ["):])
	default:
		if i := bytes.Index(rest, []byte(" qpn ")); i >= 0 && i < 64 || bytes.HasSuffix(rest, []byte(" qpn")) {
			p.queuePair(proc, rest)
		}
	}
}

// queuePair reads "NCCL Dev 0 IbDev 0 Port 1 qpn 1040 mtu 5 … GID 0 (80FE/1A8A…)":
// an RDMA connection is being made.
func (p *Parser) queuePair(proc *Proc, m []byte) {
	proc.QPs++
	set(&proc.QPAt, p.at)
	i := bytes.Index(m, []byte(" GID "))
	if i < 0 {
		return
	}
	n, rest, ok := leading(m[i+len(" GID "):])
	if !ok {
		return
	}
	proc.GID = n
	// The halves are printed as little-endian numbers: fe80::/64 is 80FE.
	proc.GIDFar = !bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("(80FE/"))
}

// virtual reads "4] name=mlx5_0+mlx5_1 speed=400000 ndevs=2".
func (p *Parser) virtual(proc *Proc, m []byte) {
	n, rest, ok := leading(m)
	i := bytes.Index(rest, []byte("name="))
	if !ok || i < 0 || len(proc.Virtual) >= maxHCAs {
		return
	}
	proc.Virtual = append(proc.Virtual, HCA{Index: n, Name: clip(word(rest[i+len("name="):]), 128)})
}

// hcaList reads " [0]mlx5_0:1/IB/SHARP [1]={[1] mlx5_1:1/RoCE, [2] mlx5_2:1/RoCE} [RO]; OOB …".
// Braces hold devices that NCCL merged into one.
func hcaList(b []byte) (hcas, virtual []HCA) {
	b, _, _ = bytes.Cut(b, []byte(";"))
	var group *HCA
	index := -1
	for len(b) > 0 && len(hcas) < maxHCAs {
		switch b[0] {
		case ' ', ',', '=':
			b = b[1:]
		case '[':
			end := bytes.IndexByte(b, ']')
			if end < 0 {
				return hcas, virtual
			}
			n, ok := number(b[1:end])
			if !ok {
				n = -1 // [RO]
			}
			index, b = n, b[end+1:]
		case '{':
			group, b = &HCA{Index: index}, b[1:]
		case '}':
			if group != nil {
				virtual = append(virtual, *group)
			}
			group, b = nil, b[1:]
		default:
			end := bytes.IndexAny(b, " ,}")
			whole := end >= 0
			if !whole {
				end = len(b)
			}
			if h, ok := hca(b[:end]); ok && index >= 0 {
				h.Index = index
				hcas = append(hcas, h)
				if group != nil {
					if group.Name != "" {
						group.Name += "+"
					}
					group.Name += h.Name
				}
			}
			b = b[end:]
		}
	}
	return hcas, virtual
}

// hca reads "mlx5_0:1/IB/SHARP"; a rail and a plane may follow the port.
func hca(b []byte) (HCA, bool) {
	name, rest, ok := bytes.Cut(b, []byte(":"))
	if !ok || len(name) == 0 || len(name) > 64 {
		return HCA{}, false
	}
	ports, layer, ok := bytes.Cut(rest, []byte("/"))
	port, _, isPort := leading(ports)
	if !ok || !isPort {
		return HCA{}, false
	}
	layer, more, _ := bytes.Cut(layer, []byte("/"))
	if string(layer) != "IB" && string(layer) != "RoCE" {
		return HCA{}, false // broken off
	}
	return HCA{Name: clip(name, 64), Port: port, Layer: string(layer), Sharp: has(more, "SHARP")}, true
}

// ifaces reads "[0]eth0:10.0.0.23<0> [1]ib0:…".
func ifaces(b []byte) (list []Iface) {
	for range maxHCAs {
		i := bytes.IndexByte(b, ']')
		if i < 0 {
			break
		}
		b = b[i+1:]
		if f, ok := iface(word(b)); ok {
			list = append(list, f)
		}
	}
	return list
}

// iface reads "eth0:10.0.0.23<0>". An address may have colons of its own.
func iface(b []byte) (Iface, bool) {
	b = word(b)
	if i := bytes.IndexByte(b, '<'); i >= 0 {
		b = b[:i]
	}
	name, addr, ok := bytes.Cut(b, []byte(":"))
	if !ok || len(name) == 0 {
		return Iface{}, false
	}
	return Iface{clip(name, 32), clip(addr, 64)}, true
}

// bootstrap reads "Bootstrap : Using eno1:10.0.0.1<0>" and its list form of old.
func (p *Parser) bootstrap(s speaker, m []byte) {
	rest, ok := after(m, "Bootstrap : Using ", "Bootstrap: Using ", "Bootstrap :Using ")
	if !ok {
		if bytes.Contains(m, []byte("no socket interface found")) {
			p.event(s, Event{Kind: NoInterface}, m)
		}
		return
	}
	proc := &p.log.Procs[s.proc]
	list := []Iface(nil)
	if rest[0] == '[' {
		list = ifaces(rest)
	} else if f, ok := iface(rest); ok {
		list = []Iface{f}
	}
	if len(list) > 0 && len(proc.Boot) == 0 {
		proc.Boot, proc.BootAt = list, p.at
	}
}

// setting reads "NCCL_IB_HCA set by environment to mlx5_0." and "… set to mlx5_0".
func (p *Parser) setting(s speaker, m []byte) {
	name, rest, ok := bytes.Cut(m, []byte(" "))
	if !ok || len(name) > 64 {
		return
	}
	value, ok := after(rest, "set by environment to ", "set to ", "set by environment variable to ")
	if !ok {
		return
	}
	proc := &p.log.Procs[s.proc]
	v := clip(bytes.TrimSuffix(value, []byte(".")), 200)
	for i := range proc.Env {
		if proc.Env[i].Name == string(name) {
			return // the first is what was read; "set to" repeats it
		}
	}
	if len(proc.Env) < maxEnv {
		proc.Env = append(proc.Env, Setting{clip(name, 64), v, p.at})
	}
}

// direct reads whether GPUDirect RDMA is possible:
//
//	GPU Direct RDMA Disabled for HCA 0 'mlx5_0'
//	GPU Direct RDMA Enabled for GPU 1c000 / HCA 0 (distance 4 <= 5), read 1
//	GPU Direct RDMA (peermem) for device 0           (RCCL: "Using …")
//	GPU Direct RDMA (DMABUF) enabled for HCA 1 'mlx5_1  (HPC-X's plugin)
func (p *Parser) direct(s speaker, m []byte) {
	d := Direct{HCA: -1, Distance: -1, Limit: -1, At: p.at}
	rest, ok := after(m, "GPU Direct RDMA Enabled for ")
	if d.Enabled = ok; !ok {
		if rest, ok = after(m, "GPU Direct RDMA Disabled for "); !ok {
			_, way, _ := bytes.Cut(m, []byte("GPU Direct RDMA ("))
			_, rest, _ = bytes.Cut(way, []byte(") "))
			if rest, ok = after(rest, "for device ", "enabled for HCA "); !ok {
				return
			}
			d.Enabled = true
			if d.HCA, rest, ok = leading(rest); ok {
				d.Name = clip(bytes.Trim(rest, " '"), 64)
				p.addDirect(s, d)
			}
			return
		}
	}
	if g, ok := after(rest, "GPU "); ok {
		d.GPU = clip(word(g), 16)
	}
	if i := bytes.Index(rest, []byte("HCA ")); i >= 0 {
		// Newer releases write the device as a hexadecimal id, so it is read as one:
		// below ten they are the same.
		n, err := strconv.ParseUint(clip(bytes.TrimRight(word(rest[i+len("HCA "):]), ","), 16), 16, 31)
		if err != nil {
			return
		}
		d.HCA = int(n)
		if a := bytes.IndexByte(rest, '\''); a >= 0 {
			if name, _, ok := bytes.Cut(rest[a+1:], []byte("'")); ok {
				d.Name = clip(name, 64)
				d.HCA, _, _ = leading(rest[i+len("HCA "):])
			}
		}
	}
	if i := bytes.Index(rest, []byte("(distance ")); i >= 0 {
		var tail []byte
		d.Distance, tail, _ = leading(rest[i+len("(distance "):])
		d.Limit, _, _ = leading(bytes.TrimLeft(tail, " <>="))
	}
	p.addDirect(s, d)
}

// addDirect keeps one answer for each pair of GPU and HCA.
func (p *Parser) addDirect(s speaker, d Direct) {
	proc := &p.log.Procs[s.proc]
	for i := range proc.Direct {
		if o := &proc.Direct[i]; o.HCA == d.HCA && o.GPU == d.GPU && o.Name == d.Name {
			return
		}
	}
	if len(proc.Direct) < 4*maxHCAs {
		proc.Direct = append(proc.Direct, d)
	}
}
