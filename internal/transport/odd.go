package transport

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/format/nccllog"
	"weft/internal/nodeset"
)

// judgeVersion: one release everywhere, and a release.
func judgeVersion(v *view, out *Verdict) (found []Finding) {
	for _, e := range v.events[nccllog.Mismatch] {
		f := Finding{ID: idVersion, Status: check.Fail, Got: orElse(e.Detail, e.Text), Want: "one version for all ranks", Why: "NCCL refuses to make a communicator of different versions",
			Fix: []string{"one image, or one environment, on every node"}, next: "weft check stack.nccl stack.image"}
		found = append(found, v.about(e, f))
	}
	of := map[string][]int{} // versions of a process → processes
	var bare []string        // from lines that do not say who speaks
	for i := range v.log.Procs {
		if list := v.log.Procs[i].Versions; len(list) > 0 {
			k := strings.Join(unique(list), " and ")
			of[k] = append(of[k], i)
		}
	}
	for _, x := range v.log.Versions {
		if x.Proc < 0 {
			bare = append(bare, x.Text)
		}
	}
	const differ = "ranks with different versions refuse each other or hang"
	fix := []string{"one image, or one environment, on every node"}
	if len(of) > 1 {
		var keys []string
		for k := range of {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		usual := keys[0]
		for _, k := range keys {
			if len(of[k]) > len(of[usual]) {
				usual = k
			}
		}
		for _, k := range keys {
			// A process may load two libraries; one in common is enough to agree on.
			if slices.ContainsFunc(strings.Split(k, " and "), func(x string) bool { return slices.Contains(strings.Split(usual, " and "), x) }) {
				continue
			}
			for _, i := range of[k] {
				found = append(found, v.who(Finding{ID: idVersion, Status: check.Fail, Got: k, Want: usual, Why: differ, Fix: fix, next: "weft check stack.nccl stack.image"}, i, -1, v.log.Procs[i].First))
			}
		}
	} else if bare = unique(bare); len(bare) > 1 {
		found = append(found, Finding{ID: idVersion, Status: check.Warn, Got: strings.Join(bare, " and "), Want: "one version",
			Why: "two libraries were loaded, and the lines do not say by whom: PyTorch's own and another in one process is harmless, one each on different ranks is not", Fix: fix, next: "weft check stack.nccl stack.image"})
	}
	found = append(found, v.wordings()...)
	for _, x := range v.log.Versions {
		if why := development(x); why != "" {
			f := Finding{ID: idBuild, Status: check.Warn, Got: x.Library + " " + x.Text + why, Want: "a release", Why: "a development build may be far slower or break: one gave 3 GB/s where the release gave 23.7",
				Fix: []string{"install the release that your framework names, on every node"}, next: "weft check stack.nccl"}
			found = append(found, v.who(f, x.Proc, -1, x.At))
		}
	}
	return found
}

// development says what makes a version no release; "" when nothing does. RCCL's own
// packages carry "-HEAD:hash", so that alone is none: a branch is, and AMD numbers
// builds that are not of a release 9999.
func development(x nccllog.Version) string {
	bare, _, _ := strings.Cut(x.Text, "+")
	if x.Library == "RCCL" {
		switch {
		case strings.Contains(x.ROCm, "-9999"):
			return " of ROCm " + x.ROCm
		case strings.Contains(x.Text, ":") && !strings.Contains(x.Text, "HEAD:"):
			return ", a branch"
		}
		return ""
	}
	base, rest, ok := strings.Cut(bare, "-")
	if ok && strings.Trim(rest, "0123456789.") != "" || strings.Trim(base, "0123456789.") != "" {
		return ", a development build"
	}
	if _, build, ok := strings.Cut(x.Text, "+"); ok && !strings.HasPrefix(build, "cuda") && !strings.HasPrefix(build, "hip") {
		return ", a development build"
	}
	return ""
}

// wordings: releases word the absence of a plugin differently, so nodes that differ
// there run different ones, although only one of them prints its version.
func (v *view) wordings() (found []Finding) {
	of := map[int][]int{}
	hosts := map[int]string{}
	for i := range v.log.Procs {
		if p := &v.log.Procs[i]; p.Wording != 0 {
			of[p.Wording] = append(of[p.Wording], i)
			if hosts[p.Wording] == "" {
				hosts[p.Wording] = p.Host
			}
		}
	}
	if len(of) < 2 {
		return nil
	}
	var seen []int
	for w := range of {
		seen = append(seen, w)
	}
	slices.Sort(seen)
	for _, w := range seen[1:] {
		if hosts[w] == hosts[seen[0]] {
			continue
		}
		f := Finding{ID: idVersion, Status: check.Warn, Got: "words its messages like another release than " + hosts[seen[0]], Want: "one version for all ranks",
			Why: "the nodes seem to run different versions of NCCL, which refuse each other or hang; only rank 0 prints its version",
			Fix: []string{"python -c 'import torch; print(torch.cuda.nccl.version())'   # on both nodes", "or: strings $(ldconfig -p | awk '/libnccl.so.2/{print $NF; exit}') | grep 'NCCL version'"}, next: "weft check stack.nccl stack.image"}
		for _, i := range of[w] {
			f = v.who(f, i, -1, v.log.Procs[i].WordAt)
		}
		found = append(found, f)
	}
	return found
}

// judgeHCAs: every node offers the same number of RDMA ports, of one kind.
func judgeHCAs(v *view, out *Verdict) (found []Finding) {
	byHost := map[string]map[string]bool{}
	first := map[string]int{}
	for i := range v.log.Procs {
		p := &v.log.Procs[i]
		if len(p.HCAs) == 0 {
			continue
		}
		if byHost[p.Host] == nil {
			byHost[p.Host] = map[string]bool{}
			first[p.Host] = i
		}
		for _, h := range p.HCAs {
			byHost[p.Host][h.Name+"/"+itoa(h.Port)] = true
		}
	}
	count := map[int][]string{}
	var hosts []string
	for h := range byHost {
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	for _, h := range hosts {
		count[len(byHost[h])] = append(count[len(byHost[h])], h)
	}
	usual, most := 0, 0
	for n, list := range count {
		if len(list) > most || len(list) == most && n > usual {
			usual, most = n, len(list)
		}
	}
	complete := len(v.comms) > 0
	for _, c := range out.Comms {
		complete = complete && c.Complete > 0
	}
	if len(count) > 1 {
		for _, h := range hosts {
			n := len(byHost[h])
			if n == usual {
				continue
			}
			f := Finding{ID: idHCAs, Status: check.Fail, Got: ports(n) + ": " + foldNames(byHost[h]), Want: ports(usual) + " as on " + count[usual][0],
				Why:  "NCCL pairs the n-th port of one node with the n-th of the other: an asymmetric job hangs while it connects, or leaves ports idle",
				Fix:  []string{"name the same ports on every node: NCCL_IB_HCA==dev:port,…", "weft env   # writes it from the facts"},
				next: "weft check nccl.symmetry nccl.env port.up"}
			if complete {
				f.Status, f.Why = check.Warn, "the ports that have no partner on the other node stay idle"
			}
			for i := range v.log.Procs {
				if p := &v.log.Procs[i]; p.Host == h && len(p.HCAs) > 0 {
					f = v.who(f, i, -1, v.log.Procs[first[h]].HCAsAt)
				}
			}
			found = append(found, f)
		}
	}
	for i := range v.log.Procs {
		p := &v.log.Procs[i]
		kinds := map[string]map[string]bool{"IB": {}, "RoCE": {}}
		for _, h := range p.HCAs {
			if m := kinds[h.Layer]; m != nil {
				m[h.Name] = true
			}
		}
		if len(kinds["IB"]) == 0 || len(kinds["RoCE"]) == 0 {
			continue
		}
		few := "RoCE"
		if len(kinds["IB"]) < len(kinds["RoCE"]) {
			few = "IB"
		}
		f := Finding{ID: idLayers, Status: check.Warn, Got: "InfiniBand " + foldNames(kinds["IB"]) + " and RoCE " + foldNames(kinds["RoCE"]), Want: "ports of one kind",
			Why:  "the two cannot reach each other: NCCL may pair them, or send data over a management port",
			Fix:  []string{"NCCL_IB_HCA=^" + strings.Join(sortedKeys(kinds[few]), ",") + "   # leave these out"},
			next: "weft check nccl.env port.layer"}
		found = append(found, v.who(f, i, -1, p.HCAsAt))
	}
	return found
}

func ports(n int) string {
	if n == 1 {
		return "1 RDMA port"
	}
	return itoa(n) + " RDMA ports"
}

func sortedKeys(m map[string]bool) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// foldNames writes mlx5_0/1 and mlx5_1/1 as mlx5_[0-1].
func foldNames(m map[string]bool) string {
	var names []string
	for k := range m {
		names = append(names, strings.TrimSuffix(k, "/1"))
	}
	return nodeset.Fold(names)
}

// judgeDirect: the NIC reaches GPU memory where the hardware can.
func judgeDirect(v *view, out *Verdict) (found []Finding) {
	for i, c := range v.comms {
		for k, m := range c.members {
			for _, row := range mergeUses(out.Comms[i].Ranks[k]) {
				if row.Where == Between {
					found = append(found, v.directOf(v.log.Members[m].Proc, v.log.Members[m].Dev, out.Comms[i].Ranks[k].GPU, row, out.Comms[i].Ranks[k].Uses)...)
				}
			}
		}
	}
	for i := range v.log.Procs {
		if len(v.byProc[i]) > 0 {
			continue
		}
		if u, ok := v.chosen(nil, i); ok {
			row := Row{Transport: u.Transport, Basis: u.Basis, At: u.At, place: u.place}
			if gdr, known := u.GDR.Get(); known && !gdr {
				row.Direct = DirectNo
			}
			found = append(found, v.directOf(i, -1, v.gpuOn(v.log.Procs[i].Host, -1), row, nil)...)
		}
	}
	return dedupe(found)
}

func (v *view) directOf(proc, dev int, gpu string, row Row, uses []Use) []Finding {
	p := &v.log.Procs[proc]
	f := Finding{ID: idDirect, Want: "GPUDirect RDMA", next: "weft check gpu.direct pcie.numa node.acs",
		Why: "every transfer is copied through host memory, at a fraction of the bandwidth"}
	if class(strings.TrimPrefix(row.Transport, "NET/"), p.Provider.Text) != classRDMA {
		return nil
	}
	place := row.place
	can, note := canDirect(gpu)
	switch row.Direct {
	case DirectNo:
		f.Got = "without GPUDirect RDMA"
		why, at := v.notDirect(proc, dev)
		if why != "" {
			f.Got += ": " + why
		}
		if at.Line > 0 {
			place = at
		}
		switch can {
		case "no":
			f.Status, f.Got, f.Want, f.Why = check.Skip, "without GPUDirect RDMA, as expected on "+gpu, "", note
		case "yes":
			f.Status = check.Fail
			f.Why += "; " + gpu + " can do it"
		default:
			f.Status = check.Warn
			if gpu == "" {
				f.Why += "; on GB10, gfx1151 and GeForce that is expected, on a data-centre GPU it is not"
			}
		}
		f.Fix = []string{"sudo modprobe nvidia-peermem   # or the open NVIDIA module on a kernel with dma-buf; AMD: amdgpu with dma-buf",
			"NCCL must then print: GPU Direct RDMA Enabled for HCA"}
		if strings.Contains(why, "distance") {
			f.Fix = []string{"a NIC under the same PCIe switch as the GPU; NCCL_NET_GDR_LEVEL=SYS lets it go farther, measure it"}
		}
		if s, ok := v.setting(proc, "NCCL_NET_GDR_LEVEL"); ok && (s.Value == "LOC" || s.Value == "0") {
			f.Fix = []string{"unset NCCL_NET_GDR_LEVEL"}
			f.next = "weft check nccl.env"
		}
	case DirectSome:
		var off []string
		for _, u := range uses {
			if gdr, ok := u.GDR.Get(); ok && !gdr {
				off = append(off, u.Device)
			}
		}
		f.Status, f.Got, f.Want = check.Warn, "some channels without GPUDirect RDMA: "+nodeset.Fold(unique(off)), "all with it"
		f.Why = "the slowest channel sets the speed of all"
		f.Fix = []string{"leave these ports to the GPUs near them: NCCL_IB_HCA, or NCCL_NET_GDR_LEVEL=SYS"}
	case DirectReceives:
		f.Status, f.Got, f.Want = check.Skip, "GPUDirect RDMA for receives only", ""
		f.Why = "NCCL's default where a card reads GPU memory slowly: NCCL_NET_GDR_READ=1 turns sends on"
	case DirectYes:
		f.Status, f.Got, f.Want, f.Why = check.Pass, "GPUDirect RDMA", "", "the NIC reads and writes GPU memory"
	default:
		if v.possible(p) != yes {
			return nil
		}
		f.Status, f.Got, f.Want, f.Why = check.Pass, "GPUDirect RDMA is possible", "", "no channel line proves that it was used"
	}
	return []Finding{v.who(f, proc, dev, place)}
}

// notDirect says why NCCL did not use GPUDirect, where it says so.
func (v *view) notDirect(proc, dev int) (string, nccllog.Place) {
	p := &v.log.Procs[proc]
	for _, name := range []string{"NCCL_NET_GDR_LEVEL", "NCCL_IB_CUDA_SUPPORT"} {
		if s, ok := v.setting(proc, name); ok && (s.Value == "LOC" || s.Value == "0") {
			return name + "=" + s.Value + " is set", s.At
		}
	}
	var off []string
	at := nccllog.Place{}
	for _, d := range p.Direct {
		if !d.Enabled && d.GPU == "" {
			off = append(off, orElse(d.Name, "HCA "+itoa(d.HCA)))
			if at.Line == 0 {
				at = d.At
			}
		}
	}
	if len(off) > 0 {
		return "neither nvidia_peermem nor dma-buf works with " + nodeset.Fold(unique(off)), at
	}
	for _, d := range p.Direct {
		if !d.Enabled && d.Distance >= 0 {
			return fmt.Sprintf("GPU and NIC are too far apart (NCCL's distance %d, limit %d)", d.Distance, d.Limit), d.At
		}
	}
	return "", at
}

// dedupe drops the second of two findings that say the same of the same ranks: a rank
// is in many communicators.
func dedupe(found []Finding) []Finding {
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(f Finding) bool {
		k := fmt.Sprint(f.ID, f.Status, f.Got, f.Ranks, f.Hosts)
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
}
