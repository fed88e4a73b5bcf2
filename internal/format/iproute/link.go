package iproute

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Link is one network interface. A nil pointer or an empty string was not told.
type Link struct {
	Host       string // from a shell prompt above the output, "" when there was none
	Index      int    // 0 when not told
	Name       string
	Parent     string // what follows @ in a name: the lower device of a VLAN or pod interface
	Master     string // bond or bridge above it
	Flags      []string
	MTU        *int
	MinMTU     *int
	MaxMTU     *int
	Qdisc      string
	State      string // UP, DOWN, UNKNOWN, …
	Type       string // ether, infiniband, loopback, …
	MAC        string // as printed: 20 bytes for IPoIB, and documents mask them
	TxQueueLen *int
	Kind       string // vlan, bond, bridge, ipoib, …: of a virtual interface
	VLAN       *int
	BondMode   string
	IPoIBMode  string // datagram or connected
	ParentBus  string // pci, virtio, …
	ParentDev  string // 0000:c1:00.0
	AltNames   []string
	Addrs      []Addr
}

// Has reports whether the interface carries a flag such as UP or LOWER_UP.
func (l Link) Has(flag string) bool { return slices.Contains(l.Flags, flag) }

// Addr is one address of an interface.
type Addr struct {
	IP        netip.Addr
	PrefixLen *int
	Peer      netip.Addr // invalid when there is none
	Scope     string     // global, link, host
	Dynamic   bool
	Again     string // what `ip address add … dev NETDEV` is told to make it again; "" when that is not sure
}

// ParseLinks reads `ip addr` and `ip link`, with or without -d and -j.
func ParseLinks(b []byte) ([]Link, error) {
	if isJSON(b) {
		return linksJSON(b)
	}
	return linksText(b)
}

type jsonLink struct {
	IfIndex   int      `json:"ifindex"`
	IfName    string   `json:"ifname"`
	Link      string   `json:"link"`
	Master    string   `json:"master"`
	Flags     []string `json:"flags"`
	MTU       *int     `json:"mtu"`
	MinMTU    *int     `json:"min_mtu"`
	MaxMTU    *int     `json:"max_mtu"`
	Qdisc     string   `json:"qdisc"`
	OperState string   `json:"operstate"`
	LinkType  string   `json:"link_type"`
	Address   string   `json:"address"`
	TxQLen    *int     `json:"txqlen"`
	ParentBus string   `json:"parentbus"`
	ParentDev string   `json:"parentdev"`
	AltNames  []string `json:"altnames"`
	LinkInfo  struct {
		Kind string `json:"info_kind"`
		// The meaning and even the type of these depend on the kind.
		Data map[string]json.RawMessage `json:"info_data"`
	} `json:"linkinfo"`
	AddrInfo []told[jsonAddr] `json:"addr_info"`
}

type jsonAddr struct {
	Local     string `json:"local"`
	Address   string `json:"address"`
	PrefixLen *int   `json:"prefixlen"`
	Scope     string `json:"scope"`
	Dynamic   bool   `json:"dynamic"`
}

func linksJSON(b []byte) ([]Link, error) {
	var links []Link
	var errs []error
	err := elements(b, func(j jsonLink) {
		if j.IfName == "" {
			return // older iproute2 prints {} for every interface its filter left out
		}
		l := Link{
			Index: j.IfIndex, Name: j.IfName, Parent: j.Link, Master: j.Master, Flags: j.Flags,
			MTU: j.MTU, MinMTU: j.MinMTU, MaxMTU: j.MaxMTU, Qdisc: j.Qdisc, State: j.OperState,
			Type: j.LinkType, MAC: j.Address, TxQueueLen: j.TxQLen, Kind: j.LinkInfo.Kind,
			ParentBus: j.ParentBus, ParentDev: j.ParentDev, AltNames: j.AltNames,
		}
		var mode string
		json.Unmarshal(j.LinkInfo.Data["mode"], &mode) // not a string: not a mode that is wanted
		switch l.Kind {
		case "vlan":
			var id int
			if json.Unmarshal(j.LinkInfo.Data["id"], &id) == nil {
				l.VLAN = &id
			}
		case "bond":
			l.BondMode = mode
		case "ipoib":
			l.IPoIBMode = mode
		}
		for _, info := range j.AddrInfo {
			a := info.v
			if a.Local == "" {
				continue
			}
			ip, err := netip.ParseAddr(a.Local)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: address: %w", l.Name, err))
				continue
			}
			addr := Addr{IP: ip, PrefixLen: within(a.PrefixLen, ip), Scope: a.Scope, Dynamic: a.Dynamic, Again: addrAgain(info.raw)}
			if a.Address != "" {
				addr.Peer, _ = netip.ParseAddr(a.Address) // a peer that is no address is no peer
			}
			l.Addrs = append(l.Addrs, addr)
		}
		links = append(links, l)
	})
	return links, errors.Join(err, errors.Join(errs...))
}

func linksText(b []byte) ([]Link, error) {
	var links []Link
	var errs []error
	for _, ln := range lines(b) {
		if complaint(ln.text) {
			errs = append(errs, refused(ln))
			continue
		}
		if l, ok := linkHeader(ln.text); ok {
			l.Host = ln.host
			links = append(links, l)
			continue
		}
		f := strings.Fields(ln.text)
		if len(links) == 0 {
			errs = append(errs, fmt.Errorf("line %d: %.60q before any interface", ln.num, ln.text))
			continue
		}
		l := &links[len(links)-1]
		switch {
		case strings.HasPrefix(f[0], "link/"):
			l.Type = strings.TrimPrefix(f[0], "link/")
			if len(f) > 1 && f[1] != "promiscuity" {
				l.MAC = f[1]
			}
			pairs(f, l)
		case f[0] == "inet" || f[0] == "inet6":
			a, err := addrText(f)
			if err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", ln.num, err))
				continue
			}
			l.Addrs = append(l.Addrs, a)
		case f[0] == "altname" && len(f) > 1:
			l.AltNames = append(l.AltNames, f[1])
		case f[0] == "vlan":
			l.Kind, l.VLAN = f[0], number(after(f, "id"))
		case f[0] == "bond":
			l.Kind, l.BondMode = f[0], after(f, "mode")
		case f[0] == "ipoib":
			l.Kind, l.IPoIBMode = f[0], after(f, "mode")
		case slices.Contains([]string{"bridge", "macvlan", "ipvlan", "veth", "dummy", "ifb", "vxlan", "tun"}, f[0]):
			l.Kind = f[0]
		default:
			pairs(f, l)
		}
	}
	return links, errors.Join(errs...)
}

// linkHeader reads "4: eth0@if5: <UP,…> mtu 1500 … state UP …".
func linkHeader(s string) (Link, bool) {
	num, rest, ok := strings.Cut(s, ":")
	index, err := strconv.Atoi(num)
	if !ok || err != nil {
		return Link{}, false
	}
	name, rest, ok := strings.Cut(strings.TrimSpace(rest), ":")
	if !ok || name == "" || name[0] == '@' || strings.ContainsAny(name, " \t") {
		return Link{}, false
	}
	l := Link{Index: index}
	l.Name, l.Parent, _ = strings.Cut(name, "@")
	f := strings.Fields(rest)
	if len(f) > 0 && strings.HasPrefix(f[0], "<") {
		if inner := strings.Trim(f[0], "<>"); inner != "" {
			l.Flags = strings.Split(inner, ",")
		}
	}
	pairs(f, &l)
	return l, true
}

// pairs picks the "key value" words it knows out of a line.
func pairs(f []string, l *Link) {
	for i := 0; i+1 < len(f); i++ {
		v := f[i+1]
		switch f[i] {
		case "mtu":
			l.MTU = number(v)
		case "minmtu":
			l.MinMTU = number(v)
		case "maxmtu":
			l.MaxMTU = number(v)
		case "qdisc":
			l.Qdisc = v
		case "state":
			l.State = v
		case "master":
			l.Master = v
		case "qlen":
			l.TxQueueLen = number(v)
		case "parentbus":
			l.ParentBus = v
		case "parentdev":
			l.ParentDev = v
		default:
			continue
		}
		i++
	}
}

// addrText reads "inet 10.0.0.1/24 brd 10.0.0.255 scope global dynamic eth0".
func addrText(f []string) (Addr, error) {
	if len(f) < 2 {
		return Addr{}, fmt.Errorf("%s without an address", f[0])
	}
	// Documents put ** around the address that the reader should look at.
	word := strings.ReplaceAll(f[1], "*", "")
	ip, length, _ := strings.Cut(word, "/")
	var a Addr
	var err error
	if a.IP, err = netip.ParseAddr(ip); err != nil {
		return Addr{}, err
	}
	if peer := strings.ReplaceAll(after(f, "peer"), "*", ""); peer != "" {
		var far string
		far, length, _ = strings.Cut(peer, "/")
		if a.Peer, err = netip.ParseAddr(far); err != nil {
			return Addr{}, err
		}
	}
	a.PrefixLen = within(number(length), a.IP)
	a.Scope = after(f, "scope")
	a.Dynamic = slices.Contains(f, "dynamic")
	return a, nil
}

// after returns the word that follows key, "" when there is none.
func after(f []string, key string) string {
	if i := slices.Index(f, key); i >= 0 && i+1 < len(f) {
		return f[i+1]
	}
	return ""
}

// number returns nil for what is not a plain number: unknown, not zero.
func number(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return &n
}

// within drops a prefix length that an address of that family cannot have.
func within(n *int, ip netip.Addr) *int {
	if n == nil || *n < 0 || *n > ip.BitLen() {
		return nil
	}
	return n
}
