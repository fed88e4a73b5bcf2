package transport

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/format/nccllog"
)

// results are NCCL's (ncclResult_t in nccl.h).
var results = map[int]string{1: "CUDA error", 2: "system error", 3: "internal error", 4: "invalid argument", 5: "invalid usage", 6: "remote error"}

// judgeEvents: the rest of what went wrong.
func judgeEvents(v *view, out *Verdict) (found []Finding) {
	for _, e := range v.events[nccllog.SHM] {
		f := Finding{ID: idShm, Status: check.Fail, Got: "shared memory: " + orElse(e.Detail, e.Text), Want: "room in /dev/shm", Why: "ranks of one node exchange data there; a container has 64 MiB of it unless told otherwise",
			Fix: []string{"container: --shm-size=16g or --ipc=host; Kubernetes: an emptyDir of medium Memory on /dev/shm", "ls -l /dev/shm   # left by jobs that died: rm /dev/shm/nccl-*"}, next: "df -h /dev/shm"}
		if !strings.Contains(e.Detail, "space") {
			f.Want, f.Why = "one /dev/shm for all ranks of a node", "a rank cannot open what another one of its node made: different containers, or one of them died"
			f.Fix = []string{"--ipc=host for all containers of the node, or one container for all its GPUs"}
		}
		found = append(found, v.about(e, f))
	}
	for _, e := range v.events[nccllog.CUDA] {
		f := Finding{ID: idCUDA, Status: check.Fail, Got: "CUDA: " + e.Detail, Want: "a GPU that answers", Why: "the GPU or its driver refused: NCCL only met it",
			Fix: []string{"nvidia-smi; sudo dmesg | grep -i xid   # on the node"}, next: "weft check gpu.seen gpu.driver"}
		if strings.Contains(e.Detail, "out of memory") {
			f.Want, f.Why, f.Fix = "room in GPU memory", "NCCL needs some hundred MiB per communicator, and the program left none", []string{"leave room: --gpu-memory-utilization 0.9 in vLLM; fewer NCCL_MAX_NCHANNELS; fewer communicators"}
		}
		if strings.HasPrefix(e.Detail, "NVLS: ") {
			f.Want, f.Why = "NVLink multicast", "NVLink SHARP could not be set up: Fabric Manager, the IMEX channels of the container, or the driver"
			f.Fix = []string{"NCCL_NVLS_ENABLE=0   # goes on without it; the job then runs, a little slower", "nvidia-smi -q | grep -A3 Fabric; systemctl status nvidia-fabricmanager   # on the node"}
			f.next = "weft check gpu.matrix gpu.driver"
		}
		found = append(found, v.about(e, f))
	}
	for _, e := range v.events[nccllog.SameGPU] {
		found = append(found, v.about(e, Finding{ID: idGPU, Status: check.Fail, Got: orElse(e.Detail, e.Text), Want: "one rank per GPU", Why: "two ranks were given the same GPU",
			Fix: []string{"torch.cuda.set_device(LOCAL_RANK) before the first collective; CUDA_VISIBLE_DEVICES per rank; with NCCL_HOSTID each node needs its own"}, next: "weft check gpu.seen"}))
	}
	for _, e := range v.events[nccllog.Truncated] {
		found = append(found, v.about(e, Finding{ID: idSize, Status: check.Fail, Got: e.Text, Want: "ranks that agree", Why: "ranks called different collectives, or the same with different sizes, or something else spoke to NCCL's port",
			Fix: []string{"the program's order of collectives; a port scanner on the network"}}))
	}
	for _, e := range v.events[nccllog.Kernel] {
		f := Finding{ID: idKernel, Status: check.Warn, Got: e.Text, Why: "RCCL knows of hangs and of lost speed without it"}
		switch {
		case strings.Contains(e.Text, "iommu"):
			f.Want, f.Fix, f.next = "iommu=pt", []string{"iommu=pt on the kernel's command line, then reboot"}, "weft check node.iommu"
		case strings.Contains(e.Text, "NUMA"):
			f.Want, f.Fix, f.next = "kernel.numa_balancing=0", []string{"sudo sysctl kernel.numa_balancing=0"}, "weft plan"
		default:
			f.Fix, f.next = []string{"set it for the job"}, "weft check nccl.env"
		}
		found = append(found, v.about(e, f))
	}
	for _, e := range v.events[nccllog.Harmless] {
		found = append(found, v.about(e, Finding{ID: idWarning, Status: check.Skip, Got: e.Text, Why: "known not to matter"}))
	}
	for _, e := range v.events[nccllog.PluginFailed] {
		if e.Detail == "Failed to initialize any NET plugin" {
			found = append(found, v.about(e, Finding{ID: idPlugin, Status: check.Fail, Got: "no network could be started", Want: "one", Why: "NCCL_NET or NCCL_NET_PLUGIN asks for one that is not there",
				Fix: []string{"unset NCCL_NET NCCL_NET_PLUGIN"}, next: "weft check nccl.env stack.nccl"}))
		}
	}
	for _, e := range v.events[nccllog.Warning] {
		found = append(found, v.about(e, Finding{ID: idWarning, Status: check.Warn, Got: e.Text, Why: "a warning that weft does not know"}))
	}
	return append(found, v.errors(found)...)
}

// errors: calls that failed on a rank which says nothing of a cause.
func (v *view) errors(found []Finding) (out []Finding) {
	known := map[int]bool{}
	for _, e := range v.log.Events {
		switch e.Kind {
		case nccllog.Result, nccllog.Echo, nccllog.Harmless, nccllog.Torch, nccllog.Kernel, nccllog.NoVerbs, nccllog.NoDevice, nccllog.PluginFailed, nccllog.NoP2P:
		default:
			known[e.Proc] = true
		}
	}
	for _, e := range v.log.Events {
		f := Finding{ID: idError, Status: check.Fail, Want: "a cause"}
		switch e.Kind {
		case nccllog.Result:
			if e.Number == 3 && (v.first[procKind{e.Proc, nccllog.NoVerbs}] != nil || v.first[procKind{e.Proc, nccllog.NoDevice}] != nil) && strings.Contains(e.Text, "net_ib") {
				continue // how NCCL says that there is no InfiniBand
			}
			f.Got = "calls returned " + itoa(e.Number) + " (" + orElse(results[e.Number], "error") + ")"
			if known[e.Proc] {
				continue
			}
		case nccllog.Echo:
			if known[e.Proc] {
				continue
			}
			f.Got = e.Text
		case nccllog.Torch:
			f.Got = "PyTorch says: " + e.Detail
		default:
			continue
		}
		f.Why = "this rank failed and its lines do not say why: the cause is in another rank's, or was not logged"
		f.Fix = []string{"NCCL_DEBUG=INFO on every rank; the earliest warning of all is the cause"}
		out = append(out, v.about(&e, f))
	}
	return out
}

// judgeInit: every rank that began its initialisation finished it.
func judgeInit(v *view, out *Verdict) (found []Finding) {
	alone := map[int]bool{}
	for i, c := range v.comms {
		if c.size == 1 {
			alone[v.log.Members[c.members[0]].Proc] = true
			continue
		}
		some := out.Comms[i].Complete > 0
		for _, m := range c.members {
			me := &v.log.Members[m]
			if !me.Started || me.Complete || me.Gone {
				continue
			}
			f := Finding{ID: idInit, Status: check.Unknown, Got: "initialisation is not complete in this log", Want: "Init COMPLETE",
				Why: "the log was cut, or the ranks wait for each other", Fix: []string{"give the whole log; if the job hangs there, the ranks that are not in the log are the ones to look at"}}
			if some {
				f.Status, f.Got = check.Fail, "initialisation did not finish, while other ranks of the communicator did"
				f.Why = "the others wait for this rank in the first collective"
			}
			found = append(found, v.who(f, me.Proc, me.Dev, me.At))
		}
	}
	if len(alone) > 1 && !slices.ContainsFunc(v.comms, func(c *comm) bool { return c.size != 1 }) {
		f := Finding{ID: idAlone, Status: check.Warn, Got: fmt.Sprintf("%d processes, each alone in its communicator", len(alone)), Want: "one communicator of all",
			Why: "nothing travels between them: the launcher did not tell them of each other, or these are helpers and the real communicator is not in the log",
			Fix: []string{"WORLD_SIZE and RANK of each process; mpirun of another MPI than the program's starts N jobs of one"}}
		for p := range alone {
			f.Hosts = append(f.Hosts, v.log.Procs[p].Host)
		}
		f.At = v.line(v.log.Members[v.comms[0].members[0]].At)
		found = append(found, f)
	}
	return found
}

// judgeRAS: what NCCL's own health service says.
func judgeRAS(v *view, out *Verdict) (found []Finding) {
	for _, a := range v.log.RAS {
		at := Line{File: v.log.Files[a.File], Line: 1}
		if a.Failed != "" {
			found = append(found, Finding{ID: idRAS, Status: check.Unknown, Got: a.Failed, Why: "the client of RAS got no answer: the job ended, or RAS is off (NCCL_RAS_ENABLE=0)", At: at, Fix: []string{"ncclras -v   # on a node of the job, while it runs; rcclras for RCCL"}})
			continue
		}
		whole := 0
		for _, s := range a.Said {
			f := Finding{ID: idRAS, Status: check.Fail, Got: s.Word + ": " + orElse(s.Text, "no details"), Ranks: s.Ranks, Hosts: s.Nodes, At: Line{at.File, max(s.Line, 1)}, next: "weft check port.up port.errors 'gpu.*'"}
			if s.Comm != "" {
				f.Got += " (communicator " + s.Comm + ")"
			}
			switch s.Word {
			case "INCOMPLETE":
				if s.Comm == "" && slices.ContainsFunc(a.Said, func(o nccllog.RASSaid) bool { return o.Word == "INCOMPLETE" && o.Comm != "" }) {
					continue // the communicator's line names the rank
				}
				f.Want, f.Why = "data from every rank", "the process is gone or does not answer, and the others wait for it"
				f.Fix = []string{"look at that process first; after 60 s RAS calls it dead"}
			case "DEAD":
				f.Want, f.Why = "a process that lives", "the others wait for it in their next collective"
			case "MISMATCH":
				f.Want, f.Why = "ranks at the same operation", "normal while data moves; when a second look shows the same numbers, the ranks behind hold the job up"
			case "TIMEOUT":
				f.Want, f.Why = "an answer in time", "a process answers slowly, or not at all"
			default:
				f.Why = "the rank reported an error of its own"
			}
			if s.Warning {
				f.Status = check.Warn
			}
			whole++
			found = append(found, f)
		}
		for _, g := range a.Groups {
			if g.Errors != "OK" && whole == 0 {
				found = append(found, Finding{ID: idRAS, Status: check.Fail, Got: fmt.Sprintf("%s: %d of %d ranks answer", g.Errors, g.Present, g.Ranks*max(g.Comms, 1)), Why: "see the details that RAS prints with -v", At: at})
				whole++
			}
		}
		if whole == 0 {
			ranks := 0
			for _, g := range a.Groups {
				ranks = max(ranks, g.Present)
			}
			found = append(found, Finding{ID: idRAS, Status: check.Pass, Got: fmt.Sprintf("healthy: all %d ranks answer", ranks), At: at})
		}
	}
	return found
}

// More is what to set so that a log says which transport was used.
const More = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH"

// judgeLines: whether the log says at all which transport was used.
func judgeLines(v *view, out *Verdict) (found []Finding) {
	if len(v.log.RAS) > 0 && len(v.log.Procs) == 0 {
		return nil // RAS does not speak of transports
	}
	f := Finding{ID: idLines, Status: check.Unknown, Fix: []string{"run it again with " + More}, next: More + " COMMAND"}
	offers := slices.ContainsFunc(v.log.Procs, func(p nccllog.Proc) bool { return len(p.HCAs)+len(p.Sockets) > 0 })
	only := len(v.comms) > 0 && !slices.ContainsFunc(v.comms, func(c *comm) bool { return c.size != 1 })
	switch {
	case only, out.Between != "":
		return nil
	case len(out.Rows) > 0 && v.wide == no:
		return nil
	case len(out.Rows) > 0 && v.allSeen():
		return nil
	case len(out.Rows) > 0:
		f.Got, f.Why = "no line says what carries the traffic between nodes", "the log holds some ranks or channels only"
	case offers:
		f.Got, f.Why = "no line says which transport was used", "devices are listed, but what is offered is not what is used"
	default:
		f.Got, f.Why = "no line says which transport was used", "the log was made with too little detail, or cut"
	}
	return []Finding{f}
}

// allSeen reports whether every rank of the largest communicator speaks, and none uses a
// network: then there is nothing between nodes.
func (v *view) allSeen() bool {
	return v.world != nil && v.world.size > 0 && len(v.world.ranks) >= v.world.size && v.wide != yes
}

// next is the command that helps most now.
func next(out *Verdict) string {
	for _, f := range out.Findings { // worst first
		if f.Status == check.Pass || f.Status == check.Skip {
			continue
		}
		if f.next != "" {
			return f.next
		}
	}
	if len(out.RAS) > 0 || out.Counts[check.Unknown.String()] > 0 {
		return More + " COMMAND"
	}
	return "weft prove nccl.allreduce"
}
