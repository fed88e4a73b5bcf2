package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/edit/unit"
	"weft/internal/fact"
)

var hostEffects = []effect{
	{"packages/*", setPackages},
	{"module/*", setModule},
	{"modprobe.d/*", setBarred},
	{"rdma/*/boot", setSoftBoot},
	{"device/*/mode", setMode},
	{"user/*", setGroup},
	{"cdi/*", setCDI},
	{"memlock/*", setMemlock},
	{"clock", setClock},
	{"firewall/*", setFirewall},
	{"env/*", setEnvVar},
}

// member makes a list hold a word, at its end, or not hold it.
func member(list []string, word string, in bool) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == word })
	if in {
		list = append(list, word)
	}
	return list
}

// either says which of two words a value is.
func either(value, no, yes string) (bool, error) {
	if value != no && value != yes {
		return false, fmt.Errorf("%q is neither %q nor %q", value, no, yes)
	}
	return value == yes, nil
}

func setPackages(n *fact.Node, name, value string) error {
	yes, err := either(value, "absent", "installed")
	for _, p := range strings.Split(name, ",") {
		switch {
		case err != nil:
		case !yes:
			delete(n.Settings.Packages, p)
		case n.Settings.Packages == nil:
			n.Settings.Packages = map[string]string{p: "installed"}
		default:
			n.Settings.Packages[p] = "installed"
		}
	}
	return err
}

func setModule(n *fact.Node, name, value string) error {
	now, then, _ := strings.Cut(value, ", ")
	loaded, err := either(now, "not loaded", "loaded")
	boot, err2 := either(then, "not at boot", "at boot")
	if err != nil || err2 != nil {
		return fmt.Errorf("%q is no state of a module", value)
	}
	s := &n.Settings
	if loaded != s.Loaded(name) {
		s.Modules = member(s.Modules, name, loaded)
		if file := moduleFile[name]; file != "" && s.DevicesRead {
			s.Devices = slices.DeleteFunc(slices.Clone(s.Devices), func(d fact.DevNode) bool { return d.Path == file })
			if loaded {
				s.Devices = append(s.Devices, fact.DevNode{Path: file, Mode: "crw-rw-rw-", Owner: "root", Group: "root"})
			}
		}
	}
	if boot != slices.Contains(s.BootModules, name) {
		s.BootModules = member(s.BootModules, name, boot)
	}
	return nil
}

// moduleFile is the device file that comes with a module, whatever the hardware.
var moduleFile = map[string]string{"rdma_ucm": "/dev/infiniband/rdma_cm"}

func setBarred(n *fact.Node, name, value string) error {
	barred, err := either(value, "free", "barred")
	if err == nil {
		n.Settings.ModBarred = member(n.Settings.ModBarred, name, barred)
		slices.Sort(n.Settings.ModBarred)
	}
	return err
}

func setSoftBoot(n *fact.Node, name, value string) error {
	made, err := either(value, "forgotten", "made")
	if err == nil {
		n.Settings.SoftBoot = member(n.Settings.SoftBoot, unit.Wants+softUnit(name), made)
	}
	return err
}

func setMode(n *fact.Node, name, value string) error {
	bits, err := strconv.ParseUint(value, 8, 12)
	if err != nil {
		return fmt.Errorf("%q is no mode", value)
	}
	for i, d := range n.Settings.Devices {
		if d.Path != "/dev/"+name || d.Mode == "" {
			continue
		}
		mode := []byte(d.Mode[:1] + "rwxrwxrwx")
		for j := range 9 {
			if bits>>(8-j)&1 == 0 {
				mode[j+1] = '-'
			}
		}
		n.Settings.Devices[i].Mode = string(mode)
	}
	return nil
}

func setGroup(n *fact.Node, name, value string) error {
	user, group, ok := strings.Cut(name, "/group/")
	in, err := either(value, "no member", "member")
	if err == nil && ok && user == n.Host.User {
		n.Host.Groups = member(n.Host.Groups, group, in)
	}
	return err
}

func setCDI(n *fact.Node, name, value string) error {
	there, err := either(value, "absent", "there")
	if err == nil {
		n.Settings.CDI = member(n.Settings.CDI, name, there)
	}
	return err
}

func setMemlock(n *fact.Node, name, value string) error {
	var limits []fact.Val[fact.Limit]
	for _, word := range strings.Split(value, "/") {
		var l fact.Val[fact.Limit]
		if v, err := strconv.ParseUint(word, 10, 64); err == nil {
			l = fact.Some(fact.Limit(v))
		} else if word == "unlimited" {
			l = fact.Some(fact.Unlimited)
		} else if word != "-" {
			return fmt.Errorf("%q is no limit", word)
		}
		limits = append(limits, l)
	}
	v, known := n.Settings.Services[name]
	switch m := &n.Settings.Memlock; {
	case name == "login" && len(limits) == 3:
		m.Login, m.LoginHard, m.Wish = limits[0], limits[1], limits[2]
	case known && len(limits) == 2:
		v.Memlock, v.Running = limits[0], limits[1]
		n.Settings.Services[name] = v
	default:
		return fmt.Errorf("%q are no limits of it", value)
	}
	return nil
}

func setClock(n *fact.Node, _, value string) error {
	skew, sync, _ := strings.Cut(value, ", ")
	h := fact.Host{}
	if word, ok := strings.CutSuffix(skew, " s"); ok {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return fmt.Errorf("%q is no time", skew)
		}
		h.ClockSkew = fact.Some(v)
	}
	if sync != "not known" {
		is, err := either(sync, "not synchronised", "synchronised")
		if err != nil {
			return err
		}
		h.ClockSync = fact.Some(is)
	}
	n.Host.ClockSkew, n.Host.ClockSync = h.ClockSkew, h.ClockSync
	return nil
}

func setFirewall(n *fact.Node, name, value string) error {
	zone := ""
	for _, word := range strings.Split(value, "; ") {
		if z, ok := strings.CutPrefix(word, "zone "); ok {
			zone = z
			continue
		}
		port, rest, _ := strings.Cut(word, " ")
		verdict, chain, _ := strings.Cut(rest, " ")
		for i := range n.Settings.Firewall.Ports {
			if fp := &n.Settings.Firewall.Ports[i]; fp.Netdev == name && fp.Port == port {
				fp.Verdict, fp.Chain = verdict, chain
			}
		}
	}
	if d := n.Netdev(name); d != nil {
		d.Zone = zone
	}
	return nil
}

// setEnvVar sets a variable where it stands, takes it out when the value is unset, and
// puts one that is new behind the others of its file.
func setEnvVar(n *fact.Node, name, value string) error {
	where, name, ok := strings.Cut("/"+name, ":")
	if !ok {
		return fmt.Errorf("no name of a variable")
	}
	s := &n.Settings
	at := len(s.Env)
	for i, v := range s.Env {
		if v.Where != where {
			continue
		}
		at = i + 1
		if v.Name != name {
			continue
		}
		s.Env = slices.Delete(slices.Clone(s.Env), i, i+1)
		at = i
		break
	}
	if value != unset {
		s.Env = slices.Insert(slices.Clone(s.Env), at, fact.EnvVar{Name: name, Value: value, Where: where})
	}
	return nil
}
