package rocmsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An Agent is one processor that rocminfo lists, a CPU or a GPU.
type Agent struct {
	Name         string // "gfx1201", or the CPU's name
	Marketing    string
	UUID         string
	Type         string   // "GPU", "CPU", "" when not told
	ISAs         []string // "gfx1201", "gfx12-generic": what its code may be built for
	ChipID       *uint16
	Bus          string // "03:00.0": rocminfo tells no domain
	ComputeUnits *int
	Node         *int
}

// ParseInfo reads `rocminfo`. Instruction sets before any agent, as in a
// pasted part, belong to an agent without a name.
func ParseInfo(b []byte) ([]Agent, error) {
	var (
		agents []Agent
		isas   bool // inside the list of instruction sets
		errs   []error
	)
	current := func() *Agent {
		if len(agents) == 0 {
			agents = append(agents, Agent{})
		}
		return &agents[len(agents)-1]
	}
	lines(b, func(n int, line string) {
		body := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if num, ok := strings.CutPrefix(body, "Agent "); ok && indent == 0 && isIndex(num) {
			agents = append(agents, Agent{})
			isas = false
			return
		}
		if num, ok := strings.CutPrefix(body, "ISA "); ok && isIndex(num) {
			isas = true
			return
		}
		key, v, ok := strings.Cut(body, ":")
		v = strings.TrimSpace(v)
		if !ok || absent(v) {
			return
		}
		if isas {
			if key == "Name" {
				a := current()
				a.ISAs = append(a.ISAs, isaName(v))
			}
			return
		}
		if len(agents) == 0 || indent > 2 {
			return // the system's attributes, or those of a cache or pool
		}
		a := current()
		switch key {
		case "Name":
			a.Name = v
		case "Marketing Name":
			a.Marketing = v
		case "Uuid":
			a.UUID = v
		case "Device Type":
			a.Type = v
		case "Chip ID", "BDFID", "Compute Unit", "Node":
			num, _, _ := strings.Cut(v, "(")
			k, err := strconv.ParseUint(num, 10, 16)
			if err != nil {
				errs = append(errs, fmt.Errorf("line %d: %s %.120q is not a small number", n, key, v))
				return
			}
			small := int(k)
			switch key {
			case "Chip ID":
				id := uint16(k)
				a.ChipID = &id
			case "BDFID":
				a.Bus = busOf(uint32(k))
			case "Compute Unit":
				a.ComputeUnits = &small
			case "Node":
				a.Node = &small
			}
		}
	})
	// A CPU has no place on PCI; its BDFID of 0 is no address.
	for i := range agents {
		if agents[i].Type == "CPU" {
			agents[i].Bus = ""
		}
	}
	if agents == nil && len(errs) == 0 {
		errs = append(errs, errors.New("no agents"))
	}
	return agents, errors.Join(errs...)
}

// isaName is "gfx90a" of "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-".
func isaName(v string) string {
	if i := strings.LastIndex(v, "--"); i >= 0 {
		v = v[i+2:]
	}
	v, _, _ = strings.Cut(v, ":")
	return v
}

// busOf spells the bus, device and function that KFD packs into one number.
func busOf(id uint32) string {
	return fmt.Sprintf("%02x:%02x.%x", id>>8&0xff, id>>3&0x1f, id&7)
}
