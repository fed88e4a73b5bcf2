package transport

import (
	"strings"

	"weft/internal/format/nccllog"
)

// Words lists what may be expected.
var Words = []string{"rdma", "socket", "any"}

// shown finds in the log what the job was meant to use, and what says so. Where
// nothing does, it is not known, and weft says that instead of guessing.
func (v *view) shown() (want, why string) {
	for _, u := range v.log.Uses {
		if v.classOf(v.log.Members[u.Member].Proc, u.Via) == classRDMA {
			return "rdma", "other channels of this job use " + u.Via.String()
		}
	}
	for i := range v.log.Procs {
		p := &v.log.Procs[i]
		switch {
		case len(p.HCAs) > 0:
			return "rdma", "NCCL lists " + p.HCAs[0].Name + at(v.line(p.HCAsAt))
		case p.QPs > 0:
			return "rdma", "queue pairs were made" + at(v.line(p.QPAt))
		case class(p.Network.Text, p.Provider.Text) == classRDMA:
			return "rdma", "Using network " + p.Network.Text + at(v.line(p.Network.At))
		case providerClass(p.Provider.Text) == classRDMA:
			return "rdma", "libfabric's provider is " + p.Provider.Text + at(v.line(p.Provider.At))
		}
	}
	for i := range v.log.Procs {
		for _, s := range v.log.Procs[i].Env {
			if wantsRDMA(s) {
				return "rdma", s.Name + "=" + s.Value + " is set" + at(v.line(s.At))
			}
		}
	}
	for _, kind := range []nccllog.Kind{nccllog.OpenFailed, nccllog.QueryFailed, nccllog.QPFailed, nccllog.QPCreate, nccllog.MRFailed, nccllog.Completion, nccllog.Async} {
		for _, e := range v.events[kind] {
			return "rdma", "an RDMA device is there" + at(v.line(e.At))
		}
	}
	for i := range v.log.Procs {
		p := &v.log.Procs[i]
		for _, f := range append(p.Sockets[:len(p.Sockets):len(p.Sockets)], p.Boot...) {
			if ipoib(f.Name) {
				return "rdma", f.Name + " is an InfiniBand interface"
			}
		}
		if n := v.node(p.Host); n != nil {
			for _, port := range n.Ports {
				if port.Up() {
					return "rdma", n.Name + " has " + port.Name
				}
			}
		}
	}
	for i := range v.log.Procs {
		if p := &v.log.Procs[i]; p.Plugin.State == "loaded" && rdmaPlugin(p.Plugin.Name, p.Plugin.Path) {
			return "rdma", "the plugin " + named(p.Plugin) + " is loaded" + at(v.line(p.Plugin.At))
		}
	}
	return "", ""
}

// wantsRDMA reports whether a variable makes sense only with RDMA.
func wantsRDMA(s nccllog.Setting) bool {
	switch {
	case s.Name == "NCCL_IB_DISABLE":
		return false // 0 is the default and says nothing
	case s.Name == "NCCL_NET":
		return class(s.Value, "") == classRDMA
	}
	return strings.HasPrefix(s.Name, "NCCL_IB_") && s.Value != ""
}

// classOf says whether a channel's network is RDMA; for what is none it is "".
func (v *view) classOf(proc int, via nccllog.Via) string {
	switch via.Kind {
	case "COLLNET":
		return classRDMA
	case "NET":
		return class(via.Name, v.log.Procs[proc].Provider.Text)
	}
	return classOther
}

func at(l Line) string {
	if l.Line == 0 {
		return ""
	}
	return " (" + l.String() + ")"
}

// String writes "job.log:12", or "line 12" when there is but one unnamed file.
func (l Line) String() string {
	if l.File == "" {
		return "line " + itoa(l.Line)
	}
	return l.File + ":" + itoa(l.Line)
}

func named(p nccllog.Plugin) string {
	if p.Name != "" {
		return p.Name
	}
	if p.Path != "" {
		return p.Path
	}
	return "(without a name)"
}
