package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/fact"
)

var tuneEffects = []effect{
	{"net/*/fw_agent", func(n *fact.Node, name, value string) error {
		on, err := either(value, "off", "on")
		return errors.Join(err, eachPort(n, name, func(p *fact.Port) { p.QoS.FWAgent = fact.Some(on) }))
	}},
	{"net/*/pfc", func(n *fact.Node, name, value string) error {
		on, err := readBits(value)
		return errors.Join(err, eachPort(n, name, func(p *fact.Port) { p.QoS.PFC = on }))
	}},
	{"net/*/pause", setPause},
	{"net/*/trust", setTrust},
	{"net/*/classes", setClasses},
	{"net/*/ecn", setECN},
	{"rdma/*/traffic_class", func(n *fact.Node, name, value string) error {
		tc, err := strconv.Atoi(value)
		p := n.Port(name)
		if err != nil || p == nil {
			return fmt.Errorf("%q is no traffic class of a port", value)
		}
		p.TrafficClass = fact.Some(tc)
		return nil
	}},
	{"rdma/*/cm_mode", func(n *fact.Node, name, value string) error {
		p := n.Port(name)
		if p == nil {
			return errNoPort
		}
		p.CMARoCE = value
		return nil
	}},
	{"rdma/*/protocol", func(n *fact.Node, name, value string) error {
		roce, err := either(value, "iWARP", "RoCE v2")
		for _, p := range n.Ports {
			if p.Device == name && err == nil {
				setProtocol(p, roce)
			}
		}
		return err
	}},
	{"pci/*/max_read", func(n *fact.Node, name, value string) error {
		size, err := strconv.Atoi(value)
		d := n.At(name)
		if err != nil || d == nil {
			return fmt.Errorf("%q is no size for a PCI function", value)
		}
		d.MaxRead = fact.Some(size)
		return nil
	}},
	{"pci/*/acs", func(n *fact.Node, name, value string) error {
		ctl, err := strconv.Atoi(value)
		d := n.At(name)
		if err != nil || d == nil {
			return fmt.Errorf("%q are no bits of a bridge", value)
		}
		d.ACSCtl, d.ACSRedir = fact.Some(ctl), fact.Some(ctl != 0)
		return nil
	}},
	{"aspm", setASPM},
	{"sysctl/*", func(n *fact.Node, name, value string) error {
		if _, ok := n.Settings.Sysctl[name]; !ok {
			return fmt.Errorf("this kernel has no such setting")
		}
		n.Settings.Sysctl[name] = value
		return nil
	}},
}

var errNoPort = errors.New("no port has it")

// eachPort is for the ports of a netdev.
func eachPort(n *fact.Node, netdev string, set func(p *fact.Port)) error {
	found := false
	for _, p := range n.Ports {
		if p.Netdev == netdev {
			set(p)
			found = true
		}
	}
	if !found {
		return errNoPort
	}
	return nil
}

// readBits reads what bits writes.
func readBits(s string) (on []bool, err error) {
	for word := range strings.SplitSeq(s, ",") {
		x, err := either(word, "0", "1")
		if err != nil {
			return nil, err
		}
		on = append(on, x)
	}
	return on, nil
}

func setPause(n *fact.Node, name, value string) error {
	f := strings.Fields(value)
	if len(f) != 4 || f[0] != "rx" || f[2] != "tx" {
		return fmt.Errorf("%q is no pause", value)
	}
	rx, err := either(f[1], "off", "on")
	tx, err2 := either(f[3], "off", "on")
	return errors.Join(err, err2, eachPort(n, name, func(p *fact.Port) { p.QoS.PauseRx, p.QoS.PauseTx = fact.Some(rx), fact.Some(tx) }))
}

func setTrust(n *fact.Node, name, value string) error {
	trust, list, _ := strings.Cut(value, " ")
	m := map[int]int{}
	for word := range strings.SplitSeq(list, ",") {
		if word == "" {
			continue
		}
		row, value, _ := strings.Cut(word, ":")
		first, last, more := strings.Cut(row, "-")
		if !more {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		prio, err3 := strconv.Atoi(value)
		if err != nil || err2 != nil || err3 != nil || to > 63 {
			return fmt.Errorf("%q is no entry for a DSCP", word)
		}
		for dscp := from; dscp <= to; dscp++ {
			m[dscp] = prio
		}
	}
	return eachPort(n, name, func(p *fact.Port) { p.QoS.Trust, p.QoS.DSCP = trust, m })
}

func setClasses(n *fact.Node, name, value string) error {
	f := strings.Fields(value)
	if len(f) != 3 {
		return fmt.Errorf("%q are no classes", value)
	}
	tcs, err := readCommas(f[0])
	bw, err2 := readCommas(f[2])
	return errors.Join(err, err2, eachPort(n, name, func(p *fact.Port) {
		p.QoS.PrioTC, p.QoS.TSA, p.QoS.TCBW = tcs, strings.Split(f[1], ","), bw
	}))
}

// readCommas reads what commas writes.
func readCommas(s string) (list []int, err error) {
	for word := range strings.SplitSeq(s, ",") {
		x, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

func setECN(n *fact.Node, name, value string) error {
	f := strings.Fields(value)
	if len(f) != 4 || f[0] != "np" || f[2] != "rp" {
		return fmt.Errorf("%q is no state of ECN", value)
	}
	np, err := readBits(f[1])
	rp, err2 := readBits(f[3])
	return errors.Join(err, err2, eachPort(n, name, func(p *fact.Port) { p.QoS.ECNNP, p.QoS.ECNRP = np, rp }))
}

// setProtocol makes a port one of RoCE or of iWARP: its GIDs are of that kind, then.
func setProtocol(p *fact.Port, roce bool) {
	kind := iwarpType
	if p.NodeType = "4: RNIC"; roce {
		p.NodeType, kind = "1: CA", "RoCE v2"
	}
	for i := range p.GIDs {
		p.GIDs[i].Type = kind
	}
}

// setASPM has no link doze under the policy performance, and under another those that
// the value names.
func setASPM(n *fact.Node, _, value string) error {
	policy, links, _ := strings.Cut(value, "; ")
	if text, ok := n.Settings.ModParams["pcie_aspm.policy"]; ok && aspmPolicy("["+policy+"]") != "" {
		plain := strings.NewReplacer("[", "", "]", "").Replace(text)
		words := strings.Fields(plain)
		for i, w := range words {
			if w == policy {
				words[i] = "[" + w + "]"
			}
		}
		n.Settings.ModParams["pcie_aspm.policy"] = strings.Join(words, " ")
	}
	for _, p := range n.PCI {
		if p.ASPM.Known() && policy == "performance" {
			p.ASPM = fact.Some("off")
		}
	}
	for _, word := range strings.Split(links, "; ") {
		bdf, state, _ := strings.Cut(word, " ")
		if d := n.At(bdf); d != nil {
			d.ASPM = fact.Some(state)
		} else if word != "" {
			return fmt.Errorf("%s is not there", bdf)
		}
	}
	return nil
}
