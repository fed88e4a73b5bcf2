package meter

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"weft/internal/trial"
)

// counters tells what every port and interface has counted until now.
func (s *server) counters(context.Context, Ask) (Answer, error) {
	all := trial.Counters{}
	for _, dir := range s.glob("sys/class/infiniband/*/ports/*") {
		device, port := filepath.Base(filepath.Dir(filepath.Dir(dir))), filepath.Base(dir)
		c := all.Of(device + "/" + port)
		s.readInto(c, "", dir+"/counters/*")
		s.readInto(c, "", dir+"/hw_counters/*")
	}
	for _, dir := range s.glob("sys/class/net/*/statistics") {
		name := filepath.Base(filepath.Dir(dir))
		if name != "lo" {
			s.readInto(all.Of(name), "", dir+"/*")
		}
	}
	return Answer{Counters: all}, nil
}

func (s *server) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(s.root, pattern))
	return found
}

// readInto reads a folder of counters, each a file with one number.
func (s *server) readInto(c map[string]uint64, prefix, pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // some counters of some cards cannot be read
		}
		if v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil {
			c[prefix+filepath.Base(f)] = v
		}
	}
}
