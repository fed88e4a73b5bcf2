package job

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/forecast"
)

// Order is what a person wants served, and how.
type Order struct {
	ID       string // of the run: "20261115-170102"
	Name     string // of what is started: units, containers and folders carry it; "" is made from the model
	Model    string // as the engine is told it: "Qwen/Qwen3-30B-A3B", or a path on the nodes
	Engine   string // one of Engines
	Executor string // of vLLM over several nodes: "ray" (or ""), or "own"
	Image    string // "" with Bare
	Bare     string // a folder with the engine's programs, such as a venv's bin: no container
	Runtime  string // "podman", "docker"; "" is what all nodes have
	Units    string // one of UnitKinds; "" is "systemd"
	Via      string // the network that Ray and ranks meet over: "management", "data"; "" is the first that can be

	TP, PP  int    // 0 is for the forecast to decide
	Context int    // tokens of a sequence; 0 is for the forecast to decide
	Seqs    int    // sequences at once; 0 is for the forecast to decide
	Eager   string // "auto" (or ""), "yes", "no"
	Quant   string // how the weights are stored; "" is as the name says, or as published
	KV      string // how the KV cache is stored: "auto" (or ""), "fp8"

	Known *forecast.Model // what is known of the model; nil is nothing

	Listen netip.Addr // where clients ask; not valid: loopback, or the head's management address with Key
	Port   int        // 0 is 8000
	Key    bool       // clients must show a key
	Token  bool       // a token for Hugging Face is given along
	Served string     // the name that clients use; "" is Model
	Models string     // a folder of models on every node, mounted read-only; "" is none
	Cache  string     // the folder on every node where models are downloaded to; "" is /var/lib/weft/huggingface
	More   []string   // more arguments for the engine
}

// Engines are what weft starts.
var Engines = []string{"vllm", "sglang", "llamacpp-rpc"}

// UnitKinds are how parts are started: as systemd services that run a container (or, with
// Bare, a program), as podman's quadlets, or by hand without systemd.
var UnitKinds = []string{"systemd", "quadlet", "run"}

// Ports that parts listen on. rayPort is in env.go.
const (
	servePort  = 8000
	masterPort = 29500 // vLLM's own executor: torch's usual rendezvous port
	distPort   = 20000 // SGLang's --dist-init-addr in its own multi-node examples
	rpcPort    = 50052 // llama.cpp's rpc-server
)

// Launch is a launch fully written out: nothing is decided after it.
type Launch struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Model    string `json:"model"`
	Served   string `json:"served"` // the name that clients use
	Engine   string `json:"engine"`
	Executor string `json:"executor,omitempty"` // "ray", "own"; "" on one node
	Image    string `json:"image,omitempty"`
	Bare     string `json:"bare,omitempty"`
	Runtime  string `json:"runtime,omitempty"`
	Units    string `json:"units"`
	Fit      Fit    `json:"fit"`

	Nodes []NodeLaunch `json:"nodes"` // in the order of their ranks; the first is the head
	Ports []PortUse    `json:"ports"` // that must be free
	Order []Step       `json:"order"`

	Addr        string   `json:"addr"`              // where clients ask: "10.0.0.1:8000"
	Secrets     []string `json:"secrets,omitempty"` // names of variables that are kept out of sight
	KeyFile     string   `json:"key_file,omitempty"`
	Folder      string   `json:"folder"`                 // of files on each node
	CacheFolder string   `json:"cache_folder,omitempty"` // on each node, where models are downloaded to
	Says        []string `json:"says,omitempty"`

	half   bool // a GPU that has no bfloat16
	onData bool // nodes meet over the data network
}

// Head is the node that clients ask.
func (l *Launch) Head() *NodeLaunch { return &l.Nodes[0] }

// NodeLaunch is what one node gets.
type NodeLaunch struct {
	Node  string `json:"node"`
	Addr  string `json:"addr"` // that Ray, NCCL's bootstrap and the engine know it by
	GPUs  int    `json:"gpus"` // ranks on it
	Env   []Var  `json:"env"`
	Files []File `json:"files"`
	Parts []Part `json:"parts"`

	netdev string // of Addr
	shared bool   // GPU and processor share one memory
}

// File is a file that is written on a node and removed again.
type File struct {
	Path   string `json:"path"`
	Mode   uint32 `json:"mode"`
	Text   string `json:"text,omitempty"`
	Secret bool   `json:"secret,omitempty"` // its text is not here: it is given when it is written
}

// PortUse is a port that a part listens on.
type PortUse struct {
	Node string `json:"node"`
	Port int    `json:"port"`
	For  string `json:"for"`
}

// Serve writes a launch out. It fails where no launch can be right; what a person may
// accept is left to Bars.
func Serve(c *check.Case, o Order) (*Launch, error) {
	if err := o.settle(c); err != nil {
		return nil, err
	}
	l := &Launch{
		ID: o.ID, Name: o.Name, Model: o.Model, Served: o.Served, Engine: o.Engine, Image: o.Image, Bare: o.Bare, Runtime: o.Runtime, Units: o.Units,
		Folder: "/var/lib/weft/serve/" + o.Name, CacheFolder: o.Cache,
	}
	if err := l.fit(c, &o); err != nil {
		return nil, err
	}
	nodes, err := l.place(c, o.Via)
	if err != nil {
		return nil, err
	}
	if len(nodes) > 1 && o.Engine == "vllm" {
		l.Executor = o.Executor
	}
	if err := l.able(nodes); err != nil {
		return nil, err
	}
	l.secrets(&o)
	l.listen(&o)
	for i, n := range nodes {
		l.node(c, &o, i, n)
	}
	l.order()
	return l, nil
}

// settle fills in what was not said and refuses what cannot be.
func (o *Order) settle(c *check.Case) error {
	if !slices.Contains(Engines, o.Engine) {
		return fmt.Errorf("engine %q: want one of %s", o.Engine, strings.Join(Engines, ", "))
	}
	if err := o.words(); err != nil {
		return err
	}
	switch {
	case o.Executor == "":
		o.Executor = "ray"
	case o.Executor != "ray" && o.Executor != "own":
		return fmt.Errorf("executor %q: want ray or own", o.Executor)
	}
	if o.Units == "" {
		o.Units = "systemd"
	}
	if o.Via != "" && o.Via != "auto" && o.Via != "management" && o.Via != "data" {
		return fmt.Errorf("network %q: want auto, management or data", o.Via)
	}
	if !slices.Contains(UnitKinds, o.Units) {
		return fmt.Errorf("units %q: want one of %s", o.Units, strings.Join(UnitKinds, ", "))
	}
	switch {
	case o.Bare != "" && o.Image != "":
		return fmt.Errorf("an image and a folder of programs: want one of them")
	case o.Bare != "" && !strings.HasPrefix(o.Bare, "/"):
		return fmt.Errorf("folder of programs %q: want a full path, the same on every node", o.Bare)
	case o.Bare != "" && o.Units != "systemd":
		return fmt.Errorf("without a container parts are systemd services: %s is for containers", o.Units)
	case o.Bare == "" && o.Image == "":
		if o.Image = usualImage(c, o.Engine); o.Image == "" {
			return fmt.Errorf("no image of %s for these GPUs is known: name one with --image, or a folder of programs with --bare", o.Engine)
		}
	}
	if o.Bare == "" {
		var err error
		if o.Runtime, err = runtimeOf(c, o.Runtime); err != nil {
			return err
		}
		if o.Units == "quadlet" && o.Runtime != "podman" {
			return fmt.Errorf("quadlets are podman's: docker takes units systemd or run")
		}
	}
	if o.Name == "" {
		o.Name = slug(o.Model)
	}
	if o.Served == "" {
		o.Served = o.Model
	}
	if o.Port == 0 {
		o.Port = servePort
	}
	if o.Cache == "" && o.Bare == "" {
		o.Cache = "/var/lib/weft/huggingface"
	}
	if o.Engine == "sglang" && o.Key {
		return fmt.Errorf("sglang takes its key only as an argument, which everybody on the node can read: serve without a key on loopback, or use vllm")
	}
	return nil
}

// words refuses what could not be written into a unit, or would mean something else there.
func (o *Order) words() error {
	for _, w := range append([]struct{ what, word string }{
		{"model", o.Model}, {"name", o.Name}, {"image", o.Image}, {"folder of programs", o.Bare}, {"served name", o.Served}, {"folder of models", o.Models}, {"cache", o.Cache},
	}, moreWords(o.More)...) {
		if strings.ContainsFunc(w.word, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
			return fmt.Errorf("%s %q: has characters that no unit can hold", w.what, w.word)
		}
		if len(w.word) > 512 {
			return fmt.Errorf("%s: longer than 512 bytes", w.what)
		}
	}
	switch {
	case o.Model == "":
		return fmt.Errorf("no model is named")
	case strings.HasPrefix(o.Model, "-"), strings.HasPrefix(o.Image, "-"), strings.HasPrefix(o.Served, "-"):
		return fmt.Errorf("%q starts with a dash: the engine would take it for a flag", firstDash(o.Model, o.Image, o.Served))
	case o.Name != "" && o.Name != slug(o.Name):
		return fmt.Errorf("name %q: want small letters, digits and dashes, 40 at most, like %s", o.Name, slug(o.Name))
	}
	for _, p := range []string{o.Models, o.Cache, o.Bare} {
		if p != "" && (!strings.HasPrefix(p, "/") || strings.ContainsAny(p, ":\"' \t\\$%*?[")) {
			return fmt.Errorf("folder %q: want a full path of plain characters", p)
		}
	}
	for _, a := range o.More {
		for _, s := range secretFlags {
			if a == s || strings.HasPrefix(a, s+"=") {
				return fmt.Errorf("%s would show the key to everybody on the node: use --api-key-file or --token-file", s)
			}
		}
	}
	return nil
}

// secretFlags are arguments of engines whose value is a secret.
var secretFlags = []string{"--api-key", "--hf-token", "--hf_token", "-hft", "--admin-api-key"}

func firstDash(words ...string) string {
	for _, w := range words {
		if strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}

func moreWords(more []string) (out []struct{ what, word string }) {
	for _, m := range more {
		out = append(out, struct{ what, word string }{"argument", m})
	}
	return out
}

// slug makes a name of units out of any text: "Qwen/Qwen3-30B-A3B" is "qwen3-30b-a3b".
func slug(s string) string {
	s = strings.TrimRight(s, "/")
	s = s[strings.LastIndexByte(s, '/')+1:]
	s = strings.TrimSuffix(s, ".gguf")
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	if s = strings.Trim(b.String(), "-"); s == "" {
		return "model"
	}
	return s
}

// usualImage is one that all nodes hold already and that is the engine's by its name, else
// what its makers publish. For llama.cpp there is none with RPC in it that could be named.
func usualImage(c *check.Case, engine string) string {
	word := map[string]string{"vllm": "vllm", "sglang": "sglang", "llamacpp-rpc": "llama"}[engine]
	up := c.Up()
	if len(up) > 0 {
		for _, i := range up[0].Settings.Images {
			repo, _, _ := strings.Cut(i.Name[strings.LastIndexByte(i.Name, '/')+1:], ":")
			if strings.Contains(repo, word) && !slices.ContainsFunc(up, func(n *fact.Node) bool { return !holds(n, i.Name) }) {
				return i.Name
			}
		}
	}
	amd := slices.ContainsFunc(up, func(n *fact.Node) bool { return vendor(n) == "AMD" })
	strix := slices.ContainsFunc(up, func(n *fact.Node) bool {
		return slices.ContainsFunc(n.GPUs, func(g *fact.GPU) bool { return g.Arch == "gfx1151" })
	})
	switch {
	case engine == "vllm" && strix: // seed 003: the one that runs there
		return "kyuz0/vllm-therock-gfx1151:latest"
	case engine == "vllm" && amd:
		return "rocm/vllm:latest"
	case engine == "vllm":
		return "vllm/vllm-openai:latest"
	case engine == "sglang" && !amd:
		return "lmsysorg/sglang:latest"
	}
	return ""
}

func holds(n *fact.Node, image string) bool {
	return slices.ContainsFunc(n.Settings.Images, func(i fact.Image) bool { return i.Name == image })
}

// vendor is whose GPUs a node has: the first that is not a display adapter beside others.
func vendor(n *fact.Node) string {
	for _, g := range n.GPUs {
		if g.Vendor == "NVIDIA" || g.Vendor == "AMD" {
			return g.Vendor
		}
	}
	if len(n.GPUs) > 0 {
		return n.GPUs[0].Vendor
	}
	return ""
}

// runtimeOf is what runs containers: what was asked for, else podman where all have it,
// else docker where all have it.
func runtimeOf(c *check.Case, asked string) (string, error) {
	if asked != "" && asked != "podman" && asked != "docker" {
		return "", fmt.Errorf("runtime %q: want podman or docker", asked)
	}
	lacks := func(runtime string) (names []string) {
		for _, n := range c.Up() {
			if !slices.Contains(n.Host.Containers, runtime) {
				names = append(names, n.Name)
			}
		}
		return names
	}
	for _, runtime := range []string{"podman", "docker"} {
		if asked == runtime || asked == "" && len(lacks(runtime)) == 0 {
			if names := lacks(runtime); len(names) > 0 {
				return "", fmt.Errorf("%s is not on %s: install it there, or serve without a container (--bare)", runtime, strings.Join(names, ", "))
			}
			return runtime, nil
		}
	}
	return "", fmt.Errorf("neither podman nor docker is on all nodes (podman is not on %s, docker is not on %s): install one, or serve without a container (--bare)",
		strings.Join(lacks("podman"), ", "), strings.Join(lacks("docker"), ", "))
}

// place finds the nodes of the fit and the addresses that they know each other by: those of
// the management network, which works when the fabric does not; or, where these do not tell
// nodes apart or it is asked for, those of the data network.
func (l *Launch) place(c *check.Case, via string) ([]*fact.Node, error) {
	var nodes []*fact.Node
	for _, at := range l.Fit.Ranks {
		n := c.Node(at.Node)
		if n == nil || n.Down != "" {
			return nil, fmt.Errorf("%s: nothing is known of this node", at.Node)
		}
		l.Nodes = append(l.Nodes, NodeLaunch{Node: n.Name, GPUs: at.Count})
		nodes = append(nodes, n)
	}
	why := l.meet(nodes, func(n *fact.Node) (*fact.Netdev, netip.Addr) { return c.Management(n) })
	if via == "data" || via != "management" && why != nil && len(nodes) > 1 {
		if via != "data" {
			l.Says = append(l.Says, fmt.Sprintf("nodes meet over the data network, because %v", why))
		}
		l.onData = true
		why = l.meet(nodes, func(n *fact.Node) (*fact.Netdev, netip.Addr) {
			for _, p := range c.Usable(n) {
				if d := n.Netdev(p.Netdev); d != nil {
					if a, ok := check.Addr4(d); ok && !a.IsLinkLocalUnicast() {
						return d, a
					}
				}
			}
			return nil, netip.Addr{}
		})
	}
	return nodes, why
}

// meet gives every node an address; they must differ.
func (l *Launch) meet(nodes []*fact.Node, at func(*fact.Node) (*fact.Netdev, netip.Addr)) error {
	seen := map[string]string{}
	for i, n := range nodes {
		dev, addr := at(n)
		if dev == nil {
			return fmt.Errorf("%s: no address is known that the other nodes reach it by (weft show nodes)", n.Name)
		}
		l.Nodes[i].Addr, l.Nodes[i].netdev = addr.String(), dev.Name
		if other := seen[addr.String()]; other != "" {
			return fmt.Errorf("%s and %s have the same address, %v", other, n.Name, addr)
		}
		seen[addr.String()] = n.Name
	}
	return nil
}

// able refuses GPUs and layouts that the engine does not run.
func (l *Launch) able(nodes []*fact.Node) error {
	if l.Engine == "llamacpp-rpc" {
		return nil
	}
	for _, n := range nodes {
		for _, g := range n.GPUs {
			switch g.Arch {
			case "Kepler", "Maxwell", "Pascal": // vLLM and SGLang: compute capability 7.0 and 7.5 at least (their installation guides)
				return fmt.Errorf("%s does not run on %s's %s (%s): leave it out with -n, or use --engine llamacpp-rpc", l.Engine, n.Name, g.Name, g.Arch)
			case "Volta", "Turing":
				l.half = true
			}
		}
	}
	for _, at := range l.Nodes {
		if at.GPUs != l.Nodes[0].GPUs && (l.Executor == "own" || l.Engine == "sglang") {
			return fmt.Errorf("%s would have %d ranks and %s %d: without Ray every node must have as many; --executor ray, or another --tp and --pp", l.Nodes[0].Node, l.Nodes[0].GPUs, at.Node, at.GPUs)
		}
	}
	return nil
}

// secrets names the variables that nobody may see.
func (l *Launch) secrets(o *Order) {
	if o.Token {
		l.Secrets = append(l.Secrets, "HF_TOKEN")
	}
	if o.Key {
		name := "VLLM_API_KEY"
		if o.Engine == "llamacpp-rpc" {
			name = "LLAMA_API_KEY"
		}
		l.Secrets = append(l.Secrets, name)
		l.KeyFile = l.Folder + "/key"
	}
}

// listen decides where clients ask: by itself weft opens a model to others only with a key.
func (l *Launch) listen(o *Order) {
	addr := o.Listen
	if !addr.IsValid() {
		addr = netip.MustParseAddr("127.0.0.1")
		if o.Key {
			addr, _ = netip.ParseAddr(l.Nodes[0].Addr)
		} else {
			l.Says = append(l.Says, fmt.Sprintf("clients ask on %s itself (127.0.0.1:%d): without a key it is open to nobody else; --api-key-file opens it, or ssh -L %d:127.0.0.1:%d %s", l.Nodes[0].Node, o.Port, o.Port, o.Port, l.Nodes[0].Node))
		}
	} else if !o.Key && !addr.IsLoopback() {
		l.Says = append(l.Says, fmt.Sprintf("%s is open to everybody who reaches it: --api-key-file asks for a key", netip.AddrPortFrom(addr, uint16(o.Port))))
	}
	l.Addr = netip.AddrPortFrom(addr, uint16(o.Port)).String()
}

// Asks is where weft itself asks, on the head: a wildcard address is asked by loopback.
func (l *Launch) Asks() string {
	ap, err := netip.ParseAddrPort(l.Addr)
	if err == nil && ap.Addr().IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", ap.Port())
	}
	return l.Addr
}
