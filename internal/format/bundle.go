package format

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/nodeset"
)

// Bundle makes a dump of files that people have when weft never ran: the outputs of
// commands in a bug report, one file each, or copies of files below /sys, /proc and
// /etc. It says what it left out and what no file can answer.
//
// A file is known by its name (ibstat.txt, ethtool_-i_enp1s0.txt), by the command
// after a shell prompt in it, or by its content. It belongs to the node whose folder
// it lies in, else to the host in its prompt, else to the one host that any prompt
// names, else to "node".
func Bundle(files map[string][]byte) (d *dump.Dump, notes []string) {
	b := bundle{nodes: map[string]*dump.Node{}}
	items := b.items(files)
	stripWrapper(items)
	host := onlyHost(items)
	for _, it := range items {
		b.add(it, host)
	}
	d = &dump.Dump{}
	for _, name := range sortedKeys(b.nodes) {
		n := b.nodes[name]
		sayUnasked(n)
		d.Nodes = append(d.Nodes, n)
	}
	if b.unread > 0 {
		b.note("%d files below /sys, /proc and /etc that weft does not read, left out", b.unread)
	}
	if len(d.Nodes) > 0 {
		d.Note = fmt.Sprintf("from %d files that people gave; weft did not collect them\n", len(files))
	}
	return d, append(b.notes, missing(d)...)
}

type bundle struct {
	nodes  map[string]*dump.Node
	notes  []string
	unread int
}

func (b *bundle) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// item is one file: the folders that may name its node, and what it holds.
type item struct {
	path string
	dirs []string
	tree string // the path on the node, when the file is a copy of that
	base string
	text string
}

func (b *bundle) items(files map[string][]byte) []*item {
	var out []*item
	for _, name := range sortedKeys(files) {
		elems := strings.Split(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"), "/")
		base := elems[len(elems)-1]
		content := files[name]
		switch {
		case base == "" || strings.HasPrefix(base, "._") || base == ".DS_Store":
			continue
		case len(content) > dump.MaxText:
			b.note("%s: more than %d MiB, left out", printable(name), dump.MaxText>>20)
			continue
		}
		it := &item{path: printable(name), dirs: elems[:len(elems)-1], base: base, text: string(content)}
		if i := root(elems); i >= 0 {
			it.dirs, it.tree = elems[:i], "/"+strings.Join(elems[i:], "/")
			if !covered(it.tree) && (elems[i] == "sys" || known(base) == "") {
				b.unread++
				continue
			}
			if !covered(it.tree) {
				it.tree = ""
			}
		}
		if it.tree == "" {
			it.text = strings.ReplaceAll(strings.TrimPrefix(it.text, "\ufeff"), "\r\n", "\n")
			switch {
			case strings.TrimSpace(it.text) == "":
				b.note("%s: empty, left out", it.path)
				continue
			case strings.ContainsRune(it.text, 0) || !utf8.ValidString(it.text):
				b.note("%s: not text, left out", it.path)
				continue
			}
		}
		out = append(out, it)
	}
	return out
}

// root finds where a path on the node starts: sys, proc, etc, opt, usr.
func root(elems []string) int {
	i := slices.IndexFunc(elems, func(e string) bool {
		return e == "sys" || e == "proc" || e == "etc" || e == "opt" || e == "usr"
	})
	if i < 0 || i == len(elems)-1 {
		return -1
	}
	return i
}

// covered reports whether a reader reads the content of a file.
func covered(file string) bool {
	for _, r := range Readers {
		for _, f := range r.Files {
			if !f.Link && f.Covers(file) {
				return true
			}
		}
	}
	return false
}

// topics are folder names that sort files and do not name nodes.
var topics = []string{"cmds", "commands", "sos_commands", "output", "outputs", "out", "log", "logs", "files", "infiniband", "ib", "rdma", "net", "network", "networking", "gpu", "nvidia", "pci", "hardware", "kernel", "system", "var", "run"}

// stripWrapper takes off a first folder that holds the folders of several nodes.
func stripWrapper(items []*item) {
	second := map[string]bool{}
	for _, it := range items {
		if len(it.dirs) < 2 || it.dirs[0] != items[0].dirs[0] || slices.Contains(topics, it.dirs[1]) {
			return
		}
		second[it.dirs[1]] = true
	}
	if len(second) < 2 {
		return
	}
	for _, it := range items {
		it.dirs = it.dirs[1:]
	}
}

// onlyHost returns the one host that the prompts of files without a folder name.
func onlyHost(items []*item) string {
	only := ""
	for _, it := range items {
		if len(it.dirs) > 0 || it.tree != "" {
			continue
		}
		for _, p := range parts(it.text) {
			if p.host != "" && only != "" && p.host != only {
				return ""
			}
			if p.host != "" {
				only = p.host
			}
		}
	}
	return only
}

func (b *bundle) node(names ...string) *dump.Node {
	name := "node"
	for _, n := range names {
		if n = strings.Trim(strings.Map(nameRune, n), "-"); n != "" {
			name = n
			break
		}
	}
	if b.nodes[name] == nil {
		b.nodes[name] = dump.NewNode(name)
	}
	return b.nodes[name]
}

func nameRune(r rune) rune {
	if r < utf8.RuneSelf && nodeset.ValidName(string(r)) {
		return r
	}
	return '-'
}

// add files one item under its node.
func (b *bundle) add(it *item, host string) {
	folder := ""
	if len(it.dirs) > 0 {
		folder = it.dirs[0]
	}
	if it.tree != "" {
		b.put(it, b.node(folder, host), it.tree, it.text)
		return
	}
	if command, ok := strings.CutPrefix(it.base, "$ "); ok {
		b.put(it, b.node(folder, host), "$ "+command, it.text)
		return
	}
	if flat := flattened(it.text); len(flat) > 0 {
		n := b.node(folder, host)
		for _, file := range sortedKeys(flat) {
			b.put(it, n, file, flat[file])
		}
		return
	}
	for _, p := range parts(it.text) {
		key := recognise(p, it.base)
		switch {
		case key == "":
			b.note("%s: not recognised, left out", it.path)
			continue
		case strings.HasPrefix(key, unread):
			b.note("%s: %s: weft takes no fact from it, left out", it.path, strings.TrimPrefix(key, unread))
			continue
		case strings.HasSuffix(key, " "):
			b.note("%s: %sof which interface? name the file %s_DEV.txt", it.path, strings.TrimPrefix(key, "$ "), strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(key), "$ "), " ", "_"))
			continue
		}
		n := b.node(folder, p.host, host)
		if why := refusal(p.text); why != "" && key == strings.TrimSpace(printable(key)) {
			n.Gap[key] = why
			continue
		}
		for k, text := range translate(key, p.text) {
			b.put(it, n, k, text)
		}
	}
}

func (b *bundle) put(it *item, n *dump.Node, key, text string) {
	if key != strings.TrimSpace(printable(key)) {
		b.note("%s: a name that no dump can hold, left out", it.path)
		return
	}
	if old, twice := n.Text[key]; twice && old != text {
		b.note("%s: a second %s of %s, left out; put the files of each node into a folder of its own", it.path, strings.TrimPrefix(key, "$ "), n.Name)
		return
	}
	n.Text[key] = text
}

// refusal returns the one line of a command that could not answer.
func refusal(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# source:") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		return ""
	}
	for _, word := range []string{"command not found", "No such file or directory", "Permission denied", "Operation not permitted", "Operation not supported"} {
		if strings.Contains(lines[0], word) {
			return printable(strings.TrimLeft(lines[0], "- ")) // a line that starts with dashes could pass for a member
		}
	}
	return ""
}

// sayUnasked leaves a gap for every shell line that nobody ran. In a dump that weft
// collected, such a line without an answer ran and found nothing: see answered.
func sayUnasked(n *dump.Node) {
	if n.Text["/proc/modules"] == "" {
		return
	}
	for _, r := range Readers {
		for _, c := range r.Cmds {
			if _, told := n.Text["$ "+c.Run]; c.Sh != "" && !told {
				n.Gap["$ "+c.Run] = "not among the files"
			}
		}
	}
}

// part is what one command in a file printed.
type part struct {
	host, command string
	text          string
}

var (
	// root@spark1:~# ibstat · [root@10 ~]# ibstat · (base) me@host ~ % ibstat
	hostPrompt = regexp.MustCompile(`^(?:\([\w.-]+\) ?)?\[?[\w.-]+@([A-Za-z0-9][\w.-]*)(?:[: ][^#$%❯\n]*)?[#$%❯] *(\S.*)$`)
	// $ ibstat · # ibstat: only before a command that is known, for comments look alike.
	barePrompt = regexp.MustCompile(`^[#$%❯] +(\S.*)$`)
)

// parts cuts a file at its shell prompts.
func parts(text string) []part {
	var out []part
	at := part{}
	var b strings.Builder
	flush := func() {
		at.text = b.String()
		b.Reset()
		if at.command != "" || meaningful(at.text) {
			out = append(out, at)
		}
	}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, " \r\n")
		if m := hostPrompt.FindStringSubmatch(trimmed); m != nil {
			flush()
			at = part{host: m[1], command: m[2]}
			continue
		}
		if m := barePrompt.FindStringSubmatch(trimmed); m != nil && isCommand(shellWords(m[1])) {
			flush()
			at = part{host: at.host, command: m[1]}
			continue
		}
		b.WriteString(line)
	}
	flush()
	return out
}

// meaningful reports whether a text has a line that is not a comment.
func meaningful(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// flattened reads a copy of files in one text: "path<TAB>value" lines, `grep -r .`
// ("path:value") and `head` or `tail` of many files ("==> path <==").
func flattened(text string) map[string]string {
	files := map[string]*strings.Builder{}
	add := func(file, value string) {
		if files[file] == nil {
			files[file] = &strings.Builder{}
		}
		files[file].WriteString(value + "\n")
	}
	head := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if file, ok := strings.CutPrefix(line, "==> "); ok && strings.HasSuffix(file, " <==") {
			head = strings.TrimSuffix(file, " <==")
			continue
		}
		if head != "" {
			add(head, line)
			continue
		}
		if !strings.HasPrefix(line, "/") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				return nil
			}
			continue
		}
		if file, value, ok := strings.Cut(line, "\t"); ok && covered(file) {
			add(file, value)
			continue
		}
		for i := range min(len(line), maxPath) { // a PCI address has colons too
			if line[i] == ':' && covered(line[:i]) {
				add(line[:i], line[i+1:])
				break
			}
		}
	}
	out := map[string]string{}
	for file, b := range files {
		if covered(file) {
			out[file] = strings.TrimRight(b.String(), "\n") + "\n"
		}
	}
	return out
}

// maxPath is longer than any path that a reader asks for.
const maxPath = 256

// missing says what cannot be concluded, in a few general lines.
func missing(d *dump.Dump) []string {
	var out []string
	var facts []*fact.Node
	for _, n := range d.Nodes {
		facts = append(facts, Node(n))
	}
	for _, want := range []struct {
		say  string
		lack func(*fact.Node) bool
	}{
		{"no RDMA port: run ibv_devinfo and rdma link, or weft collect", func(n *fact.Node) bool { return len(n.Ports) == 0 }},
		{"no PCI path: run lspci -vv as root, or weft collect", func(n *fact.Node) bool { return len(n.PCI) == 0 }},
		{"no GID table: run show_gids, or weft collect", func(n *fact.Node) bool {
			return slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return !p.GIDsRead && !p.IB() })
		}},
		{"no address: run ip -j addr, or weft collect", func(n *fact.Node) bool {
			return !slices.ContainsFunc(n.Netdevs, func(v *fact.Netdev) bool { return len(v.Addrs) > 0 })
		}},
	} {
		var nodes []string
		for _, n := range facts {
			if want.lack(n) {
				nodes = append(nodes, n.Name)
			}
		}
		switch {
		case len(nodes) == 0:
		case len(nodes) == len(d.Nodes):
			out = append(out, want.say)
		default:
			out = append(out, strings.Join(nodes, ", ")+": "+want.say)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// printable keeps a file's name from moving the cursor, and short.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s[:min(len(s), 400)])
}
