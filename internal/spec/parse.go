package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"weft/internal/nodeset"
)

// MaxBytes is the largest weft.yaml that is read: thousands of nodes fit.
const MaxBytes = 4 << 20

// Error is what is wrong in weft.yaml, and where.
type Error struct {
	Line, Column int
	What         string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.What) }

// Parse reads weft.yaml. Unknown and repeated keys, wrong words and nodes written
// twice are errors with line and column.
func Parse(b []byte) (Spec, error) {
	var s Spec
	if len(b) > MaxBytes {
		return s, &Error{1, 1, fmt.Sprintf("larger than %d bytes", MaxBytes)}
	}
	if tooDeep(b) {
		return s, &Error{1, 1, "nested too deeply"}
	}
	file, err := decode(b, &s)
	if err != nil {
		return s, located(err)
	}
	v := validator{file: file}
	v.spec(&s)
	return s, v.err
}

// decode reads the YAML twice: for its places and for its values. The YAML package
// panics on some broken texts (an empty tag where a list should be, for one), which
// must not take weft down.
func decode(b []byte, s *Spec) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{1, 1, "this is not YAML that can be read"}
		}
	}()
	if file, err = parser.ParseBytes(b, 0); err != nil {
		return nil, err
	}
	if err = yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(s); errors.Is(err, io.EOF) {
		err = nil // nothing but comments
	}
	return file, err
}

// tooDeep guards the decoder's recursion: weft.yaml nests four levels.
func tooDeep(b []byte) bool {
	depth, deepest := 0, 0
	for _, c := range b {
		switch c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest > 50
}

// located turns an error of the YAML package into one with its place.
func located(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		p := y.GetToken().Position
		return &Error{p.Line, p.Column, y.GetMessage()}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return &Error{1, 1, first}
}

// validator finds the first thing that is wrong and its place.
type validator struct {
	file *ast.File
	err  error
}

// at is the place of a YAML path like $.nodes[2].name.
func (v *validator) at(path string) (line, column int, ok bool) {
	t := v.token(path)
	if t == nil {
		return 1, 1, false
	}
	return t.Position.Line, t.Position.Column, true
}

// token is what stands at a YAML path; nil when nothing does.
func (v *validator) token(path string) *token.Token {
	p, err := yaml.PathString(path)
	if err != nil || v.file == nil {
		return nil
	}
	node, err := p.FilterFile(v.file)
	if err != nil || node == nil {
		return nil
	}
	return node.GetToken()
}

// wrong notes a problem at a YAML path like $.nodes[2].name.
func (v *validator) wrong(path, format string, args ...any) {
	if v.err != nil {
		return
	}
	line, column, _ := v.at(path)
	v.err = &Error{line, column, fmt.Sprintf(format, args...)}
}

func (v *validator) oneOf(path, got string, want ...string) {
	if got != "" && !slices.Contains(want, got) {
		v.wrong(path, "%q is not one of %s", got, strings.Join(want, ", "))
	}
}

func (v *validator) spec(s *Spec) {
	v.oneOf("$.purpose", s.Purpose, "training", "inference", "both")
	if _, _, there := v.at("$.ssh_config"); there && strings.TrimSpace(s.SSHConfig) == "" {
		v.wrong("$.ssh_config", "ssh_config is empty: want an ssh configuration file, or leave the key out")
	}
	v.oneOf("$.data.layer", s.Data.Layer, "roce", "infiniband", "iwarp")
	v.oneOf("$.data.switch", s.Data.Switch, "none", "lossless", "plain")
	v.oneOf("$.data.ipoib", s.Data.IPoIB, "connected", "datagram")
	if m := s.Data.MTU; m != 0 && (m < 576 || m > 65520) {
		v.wrong("$.data.mtu", "%d is not an MTU: want 576 to 65520", m)
	}
	if p := s.Data.Priority; p < 0 || p > 7 {
		v.wrong("$.data.priority", "%d is not a priority: want 0 to 7", p)
	}
	if d := s.Data.DSCP; d < 0 || d > 63 {
		v.wrong("$.data.dscp", "%d is not a DSCP: want 0 to 63", d)
	}
	v.nodes(s)
	v.sysctl(s)
	for i, c := range s.Cables {
		for _, e := range []struct{ key, value string }{{"a", c.A}, {"b", c.B}} {
			name, port, ok := strings.Cut(e.value, ":")
			if !ok || port == "" || len(s.Nodes) > 0 && s.Node(name) == nil {
				v.wrong(fmt.Sprintf("$.cables[%d].%s", i, e.key), "%q is not NODE:PORT of a node above, like spark1:rocep1s0f0/1", e.value)
			}
		}
	}
	for i, a := range s.Accept {
		at := fmt.Sprintf("$.accept[%d]", i)
		if a.Check == "" || a.Reason == "" {
			v.wrong(at, "an accepted finding needs a check and a reason")
		}
		if _, err := time.Parse(time.DateOnly, a.Until); a.Until != "" && err != nil {
			v.wrong(at+".until", "%q is not a day like 2027-01-31", a.Until)
		}
		if _, err := nodeset.Expand(a.Nodes); err != nil {
			v.wrong(at+".nodes", "%v", err)
		}
	}
}

// nodes checks the nodes and expands names like gpu[001-128].
func (v *validator) nodes(s *Spec) {
	var all []Node
	seen := map[string]bool{}
	addrs := map[netip.Addr]string{}
	for i, n := range s.Nodes {
		at := fmt.Sprintf("$.nodes[%d].name", i)
		names, err := nodeset.Expand(n.Name)
		switch {
		case err != nil:
			v.wrong(at, "%v", err)
		case len(names) == 0:
			v.wrong(fmt.Sprintf("$.nodes[%d]", i), "a node needs a name")
		case len(names) > 1 && (len(n.Data) > 0 || n.SSH != ""):
			v.wrong(at, "%q is %d nodes: ssh and data are written per node", n.Name, len(names))
		}
		for _, name := range names {
			if !nodeset.ValidName(name) {
				v.wrong(at, "%q is not a node name: want letters, digits, dots, dashes and underscores", name)
			}
			if seen[name] {
				v.wrong(at, "node %q is there twice", name)
			}
			seen[name] = true
			one := n
			one.Name = name
			all = append(all, one)
		}
		v.data(i, n, addrs)
	}
	s.Nodes = all
}

func (v *validator) data(i int, n Node, addrs map[netip.Addr]string) {
	ports := map[string]bool{}
	for j, d := range n.Data {
		at := fmt.Sprintf("$.nodes[%d].data[%d]", i, j)
		if d.Port == "" || !strings.Contains(d.Port, "/") {
			v.wrong(at, "%q is not an RDMA port like mlx5_0/1", d.Port)
		}
		if ports[d.Port] {
			v.wrong(at+".port", "port %q is there twice on %s", d.Port, n.Name)
		}
		ports[d.Port] = true
		if d.Address == "" {
			continue
		}
		p, err := netip.ParsePrefix(d.Address)
		if err != nil {
			v.wrong(at+".address", "%q is not an address like 192.168.200.1/24", d.Address)
			continue
		}
		if other, twice := addrs[p.Addr()]; twice {
			v.wrong(at+".address", "address %s is %s's already", p.Addr(), other)
		}
		addrs[p.Addr()] = n.Name
	}
}
