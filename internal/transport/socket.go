package transport

import (
	"strings"

	"weft/internal/check"
	"weft/internal/format/nccllog"
)

// The IDs of findings, each a heading of docs/nccl.md. They are never reused.
const (
	idSocket    = "nccl.socket"
	idProvider  = "nccl.provider"
	idNetworks  = "nccl.networks"
	idVerbs     = "nccl.verbs"
	idDevice    = "nccl.device"
	idOpen      = "nccl.open"
	idPlugin    = "nccl.plugin"
	idQP        = "nccl.qp"
	idMemory    = "nccl.memory"
	idComplete  = "nccl.completion"
	idAsync     = "nccl.async"
	idConnect   = "nccl.connect"
	idPeer      = "nccl.peer"
	idTimeout   = "nccl.timeout"
	idVersion   = "nccl.version"
	idBuild     = "nccl.build"
	idHCAs      = "nccl.hcas"
	idLayers    = "nccl.layers"
	idDirect    = "nccl.direct"
	idBootstrap = "nccl.bootstrap"
	idInside    = "nccl.inside"
	idSettings  = "nccl.settings"
	idShm       = "nccl.shm"
	idCUDA      = "nccl.cuda"
	idGPU       = "nccl.gpu"
	idSize      = "nccl.size"
	idKernel    = "nccl.kernel"
	idWarning   = "nccl.warning"
	idError     = "nccl.error"
	idInit      = "nccl.init"
	idAlone     = "nccl.alone"
	idRAS       = "nccl.ras"
	idLines     = "nccl.lines"
)

// IDs lists them, for the docs.
var IDs = []string{idSocket, idProvider, idNetworks, idVerbs, idDevice, idOpen, idPlugin, idQP, idMemory, idComplete, idAsync, idConnect, idPeer,
	idTimeout, idVersion, idBuild, idHCAs, idLayers, idDirect, idBootstrap, idInside, idSettings, idShm, idCUDA, idGPU, idSize, idKernel,
	idWarning, idError, idInit, idAlone, idRAS, idLines}

// echoes are what a rank says when something else failed.
var echoes = map[string]bool{idPeer: true, idError: true, idInit: true, idTimeout: true}

// causes are failures that stop a job, so that what others say of it is an echo.
var causes = map[string]bool{idNetworks: true, idPlugin: true, idQP: true, idMemory: true, idComplete: true, idAsync: true, idConnect: true, idVersion: true, idHCAs: true,
	idShm: true, idCUDA: true, idGPU: true, idSize: true, idSettings: true}

// carried is one process's traffic between nodes.
type carried struct {
	proc, dev int
	use       Use
	class     string
}

// carries lists what carries the traffic between nodes, once for each GPU of each
// process and transport.
func (v *view) carries(out *Verdict) []carried {
	type key struct {
		proc, dev int
		transport string
	}
	seen := map[key]bool{}
	var list []carried
	add := func(proc, dev int, u Use) {
		k := key{proc, dev, u.Transport}
		if u.Where != Between || seen[k] || !strings.HasPrefix(u.Transport, "NET/") {
			return
		}
		seen[k] = true
		list = append(list, carried{proc, dev, u, class(u.Transport[len("NET/"):], v.log.Procs[proc].Provider.Text)})
	}
	for i, c := range v.comms {
		for k, m := range c.members {
			for _, u := range out.Comms[i].Ranks[k].Uses {
				add(v.log.Members[m].Proc, v.log.Members[m].Dev, u)
			}
		}
	}
	has := map[int]bool{}
	for _, c := range list {
		has[c.proc] = true
	}
	for i := range v.log.Procs {
		if has[i] {
			continue
		}
		c := (*comm)(nil)
		for _, m := range v.byProc[i] {
			if c = v.of[m]; c.spans != no {
				break
			}
		}
		if u, ok := v.chosen(c, i); ok {
			add(i, -1, u)
		}
	}
	return list
}

const slowTCP = "traffic between nodes goes through the kernel's TCP, at a fraction of the bandwidth and many times the latency, and no error says so"

// judgeSocket: sockets where RDMA was expected are a failure; where it is not known
// what was expected, that is said.
func judgeSocket(v *view, out *Verdict) (found []Finding) {
	rdma, socket := 0, 0
	for _, c := range v.carries(out) {
		f := Finding{ID: idSocket, Got: c.use.Transport}
		p := &v.log.Procs[c.proc]
		switch {
		case c.class == classSocket:
			socket++
		case c.class == classRDMA:
			rdma++
		}
		switch want := v.expect.Want; {
		case c.class == classSocket && strings.Contains(strings.ToLower(c.use.Transport), "libfabric"):
			f.ID, f.Got, f.Want = idProvider, "libfabric over "+p.Provider.Text, "efa, cxi or verbs"
			f.Status, f.Why = check.Fail, slowTCP
			f.Fix = []string{"fi_info -l   # on the node: which providers libfabric has", "FI_PROVIDER=efa   # or cxi, verbs; an error then says what is missing"}
			if want == "socket" || want == "any" {
				f.Status = check.Pass
			}
		case c.class == classSocket && (want == "socket" || want == "any"):
			f.Status, f.Why = check.Pass, "as expected: "+v.expect.Why
		case c.class == classSocket:
			why, fix, next := v.cause(c.proc)
			if why != "" {
				f.Got += ", because " + why
			}
			f.Fix, f.next = fix, next
			if want == "rdma" {
				f.Status, f.Want, f.Why = check.Fail, "RDMA ("+v.expect.Why+")", slowTCP
			} else if s, ok := v.setting(c.proc, "NCCL_IB_DISABLE"); ok && s.Value == "1" || v.asksSocket(c.proc) {
				f.Status, f.Want, f.Why = check.Warn, "RDMA where the nodes have it", slowTCP
			} else {
				f.Status, f.Why = check.Unknown, "nothing in the log tells whether these nodes have RDMA: say so with --expect rdma or --expect socket"
			}
		case c.class == classRDMA && want == "socket":
			f.Status, f.Want, f.Why = check.Fail, "sockets ("+v.expect.Why+")", "the job did not use what it was told to"
		case c.class == classRDMA:
			f.Status, f.Why = check.Pass, "RDMA"
		default:
			f.Status, f.Why = check.Warn, "a plugin that weft does not know: whether it is RDMA cannot be told"
			if want == "any" {
				f.Status = check.Pass
			}
		}
		found = append(found, v.who(f, c.proc, c.dev, c.use.place))
	}
	return append(found, v.differ(out, rdma, socket)...)
}

// differ: one communicator over two networks hangs while it connects.
func (v *view) differ(out *Verdict, rdma, socket int) (found []Finding) {
	if rdma == 0 || socket == 0 {
		return nil
	}
	for i, c := range v.comms {
		nets := map[string]int{}
		for _, r := range out.Comms[i].Ranks {
			for _, u := range r.Uses {
				if u.Where == Between && strings.HasPrefix(u.Transport, "NET/") {
					nets[u.Transport]++
				}
			}
		}
		if len(nets) < 2 {
			continue
		}
		var names []string
		for n := range nets {
			names = append(names, n)
		}
		f := Finding{ID: idNetworks, Status: check.Fail, Got: strings.Join(unique(names), " and "), Want: "one network for all ranks",
			Why: "ranks of one communicator speak different protocols to each other, so it hangs while it connects",
			Fix: []string{"mend the ranks of the finding above, or give all the same: NCCL_NET=IB makes those that cannot fail at once"}, next: "weft check nccl.env nccl.symmetry stack.nccl"}
		for k, m := range c.members {
			if len(out.Comms[i].Ranks[k].Uses) > 0 {
				f = v.who(f, v.log.Members[m].Proc, v.log.Members[m].Dev, v.log.Members[m].At)
			}
		}
		return append(found, f)
	}
	if strings.Contains(out.Between, ", ") {
		found = append(found, Finding{ID: idNetworks, Status: check.Fail, Got: out.Between, Want: "one network for all ranks", Hosts: out.Hosts,
			Why: "ranks of one communicator speak different protocols to each other, so it hangs while it connects", next: "weft check nccl.env nccl.symmetry stack.nccl"})
	}
	return found
}

// cause says why a process fell back to sockets, what to do and what to look at.
func (v *view) cause(proc int) (why string, fix []string, next string) {
	p := &v.log.Procs[proc]
	disable, _ := v.setting(proc, "NCCL_IB_DISABLE")
	hca, hasHCA := v.setting(proc, "NCCL_IB_HCA")
	switch {
	case v.first[procKind{proc, nccllog.NoVerbs}] != nil:
		return "libibverbs could not be opened", fixVerbs, "weft check node.packages node.devices port.up"
	case disable.Value == "1":
		return "NCCL_IB_DISABLE=1 is set", []string{"unset NCCL_IB_DISABLE   # look in the unit, the image, /etc/nccl.conf and ~/.nccl.conf"}, "weft check nccl.env"
	case v.asksSocket(proc):
		return "NCCL_NET asks for it", []string{"unset NCCL_NET"}, "weft check nccl.env"
	case v.first[procKind{proc, nccllog.OpenFailed}] != nil:
		return v.first[procKind{proc, nccllog.OpenFailed}].Device + " could not be opened", fixOpen, "weft check node.devices node.memlock"
	case v.first[procKind{proc, nccllog.NoDevice}] != nil && hasHCA:
		return "no active RDMA port matches NCCL_IB_HCA=" + hca.Value, []string{"ibv_devices   # NCCL_IB_HCA must begin like one of these, and its port must be ACTIVE", "weft env   # writes NCCL_IB_HCA from the facts"}, "weft check nccl.env port.up"
	case v.first[procKind{proc, nccllog.NoDevice}] != nil:
		return "no RDMA device was found", fixDevice, "weft check node.devices node.modules port.present port.up"
	case v.first[procKind{proc, nccllog.Provider}] != nil:
		return "libfabric has no provider for the plugin", []string{"fi_info -p efa   # on the node, in the image that runs the job"}, "weft check node.devices"
	case p.Plugin.State == "loaded":
		if e := v.first[procKind{proc, nccllog.PluginFailed}]; e != nil {
			return "the plugin " + named(p.Plugin) + " did not start", []string{"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET   # says why"}, "weft check node.devices port.up"
		}
	}
	return "", []string{"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV   # the lines before the choice say why"}, "weft check nccl.env node.devices port.up"
}

var (
	fixVerbs = []string{"apt install libibverbs1 ibverbs-providers   # dnf: libibverbs; in the image that runs the job, not only on the node",
		"and give the container the devices: --device=/dev/infiniband --ulimit memlock=-1"}
	fixDevice = []string{"ls /dev/infiniband; ibv_devinfo   # inside the container or job: a port must be PORT_ACTIVE",
		"in a container: --network=host --device=/dev/infiniband --cap-add=IPC_LOCK --ulimit memlock=-1"}
	fixOpen = []string{"give the container the device and its cgroup: --device=/dev/infiniband (Kubernetes: an RDMA device plugin), or --privileged to see whether that is it",
		"ls -l /dev/infiniband/uverbs*   # the job's user must be allowed to read and write"}
)

// asksSocket reports whether a variable of the job asks for sockets.
func (v *view) asksSocket(proc int) bool {
	s, ok := v.setting(proc, "NCCL_NET")
	return ok && class(s.Value, "") == classSocket
}

// setting is a variable of a process.
func (v *view) setting(proc int, name string) (nccllog.Setting, bool) {
	for _, s := range v.log.Procs[proc].Env {
		if s.Name == name {
			return s, true
		}
	}
	return nccllog.Setting{}, false
}
