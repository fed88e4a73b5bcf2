package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
)

// writeFabric writes the subnet managers, switches and links of an InfiniBand fabric.
func writeFabric(w io.Writer, f *fact.Fabric) error {
	managers := [][]string{{"SUBNET MANAGER", "LID", "STATE", "PRIORITY"}}
	for _, sm := range f.SMs {
		managers = append(managers, []string{dash(cmp.Or(sm.Name, sm.GUID)), strconv.Itoa(sm.LID), dash(sm.State), strconv.Itoa(sm.Priority)})
	}
	if f.SMsRead && len(f.SMs) == 0 {
		managers = append(managers, []string{"none"})
	}
	switches := [][]string{{"SWITCH", "LID", "PORTS"}}
	for _, s := range f.Switches {
		switches = append(switches, []string{dash(s.Name), strconv.Itoa(s.LID), strconv.Itoa(s.Ports)})
	}
	links := [][]string{{"FROM", "PORT", "TO", "PORT", "WIDTH", "SPEED", "ERRORS"}}
	for _, l := range f.Links {
		var errors []string
		for _, name := range slices.Sorted(maps.Keys(l.Errors)) {
			errors = append(errors, fmt.Sprintf("%s %d", name, l.Errors[name]))
		}
		links = append(links, []string{dash(l.A.Name), strconv.Itoa(l.A.Port), dash(l.B.Name), strconv.Itoa(l.B.Port), dash(l.Width), dash(l.Speed),
			dash(strings.Join(errors, ", "))})
	}
	for _, table := range [][][]string{managers, switches, links} {
		if len(table) == 1 {
			continue // nothing was told
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if err := Table(w, table); err != nil {
			return err
		}
	}
	return nil
}
