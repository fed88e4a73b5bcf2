package transport

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/format/nccllog"
)

// statuses name the completions of libibverbs (enum ibv_wc_status, infiniband/verbs.h).
var statuses = map[int]string{
	1: "local length error", 2: "local QP operation error", 4: "local protection error", 5: "flushed", 6: "memory window bind error", 7: "bad response",
	8: "local access error", 9: "remote invalid request", 10: "remote access error", 11: "remote operation error", 12: "transport retry exceeded", 13: "receiver not ready, retry exceeded",
}

// judgeCompletion: work that the card gave up.
func judgeCompletion(v *view, out *Verdict) (found []Finding) {
	events := v.events[nccllog.Completion]
	cause := slices.ContainsFunc(events, func(e *nccllog.Event) bool { return e.Number != 5 })
	for _, e := range events {
		if e.Proc < 0 && slices.ContainsFunc(events, func(o *nccllog.Event) bool { return o.Proc >= 0 && o.Number == e.Number }) {
			continue // PyTorch repeats it
		}
		f := Finding{ID: idComplete, Status: check.Fail, Got: "completion error", Want: "data arrives"}
		if e.Number >= 0 {
			f.Got += " " + itoa(e.Number)
			if s := statuses[e.Number]; s != "" {
				f.Got += " (" + s + ")"
			}
		}
		if e.Vendor >= 0 {
			f.Got += ", vendor error " + itoa(e.Vendor)
		}
		if e.Device != "" {
			f.Got += ", on " + e.Device
		}
		switch e.Number {
		case 12:
			f.Why = "the card sent and sent again and nobody answered: packets are lost on the way (cable, port, MTU, PFC), the GID's network does not reach the peer, or the peer died"
			f.Fix = []string{"in this order: MTU on every port and switch, PFC, cable, PCIe link", "ib_write_bw -d DEVICE -x GID_INDEX PEER   # the same two ports, without NCCL"}
			f.next = "weft check 'roce.*' port.up port.errors pcie.path"
			if v.mixedLayers(e.Proc) {
				f.Why += "; this job mixes InfiniBand and RoCE ports, which cannot reach each other"
				f.Fix = append([]string{"NCCL_IB_HCA=^DEVICE   # leave out the ports of the other kind"}, f.Fix...)
				f.next = "weft check nccl.env port.layer roce.mtu port.errors"
			}
		case 13:
			f.Why = "the peer had no buffer ready for longer than the card waits: its process hangs or died"
			f.Fix, f.next = []string{"look at the peer's log first; then NCCL_IB_RETRY_CNT"}, "weft check port.errors"
		case 5:
			f.Why = "the queue was already in error: the first other error is the cause"
			if cause {
				f.Status = check.Skip
			}
			f.next = "weft check port.errors"
		case 4, 9, 10, 11:
			f.Why = "the card was refused access to memory: with GPUDirect RDMA that is ACS, the IOMMU or a peer-memory module that does not fit the driver"
			f.Fix = []string{"NCCL_NET_GDR_LEVEL=LOC   # stages through host memory: if that helps, it is GPUDirect"}
			f.next = "weft check node.acs node.iommu gpu.direct"
		default:
			f.Why = "the transfer failed, and with it the job"
			f.next = "weft check port.up port.errors"
		}
		found = append(found, v.about(e, f))
	}
	return found
}

// mixedLayers reports whether a process lists InfiniBand and RoCE; for a line without
// a speaker, whether any does.
func (v *view) mixedLayers(proc int) bool {
	mixed := func(p *nccllog.Proc) bool {
		layers := map[string]bool{}
		for _, h := range p.HCAs {
			layers[h.Layer] = true
		}
		return len(layers) > 1
	}
	if proc >= 0 && v.log.Procs[proc].Host != "" {
		return mixed(&v.log.Procs[proc])
	}
	for i := range v.log.Procs {
		if mixed(&v.log.Procs[i]) {
			return true
		}
	}
	return false
}

// judgeAsync: what the card said by itself.
func judgeAsync(v *view, out *Verdict) (found []Finding) {
	up := map[string]int{}
	for _, e := range v.events[nccllog.Async] {
		if e.Detail == "port active" {
			up[fmt.Sprint(e.Proc, e.Device)] += e.Count
		}
	}
	for _, e := range v.events[nccllog.Async] {
		device := e.Device
		if device == "" {
			device = "a port"
		}
		f := Finding{ID: idAsync, Status: check.Warn, Got: device + ": " + e.Detail, Want: "a port that stays up", next: "weft check port.up port.errors port.temp"}
		switch {
		case e.Detail == "port error":
			f.Status = check.Fail
			back := up[fmt.Sprint(e.Proc, e.Device)]
			f.Got = fmt.Sprintf("%s lost its link%s", device, times(e.Count))
			if back > 0 {
				f.Got += fmt.Sprintf(" and came back%s", times(back))
			}
			f.Why = "connections over it break or wait for it, and the job with them"
			f.Fix = []string{"the cable or transceiver at both ends first; then the switch port", "sudo dmesg | grep -i " + strings.Split(device, ":")[0] + "   # when, and what the driver says"}
		case e.Detail == "port active":
			if slices.ContainsFunc(v.events[nccllog.Async], func(o *nccllog.Event) bool {
				return o.Proc == e.Proc && o.Device == e.Device && o.Detail == "port error"
			}) {
				continue // said with its loss
			}
			f.Got, f.Why = device+" came up while the job ran", "it was down when the job began, or lost its link before"
		case strings.Contains(e.Detail, "GID"):
			f.Why, f.next = "an address of the port changed: connections made with the old GID fail", "weft check roce.gid roce.gid.index"
		case slices.ContainsFunc([]string{"fatal", "violation", "catastrophic", "invalid request", "CQ error"}, func(w string) bool { return strings.Contains(e.Text, w) }):
			f.Status, f.Why = check.Fail, "the card or a queue of it is lost to this process"
			f.Fix = []string{"sudo dmesg | tail -50   # what the driver says"}
		default:
			f.Why = "the fabric changed while the job ran"
		}
		found = append(found, v.about(e, f))
	}
	return found
}

func times(n int) string {
	switch n {
	case 1:
		return ""
	case 2:
		return " twice"
	}
	return " " + itoa(n) + " times"
}

// judgeConnect: ranks that do not reach each other, and ranks whose peer went away.
func judgeConnect(v *view, out *Verdict) (found []Finding) {
	for _, e := range v.events[nccllog.Connect] {
		peer, _, _ := strings.Cut(e.Peer, "<")
		f := Finding{ID: idConnect, Status: check.Fail, Got: "cannot connect", Want: "a connection"}
		if e.Detail != "" {
			f.Got += ": " + e.Detail
		}
		f.Why = "the bootstrap or a socket of NCCL needs this address: a firewall, or an interface that the other node does not reach"
		f.Fix = []string{"NCCL_SOCKET_IFNAME=...   # the interface that all nodes share; NCCL connects to ports above 1023 of every node"}
		f.next = "weft check node.firewall nccl.env plane.route"
		switch {
		case strings.HasPrefix(peer, "fe80"), strings.HasPrefix(peer, "169.254."):
			f.Why = "a link-local address is reachable on one cable only: the bootstrap chose an interface without a real address"
		case strings.HasPrefix(peer, "172.17."):
			f.Why = "that is Docker's own network, which no other node reaches"
		case strings.HasPrefix(peer, "127."):
			f.Why = "that is the node itself: the host's name resolves to the loopback"
			f.next = "weft check node.names nccl.env"
		case strings.Contains(e.Detail, "Software caused connection abort"):
			f.Why = "an earlier attempt failed: the first warning of this rank is the cause (" + f.Why + ")"
		}
		found = append(found, v.about(e, f))
	}
	for _, e := range v.events[nccllog.PeerGone] {
		found = append(found, v.about(e, Finding{ID: idPeer, Status: check.Fail, Got: "connection closed by the peer", Want: "a peer that lives",
			Why: "the other process ended or gave up first: the cause is in its log", Fix: []string{"read that rank's log: the earliest warning of all ranks is the cause"}}))
	}
	return found
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// judgeStuck: collectives that did not end, by PyTorch's watchdog.
func judgeStuck(v *view, out *Verdict) (found []Finding) {
	type at struct {
		seq int
		op  string
	}
	first := map[int]nccllog.Stuck{} // rank → its earliest
	for _, k := range v.log.Stuck {
		if o, ok := first[k.Rank]; !ok || k.Seq < o.Seq {
			first[k.Rank] = k
		}
	}
	groups := map[at][]nccllog.Stuck{}
	var order []at
	for _, k := range v.log.Stuck {
		if first[k.Rank] != k {
			continue
		}
		g := at{k.Seq, k.Op}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], k)
	}
	for _, g := range order {
		f := Finding{ID: idTimeout, Status: check.Fail, Want: "an end within the timeout", At: v.line(groups[g][0].At), Count: len(groups[g]), next: "weft check port.errors 'gpu.*'"}
		worst := 0
		for _, k := range groups[g] {
			if k.Rank >= 0 {
				f.Ranks = append(f.Ranks, k.Rank)
			}
			worst = max(worst, k.MS)
		}
		f.Got = fmt.Sprintf("%s timed out after %d s", orElse(g.op, "a collective"), worst/1000)
		if g.seq >= 0 {
			f.Got = fmt.Sprintf("%s number %d timed out after %d s", orElse(g.op, "collective"), g.seq, worst/1000)
		}
		switch missing := v.missing(first); {
		case len(order) > 1:
			f.Why = "ranks wait in different collectives: the program left the common order, or one rank is behind"
			f.Fix = []string{"the rank with the lowest number is the one that all wait for: look at its process first"}
		case len(missing) > 0:
			f.Why = "all these wait for ranks " + FoldRanks(missing) + ", which reported nothing: a process that hangs, died or is slow"
			f.Fix = []string{"look at ranks " + FoldRanks(missing) + " first: py-spy dump --pid PID, nvidia-smi, dmesg"}
		case len(first) < v.worldSize():
			f.Why = "what they wait for is in the logs of the other ranks"
			f.Fix = []string{"give the logs of all ranks together"}
		default:
			f.Why = "every rank waits in the same collective: the network lost something, or a GPU does not go on"
			f.Fix = []string{"TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1   # writes which rank is where"}
		}
		found = append(found, f)
	}
	return found
}

// missing are the ranks of the job that did not time out with the others.
func (v *view) missing(first map[int]nccllog.Stuck) (ranks []int) {
	size := v.worldSize()
	if size == 0 || size > 1<<16 || first[-1].Rank == -1 && len(first) == 1 {
		return nil
	}
	for r := range size {
		if _, ok := first[r]; !ok {
			ranks = append(ranks, r)
		}
	}
	if len(ranks) > size/2 { // most did not say anything: this is a log of some of them
		return nil
	}
	return ranks
}
