package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A DevNode is a device that `ls -l` lists.
type DevNode struct {
	Path  string // "/dev/infiniband/uverbs0"
	Block bool
	Mode  uint16 // the nine permission bits: 0660
	ACL   bool   // more rules than the mode tells
	Owner string // name, or number with -n
	Group string
	Major int
	Minor int
}

// ParseDevNodes reads `ls -l` or `ls -ln` of device nodes, one or several
// directories or paths. What is no device is left out.
func ParseDevNodes(b []byte) ([]DevNode, error) {
	var (
		all  []DevNode
		dir  string
		errs []error
	)
	lines(b, func(n int, line string) {
		if d, ok := strings.CutSuffix(line, ":"); ok && strings.HasPrefix(line, "/") {
			dir = strings.TrimSuffix(d, "/") + "/"
			return
		}
		if strings.HasPrefix(line, "total ") || strings.ContainsRune("dl-ps", rune(line[0])) {
			return
		}
		node, ok := devNode(line)
		if !ok {
			errs = append(errs, fmt.Errorf("line %d: %.120q is no device", n, line))
			return
		}
		if !strings.HasPrefix(node.Path, "/") {
			node.Path = dir + node.Path
		}
		all = append(all, node)
	})
	return all, errors.Join(errs...)
}

// devNode reads "crw-rw-rw- 1 0 0 231, 192 Jan  1 00:00 uverbs0".
func devNode(line string) (DevNode, bool) {
	f := strings.Fields(line)
	if len(f) < 9 || len(f[0]) < 10 || f[0][0] != 'c' && f[0][0] != 'b' {
		return DevNode{}, false
	}
	mode, ok := permissions(f[0][1:10])
	major, err := strconv.Atoi(strings.TrimSuffix(f[4], ","))
	minor, err1 := strconv.Atoi(f[5])
	if !ok || err != nil || err1 != nil {
		return DevNode{}, false
	}
	return DevNode{
		Path: f[len(f)-1], Block: f[0][0] == 'b', Mode: mode, ACL: strings.HasSuffix(f[0], "+"),
		Owner: f[2], Group: f[3], Major: major, Minor: minor,
	}, true
}

func permissions(s string) (uint16, bool) {
	var mode uint16
	for i := range len(s) {
		mode <<= 1
		switch want := "rwx"[i%3]; {
		case s[i] == want:
			mode |= 1
		case s[i] != '-' && !strings.ContainsRune("sStT", rune(s[i])):
			return 0, false
		case s[i] == 's' || s[i] == 't':
			mode |= 1 // set-id or sticky, and executable
		}
	}
	return mode, true
}
