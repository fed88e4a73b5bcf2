// Package local looks at this machine's RDMA ports and GPUs, cheaply and again and again:
// files of sysfs stay open and are read with one call each. Edge: it reads; history judges.
package local

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/unit"
)

// How often what changes seldom is read.
const (
	findEvery = 30 * time.Second // devices come and go
	gidsEvery = 30 * time.Second // hundreds of files a port
	gpusEvery = 15 * time.Second
	badAgain  = time.Hour // functions that firmware restricts refuse, and the kernel logs each refusal
)

// maxOpen bounds the files that stay open; beyond that they are opened for each read.
const maxOpen = 8192

// Reader reads this machine. It is safe for use by several goroutines.
type Reader struct {
	root string // "/" but in tests

	// MTU tells the packet size in force of an InfiniBand port, which is in no file; nil
	// is not known. It is asked as seldom as GIDs are read.
	MTU func(device string, port int) (int, bool)

	mu    sync.Mutex
	boot  string
	ports []*port
	found time.Time
	gids  time.Time
	lost  bool                 // a file went away: devices changed
	bad   map[string]time.Time // files that refused, and when they are tried again
	open  int
	buf   [4096]byte

	gpu *gpus
}

// port is one port and its open files.
type port struct {
	look     history.PortLook // what does not change
	dir      string
	state    *file
	phys     *file
	rate     *file
	mtu      *file
	carrier  *file
	files    []string // counters that are files, by name
	counters []*file
	names    []string      // of all counters, by name
	order    []int         // where each of the files, and after them each of the stats, is among names
	stats    *stats        // counters of the interface; nil when there are none
	active   fact.Val[int] // packet size in force, of InfiniBand
}

// New makes a reader of the machine below root.
func New(root string) *Reader {
	if root == "" {
		root = "/"
	}
	return &Reader{root: root, bad: map[string]time.Time{}, gpu: newGPUs(root)}
}

// Close closes all files.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	r.gpu.close()
}

func (r *Reader) drop() {
	for _, p := range r.ports {
		p.close(r)
	}
	r.ports = nil
}

// Look reads everything that is due.
func (r *Reader) Look(now time.Time) *history.Look {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boot == "" {
		r.boot = r.word("proc/sys/kernel/random/boot_id")
	}
	if r.lost || r.found.IsZero() || now.Sub(r.found) >= findEvery || now.Before(r.found) {
		r.find(now)
	}
	l := &history.Look{Boot: r.boot, Ports: make([]history.PortLook, len(r.ports))}
	tables := r.gids.IsZero() || now.Sub(r.gids) >= gidsEvery || now.Before(r.gids)
	if tables {
		r.gids = now
	}
	for i, p := range r.ports {
		r.read(p, &l.Ports[i], now, tables)
	}
	l.GPUs, l.GPUd = r.gpu.get(now)
	return l
}

// read reads one port.
func (r *Reader) read(p *port, q *history.PortLook, now time.Time, table bool) {
	*q = p.look
	q.State = afterColon(p.state.text(r))
	q.Phys = afterColon(p.phys.text(r))
	if rate, err := unit.ParseRate(p.rate.text(r)); err == nil {
		q.Rate = fact.Some(rate)
	}
	if v, ok := p.mtu.number(r); ok {
		q.MTU = fact.Some(int(v))
	}
	if v, ok := p.carrier.number(r); ok {
		q.Carrier = fact.Some(v)
	}
	q.Count.Names, q.Count.Values = p.names, make([]uint64, len(p.names))
	refused := false
	for i, f := range p.counters {
		v, ok := f.number(r)
		if !ok {
			refused = true
			if f != nil {
				r.bad[f.path] = now.Add(badAgain)
			}
		}
		q.Count.Values[p.order[i]] = v
	}
	if p.stats != nil && !p.stats.read(func(i int, v uint64) { q.Count.Values[p.order[len(p.counters)+i]] = v }) {
		p.stats.close()
		p.stats, refused = nil, true
		r.bad[p.statsKey()] = now.Add(findEvery)
	}
	if refused { // without what refused, now and until it is tried again
		p.leaveOut(r)
		q.Count = history.Counters{}
		r.found = time.Time{}
	}
	if table {
		q.GIDs, q.GIDd = r.readGIDs(p)
		if p.look.Layer == "InfiniBand" && r.MTU != nil && q.State == "ACTIVE" {
			if mtu, ok := r.MTU(p.look.Device, p.look.Num); ok {
				p.active = fact.Some(mtu)
			}
		}
	}
	if p.look.Layer == "InfiniBand" { // IPoIB has an MTU of its own, which is none of RDMA's
		q.MTU = p.active
	}
}

// statsKey is what an interface's counters are called among those that refused.
func (p *port) statsKey() string { return "ethtool " + p.look.Netdev }

// leaveOut drops the counters that refused.
func (p *port) leaveOut(r *Reader) {
	var names []string
	var files []*file
	for i, f := range p.counters {
		if f == nil {
			continue
		}
		if _, bad := r.bad[f.path]; bad {
			f.close(r)
			continue
		}
		names, files = append(names, p.files[i]), append(files, f)
	}
	p.files, p.counters = names, files
	p.sort()
}

// sort puts the counters of files and of the interface into one list. A name that both
// have is the file's.
func (p *port) sort() {
	if p.stats != nil {
		p.stats.drop(p.files)
	}
	all := slices.Clone(p.files)
	if p.stats != nil {
		all = append(all, p.stats.names...)
	}
	p.names = slices.Sorted(slices.Values(all))
	p.order = make([]int, len(all))
	for i, name := range all {
		p.order[i], _ = slices.BinarySearch(p.names, name)
	}
}

// find looks which devices there are. Ports that are still there keep their files.
func (r *Reader) find(now time.Time) {
	r.found, r.lost = now, false
	for path, until := range r.bad {
		if now.After(until) {
			delete(r.bad, path)
		}
	}
	had := map[string]*port{}
	for _, p := range r.ports {
		had[p.look.Name] = p
	}
	r.ports = nil
	for _, dev := range r.list("sys/class/infiniband", history.MaxPorts) {
		for _, num := range r.list("sys/class/infiniband/"+dev+"/ports", 16) {
			n, err := strconv.Atoi(num)
			if err != nil || n < 1 || len(r.ports) >= history.MaxPorts {
				continue
			}
			name := dev + "/" + num
			p := had[name]
			if p != nil && !p.state.gone && p.same(r) {
				delete(had, name)
				r.ports = append(r.ports, p)
				continue
			}
			r.ports = append(r.ports, r.openPort(dev, n, now))
		}
	}
	for _, p := range had {
		p.close(r)
	}
	slices.SortFunc(r.ports, func(a, b *port) int { return strings.Compare(a.look.Name, b.look.Name) })
}

// same reports whether a port has the netdev and the counters that it had.
func (p *port) same(r *Reader) bool {
	return p.look.Netdev == r.netdev(p.look.Device, p.dir) && slices.Equal(p.files, r.counterNames(p.dir)) && (p.stats != nil || !r.wantsStats(p))
}

// counterNames are the counters of a port that do not refuse.
func (r *Reader) counterNames(dir string) []string {
	var names []string
	for _, folder := range []string{"/counters", "/hw_counters"} {
		for _, name := range r.list(dir+folder, history.MaxCounters) {
			if _, bad := r.bad[filepath.Join(r.root, dir, folder, name)]; !bad && !history.NotCounted(name) && len(names) < history.MaxCounters {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (r *Reader) openPort(dev string, num int, now time.Time) *port {
	dir := "sys/class/infiniband/" + dev + "/ports/" + strconv.Itoa(num)
	p := &port{dir: dir, look: history.PortLook{Name: dev + "/" + strconv.Itoa(num), Device: dev, Num: num, Layer: r.word(dir + "/link_layer")}}
	p.look.Netdev = r.netdev(dev, dir)
	p.state, p.phys, p.rate = r.file(dir+"/state"), r.file(dir+"/phys_state"), r.file(dir+"/rate")
	if _, err := os.Stat(filepath.Join(r.root, "sys/class/infiniband", dev, "device")); err != nil {
		p.look.Soft = true
	}
	if p.look.Netdev != "" {
		p.mtu, p.carrier = r.file("sys/class/net/"+p.look.Netdev+"/mtu"), r.file("sys/class/net/"+p.look.Netdev+"/carrier_down_count")
	}
	p.files = r.counterNames(dir)
	for _, name := range p.files {
		path := dir + "/counters/" + name
		if _, err := os.Stat(filepath.Join(r.root, path)); err != nil {
			path = dir + "/hw_counters/" + name
		}
		p.counters = append(p.counters, r.file(path))
	}
	if r.wantsStats(p) {
		if p.stats = openStats(p.look.Netdev); p.stats == nil {
			r.bad[p.statsKey()] = now.Add(badAgain)
		}
	}
	p.sort()
	return p
}

// wantsStats reports whether the interface of a port may have counters worth asking for.
func (r *Reader) wantsStats(p *port) bool {
	_, bad := r.bad[p.statsKey()]
	return r.root == "/" && p.look.Netdev != "" && p.look.Layer == "Ethernet" && !bad
}

// netdev is the interface of a port: its GIDs say it, and rxe its parent.
func (r *Reader) netdev(dev, dir string) string {
	for _, path := range []string{dir + "/gid_attrs/ndevs/0", "sys/class/infiniband/" + dev + "/parent"} {
		if name := r.word(path); name != "" && !strings.ContainsAny(name, "/.") {
			return name
		}
	}
	return ""
}

// maxTable bounds how much of a GID table is read.
const maxTable = history.MaxGIDs

// readGIDs reads the table of a port; entries without a GID are zero.
func (r *Reader) readGIDs(p *port) ([]string, bool) {
	var out []string
	names := r.list(p.dir+"/gids", maxTable)
	index := make([]int, 0, len(names))
	for _, name := range names {
		if i, err := strconv.Atoi(name); err == nil {
			index = append(index, i)
		}
	}
	slices.Sort(index)
	for _, i := range index {
		num := strconv.Itoa(i)
		gid := r.word(p.dir + "/gids/" + num)
		if gid == "" || strings.Trim(gid, "0:") == "" {
			continue
		}
		out = append(out, history.GIDText(i, r.word(p.dir+"/gid_attrs/types/"+num), gid))
	}
	return out, len(index) > 0
}

func (p *port) close(r *Reader) {
	for _, f := range append([]*file{p.state, p.phys, p.rate, p.mtu, p.carrier}, p.counters...) {
		f.close(r)
	}
	p.stats.close()
}

// list names what is in a folder, in order, at most so many.
func (r *Reader) list(dir string, most int) []string {
	d, err := os.Open(filepath.Join(r.root, dir))
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(most)
	slices.Sort(names)
	return names
}

// afterColon is "ACTIVE" of "4: ACTIVE".
func afterColon(s string) string {
	if _, after, ok := strings.Cut(s, ": "); ok {
		return strings.TrimSpace(after)
	}
	return s
}
