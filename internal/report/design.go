package report

import (
	"fmt"
	"io"
	"strings"

	"weft/internal/design"
	"weft/internal/nodeset"
	"weft/internal/unit"
)

// Design is the answer of weft design.
type Design struct {
	*design.Design
	Next string `json:"next"`
}

// designRows is how many switches or bundles of cables a person is shown; of more,
// designFew of each kind.
const designRows, designFew = 24, 4

// Text writes the design with the arithmetic of every figure.
func (r Design) Text(w io.Writer, o Options) error {
	b := &designText{width: o.Width}
	b.head(r.Design)
	for _, f := range r.Fabrics {
		b.uplink(r.Design, f)
		b.fabric(r.Design, f)
	}
	b.section("NIC and slot", r.Card.Lines)
	b.transfers(r.Transfers)
	b.section("Addresses and AS numbers", r.Net.Lines)
	b.switches(r.Design)
	b.cabling(r.Design)
	b.section("Management, apart from the data plane", r.Manage.Lines)
	b.section("Lossless class and MTU", r.Lossless.Lines)
	b.bill(r.Bill)
	b.list("Notes", r.Notes)
	b.printf("\n%s\n", r.summary())
	if r.Next != "" {
		b.printf("next:\n    %s\n", r.Next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type designText struct {
	strings.Builder
	width int
}

func (b *designText) printf(format string, args ...any) { fmt.Fprintf(&b.Builder, format, args...) }

func (b *designText) head(d *design.Design) {
	for i, f := range d.Fabrics {
		if i > 0 {
			b.printf("and ")
		}
		b.printf("%s × %s, %s\n", plural(f.Nodes, "node"), plural(f.GPUs, "GPU"), f.Workload)
	}
	var lines []design.Line
	for _, a := range d.Assumed {
		lines = append(lines, design.Line{What: "--" + a.Field + " " + a.Value, How: a.Source})
	}
	b.section("Assumed, because it was not said", lines)
}

// section writes a heading and lines in two columns.
func (b *designText) section(title string, lines []design.Line) {
	if len(lines) == 0 {
		return
	}
	b.printf("\n%s\n", title)
	b.lines(lines)
}

func (b *designText) lines(lines []design.Line) {
	wide := 0
	for _, l := range lines {
		wide = max(wide, len([]rune(l.What)))
	}
	for _, l := range lines {
		b.printf("  %s%s  %s\n", l.What, strings.Repeat(" ", wide-len([]rune(l.What))), wrap(clean(l.How), b.width, wide+4))
	}
}

func (b *designText) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	b.printf("\n%s\n", title)
	for _, s := range items {
		b.printf("  - %s\n", wrap(clean(s), b.width, 4))
	}
}

// of names a fabric where there are two.
func of(d *design.Design, f *design.Fabric) string {
	if len(d.Fabrics) > 1 {
		return " of " + f.Name
	}
	return ""
}

func (b *designText) uplink(d *design.Design, f *design.Fabric) {
	u := f.Uplink
	other := ""
	if u.Other != "" {
		other = " (or " + u.Other + ")"
	}
	b.section(fmt.Sprintf("Uplink%s: %d × %s%s, through %s", of(d, f), u.Links, ethernet(u.Rate), other, u.Via), u.Lines)
}

// ethernet writes a rate as Ethernet ports are called.
func ethernet(r unit.Rate) string {
	return strings.TrimSuffix(r.String(), " Gb/s") + " GbE"
}

func (b *designText) fabric(d *design.Design, f *design.Fabric) {
	shape := map[string]string{"none": "none", "direct": "direct cables", "switch": "one switch", "clos": "two-tier routed Clos"}[f.Shape]
	if f.Shape == "clos" && f.Layer == "InfiniBand" {
		shape = "two-tier Clos"
	}
	title := fmt.Sprintf("Fabric%s: %s", of(d, f), shape)
	if f.Shape != "none" {
		layer := map[string]string{"Ethernet": "RoCE v2", "InfiniBand": "InfiniBand"}[f.Layer]
		title += fmt.Sprintf(", %s, %v", layer, f.Rate)
	}
	lines := append([]design.Line{{What: "why", How: f.Why}}, f.Lines...)
	b.section(title, lines)
	b.section("Aggregate and one flow"+of(d, f), f.Flows)
}

func (b *designText) transfers(t design.Transfers) {
	b.section("Transfers", t.Lines)
	rows := [][]string{{"  OVER", "RATE", "WEIGHTS " + designGB(t.Weights), "CHECKPOINT " + designGB(t.Checkpoint)}}
	for _, x := range t.Rows {
		rows = append(rows, []string{"  " + x.Over, x.Rate.String(), designSeconds(x.Weights), designSeconds(x.Checkpoint)})
	}
	Table(&b.Builder, rows)
}

func designGB(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f/1e9), ".0") + " GB"
}

func designSeconds(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f s", f)
	case f >= 0.1:
		return fmt.Sprintf("%.1f s", f)
	}
	return fmt.Sprintf("%.2g s", f)
}

// switches lists what routes, or switches: a few of each kind where there are many.
func (b *designText) switches(d *design.Design) {
	rows := [][]string{{"  SWITCH", "ROLE", "AS", "LOOPBACK", "ANNOUNCES"}}
	total, of := 0, map[string]int{}
	for _, x := range d.Devices {
		switch x.Role {
		case design.RoleLeaf, design.RoleSpine, design.RoleSwitch:
			total++
		}
	}
	if total == 0 {
		return
	}
	for _, x := range d.Devices {
		switch x.Role {
		case design.RoleLeaf, design.RoleSpine, design.RoleRouter, design.RoleSwitch:
		default:
			continue
		}
		kind := x.Fabric + x.Role
		if of[kind]++; total > designRows && of[kind] > designFew {
			continue
		}
		role := x.Role
		if x.Role == design.RoleLeaf {
			role = fmt.Sprintf("leaf, rail %d", x.Rail)
		}
		as, loopback, own := "", "", ""
		if x.Routed() {
			as, loopback = fmt.Sprint(x.AS), x.Loopback.String()
			switch x.Role {
			case design.RoleLeaf:
				own = x.Own.String() + " and its loopback"
			case design.RoleRouter:
				own = "the default route"
			default:
				own = "what it hears"
			}
		}
		rows = append(rows, []string{"  " + x.Name, role, dash(as), dash(loopback), dash(own)})
	}
	b.printf("\nSwitches\n")
	Table(&b.Builder, rows)
	if left := total + 2 - len(rows); left > 0 {
		b.printf("  … and %d more: -o DIR writes devices.csv and a configuration for each\n", left)
	}
}

// bundle is cables between the same two ends, or from many nodes to one switch.
type bundle struct {
	plane, a, aPort, b, bPort, medium string
	kind                              string // which roles of which fabric it joins
	rate                              unit.Rate
	metres                            float64
	n                                 int
}

// cabling folds cables into bundles, and shows a few of each kind where there are
// many.
func (b *designText) cabling(d *design.Design) {
	bundles := foldCables(d)
	rows := [][]string{{"  CABLES", "PLANE", "FROM", "PORT", "TO", "PORT", "RATE", "METRES", "MEDIUM"}}
	of, left := map[string]int{}, 0
	for _, x := range bundles {
		if of[x.kind]++; len(bundles) > designRows && of[x.kind] > designFew {
			left += x.n
			continue
		}
		rows = append(rows, []string{fmt.Sprintf("  %d", x.n), x.plane, x.a, x.aPort, x.b, x.bPort, x.rate.String(), fmt.Sprint(x.metres), x.medium})
	}
	b.printf("\nCabling: %s\n", plural(len(d.Cables), "cable"))
	Table(&b.Builder, rows)
	if left > 0 {
		b.printf("  … and %d more: -o DIR writes cabling.csv\n", left)
	}
}

func foldCables(d *design.Design) []bundle {
	type key struct{ plane, a, aPort, b string }
	type ends struct {
		a, aPort, bPort []string
		bundle
	}
	var order []key
	at := map[key]*ends{}
	for _, c := range d.Cables {
		k := key{c.Plane, c.A.Device, "", c.B.Device}
		if x := d.Device(c.A.Device); c.Plane == design.Management && x.Role != design.RoleManage || x.Role == design.RoleNode && d.Device(c.B.Device).Role != design.RoleNode {
			k = key{c.Plane, "", c.A.Port, c.B.Device} // many to one switch
		}
		if at[k] == nil {
			from, to := d.Device(c.A.Device), d.Device(c.B.Device)
			at[k] = &ends{bundle: bundle{kind: from.Fabric + c.Plane + from.Role + to.Role, plane: c.Plane, b: c.B.Device, medium: c.Medium, rate: c.Rate, metres: c.Metres}}
			order = append(order, k)
		}
		e := at[k]
		e.n++
		e.a, e.aPort, e.bPort = append(e.a, c.A.Device), append(e.aPort, c.A.Port), append(e.bPort, c.B.Port)
	}
	var out []bundle
	for _, k := range order {
		e := at[k]
		e.bundle.a, e.bundle.aPort, e.bundle.bPort = nodeset.Fold(e.a), nodeset.Fold(e.aPort), nodeset.Fold(e.bPort)
		out = append(out, e.bundle)
	}
	return out
}

func (b *designText) bill(items []design.Item) {
	rows := [][]string{{"  COUNT", "WHAT", "FOR", "NOTE"}}
	for _, i := range items {
		rows = append(rows, []string{fmt.Sprintf("  %d", i.Count), i.What, i.For, i.Note})
	}
	b.printf("\nBill of materials\n")
	Table(&b.Builder, rows)
}

// summary is one line about the whole.
func (r Design) summary() string {
	switches, configs := 0, 0
	for _, x := range r.Devices {
		switch x.Role {
		case design.RoleLeaf, design.RoleSpine, design.RoleSwitch:
			switches++
		}
		if x.Routed() {
			configs++
		}
	}
	nodes := 0
	for _, f := range r.Fabrics {
		nodes += f.Nodes
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s of FRR", plural(nodes, "node"), dataSwitches(switches), plural(len(r.Cables), "cable"), addressCount(len(r.Addresses)), plural(configs, "configuration"))
}

func dataSwitches(n int) string {
	if n == 1 {
		return "1 data switch"
	}
	return fmt.Sprintf("%d data switches", n)
}

func addressCount(n int) string {
	if n == 1 {
		return "1 address"
	}
	return fmt.Sprintf("%d addresses", n)
}
