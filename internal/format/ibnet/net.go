// Package ibnet reads what InfiniBand fabric tools print about subnets, switches, links and subnet managers. Pure: bytes in, structs and line-numbered errors out.
package ibnet

// Every GUID is "0x" and 16 lower-case hex digits, whatever form the tool
// printed, so that GUIDs of different tools compare equal. A LID of 0 means
// that none was printed or none is assigned: unicast LIDs begin at 1
// (IB_LID_UCAST_START_HO in opensm's iba/ib_types.h).

// Net is a subnet as ibnetdiscover found it.
type Net struct {
	From     string // GUID of the node that looked; empty in the port-list form
	Nodes    []Node // in order of first mention
	Links    []Link // every cable once, although both ends print it
	Unlinked []End  // ports with nothing behind them; port-list form only
}

// Node is a channel adapter, switch or router.
type Node struct {
	Kind         string // "CA", "SW" or "RT"
	GUID         string // the port-list form prints a CA's port GUID instead of its node GUID
	Name         string // node description: "node0001 mlx5_0"
	SysImageGUID string
	VendorID     string // "0x2c9"
	DeviceID     string // "0xd2f2"
	LID          int    // of a CA: of the first port that printed one
	NumPorts     int    // 0 when the node was only mentioned as somebody's peer
}

// End is one end of a link.
type End struct {
	Kind     string // as Node.Kind
	GUID     string // as Node.GUID
	PortGUID string // empty for switch ports, which have none of their own
	Name     string
	Port     int
	LID      int
}

// Link is a cable. A is the end that was printed first.
type Link struct {
	A, B       End
	WidthLanes int    // 4 for 4x; 0 when the tool did not know
	Speed      string // generation of one lane: SDR DDR QDR FDR10 FDR EDR HDR NDR XDR; empty when the tool did not know
}
