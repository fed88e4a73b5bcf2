package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Seen is what can be seen of a machine from outside.
type Seen struct {
	Node
	State  string `json:"state"`   // running, frozen, off, silent, or another word of QEMU's
	Memory int    `json:"mem_mib"` // resident
	Disk   int    `json:"disk_mib"`
}

// Status is a lab and what can be seen of its machines now.
type Status struct {
	State
	Dir   string `json:"dir"`
	Seen  []Seen `json:"machines"`
	Cache int    `json:"cache_mib"` // what stays after down
}

// Status looks at the lab.
func (l Lab) Status(ctx context.Context) (Status, error) {
	s, err := l.State()
	if err != nil {
		return Status{}, err
	}
	out := Status{State: s, Dir: l.Dir, Cache: used(l.image())}
	for _, n := range s.Nodes {
		seen := Seen{Node: n, State: "off", Disk: used(l.run(n.Name + ".disk"))}
		pid, err := l.pid(n.Name)
		if err != nil {
			return out, err
		}
		if pid != 0 {
			seen.State, seen.Memory = l.asks(ctx, n.Name), resident(pid)
		}
		out.Seen = append(out.Seen, seen)
	}
	return out, nil
}

// asks asks a machine's QEMU how it is.
func (l Lab) asks(ctx context.Context, node string) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	t, err := l.monitor(ctx, node)
	if err != nil {
		return "silent"
	}
	defer t.close()
	var now struct{ Status string }
	if err := t.ask("query-status", nil, &now); err != nil {
		return "silent"
	}
	if now.Status == "paused" {
		return "frozen"
	}
	return now.Status
}

// resident is the memory that a process holds, in MiB.
func resident(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := bytes.Cut(b, []byte("VmRSS:"))
	kib, _ := strconv.Atoi(strings.Fields(string(after) + " 0")[0])
	return kib >> 10
}

// used is what a file or folder takes of the disk, in MiB.
func used(path string) int {
	blocks := int64(0)
	filepath.WalkDir(path, func(_ string, e os.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile
		}
		if info, err := e.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				blocks += st.Blocks
			}
		}
		return nil
	})
	return int(blocks * 512 >> 20)
}
