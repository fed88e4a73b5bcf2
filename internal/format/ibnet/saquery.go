package ibnet

import (
	"net/netip"
	"strings"

	"weft/internal/format/printed"
)

// SA is what the subnet administrator answered: the records that were asked for.
type SA struct {
	Nodes []NodeRecord // saquery, saquery NR
	Ports []PortRecord // saquery PIR, saquery -s
	Paths []PathRecord // saquery PR
	Links []LinkRecord // saquery LR
	SMs   []SM         // saquery SMIR
}

// NodeRecord is a node seen through one of its ports.
type NodeRecord struct {
	Node
	PortGUID string
	Port     int
}

// PortRecord is a port of the subnet; -s prints only LIDs and capabilities.
type PortRecord struct {
	LID            int // of the end port: a switch's ports share one
	Port           int
	State          string // as PortLink.State
	PhysState      string // as PortLink.PhysState
	WidthLanes     int    // 0 when not printed
	Speed          string // as Link.Speed
	SMLID          int    // of the master subnet manager
	MaxMTUBytes    int    // 0 when not printed
	ActiveMTUBytes int    // 0 when not printed
	CapMask        string
	IsSM           bool // a subnet manager runs here
	IsSMDisabled   bool // one could, but is switched off
}

// PathRecord is a path from one port to another.
type PathRecord struct {
	SLID, DLID int
	SGID, DGID netip.Addr
	MTUBytes   int    // 0 when the code is not one
	RateGbps   string // "10", "400"; empty when the code is not one
	PKey       string
	SL         int
}

// LinkRecord is one direction of a link, between LIDs.
type LinkRecord struct {
	FromLID, FromPort, ToLID, ToPort int
}

// ParseSaquery reads saquery in the forms that SA names; other records are left out.
func ParseSaquery(b []byte) (SA, error) {
	var (
		f     faults
		sa    SA
		put   func(f *faults, line int, key, val string) // fills the record begun last; nil for one not kept
		known bool
	)
	for num, line := range printed.Lines(b) {
		if name, ok := strings.CutSuffix(line, " dump:"); ok && strings.Contains(name, "Record") {
			put, known = sa.begin(name), true
			continue
		}
		if line == "IsSM ports" || line == "IsSMdisabled ports" { // the headings of -s
			put, known = nil, true
			continue
		}
		if complaint(line) {
			f.Complain(num, line)
		} else if key, val, ok := dotted(line); ok && put != nil {
			put(&f, num, key, val)
		} else if !ok {
			f.Unknown(num, line, "saquery")
		}
	}
	return sa, f.Err(known)
}

// begin adds an empty record and returns what fills it. The pointer inside is
// good until the next begin, and no longer used then.
func (sa *SA) begin(name string) func(*faults, int, string, string) {
	switch name {
	case "NodeRecord":
		sa.Nodes = append(sa.Nodes, NodeRecord{})
		return sa.Nodes[len(sa.Nodes)-1].field
	case "PortInfoRecord":
		sa.Ports = append(sa.Ports, PortRecord{})
		return sa.Ports[len(sa.Ports)-1].field
	case "PathRecord":
		sa.Paths = append(sa.Paths, PathRecord{})
		return sa.Paths[len(sa.Paths)-1].field
	case "LinkRecord":
		sa.Links = append(sa.Links, LinkRecord{})
		return sa.Links[len(sa.Links)-1].field
	case "SMInfoRecord":
		sa.SMs = append(sa.SMs, SM{})
		return sa.SMs[len(sa.SMs)-1].field
	}
	return nil
}

func (r *NodeRecord) field(f *faults, line int, key, val string) {
	switch key {
	case "lid":
		f.intField(&r.LID, line, key, val)
	case "node_type":
		switch val {
		case "Channel Adapter":
			r.Kind = "CA"
		case "Switch":
			r.Kind = "SW"
		case "Router":
			r.Kind = "RT"
		default:
			f.Add(line, "%s: %.60q is not a node type", key, val)
		}
	case "num_ports":
		f.intField(&r.NumPorts, line, key, val)
	case "sys_guid":
		f.guidField(&r.SysImageGUID, line, key, val)
	case "node_guid":
		f.guidField(&r.GUID, line, key, val)
	case "port_guid":
		f.guidField(&r.PortGUID, line, key, val)
	case "device_id":
		r.DeviceID = strings.ToLower(val)
	case "vendor_id":
		r.VendorID = strings.ToLower(val)
	case "port_num":
		f.intField(&r.Port, line, key, val)
	case "NodeDescription":
		r.Name = val
	}
}

func (r *PortRecord) field(f *faults, line int, key, val string) {
	var ok bool
	switch key {
	case "EndPortLid":
		f.intField(&r.LID, line, key, val)
	case "PortNum":
		f.intField(&r.Port, line, key, val)
	case "SMLid", "master_sm_base_lid":
		f.intField(&r.SMLID, line, key, val)
	case "CapMask", "capability_mask":
		mask, ok := printed.Number(val)
		if !ok {
			f.Add(line, "%s: %.60q is not a number", key, val)
			return
		}
		// IB_PORT_SM and IB_PORT_SM_DISABLED in include/rdma/ib_verbs.h
		r.CapMask, r.IsSM, r.IsSMDisabled = strings.ToLower(val), mask&(1<<1) != 0, mask&(1<<10) != 0
	case "LinkState":
		if r.State, ok = linkState(val); !ok {
			f.Add(line, "%s: %.60q is not a port state", key, val)
		}
	case "PhysLinkState":
		if r.PhysState, ok = physState(val); !ok {
			f.Add(line, "%s: %.60q is not a physical state", key, val)
		}
	case "LinkWidthActive":
		if r.WidthLanes, ok = lanes(val); !ok {
			f.Add(line, "%s: %.60q is not a width", key, val)
		}
	case "LinkSpeedActive", "LinkSpeedExtActive", "LinkSpeedExtActive2":
		// The extended speed is printed later and is the true one when there is any.
		if val == "Extended speed" || val == "No Extended Speed" {
			return
		}
		speed, ok := laneSpeed(val)
		if !ok {
			f.Add(line, "%s: %.60q is not a speed", key, val)
			return
		}
		r.Speed = speed
	case "NeighborMTU":
		f.intField(&r.ActiveMTUBytes, line, key, val)
	case "MtuCap":
		f.intField(&r.MaxMTUBytes, line, key, val)
	}
}

func (r *PathRecord) field(f *faults, line int, key, val string) {
	switch key {
	case "sgid", "dgid":
		a, err := netip.ParseAddr(val)
		if err != nil || !a.Is6() || a.Zone() != "" {
			f.Add(line, "%s: %.60q is not a GID", key, val)
		} else if key == "sgid" {
			r.SGID = a
		} else {
			r.DGID = a
		}
	case "slid":
		f.intField(&r.SLID, line, key, val)
	case "dlid":
		f.intField(&r.DLID, line, key, val)
	case "pkey":
		r.PKey = strings.ToLower(val)
	case "sl":
		f.intField(&r.SL, line, key, val)
	case "mtu", "rate":
		code, ok := printed.Number(val)
		code &= 1<<6 - 1 // the upper two bits say "exactly" or "at least": IB_PATH_REC_BASE_MASK in opensm's iba/ib_types.h
		if key == "mtu" {
			if r.MTUBytes = mtuCodes[code]; !ok || r.MTUBytes == 0 {
				f.Add(line, "%s: %.60q is not an MTU", key, val)
			}
		} else if r.RateGbps = rateCodes[code]; !ok || r.RateGbps == "" {
			f.Add(line, "%s: %.60q is not a rate", key, val)
		}
	}
}

// mtuCodes is enum ib_mtu in include/rdma/ib_verbs.h.
var mtuCodes = map[int]int{1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}

// rateCodes is enum ib_rate in include/rdma/ib_verbs.h.
var rateCodes = map[int]string{
	2: "2.5", 5: "5", 3: "10", 6: "20", 4: "30", 7: "40", 8: "60", 9: "80", 10: "120", 11: "14", 12: "56", 13: "112",
	14: "168", 15: "25", 16: "100", 17: "200", 18: "300", 19: "28", 20: "50", 21: "400", 22: "600", 23: "800", 24: "1200",
}

func (r *LinkRecord) field(f *faults, line int, key, val string) {
	switch key {
	case "FromLID":
		f.intField(&r.FromLID, line, key, val)
	case "FromPort":
		f.intField(&r.FromPort, line, key, val)
	case "ToLID":
		f.intField(&r.ToLID, line, key, val)
	case "ToPort":
		f.intField(&r.ToPort, line, key, val)
	}
}

func (s *SM) field(f *faults, line int, key, val string) {
	switch key {
	case "LID":
		f.intField(&s.LID, line, key, val)
	case "GUID":
		f.guidField(&s.GUID, line, key, val)
	case "ActCount":
		f.intField(&s.ActivityCount, line, key, val)
	case "Priority":
		f.intField(&s.Priority, line, key, val)
	case "SMState":
		n, ok := printed.Number(val)
		if ok {
			s.State, ok = smState(n)
		}
		if !ok {
			f.Add(line, "%s: %.60q is not an SM state", key, val)
		}
	}
}
