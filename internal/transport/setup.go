package transport

import (
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/format/nccllog"
)

// virtual are interfaces that only this machine has, by the beginnings of their names.
var virtual = []string{"docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "podman", "lxc", "lxdbr", "kube-", "nodelocaldns", "dummy", "ip6tnl"}

// tunnels are interfaces that reach others, slowly.
var tunnels = []string{"tailscale", "wg", "tun", "tap", "zt", "utun"}

// judgeBootstrap: ranks find each other over an interface that all of them reach, and
// that is not the one they are about to fill with data.
func judgeBootstrap(v *view, out *Verdict) (found []Finding) {
	if v.wide == no {
		return nil
	}
	complete := len(out.Comms) > 0
	for _, c := range out.Comms {
		complete = complete && c.Complete > 0
	}
	for i := range v.log.Procs {
		p := &v.log.Procs[i]
		if len(p.Boot) == 0 {
			continue
		}
		b := p.Boot[0]
		addr, _ := netip.ParseAddr(b.Addr)
		f := Finding{ID: idBootstrap, Status: check.Warn, Got: "bootstrap over " + b.Name + " (" + b.Addr + ")", Want: "a management interface that all nodes share",
			Fix: []string{"NCCL_SOCKET_IFNAME=...   # its name on every node", "weft env   # writes it from the facts"}, next: "weft check nccl.env plane.separate"}
		local := b.Name == "lo" || addr.IsLoopback()
		begins := func(list []string) bool {
			return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(b.Name, s) })
		}
		switch {
		case local:
			f.Why = "the loopback reaches nobody else"
		case begins(virtual):
			f.Why = "no other node reaches an interface that only this machine has"
		case docker.Contains(addr):
			f.Why = "that is Docker's own network, which no other node reaches"
			f.Fix = append([]string{"run the container with --network=host"}, f.Fix...)
		case addr.IsLinkLocalUnicast():
			f.Why = "a link-local address is reachable on one cable only"
		case begins(tunnels):
			f.Why = "a tunnel is slow and may drop: the job starts late, or not at all"
		case ipoib(b.Name):
			f.Why = "the bootstrap rides the data plane: when the fabric stalls, nobody can say so"
		case slices.Contains(v.expect.Netdevs, b.Name):
			f.Why = "that is a data port of weft.yaml: when the fabric stalls, nobody can say so"
		default:
			continue
		}
		if (local || begins(virtual)) && v.wide == yes && !complete {
			f.Status = check.Fail
		}
		found = append(found, v.who(f, i, -1, p.BootAt))
	}
	return found
}

// docker is the network of Docker's default bridge (docs.docker.com, bridge network driver).
var docker = netip.MustParsePrefix("172.17.0.0/16")

// judgeInside: GPUs of one node reach each other without a network.
func judgeInside(v *view, out *Verdict) (found []Finding) {
	for i, c := range v.comms {
		for k, m := range c.members {
			proc, dev := v.log.Members[m].Proc, v.log.Members[m].Dev
			for _, u := range out.Comms[i].Ranks[k].Uses {
				if u.Where != Inside {
					continue
				}
				f := Finding{ID: idInside, Status: check.Warn, Got: u.Transport + " between GPUs of one node"}
				p2p, p2pOff := v.off(proc, "NCCL_P2P_DISABLE")
				shm, shmOff := v.off(proc, "NCCL_SHM_DISABLE")
				switch {
				case strings.HasPrefix(u.Transport, "NET/"):
					f.Want, f.Why = "P2P or shared memory", "GPUs of one node talk through the network card"
					f.Fix = []string{"one container for all GPUs of the node, or --ipc=host and the same host name; unset NCCL_P2P_DISABLE and NCCL_SHM_DISABLE"}
					if p2pOff && shmOff {
						f.Got += ", because " + p2p + " and " + shm
					}
				case u.Transport == "SHM" || strings.HasPrefix(u.Transport, "SHM/"):
					if !p2pOff {
						continue // many GPUs have no other way
					}
					f.Got += ", because " + p2p
					f.Want, f.Why, f.Fix = "P2P", "GPUs that could reach each other copy through host memory", []string{"unset NCCL_P2P_DISABLE, and see whether the job still runs"}
				default:
					continue
				}
				f.next = "weft check nccl.env node.acs"
				found = append(found, v.who(f, proc, dev, u.place))
			}
		}
	}
	for _, e := range v.events[nccllog.NoP2P] {
		found = append(found, v.about(e, Finding{ID: idInside, Status: check.Warn, Got: e.Text, Want: "P2P between connected GPUs", Why: "GPUs with a direct link copy through host memory",
			Fix: []string{"nvidia-smi topo -p2p r   # what the driver allows", "IOMMU and ACS off on the way, Fabric Manager running where there is NVSwitch"}, next: "weft check node.acs node.iommu gpu.matrix"}))
	}
	return dedupe(found)
}

// off reports whether a variable that turns something off is on, and writes it.
func (v *view) off(proc int, name string) (string, bool) {
	s, ok := v.setting(proc, name)
	return name + "=" + s.Value, ok && s.Value != "0"
}

// same are variables that must be alike on every rank: they change what is sent, not
// through what.
var same = []string{"NCCL_ALGO", "NCCL_PROTO", "NCCL_NET", "NCCL_IB_DISABLE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_COLLNET_ENABLE", "NCCL_NVLS_ENABLE", "NCCL_BUFFSIZE"}

// judgeSettings: variables that rule each other out, and ranks that differ in them.
func judgeSettings(v *view, out *Verdict) (found []Finding) {
	for _, name := range same {
		values := map[string][]int{}
		at := map[int]nccllog.Place{}
		for i := range v.log.Procs {
			if s, ok := v.setting(i, name); ok {
				values[s.Value] = append(values[s.Value], i)
				at[i] = s.At
			}
		}
		if len(values) < 2 {
			continue
		}
		usual := ""
		for _, value := range sortedValues(values) {
			if usual == "" || len(values[value]) > len(values[usual]) {
				usual = value
			}
		}
		for _, value := range sortedValues(values) {
			if value == usual {
				continue
			}
			for _, i := range values[value] {
				found = append(found, v.who(Finding{ID: idSettings, Status: check.Fail, Got: name + "=" + value, Want: name + "=" + usual + " as on the other ranks",
					Why: "ranks that choose differently wait for each other for ever", Fix: []string{"set it in one place for all: /etc/nccl.conf or the launcher"}, next: "weft check nccl.env"}, i, -1, at[i]))
			}
		}
	}
	for i := range v.log.Procs {
		if s, ok := v.setting(i, "NCCL_IGNORE_NET_MISMATCH"); ok && s.Value == "1" {
			found = append(found, v.who(Finding{ID: idSettings, Status: check.Warn, Got: "NCCL_IGNORE_NET_MISMATCH=1", Want: "ranks with the same networks",
				Why: "NCCL no longer refuses ranks with different HCAs: instead of an error the job hangs", Fix: []string{"unset NCCL_IGNORE_NET_MISMATCH"}, next: "weft check nccl.symmetry nccl.env"}, i, -1, s.At))
		}
	}
	return found
}

func sortedValues(m map[string][]int) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
