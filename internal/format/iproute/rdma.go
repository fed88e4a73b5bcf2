package iproute

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// RDMALink is one port as `rdma link` tells it.
type RDMALink struct {
	Host          string // from the shell prompt above it, "" when there was none
	Device        string // mlx5_0
	Port          int    // from 1; 0 for the device-wide line of a switch
	State         string // ACTIVE, INIT, DOWN, …
	PhysicalState string // LINK_UP, POLLING, DISABLED, …
	Netdev        string // "" when none is bound
	NetdevIndex   *int
	SubnetPrefix  string // InfiniBand only, as the four below
	LID           *int
	SMLID         *int
	LMC           *int
}

// ParseRDMALink reads `rdma link`, with or without -j. The outputs of several
// hosts one after the other keep the host of the prompt above each.
func ParseRDMALink(b []byte) ([]RDMALink, error) {
	var links []RDMALink
	var errs []error
	if isJSON(b) {
		err := elements(b, func(j struct {
			IfName   string `json:"ifname"`
			Port     *int   `json:"port"`
			State    string `json:"state"`
			Physical string `json:"physical_state"`
			Netdev   string `json:"netdev"`
			NetIndex *int   `json:"netdev_index"`
			Prefix   string `json:"subnet_prefix"`
			LID      *int   `json:"lid"`
			SMLID    *int   `json:"sm_lid"`
			LMC      *int   `json:"lmc"`
		}) {
			if j.IfName == "" {
				return
			}
			l := RDMALink{
				State: j.State, PhysicalState: j.Physical, Netdev: j.Netdev, NetdevIndex: j.NetIndex,
				SubnetPrefix: j.Prefix, LID: j.LID, SMLID: j.SMLID, LMC: j.LMC,
			}
			var ok bool
			// The first releases wrote the port into the name.
			if l.Device, l.Port, ok = devicePort(j.IfName); !ok {
				l.Device = j.IfName
				if j.Port == nil || strings.Contains(l.Device, "/") {
					errs = append(errs, fmt.Errorf("%.60q: no port number", l.Device))
					return
				}
				l.Port = *j.Port
			}
			links = append(links, l)
		})
		return links, errors.Join(err, errors.Join(errs...))
	}
	for _, ln := range lines(b) {
		if complaint(ln.text) {
			errs = append(errs, refused(ln))
			continue
		}
		f := strings.Fields(ln.text)
		// "link mlx5_0/1 state …", and in the first releases "0/1: mlx5_0/1: state …".
		if len(f) < 2 || f[0] != "link" && !strings.HasSuffix(f[0], ":") {
			errs = append(errs, fmt.Errorf("line %d: %.60q is no rdma link", ln.num, ln.text))
			continue
		}
		if strings.HasPrefix(f[0], "caps") { // the second line of rdma -d link
			continue
		}
		dev, port, ok := devicePort(strings.TrimSuffix(f[1], ":"))
		if !ok {
			errs = append(errs, fmt.Errorf("line %d: %.60q is no DEVICE/PORT", ln.num, f[1]))
			continue
		}
		links = append(links, RDMALink{
			Host: ln.host, Device: dev, Port: port,
			State: after(f, "state"), PhysicalState: after(f, "physical_state"),
			Netdev: after(f, "netdev"), NetdevIndex: number(after(f, "netdev_index")),
			SubnetPrefix: after(f, "subnet_prefix"),
			LID:          number(after(f, "lid")), SMLID: number(after(f, "sm_lid")), LMC: number(after(f, "lmc")),
		})
	}
	return links, errors.Join(errs...)
}

func devicePort(s string) (dev string, port int, ok bool) {
	dev, num, found := strings.Cut(s, "/")
	port, err := strconv.Atoi(num)
	return dev, port, found && dev != "" && err == nil && port >= 0
}

// RDMADev is one device as `rdma dev` tells it.
type RDMADev struct {
	Host         string
	Index        int
	Name         string
	NodeType     string // ca, switch, rnic, …
	Protocol     string // roce, ib, iw: told by newer releases only
	Firmware     string // "" when the driver has none (rxe)
	NodeGUID     string
	SysImageGUID string
}

// ParseRDMADev reads `rdma dev`, with or without -j.
func ParseRDMADev(b []byte) ([]RDMADev, error) {
	var devs []RDMADev
	if isJSON(b) {
		err := elements(b, func(j struct {
			IfIndex  int    `json:"ifindex"`
			IfName   string `json:"ifname"`
			NodeType string `json:"node_type"`
			Protocol string `json:"protocol"`
			FW       string `json:"fw"`
			GUID     string `json:"node_guid"`
			SysGUID  string `json:"sys_image_guid"`
		}) {
			if j.IfName != "" {
				devs = append(devs, RDMADev{
					Index: j.IfIndex, Name: j.IfName, NodeType: j.NodeType, Protocol: j.Protocol,
					Firmware: j.FW, NodeGUID: j.GUID, SysImageGUID: j.SysGUID,
				})
			}
		})
		return devs, err
	}
	var errs []error
	for _, ln := range lines(b) {
		if complaint(ln.text) {
			errs = append(errs, refused(ln))
			continue
		}
		f := strings.Fields(ln.text)
		index, err := strconv.Atoi(strings.TrimSuffix(f[0], ":"))
		if err != nil && len(devs) > 0 {
			continue // a detail line of rdma -d dev
		}
		if err != nil || len(f) < 2 {
			errs = append(errs, fmt.Errorf("line %d: %.60q is no rdma device", ln.num, ln.text))
			continue
		}
		devs = append(devs, RDMADev{
			Host: ln.host, Index: index, Name: strings.TrimSuffix(f[1], ":"),
			NodeType: after(f, "node_type"), Protocol: after(f, "protocol"), Firmware: after(f, "fw"),
			NodeGUID: after(f, "node_guid"), SysImageGUID: after(f, "sys_image_guid"),
		})
	}
	return devs, errors.Join(errs...)
}
