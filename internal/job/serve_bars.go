package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/check"
	"weft/internal/trial"
)

// Bar is a reason not to start, which a person may accept by its name.
type Bar struct {
	Name string `json:"name"` // of a check, or one of the names below
	Node string `json:"node,omitempty"`
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Next string `json:"next,omitempty"`
}

// The names that are no checks.
const (
	BarNoProof    = "proof.none"    // nothing was measured
	BarPart       = "proof.part"    // not all of these nodes were measured
	BarStale      = "proof.stale"   // a node changed since
	BarShort      = "proof.short"   // a measurement fell short
	BarImage      = "image.missing" // a node does not have it
	BarDiffers    = "image.differs" // nodes have different ones under one name
	BarUncompared = "image.unknown" // they could not be compared
	BarPort       = "port.taken"    // something listens there
	BarPortsUnk   = "port.unknown"  // nobody could look
	BarProgram    = "program.missing"
	BarRuns       = "serve.runs" // weft started it before, under this name
)

// BarNames are they.
var BarNames = []string{BarNoProof, BarPart, BarStale, BarShort, BarImage, BarDiffers, BarUncompared, BarPort, BarPortsUnk, BarProgram, BarRuns}

// never are bars that nobody can accept: the start would fail.
var never = []string{BarImage, BarPort, BarProgram, BarRuns}

// uses reports whether a launch is about a node; "" is the cluster.
func (l *Launch) uses(node string) bool {
	return node == "" || slices.ContainsFunc(l.Nodes, func(n NodeLaunch) bool { return n.Node == node })
}

// CheckBars are failed checks and checks that could not look, of the nodes that are used.
func (l *Launch) CheckBars(findings []check.Finding) (bars []Bar) {
	for _, f := range findings {
		if f.Status != check.Fail && f.Status != check.Unknown || !l.uses(f.Subject.Node) {
			continue
		}
		if _, peer, ok := strings.Cut(f.Subject.Part, "→ "); ok && !l.uses(peer) || len(l.Nodes) == 1 && ofNetwork(f.Check) {
			continue
		}
		what := f.Subject.String() + ": " + f.Got
		if f.Want != "" {
			what += ", want " + f.Want
		}
		if f.Status == check.Unknown {
			what = f.Subject.String() + ": could not look"
		}
		if b := (Bar{f.Check, f.Subject.Node, what, f.Why, "weft explain " + f.Check}); !slices.Contains(bars, b) {
			bars = append(bars, b)
		}
	}
	return bars
}

// ofNetwork reports whether a check is about the way between nodes: one node needs none.
func ofNetwork(id string) bool {
	family, _, _ := strings.Cut(id, ".")
	return slices.Contains([]string{"roce", "ib", "port", "plane", "nccl", "net", "cable"}, family)
}

// ProofBars say what is missing of the last proof. facts are hashes of the nodes as they are
// now, as trial.NodeAt has them. One node needs no network.
func (l *Launch) ProofBars(p *trial.Proof, facts map[string]string) (bars []Bar) {
	if len(l.Nodes) < 2 {
		return nil
	}
	if p == nil {
		return []Bar{{BarNoProof, "", "nothing was measured between these nodes yet", "an engine on an unproven fabric is slow or hangs, and says neither", "weft prove"}}
	}
	for _, n := range l.Nodes {
		i := slices.IndexFunc(p.Nodes, func(a trial.NodeAt) bool { return a.Name == n.Node })
		switch {
		case i < 0 || !measured(p, n.Node):
			bars = append(bars, Bar{BarPart, n.Node, fmt.Sprintf("proof %s did not measure RDMA of this node", p.ID), "", "weft prove"})
		case facts[n.Node] != "" && p.Nodes[i].Facts != "" && facts[n.Node] != p.Nodes[i].Facts:
			bars = append(bars, Bar{BarStale, n.Node, fmt.Sprintf("it changed since proof %s", p.ID), "what was measured was another state of it", "weft prove"})
		}
	}
	for _, x := range p.Problems {
		if x.Status != "fail" || len(x.At) > 0 && !slices.ContainsFunc(x.At, func(e trial.End) bool { return l.uses(e.Node) }) {
			continue
		}
		var at []string
		for _, e := range x.At {
			at = append(at, e.String())
		}
		node := ""
		if len(x.At) > 0 {
			node = x.At[0].Node
		}
		bars = append(bars, Bar{BarShort, node, fmt.Sprintf("%s: %s: %s, want %s", x.Trial, strings.Join(at, " ↔ "), x.Got, x.Want), x.Why, "weft explain " + x.Trial})
	}
	return bars
}

// measured reports whether a proof has a number of RDMA with this node in it.
func measured(p *trial.Proof, node string) bool {
	return slices.ContainsFunc(p.Cells, func(c trial.Cell) bool {
		return (strings.HasPrefix(c.Trial, "rdma.") || strings.HasPrefix(c.Trial, "nccl.")) && c.Got.Known() && (c.A.Node == node || c.B.Node == node)
	})
}

// ImageAt is the engine's image as one node has it.
type ImageAt struct {
	ID      string   `json:"id,omitempty"`
	Arch    string   `json:"arch,omitempty"`
	Digests []string `json:"digests,omitempty"` // "sha256:…", of all names
	Missing bool     `json:"missing,omitempty"`
	Why     string   `json:"why,omitempty"` // why it could not be looked at
}

// ImageScript asks a node for the image.
func (l *Launch) ImageScript() string {
	return sudo + "$s " + l.Runtime + ` image inspect --format '{{.Id}}|{{.Architecture}}|{{range .RepoDigests}}{{.}} {{end}}' ` + shellWord(l.Image)
}

// ParseImage reads its answer.
func ParseImage(out string) (i ImageAt, ok bool) {
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	parts := strings.Split(line, "|")
	if len(parts) != 3 || len(line) > 1<<16 {
		return i, false
	}
	i.ID, i.Arch = strings.TrimPrefix(parts[0], "sha256:"), parts[1]
	for _, d := range strings.Fields(parts[2]) {
		if _, sum, found := strings.Cut(d, "@"); found && !slices.Contains(i.Digests, sum) {
			i.Digests = append(i.Digests, sum)
		}
	}
	return i, i.ID != ""
}

// ImageBars compare what nodes have: equal are those with one ID, or with a digest in common
// (that of the list of an image for several processors).
func (l *Launch) ImageBars(at map[string]ImageAt) (bars []Bar) {
	if l.Image == "" {
		return nil
	}
	first := -1
	for i, n := range l.Nodes {
		is, asked := at[n.Node]
		switch {
		case !asked || is.Why != "":
			bars = append(bars, Bar{BarUncompared, n.Node, l.Image + " could not be looked at: " + firstOf(is.Why, "nobody asked"), "nodes with different images fail to join, or compute different things", ""})
		case is.Missing:
			bars = append(bars, Bar{BarImage, n.Node, "does not have " + l.Image, "weft does not pull: what runs must be the same everywhere", "sudo " + l.Runtime + " pull " + l.Image})
		case first < 0:
			first = i
		default:
			head := at[l.Nodes[first].Node]
			switch {
			case is.ID == head.ID || slices.ContainsFunc(is.Digests, func(d string) bool { return slices.Contains(head.Digests, d) }):
			case is.Arch != head.Arch:
				bars = append(bars, Bar{BarUncompared, n.Node, fmt.Sprintf("its %s is for %s and that of %s for %s, with no digest in common", l.Image, is.Arch, l.Nodes[first].Node, head.Arch), "whether both were built from the same version cannot be told", ""})
			default:
				bars = append(bars, Bar{BarDiffers, n.Node, fmt.Sprintf("its %s is %s, and that of %s is %s", l.Image, is.short(), l.Nodes[first].Node, head.short()), "Ray lets only equal versions join, and ranks of different engines hang", "sudo " + l.Runtime + " pull " + l.Image})
			}
		}
	}
	return bars
}

func (i ImageAt) short() string {
	if len(i.Digests) > 0 {
		return cut(i.Digests[0], 19)
	}
	return cut(i.ID, 12)
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// FactImages is what facts tell of images, for a launch that is only printed.
func (l *Launch) FactImages(c *check.Case) map[string]ImageAt {
	at := map[string]ImageAt{}
	for _, n := range l.Nodes {
		node := c.Node(n.Node)
		if node == nil || !node.Settings.ImagesRead {
			at[n.Node] = ImageAt{Why: "the images of the node were not read"}
			continue
		}
		is := ImageAt{Missing: true}
		for _, i := range node.Settings.Images {
			if sameName(i.Name, l.Image) {
				is = ImageAt{ID: i.Digest, Arch: node.Host.Arch, Digests: []string{i.Digest}}
			}
		}
		at[n.Node] = is
	}
	return at
}

// sameName compares names of images, which may come without the registry or the tag.
func sameName(a, b string) bool {
	plain := func(s string) string {
		if host, rest, ok := strings.Cut(s, "/"); ok && strings.ContainsAny(host, ".:") || host == "localhost" {
			s = rest
		}
		if !strings.Contains(s[strings.LastIndexByte(s, '/')+1:], ":") {
			s += ":latest"
		}
		return s
	}
	return plain(a) == plain(b)
}

// PortScript asks a node who listens: the kernel's own tables, which need no tool.
const PortScript = "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || cat /proc/net/tcp"

// Listening reads these tables: the ports that somebody listens on.
func Listening(tables string) (ports []int) {
	const maxRows = 1 << 20
	rows := 0
	for line := range strings.Lines(tables) {
		if rows++; rows > maxRows {
			break
		}
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "0A" { // TCP_LISTEN in include/net/tcp_states.h
			continue
		}
		i := strings.LastIndexByte(f[1], ':')
		if port, err := strconv.ParseUint(f[1][i+1:], 16, 16); err == nil && port > 0 && !slices.Contains(ports, int(port)) {
			ports = append(ports, int(port))
		}
	}
	slices.Sort(ports)
	return ports
}

// PortBars say which ports are taken. A node without an answer is unknown.
func (l *Launch) PortBars(taken map[string][]int) (bars []Bar) {
	for _, n := range l.Nodes {
		if _, ok := taken[n.Node]; !ok {
			bars = append(bars, Bar{BarPortsUnk, n.Node, "its ports could not be looked at", "an engine that finds its port taken ends after it has loaded everything", ""})
		}
	}
	for _, p := range l.Ports {
		if slices.Contains(taken[p.Node], p.Port) {
			bars = append(bars, Bar{BarPort, p.Node, fmt.Sprintf("something listens on port %d already (for %s)", p.Port, p.For), "an earlier engine, or another program", "ss -ltnp 'sport = :" + fmt.Sprint(p.Port) + "'"})
		}
	}
	return bars
}

// Accept parts bars into those that were accepted by name and those that stand. wrong are
// names that mean nothing.
func Accept(bars []Bar, names []string) (open, accepted []Bar, wrong []string) {
	for _, name := range names {
		if _, ok := check.ByID(name); !ok && !slices.Contains(BarNames, name) {
			wrong = append(wrong, name)
		}
	}
	for _, b := range bars {
		if slices.Contains(names, b.Name) && !slices.Contains(never, b.Name) {
			accepted = append(accepted, b)
		} else {
			open = append(open, b)
		}
	}
	return open, accepted, wrong
}

// Acceptable are the names of bars that may be accepted, each once.
func Acceptable(bars []Bar) (names []string) {
	for _, b := range bars {
		if !slices.Contains(never, b.Name) && !slices.Contains(names, b.Name) {
			names = append(names, b.Name)
		}
	}
	slices.Sort(names)
	return names
}
