package nvsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// ParseText reads `nvidia-smi -q`: headings and values, nested by
// indentation. Text without a GPU heading belongs to one GPU without an
// address, as when somebody pastes one section.
func ParseText(b []byte) (Log, error) {
	var (
		log     Log
		gpu     *GPU
		errs    []error
		path    []string // open headings
		indents []int    // and how far each was indented
	)
	lines(b, func(n int, line string) {
		body := strings.TrimLeft(line, " \t")
		if body == "" || strings.HasPrefix(body, "==") {
			return
		}
		indent := len(line) - len(body)
		if bdf, ok := printed.BDF(strings.TrimPrefix(body, "GPU ")); ok && strings.HasPrefix(body, "GPU ") {
			log.GPUs = append(log.GPUs, GPU{BDF: bdf})
			gpu = &log.GPUs[len(log.GPUs)-1]
			path, indents = nil, nil
			return
		}
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			path, indents = path[:len(path)-1], indents[:len(indents)-1]
		}
		name, v, valued := cutValue(body)
		if gpu == nil && valued && len(path) == 0 {
			switch name {
			case "Driver Version":
				log.Driver = v
				return
			case "CUDA Version":
				log.CUDA = v
				return
			case "Attached GPUs":
				if k, err := strconv.Atoi(v); err == nil {
					log.Attached = &k
				} else {
					errs = append(errs, fmt.Errorf("line %d: %q is not a number of GPUs", n, v))
				}
				return
			case "Timestamp":
				return
			}
		}
		if gpu == nil {
			if !valued && headings[body] || len(path) > 0 {
				log.GPUs = append(log.GPUs, GPU{})
				gpu = &log.GPUs[0]
			} else if !headings[body] {
				errs = append(errs, fmt.Errorf("line %d: %q is no part of nvidia-smi -q", n, firstLine([]byte(body))))
				return
			}
		}
		if !valued {
			path, indents = append(path, body), append(indents, indent)
			if body == "Processes" {
				gpu.Processes = new(int)
			}
			return
		}
		if err := textValue(gpu, path, name, v); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
		}
		// A value may have finer values under it: HW Slowdown has.
		path, indents = append(path, name), append(indents, indent)
	})
	if log.Driver == "" && len(log.GPUs) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("no output of nvidia-smi -q"))
	}
	return log, errors.Join(errs...)
}

// headings are the top headings of a GPU that weft reads something under.
var headings = func() map[string]bool {
	m := map[string]bool{}
	for name := range byText {
		if top, _, nested := strings.Cut(name, "/"); nested {
			m[top] = true
		}
	}
	return m
}()

func textValue(g *GPU, path []string, name, v string) error {
	top := ""
	if len(path) > 0 {
		top = path[0]
	}
	switch {
	case top == "Clocks Event Reasons" || top == "Clocks Throttle Reasons":
		addReason(g, reasonName(name), v)
		return nil
	case top == "" && name == "Processes":
		if v == "None" {
			g.Processes = new(int)
		}
		return nil
	case top == "Processes":
		if name == "Process ID" && g.Processes != nil {
			*g.Processes++
		}
		return nil
	}
	return put(byText, g, strings.Join(append(path[:len(path):len(path)], name), "/"), v)
}

// reasonName turns a heading of the text into XML's word for it.
func reasonName(s string) string {
	switch s {
	case "Idle":
		return "gpu_idle"
	case "Display Clock Setting":
		return "display_clocks_setting"
	}
	return strings.ReplaceAll(strings.ToLower(s), " ", "_")
}

func cutValue(body string) (name, v string, ok bool) {
	name, v, ok = strings.Cut(body, " : ")
	if !ok {
		name, ok = strings.CutSuffix(body, " :")
	}
	return strings.TrimSpace(name), strings.TrimSpace(v), ok
}

// ParseCSV reads `nvidia-smi --query-gpu=… --format=csv`, with its header and
// with or without units. Columns that weft does not know are left out.
func ParseCSV(b []byte) (Log, error) {
	var (
		log   Log
		names []string
		units []string
		errs  []error
	)
	lines(b, func(n int, line string) {
		line = strings.TrimSpace(line)
		if line == "" {
			return
		}
		cells := strings.Split(line, ",")
		if names == nil {
			if _, known := byCSV[columnName(cells[0])]; !known && columnName(cells[0]) != "driver_version" && len(cells) == 1 {
				errs = append(errs, fmt.Errorf("line %d: %q is no header", n, firstLine([]byte(line))))
				return
			}
			for _, c := range cells {
				names = append(names, columnName(c))
				_, unit, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(c), "]"), "[")
				units = append(units, unit)
			}
			return
		}
		if len(cells) != len(names) {
			errs = append(errs, fmt.Errorf("line %d: %d values for %d columns", n, len(cells), len(names)))
			return
		}
		var g GPU
		for i, c := range cells {
			v := strings.TrimSpace(c)
			if names[i] == "driver_version" && !absent(v) {
				log.Driver = v
				continue
			}
			if units[i] != "" && v != "" && !strings.Contains(v, " ") && !absent(v) {
				v += " " + units[i] // format nounits leaves them to the header
			}
			if err := put(byCSV, &g, names[i], v); err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			}
		}
		log.GPUs = append(log.GPUs, g)
	})
	if names == nil && len(errs) == 0 {
		errs = append(errs, errors.New("no header"))
	}
	return log, errors.Join(errs...)
}

// columnName is "memory.total" of "memory.total [MiB]".
func columnName(cell string) string {
	name, _, _ := strings.Cut(cell, "[")
	return strings.TrimSpace(name)
}

// ParseTable reads the table that nvidia-smi prints for people: driver, CUDA,
// and per GPU its index, name, address and power. Use it when nothing better
// was kept.
func ParseTable(b []byte) (Log, error) {
	var (
		log  Log
		errs []error
	)
	lines(b, func(n int, line string) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			return
		}
		if _, after, ok := strings.Cut(line, "Driver Version:"); ok {
			log.Driver = firstField(after)
			if _, after, ok = strings.Cut(after, "CUDA Version:"); ok {
				log.CUDA = firstField(after)
			}
			return
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) < 2 {
			return
		}
		left, right := strings.Fields(cells[0]), strings.Fields(cells[1])
		if len(right) > 0 && len(left) >= 2 {
			if bdf, ok := printed.BDF(right[0]); ok {
				k, err := strconv.Atoi(left[0])
				if err != nil {
					errs = append(errs, fmt.Errorf("line %d: %q is not a GPU index", n, left[0]))
					return
				}
				name := left[1:]
				if last := name[len(name)-1]; last == "On" || last == "Off" || last == "N/A" {
					name = name[:len(name)-1]
				}
				log.GPUs = append(log.GPUs, GPU{BDF: bdf, Index: &k, Name: strings.Join(name, " ")})
				return
			}
		}
		// "N/A   36C    P8              3W /  N/A" follows the GPU it is about.
		if len(log.GPUs) == 0 {
			return
		}
		g := &log.GPUs[len(log.GPUs)-1]
		for i, f := range left {
			if f == "/" && i > 0 && i+1 < len(left) && g.PowerDrawW == nil {
				readWatts(&g.PowerDrawW, left[i-1])
				readWatts(&g.PowerLimitW, left[i+1])
			}
		}
	})
	if log.Driver == "" && len(errs) == 0 {
		errs = append(errs, errors.New("no table of nvidia-smi"))
	}
	return log, errors.Join(errs...)
}

func readWatts(at **float64, v string) {
	num, ok := strings.CutSuffix(v, "W")
	if n, err := strconv.ParseUint(num, 10, 16); ok && err == nil {
		w := float64(n)
		*at = &w
	}
}

func firstField(s string) string {
	if f := strings.Fields(s); len(f) > 0 && !absent(f[0]) {
		return f[0]
	}
	return ""
}
