package transport

import "strings"

// Classes of networks.
const (
	classRDMA   = "rdma"
	classSocket = "socket"
	classOther  = "" // a plugin that weft does not know
)

// class says whether a network is RDMA, by the name that NCCL prints. The libfabric
// plugin may run over anything: its provider decides.
func class(name, provider string) string {
	n := strings.ToLower(name)
	switch {
	case strings.Contains(n, "socket"): // Socket, FastSocket (several TCP connections)
		return classSocket
	case strings.HasPrefix(n, "ib"), strings.HasPrefix(n, "gib"), strings.HasPrefix(n, "ucx"), strings.Contains(n, "rdma"),
		strings.Contains(n, "sharp"), strings.Contains(n, "spc"), strings.Contains(n, "anp"), strings.Contains(n, "ainic"), strings.Contains(n, "roce"):
		return classRDMA
	case strings.Contains(n, "libfabric"), strings.Contains(n, "ofi"):
		return providerClass(provider)
	case strings.Contains(n, "tcpx"): // Google's GPUDirect-TCPX: TCP into GPU memory
		return classOther
	}
	return classOther
}

// providerClass says the same of libfabric's providers (fi_provider(7)).
func providerClass(provider string) string {
	p := strings.ToLower(provider)
	switch {
	case p == "":
		return classOther
	case strings.HasPrefix(p, "tcp"), strings.HasPrefix(p, "sockets"), strings.HasPrefix(p, "udp"), strings.HasPrefix(p, "net"):
		return classSocket
	case strings.HasPrefix(p, "efa"), strings.HasPrefix(p, "cxi"), strings.HasPrefix(p, "verbs"), strings.HasPrefix(p, "psm"), strings.HasPrefix(p, "opx"), strings.HasPrefix(p, "gni"):
		return classRDMA
	}
	return classOther
}

// rdmaPlugin says whether a plugin exists to carry RDMA.
func rdmaPlugin(name, path string) bool {
	both := strings.ToLower(name + " " + path)
	for _, w := range []string{"ibext", "rdma", "sharp", "ofi", "libfabric", "gib", "ucx", "anp", "fastrak"} {
		if strings.Contains(both, w) {
			return true
		}
	}
	return false
}

// ipoib says whether an interface has the name of an IP-over-InfiniBand one, as udev and
// distributions give them.
func ipoib(name string) bool {
	rest, ok := strings.CutPrefix(name, "ib")
	return ok && rest != "" && (rest[0] >= '0' && rest[0] <= '9' || rest[0] == 's' || rest[0] == 'p')
}
