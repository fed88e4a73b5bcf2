package design

import (
	"encoding/csv"
	"strconv"
	"strings"
)

// File is one file of the answer, to be written into a folder.
type File struct {
	Name string
	Text string
}

// Files returns what is needed to build the design: tables, and the configuration
// of every device that routes.
func (d *Design) Files() []File {
	out := []File{{"cabling.csv", d.cabling()}, {"addresses.csv", d.addresses()}, {"devices.csv", d.devices()}, {"bom.csv", d.bom()}}
	if d.Lossless.Switch != "" {
		out = append(out, File{"lossless.txt", d.Lossless.Switch})
	}
	for _, x := range d.Devices {
		if x.Routed() {
			out = append(out, File{"frr/" + x.Name + ".conf", d.FRR(x)})
		}
	}
	return out
}

func table(rows [][]string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.WriteAll(rows) // a builder does not fail
	return b.String()
}

// cabling has one row for each cable. Its number is for the label on both ends.
func (d *Design) cabling() string {
	rows := [][]string{{"cable", "plane", "a_device", "a_port", "b_device", "b_port", "gbps", "metres", "medium"}}
	for i, c := range d.Cables {
		rows = append(rows, []string{strconv.Itoa(i + 1), c.Plane, c.A.Device, c.A.Port, c.B.Device, c.B.Port, num(gb(c.Rate)), num(c.Metres), c.Medium})
	}
	return table(rows)
}

func (d *Design) addresses() string {
	rows := [][]string{{"device", "port", "address", "gateway", "route", "use"}}
	for _, a := range d.Addresses {
		gateway := ""
		if a.Gateway.IsValid() {
			gateway = a.Gateway.String()
		}
		rows = append(rows, []string{a.Device, a.Port, a.Address.String(), gateway, a.Route, a.Use})
	}
	return table(rows)
}

func (d *Design) devices() string {
	rows := [][]string{{"device", "role", "fabric", "plane", "rail", "ports", "as", "loopback", "announces"}}
	some := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	for _, x := range d.Devices {
		loopback, own := "", ""
		if x.Loopback.IsValid() {
			loopback = x.Loopback.String()
		}
		if x.Own.IsValid() {
			own = x.Own.String()
		}
		rows = append(rows, []string{x.Name, x.Role, x.Fabric, some(x.Plane), some(x.Rail), some(x.Ports), some(int(x.AS)), loopback, own})
	}
	return table(rows)
}

func (d *Design) bom() string {
	rows := [][]string{{"count", "what", "for", "note"}}
	for _, i := range d.Bill {
		rows = append(rows, []string{strconv.Itoa(i.Count), i.What, i.For, i.Note})
	}
	return table(rows)
}
