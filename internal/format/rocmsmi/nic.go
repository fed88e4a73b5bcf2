package rocmsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// A NIC is what `amd-smi static` says about an AMD network card.
type NIC struct {
	Index         *int
	BDF           string
	Driver        string // "ionic"
	DriverVersion string
	NUMANode      *int
	CPUAffinity   string // "16-31,48-63"
	Ports         []NICPort
	RDMA          []NICRDMA
}

// A NICPort is one port as a netdev.
type NICPort struct {
	Netdev    string
	Type      string // "Ethernet"
	MAC       string
	LinkState string // "up", "down"
	Carrier   *bool
	MTUBytes  *int
	SpeedMbps *int
}

// A NICRDMA is one RDMA device.
type NICRDMA struct {
	Name     string // "rocep229s0"
	NodeGUID string
	Firmware string
	Ports    []NICRDMAPort
}

// A NICRDMAPort is one port of an RDMA device.
type NICRDMAPort struct {
	Number    *int
	Netdev    string
	State     string // "DOWN", "ACTIVE"
	ActiveMTU *int
	MaxMTU    *int
}

// ParseNICs reads the NIC part of amd-smi's text: headings and values, nested
// by indentation. A part without "NIC: 0" belongs to one NIC without an index.
func ParseNICs(b []byte) ([]NIC, error) {
	var (
		nics    []NIC
		path    []string
		indents []int
		errs    []error
		skip    bool // inside a GPU
	)
	lines(b, func(n int, line string) {
		body := strings.TrimLeft(line, " \t")
		indent := len(line) - len(body)
		key, v, ok := strings.Cut(body, ":")
		if !ok {
			return
		}
		v = strings.TrimSpace(v)
		if (key == "NIC" || key == "GPU") && isIndex(v) {
			path, indents = nil, nil
			skip = key == "GPU"
			if index, err := strconv.Atoi(v); !skip && err == nil {
				nics = append(nics, NIC{Index: &index})
			}
			return
		}
		if skip {
			return
		}
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			path, indents = path[:len(path)-1], indents[:len(indents)-1]
		}
		if len(nics) == 0 {
			nics = append(nics, NIC{})
		}
		if v == "" {
			path, indents = append(path, key), append(indents, indent)
			nics[len(nics)-1].open(path)
			return
		}
		if absent(v) {
			return
		}
		if err := nics[len(nics)-1].set(path, key, v); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
		}
	})
	if nics == nil && len(errs) == 0 {
		errs = append(errs, errors.New("no NICs"))
	}
	return nics, errors.Join(errs...)
}

// open begins what a heading stands for.
func (c *NIC) open(path []string) {
	last := path[len(path)-1]
	switch {
	case len(path) == 2 && path[0] == "PORTS" && strings.HasPrefix(last, "PORT_"):
		c.Ports = append(c.Ports, NICPort{})
	case len(path) == 2 && path[0] == "RDMA_DEVICES" && strings.HasPrefix(last, "RDMA_DEVICE_"):
		c.RDMA = append(c.RDMA, NICRDMA{})
	case len(path) == 3 && len(c.RDMA) > 0 && path[0] == "RDMA_DEVICES" && strings.HasPrefix(last, "PORT_"):
		d := &c.RDMA[len(c.RDMA)-1]
		d.Ports = append(d.Ports, NICRDMAPort{})
	}
}

func (c *NIC) set(path []string, key, v string) error {
	top := ""
	if len(path) > 0 {
		top = path[0]
	}
	switch {
	case top == "DRIVER" && key == "NAME":
		c.Driver = v
	case top == "DRIVER" && key == "VERSION":
		c.DriverVersion = v
	case top == "BUS" && key == "BDF":
		bdf, ok := printed.BDF(v)
		if !ok {
			return fmt.Errorf("%.120q is not a PCI address", v)
		}
		c.BDF = bdf
	case top == "NUMA" && key == "NODE":
		return small(&c.NUMANode, v)
	case top == "NUMA" && key == "AFFINITY":
		c.CPUAffinity = v
	case top == "PORTS" && len(path) == 2 && len(c.Ports) > 0:
		return c.Ports[len(c.Ports)-1].set(key, v)
	case top == "RDMA_DEVICES" && len(path) >= 2 && len(c.RDMA) > 0:
		d := &c.RDMA[len(c.RDMA)-1]
		if len(path) == 2 {
			d.set(key, v)
		} else if len(d.Ports) > 0 {
			return d.Ports[len(d.Ports)-1].set(key, v)
		}
	}
	return nil
}

func (p *NICPort) set(key, v string) error {
	switch key {
	case "NETDEV":
		p.Netdev = v
	case "TYPE":
		p.Type = v
	case "MAC_ADDRESS":
		p.MAC = v
	case "LINK_STATE":
		p.LinkState = strings.ToLower(v)
	case "CARRIER":
		on := v == "1"
		p.Carrier = &on
	case "MTU":
		return small(&p.MTUBytes, strings.TrimSuffix(v, "B"))
	case "LINK_SPEED":
		return small(&p.SpeedMbps, strings.TrimSuffix(v, " Mb/s"))
	}
	return nil
}

func (d *NICRDMA) set(key, v string) {
	switch key {
	case "NAME":
		d.Name = v
	case "NODE_GUID":
		d.NodeGUID = v
	case "FW_VER":
		d.Firmware = v
	}
}

func (p *NICRDMAPort) set(key, v string) error {
	switch key {
	case "NETDEV":
		p.Netdev = v
	case "STATE":
		p.State = v
	case "PORT_NUM":
		return small(&p.Number, v)
	case "ACTIVE_MTU":
		return small(&p.ActiveMTU, strings.TrimSuffix(v, "B"))
	case "MAX_MTU":
		return small(&p.MaxMTU, strings.TrimSuffix(v, "B"))
	}
	return nil
}

func small(at **int, v string) error {
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil {
		return fmt.Errorf("%.120q is not a number", v)
	}
	*at = &n
	return nil
}
