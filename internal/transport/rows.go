package transport

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/format/nccllog"
)

// written writes down every communicator: each rank, and what it used.
func (v *view) written() []Comm {
	var out []Comm
	for _, c := range v.comms {
		w := Comm{ID: c.id, Size: c.size, Nodes: c.nodes, Ranks: make([]Rank, 0, len(c.members))}
		hosts := v.hostsOf(c)
		told := slices.ContainsFunc(c.members, func(i int) bool {
			return slices.ContainsFunc(v.uses[i], func(u int) bool { return v.log.Uses[u].Via.Kind == "NET" })
		})
		for _, i := range c.members {
			m := &v.log.Members[i]
			p := v.proc(i)
			r := Rank{Rank: m.Rank, Host: p.Host, PID: p.PID, Dev: m.Dev, GPU: v.gpu(i), Status: "seen", Uses: []Use{}}
			switch {
			case m.Gone:
				r.Status = "destroyed"
			case m.Complete:
				r.Status = "complete"
			case m.Started:
				r.Status = "started"
			}
			if m.Complete || m.Gone {
				w.Complete++
			}
			net := false
			for _, u := range v.uses[i] {
				use := v.useOf(c, i, &v.log.Uses[u], hosts)
				net = net || use.Where == Between
				r.Uses = append(r.Uses, use)
			}
			// A rank in the middle of a node sends to its neighbours alone: where the
			// channel lines of others tell of a network, they tell that of it.
			if !net && !(told && len(v.uses[i]) > 0) {
				if use, ok := v.chosen(c, m.Proc); ok {
					r.Uses = append(r.Uses, use)
				}
			}
			w.Ranks = append(w.Ranks, r)
		}
		out = append(out, w)
	}
	return out
}

// hostsOf maps the ranks of a communicator to hosts, where NCCL counts as many nodes as
// there are names; nil where it does not (containers, NCCL_HOSTID, a log of one node).
func (v *view) hostsOf(c *comm) map[int]string {
	at := map[int]string{}
	names := map[string]bool{}
	for _, i := range c.members {
		h := v.proc(i).Host
		at[v.log.Members[i].Rank] = h
		names[h] = true
	}
	if c.nodes > 0 && len(names) != c.nodes || names[""] {
		return nil
	}
	return at
}

// useOf writes one use.
func (v *view) useOf(c *comm, member int, u *nccllog.Use, hosts map[int]string) Use {
	out := Use{Where: Inside, Transport: u.Via.String(), Through: u.Via.Proxy, Channels: u.Channels, Sends: u.Sends, Recvs: u.Recvs, Peers: u.Peers, Basis: ByChannels, At: v.line(u.At), place: u.At}
	net := u.Via.Kind == "NET" || u.Via.Kind == "COLLNET"
	if net {
		out.Where = Between
		out.Device = v.device(member, u.Via)
		out.GDR = fact.Some(u.Via.GDR)
		if v.classOf(v.log.Members[member].Proc, u.Via) == classSocket {
			out.GDR = fact.Val[bool]{}
		}
	}
	if hosts != nil && len(u.Peers) > 0 && u.Via.Kind != "COLLNET" {
		own := hosts[v.log.Members[member].Rank]
		same, other := 0, 0
		for _, p := range u.Peers {
			switch h, ok := hosts[p]; {
			case !ok:
			case h == own:
				same++
			default:
				other++
			}
		}
		switch {
		case net && same > 0 && other == 0 && same == len(u.Peers):
			out.Where = Inside
		case !net && other > 0: // NVLink across nodes
			out.Where = Between
		}
	}
	if net && c.nodes == 1 {
		out.Where = Inside
	}
	return out
}

// device names what a network's number stands for.
func (v *view) device(member int, via nccllog.Via) string {
	p := v.proc(member)
	if class(via.Name, "") == classSocket {
		if via.Dev < len(p.Sockets) {
			return p.Sockets[via.Dev].Name
		}
		return ""
	}
	for _, list := range [][]nccllog.HCA{p.Virtual, p.HCAs} {
		for _, h := range list {
			if h.Index == via.Dev {
				return h.Name
			}
		}
	}
	for _, d := range p.Direct {
		if d.HCA == via.Dev && d.Name != "" {
			return d.Name
		}
	}
	return "device " + itoa(via.Dev)
}

// chosen is what a process's network is where no channel line tells: by the
// connections it made, by its errors, by what it says it chose, or because nothing
// else is left.
func (v *view) chosen(c *comm, proc int) (Use, bool) {
	if c != nil && c.spans == no {
		return Use{}, false
	}
	p := &v.log.Procs[proc]
	u := Use{Where: Between, Through: -1}
	name := cmp.Or(p.Network.Text, "IB")
	if class(name, p.Provider.Text) == classSocket {
		name = "IB"
	}
	switch {
	case p.QPs > 0:
		u.Transport, u.Basis, u.place = "NET/"+name, ByConnections, p.QPAt
	case v.erred(proc) != nil && (p.Host != "" || len(v.names) == 0):
		u.Transport, u.Basis, u.place = "NET/"+name, ByErrors, v.erred(proc).At
	case p.Network.Text != "":
		u.Transport, u.Basis, u.place = "NET/"+p.Network.Text, ByChoice, p.Network.At
	default:
		e, ok := v.ruledOut(proc)
		if !ok {
			return Use{}, false
		}
		u.Transport, u.Basis, u.place = "NET/Socket", ByExclusion, e.At
	}
	u.At = v.line(u.place)
	if class(strings.TrimPrefix(u.Transport, "NET/"), p.Provider.Text) == classRDMA {
		if v.possible(p) == no {
			u.GDR = fact.Some(false)
		}
	}
	return u, true
}

// erred returns an error that only a connection of NET/IB can meet.
func (v *view) erred(proc int) *nccllog.Event {
	for _, kind := range []nccllog.Kind{nccllog.Completion, nccllog.QPFailed, nccllog.MRFailed} {
		if e := v.first[procKind{proc, kind}]; e != nil {
			return e
		}
	}
	return nil
}

// ruledOut reports that only sockets are left to a process of a job over several nodes:
// RDMA could not be used and no plugin was loaded.
func (v *view) ruledOut(proc int) (*nccllog.Event, bool) {
	p := &v.log.Procs[proc]
	if v.wide != yes || p.Plugin.State == "loaded" || len(p.HCAs) > 0 || p.Provider.Text != "" {
		return nil, false
	}
	for _, kind := range []nccllog.Kind{nccllog.NoVerbs, nccllog.NoDevice} {
		if e := v.first[procKind{proc, kind}]; e != nil {
			return e, true
		}
	}
	return nil, false
}

// possible is what NCCL found of GPUDirect RDMA with the HCAs of a process.
func (v *view) possible(p *nccllog.Proc) answer {
	on, off := 0, 0
	for _, d := range p.Direct {
		if d.GPU != "" {
			continue // a pair that is too far is no matter of principle
		}
		if d.Enabled {
			on++
		} else {
			off++
		}
	}
	switch {
	case on > 0 && off == 0:
		return yes
	case off > 0 && on == 0:
		return no
	}
	return notKnown
}

// rows folds ranks that do the same, and communicators that are alike.
func (v *view) rows(comms []Comm) []Row {
	var out []Row
	type group struct {
		comms int
		rows  []Row
	}
	var order []string
	groups := map[string]*group{}
	for i, c := range comms {
		rows := commRows(c, v.comms[i].size)
		name := itoa(c.Size)
		for _, r := range rows {
			name += "|" + r.Where + r.Transport + r.Direct + r.Basis
		}
		g := groups[name]
		if g == nil {
			g = &group{}
			groups[name] = g
			order = append(order, name)
		}
		g.comms++
		if g.rows == nil {
			g.rows = rows
			continue
		}
		for k := range rows {
			g.rows[k].join(rows[k])
		}
	}
	for _, name := range order {
		for _, r := range groups[name].rows {
			r.Comms = groups[name].comms
			r.tidy()
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return cmp.Compare(b.Size, a.Size) })
	return append(out, v.procRows()...)
}

// commRows are the rows of one communicator.
func commRows(c Comm, size int) []Row {
	var rows []Row
	at := map[string]int{}
	for _, r := range c.Ranks {
		for _, own := range mergeUses(r) {
			k := own.Where + "|" + own.Transport + "|" + own.Direct + "|" + own.Basis
			i, ok := at[k]
			if !ok {
				at[k] = len(rows)
				own.Size = size
				rows = append(rows, own)
				continue
			}
			rows[i].join(own)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Transport, b.Transport), cmp.Compare(a.Direct, b.Direct))
	})
	return rows
}

// mergeUses makes one row of each transport of a rank: devices, directions and
// GPUDirect together.
func mergeUses(r Rank) []Row {
	var rows []Row
	var channels []nccllog.Channels
	type count struct{ on, off, sendsOn, recvsOff, unsaid int }
	var counts []count
	at := map[string]int{}
	for _, u := range r.Uses {
		k := u.Where + "|" + u.Transport + "|" + u.Basis
		i, ok := at[k]
		if !ok {
			i = len(rows)
			at[k] = i
			rows = append(rows, Row{Hosts: []string{r.Host}, Where: u.Where, Transport: u.Transport, Basis: u.Basis, At: u.At, place: u.place})
			if r.Rank >= 0 {
				rows[i].Ranks = []int{r.Rank}
			}
			channels = append(channels, nccllog.Channels{})
			counts = append(counts, count{})
		}
		channels[i].Join(u.Channels)
		if u.Device != "" {
			rows[i].Devices = append(rows[i].Devices, u.Device)
		}
		if gdr, ok := u.GDR.Get(); ok {
			if u.Sends+u.Recvs == 0 {
				counts[i].unsaid++
			}
			if gdr {
				counts[i].on++
				counts[i].sendsOn += u.Sends
			} else {
				counts[i].off++
				counts[i].recvsOff += u.Recvs
			}
		}
	}
	for i := range rows {
		rows[i].Fewest = channels[i].Len()
		rows[i].Most = rows[i].Fewest
		switch c := counts[i]; {
		case c.on > 0 && c.off == 0:
			rows[i].Direct = DirectYes
		case c.on == 0 && c.off > 0:
			rows[i].Direct = DirectNo
		case c.on > 0 && c.recvsOff == 0 && c.sendsOn == 0 && c.unsaid == 0:
			rows[i].Direct = DirectReceives
		case c.on > 0:
			rows[i].Direct = DirectSome
		}
	}
	return rows
}

// join adds the ranks of another row.
func (r *Row) join(o Row) {
	r.Ranks = append(r.Ranks, o.Ranks...)
	r.Hosts = append(r.Hosts, o.Hosts...)
	r.Devices = append(r.Devices, o.Devices...)
	if len(r.Devices) > 1024 { // ranks repeat each other's
		r.Devices = unique(r.Devices)
	}
	if o.Most > 0 {
		r.Fewest = min(r.Fewest, o.Fewest)
		r.Most = max(r.Most, o.Most)
	}
}

func (r *Row) tidy() {
	r.Ranks = unique(r.Ranks)
	r.Hosts = unique(slices.DeleteFunc(r.Hosts, func(h string) bool { return h == "" }))
	r.Devices = unique(r.Devices)
}

// procRows are the rows of processes that name no communicator: what each says it chose.
func (v *view) procRows() []Row {
	var rows []Row
	at := map[string]int{}
	for i := range v.log.Procs {
		u, ok := v.chosen(nil, i)
		if !ok || len(v.byProc[i]) > 0 {
			continue
		}
		own := Row{Comms: 1, Ranks: v.ranksOf(i, -1), Hosts: []string{v.log.Procs[i].Host}, Where: u.Where, Transport: u.Transport, Basis: u.Basis, At: u.At, place: u.place}
		if gdr, ok := u.GDR.Get(); ok && !gdr {
			own.Direct = DirectNo
		}
		k := u.Transport + "|" + u.Basis + own.Direct
		if n, ok := at[k]; ok {
			rows[n].join(own)
			continue
		}
		at[k] = len(rows)
		rows = append(rows, own)
	}
	for i := range rows {
		rows[i].tidy()
	}
	return rows
}

// sum says in few words what the table says.
func (v *view) sum(rows []Row) (between string, rdma fact.Val[bool], direct string, inside []string) {
	var names, directs []string
	all, none := true, true
	for _, r := range rows {
		if r.Where == Inside {
			inside = append(inside, r.Transport)
			continue
		}
		names = append(names, r.Transport)
		name := strings.TrimPrefix(strings.TrimPrefix(r.Transport, "NET/"), "COLLNET/")
		switch v.rowClass(r, name) {
		case classRDMA:
			none = false
			if r.Direct != "" {
				directs = append(directs, r.Direct)
			}
		case classSocket:
			all = false
		default:
			all, none = false, false
		}
	}
	names, directs = unique(names), unique(directs)
	if len(names) > 0 {
		switch {
		case all:
			rdma = fact.Some(true)
		case none:
			rdma = fact.Some(false)
		}
	}
	switch {
	case len(directs) == 1:
		direct = directs[0]
	case len(directs) > 1:
		direct = DirectSome
	case !none || len(names) == 0:
		for i := range v.log.Procs {
			if v.possible(&v.log.Procs[i]) == yes {
				direct = DirectPossible
			}
		}
	}
	return strings.Join(names, ", "), rdma, direct, unique(inside)
}

// rowClass is the class of a row's network; the provider of any of its processes
// stands for all.
func (v *view) rowClass(r Row, name string) string {
	if strings.HasPrefix(r.Transport, "COLLNET/") || strings.HasPrefix(r.Transport, "P2P/") {
		return classRDMA // SHARP; NVLink between nodes
	}
	provider := ""
	for i := range v.log.Procs {
		if p := &v.log.Procs[i]; slices.Contains(r.Hosts, p.Host) && p.Provider.Text != "" {
			provider = p.Provider.Text
			break
		}
	}
	return class(name, provider)
}
