package transport

import (
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/format/nccllog"
)

// judgeCauses says what kept RDMA away, where judgeSocket has not said it already
// because the log does not tell which network was used, or because part of RDMA works.
func judgeCauses(v *view, out *Verdict) (found []Finding) {
	onSocket := map[int]bool{} // its cause stands in the socket's finding
	settled := map[int]bool{}
	for _, c := range v.carries(out) {
		settled[c.proc] = true
		if c.class == classSocket {
			onSocket[c.proc] = true
		}
	}
	status := func(proc int) check.Status {
		switch {
		case v.wide == no || v.expect.Want == "socket" || v.expect.Want == "any" || settled[proc]:
			return check.Skip
		case v.expect.Want == "rdma":
			return check.Fail
		}
		return check.Unknown
	}
	for _, e := range v.events[nccllog.NoVerbs] {
		if onSocket[e.Proc] {
			continue
		}
		f := Finding{ID: idVerbs, Status: status(e.Proc), Got: "libibverbs could not be opened", Want: "libibverbs.so.1",
			Why: "without it NCCL has no RDMA, and falls back to sockets without an error", Fix: fixVerbs, next: "weft check node.packages node.devices"}
		f.Why = whySkip(f, v, settled[e.Proc])
		found = append(found, v.about(e, f))
	}
	for _, e := range v.events[nccllog.NoDevice] {
		if onSocket[e.Proc] {
			continue
		}
		f := Finding{ID: idDevice, Status: status(e.Proc), Got: "no RDMA device was found", Want: "an RDMA port that is ACTIVE",
			Why: "NCCL falls back to sockets without an error", Fix: fixDevice, next: "weft check node.devices node.modules port.present port.up"}
		f.Why = whySkip(f, v, settled[e.Proc])
		found = append(found, v.about(e, f))
	}
	for _, kind := range []nccllog.Kind{nccllog.OpenFailed, nccllog.QueryFailed} {
		for _, e := range v.events[kind] {
			if kind == nccllog.OpenFailed && e.Device == "" && slices.ContainsFunc(v.events[kind], func(o *nccllog.Event) bool { return o.Proc == e.Proc && o.Device != "" }) {
				continue // the call that failed, before the device is named
			}
			what := " could not be opened"
			if kind == nccllog.QueryFailed {
				what = " does not answer"
			}
			device := e.Device
			if device == "" {
				device = "an RDMA device"
			}
			found = append(found, v.about(e, Finding{ID: idOpen, Status: check.Fail, Got: device + what, Want: "every device of the node",
				Why: "the device is there and this process may not use it: it has fewer HCAs than its peers, which hangs or slows the job", Fix: fixOpen, next: "weft check node.devices nccl.symmetry"}))
		}
	}
	for _, e := range v.events[nccllog.Provider] {
		if onSocket[e.Proc] {
			continue
		}
		found = append(found, v.about(e, Finding{ID: idProvider, Status: check.Fail, Got: "libfabric has no provider that fits", Want: "efa, cxi or verbs",
			Why: "the plugin cannot start, and NCCL goes on without it", Fix: []string{"fi_info -l   # on the node, in the image that runs the job"}, next: "weft check node.devices"}))
	}
	for _, e := range v.events[nccllog.NoInterface] {
		found = append(found, v.about(e, Finding{ID: idBootstrap, Status: check.Fail, Got: "no network interface fits", Want: "one that every rank reaches",
			Why: "ranks cannot find each other" + v.ifname(e.Proc), Fix: []string{"NCCL_SOCKET_IFNAME=eth0   # the interface's real name: ip -br addr", "weft env   # writes it from the facts"}, next: "weft check nccl.env"}))
	}
	return found
}

// whySkip is why a cause does not matter here.
func whySkip(f Finding, v *view, settled bool) string {
	switch {
	case f.Status != check.Skip:
		return f.Why
	case v.wide == no:
		return "the job stays on one node, which needs no network"
	case settled:
		return "the network that was used does not need it"
	}
	return "RDMA is not expected: " + v.expect.Why
}

func (v *view) ifname(proc int) string {
	if proc < 0 {
		return ""
	}
	if s, ok := v.setting(proc, "NCCL_SOCKET_IFNAME"); ok {
		return ": NCCL_SOCKET_IFNAME=" + s.Value + " matches none that is up"
	}
	return ""
}

// judgePlugin: a net plugin on some ranks alone is another protocol on those.
func judgePlugin(v *view, out *Verdict) (found []Finding) {
	with, without := map[string][]int{}, map[string][]int{}
	nets := map[string]bool{}
	for i := range v.log.Procs {
		p := &v.log.Procs[i]
		if p.Network.Text != "" {
			nets[p.Network.Text] = true
		}
		switch p.Plugin.State {
		case "loaded":
			with[p.Host] = append(with[p.Host], i)
		case "none":
			without[p.Host] = append(without[p.Host], i)
		}
	}
	if len(with) > 0 && len(without) > 0 && len(nets) != 1 {
		var names []string
		for _, list := range with {
			for _, i := range list {
				names = append(names, named(v.log.Procs[i].Plugin))
			}
		}
		name := "a plugin"
		if names = unique(names); len(names) == 1 {
			name = names[0]
		}
		for _, list := range without {
			for _, i := range list {
				f := Finding{ID: idPlugin, Status: check.Fail, Got: "no net plugin", Want: name + ", as other ranks have loaded",
					Why: "a rank with another net plugin speaks another protocol, so the job hangs while it connects",
					Fix: []string{"install the same plugin in every image, or take it away everywhere: NCCL_NET_PLUGIN=none"}, next: "weft check stack.nccl stack.image"}
				found = append(found, v.who(f, i, -1, v.log.Procs[i].Plugin.At))
			}
		}
	}
	for _, e := range v.events[nccllog.PluginOld] {
		found = append(found, v.about(e, Finding{ID: idPlugin, Status: check.Fail, Got: "the net plugin is of another release: " + e.Text, Want: "one made for this NCCL",
			Why: "NCCL does not use it, and goes on with its own network", Fix: []string{"install the plugin's newest release, or an NCCL of its time"}, next: "weft check stack.nccl"}))
	}
	return found
}

// judgeQP: a queue pair that cannot be brought up, nearly always the GID's fault.
func judgeQP(v *view, out *Verdict) (found []Finding) {
	for _, e := range v.events[nccllog.QPFailed] {
		words, gid, _ := strings.Cut(e.Detail, "; ")
		f := Finding{ID: idQP, Status: check.Fail, Got: "ibv_modify_qp: " + words, Want: "a connection"}
		if e.Number > 0 {
			f.Got += " (errno " + itoa(e.Number) + ")"
		}
		if e.Device != "" {
			f.Got += " on " + e.Device
		}
		if gid != "" {
			f.Got += ", " + gid
		} else if e.Proc >= 0 && v.log.Procs[e.Proc].GID >= 0 {
			p := &v.log.Procs[e.Proc]
			f.Got += ", GID index " + itoa(p.GID)
			if !p.GIDFar {
				f.Got += " (link-local)"
			}
		}
		f.Why = qpWhy(e.Number)
		f.Fix = []string{"show_gids; on both nodes, for the devices of the job: a RoCE v2 GID with the port's IPv4 address", "NCCL_IB_GID_INDEX=N with N the index of that GID on every node, or leave it out: NCCL 2.21 and newer find it", "weft env   # writes the index where one fits all nodes"}
		f.next = "weft check roce.gid roce.gid.index plane.route nccl.env"
		found = append(found, v.about(e, f))
	}
	for _, e := range v.events[nccllog.QPCreate] {
		f := Finding{ID: idMemory, Status: check.Fail, Got: e.Detail, Want: "queues for every connection", Why: "the card or the locked-memory limit has no room for more queues",
			Fix: fixMemlock, next: "weft check node.memlock node.devices"}
		found = append(found, v.about(e, f))
	}
	for _, e := range v.events[nccllog.CallFailed] {
		found = append(found, v.about(e, Finding{ID: idQP, Status: check.Fail, Got: e.Detail, Want: "a connection", Why: "a call into the RDMA driver failed, and with it the connection",
			Fix: []string{"sudo dmesg | grep -iE 'mlx5|infiniband|rdma' | tail   # on the node"}, next: "weft check port.up port.errors node.ofed"}))
	}
	return found
}

// qpWhy is what an errno of ibv_modify_qp means. Linux's names: include/uapi/asm-generic/errno.h.
func qpWhy(errno int) string {
	switch errno {
	case 19, 61: // ENODEV, ENODATA
		return "the GID index is empty on this node or on its peer, so there is no address to connect from or to"
	case 22: // EINVAL
		return "the card refuses the address: the GID is of another type or network than the peer's, or the MTU is larger than the port's"
	case 101, 113: // ENETUNREACH, EHOSTUNREACH
		return "the peer's GID is in a network that this port does not reach: ports of different subnets were paired, or a route is missing"
	case 110: // ETIMEDOUT
		return "the peer's address could not be resolved in time: it does not answer on this network, or the GID is link-local"
	case 12: // ENOMEM
		return "the card has no room for another queue pair"
	}
	return "the queue pair cannot be brought up, so no data moves between these two ranks"
}

var fixMemlock = []string{"ulimit -l   # in the job itself, not in a login: it must say unlimited",
	"container: --ulimit memlock=-1 --cap-add=IPC_LOCK; service: LimitMEMLOCK=infinity; login: /etc/security/limits.d, then log in again"}

// judgeMemory: memory that the card could not be given.
func judgeMemory(v *view, out *Verdict) (found []Finding) {
	for _, e := range v.events[nccllog.MRFailed] {
		f := Finding{ID: idMemory, Status: check.Fail, Got: e.Detail, Want: "registered memory"}
		dmabuf := strings.HasPrefix(e.Detail, "ibv_reg_dmabuf")
		switch {
		case e.Number == 12 && !dmabuf || strings.Contains(e.Detail, "Cannot allocate memory"):
			f.Why = "the process may lock too little memory, so the card cannot be given its buffers"
			f.Fix, f.next = fixMemlock, "weft check node.memlock"
		case dmabuf:
			f.Why = "the kernel, the driver or the card does not take GPU memory by dma-buf"
			f.Fix, f.next = []string{"NCCL_DMABUF_ENABLE=0   # then nvidia_peermem is used, if loaded", "sudo modprobe nvidia-peermem"}, "weft check gpu.direct node.ofed"
		default:
			f.Why = "the card could not be given this memory: on a GPU without GPUDirect RDMA that is expected, elsewhere the peer-memory module is broken"
			f.Fix, f.next = []string{"NCCL_NET_GDR_LEVEL=LOC   # stages through host memory: if that helps, it is GPUDirect"}, "weft check gpu.direct node.memlock"
		}
		found = append(found, v.about(e, f))
	}
	return found
}
