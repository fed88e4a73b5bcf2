package format

import (
	"regexp"
	"slices"
	"strings"
)

// unread marks commands that weft knows and takes no fact from.
const unread = "unread "

// maxSniff is how much of a file is looked at to recognise it.
const maxSniff = 64 << 10

// recognise returns the dump key of what a command printed: by the command, by the
// file's name, by the content. "" is unknown; a key that ends in a space lacks its
// interface.
func recognise(p part, base string) string {
	spoken := []string{base}
	if p.command != "" {
		spoken = []string{shellWords(p.command), base}
	}
	head := p.text[:min(len(p.text), maxSniff)]
	found := ""
	for _, s := range spoken {
		if key := keyOf(splitWords(s), head); key != "" {
			found = key
			break
		}
	}
	if found != "" && !strings.HasPrefix(found, unread) && !strings.HasSuffix(found, " ") {
		return found
	}
	for _, s := range sniffs {
		if m := s.re.FindStringSubmatchIndex(head); m != nil {
			command := string(s.re.ExpandString(nil, s.command, head, m))
			if key := keyOf(splitWords(command), head); !strings.HasPrefix(key, unread) || found == "" {
				return key
			}
		}
	}
	return found
}

// known returns the dump key for a file name or a command, "" when it is unknown.
func known(s string) string { return keyOf(splitWords(s), "") }

// isCommand tells a command after a bare prompt from a comment.
func isCommand(s string) bool {
	key := known(s)
	word := splitWords(s).word(0)
	return (strings.HasPrefix(key, "$ ") || strings.HasPrefix(key, unread)) && word != "id" && word != "opensm"
}

// shellWords takes the first command of a shell line, without sudo.
func shellWords(line string) string {
	if i := strings.IndexAny(line, "|;&<>"); i >= 0 {
		line = line[:i]
	}
	f := strings.Fields(line)
	for len(f) > 0 && (f[0] == "sudo" || f[0] == "watch") {
		f = f[1:]
	}
	if len(f) > 1 && f[0] == "cat" {
		return strings.TrimPrefix(f[1], "/")
	}
	if len(f) > 0 {
		f[0] = f[0][strings.LastIndexByte(f[0], '/')+1:]
	}
	return strings.Join(f, " ")
}

// spoken is a file name or command in words: nvidia-smi_-q_-x.xml is nvidia smi q x.
type spoken struct {
	text  string
	words []string
	at    []int // where each word starts in text
}

// endings are what people's shells and editors put behind a name.
var endings = []string{".txt", ".out", ".log", ".json", ".xml", ".csv", ".stdout", ".text", ".md"}

func splitWords(s string) spoken {
	for range 2 {
		for _, e := range endings {
			s = strings.TrimSuffix(s, e)
		}
	}
	out := spoken{text: s}
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], " _-/")
		if n < 0 {
			n = len(s) - i
		}
		word := s[i : i+n]
		// "01-ibstat.txt" is ibstat
		if word != "" && (len(out.words) > 0 || strings.Trim(word, "0123456789.") != "") {
			out.words, out.at = append(out.words, word), append(out.at, i)
		}
		i += n + 1
	}
	return out
}

func (s spoken) word(i int) string {
	if i >= len(s.words) {
		return ""
	}
	return strings.ToLower(s.words[i])
}

func (s spoken) has(word string) bool { return slices.Contains(s.words, word) }

// starts reports whether the words are the first ones.
func (s spoken) starts(words string) bool {
	for i, w := range strings.Fields(words) {
		if s.word(i) != w {
			return false
		}
	}
	return true
}

// device returns the network interface that word i starts: up to 15 bytes without
// a space or slash, as the kernel's dev_valid_name has it.
func (s spoken) device(i int) string {
	if i >= len(s.words) {
		return ""
	}
	dev, _, _ := strings.Cut(s.text[s.at[i]:], " ")
	if len(dev) > 15 || strings.ContainsAny(dev, "/:") {
		return ""
	}
	return dev
}

// plain are the names that lead to one key, longest first.
var plain = []struct{ words, key string }{
	{"ibstatus", "$ ibstatus"},
	{"ibstat", "$ ibstat"},
	{"ibdev2netdev", "$ ibdev2netdev"},
	{"show gids", "$ show_gids"},
	{"ibnetdiscover", "$ ibnetdiscover"},
	{"iblinkinfo", "$ iblinkinfo -l"},
	{"ibqueryerrors", "$ ibqueryerrors"},
	{"sminfo", "$ sminfo"},
	{"saquery smir", "$ saquery SMIR"},
	{"saquery", unread + "saquery"},
	{"perfquery", unread + "perfquery"},
	{"ibportstate", unread + "ibportstate"},
	{"smpquery", unread + "smpquery"},
	{"ibswinfo", unread + "ibswinfo"},
	{"opensm", unread + "opensm's log"},
	{"nmcli", unread + "nmcli"},
	{"rocminfo", unread + "rocminfo"},
	{"ibv devices", unread + "ibv_devices"},
	{"ibhosts", unread + "ibhosts"},
	{"ibswitches", unread + "ibswitches"},
	{"dmesg", "$ dmesg"},
	{"kmsg", "$ dmesg"},
	{"journalctl", "$ dmesg"},
	{"lldpctl", "$ lldpctl -f json"},
	{"lldpcli", "$ lldpctl -f json"},
	{"timedatectl", "$ timedatectl show"},
	{"chronyc", "$ chronyc -c tracking"},
	{"id", "$ id"},
	{"dkms", "$ dkms status"},
	{"ofed info", "$ ofed_info -s"},
	{"ufw", "$ ufw status verbose"},
	{"firewall cmd", "$ firewall-cmd --list-all-zones"},
	{"nft", "$ nft -j list ruleset"},
	{"podman images", "$ podman images --format json"},
	{"docker images", "$ docker images"},
	{"ifconfig", "$ ifconfig"},
	{"uname", "$ uname"},
	{"lsmod", "$ lsmod"},
	{"hostname", "/proc/sys/kernel/hostname"},
	{"amd smi", "$ amd-smi static --json"},
	{"rocm smi", "$ rocm-smi -a --json"},
	{"os release", "/etc/os-release"},
	{"etc os release", "/etc/os-release"},
	{"limits.conf", "/etc/security/limits.conf"},
	{"limits", "/proc/self/limits"},
	{"proc limits", "/proc/self/limits"},
	{"proc self limits", "/proc/self/limits"},
	{"proc modules", "/proc/modules"},
	{"meminfo", "/proc/meminfo"},
	{"proc meminfo", "/proc/meminfo"},
	{"cmdline", "/proc/cmdline"},
	{"proc cmdline", "/proc/cmdline"},
	{"rdma.conf", "/etc/rdma/rdma.conf"},
	{"etc rdma", "/etc/rdma/rdma.conf"},
	{"proc driver nvidia version", "/proc/driver/nvidia/version"},
}

// keyOf turns words into a dump key. Tools with many forms look at the content too.
func keyOf(s spoken, text string) string {
	switch {
	case s.starts("ip"):
		return ipKey(s, text)
	case s.starts("rdma"):
		if s.has("link") {
			return "$ rdma " + jsonFlag(text) + "link"
		}
		return unread + "rdma " + s.word(1)
	case s.starts("dcb"):
		return dcbKey(s)
	case s.starts("ethtool"):
		return ethtoolKey(s, text)
	case s.starts("mlnx qos"):
		return "$ mlnx_qos -i " + s.device(after(s, "i", 2))
	case s.starts("nvidia smi"):
		return nvidiaKey(s, text)
	case s.starts("nvlink"):
		return unread + "nvidia-smi nvlink"
	case s.starts("ibv devinfo"):
		if s.has("v") {
			return "$ ibv_devinfo -v"
		}
		return "$ ibv_devinfo"
	case s.starts("lspci"):
		flags := strings.Trim(s.word(1), "vnkdx")
		if s.word(1) == "" || flags != "" {
			return "$ lspci"
		}
		return "$ lspci -" + s.words[1]
	case s.starts("modinfo"):
		return unread + "modinfo"
	case (s.starts("amd smi") || s.starts("rocm smi")) && text != "" && !strings.Contains(text, `":`):
		return unread + s.word(0) + "-smi as text" // readers know its JSON
	}
	for _, p := range plain {
		if s.starts(p.words) {
			return p.key
		}
	}
	return ""
}

// after returns the place behind the given word, or otherwise.
func after(s spoken, word string, otherwise int) int {
	if i := slices.Index(s.words, word); i >= 0 {
		return i + 1
	}
	return otherwise
}

// jsonFlag is "-j " when the text is JSON, since some tools write either.
func jsonFlag(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if line[0] == '[' || line[0] == '{' {
				return "-j "
			}
			return ""
		}
	}
	return ""
}

// ipKey reads ip's objects, which may be shortened as far as they stay clear.
func ipKey(s spoken, text string) string {
	j := jsonFlag(text)
	for i, w := range s.words[1:] {
		switch w = strings.ToLower(w); {
		case strings.HasPrefix("address", w) && w != "":
			return "$ ip " + j + "addr"
		case strings.HasPrefix("link", w):
			return "$ ip " + j + "link"
		case strings.HasPrefix("neighbour", w) || w == "neighbor":
			return "$ ip " + j + "neigh"
		case strings.HasPrefix("route", w):
			if s.word(i+2) == "get" {
				return ""
			}
			if s.has("6") && j != "" {
				return "$ ip -j -6 route"
			}
			return "$ ip " + j + "route"
		}
	}
	return ""
}

func dcbKey(s spoken) string {
	for _, what := range []string{"pfc", "app"} {
		if s.has(what) {
			return "$ dcb -j " + what + " show dev " + s.device(after(s, "dev", len(s.words)))
		}
	}
	return unread + "dcb " + s.word(1)
}

var ethtoolOf = regexp.MustCompile(`(?m)^(Settings|Pause parameters|[A-Z][A-Za-z ]+) for (\S+):$`)

// ethtoolKey takes the interface from the output where ethtool prints it.
func ethtoolKey(s spoken, text string) string {
	flag, dev := "", s.device(1)
	if i := 1; i < len(s.words) && len(s.words[i]) == 1 {
		flag, dev = s.words[i], s.device(2)
	}
	if m := ethtoolOf.FindStringSubmatch(text); m != nil {
		dev = m[2]
		flag = map[string]string{"Settings": "", "Pause parameters": "a"}[m[1]]
		if m[1] != "Settings" && flag == "" {
			return unread + "ethtool: " + strings.ToLower(m[1])
		}
	}
	switch flag {
	case "":
		return "$ ethtool " + dev
	case "i", "a", "S", "m":
		return "$ ethtool -" + flag + " " + dev
	}
	return unread + "ethtool -" + flag
}

func nvidiaKey(s spoken, text string) string {
	for _, f := range nvidiaForms {
		if f.re.MatchString(text) {
			return f.key
		}
	}
	switch {
	case s.has("topo"):
		return "$ nvidia-smi topo -m"
	case s.has("nvlink") || s.has("L"):
		return unread + "nvidia-smi " + s.words[2]
	case s.has("q") && s.has("x"):
		return "$ nvidia-smi -q -x"
	case s.has("q"):
		return "$ nvidia-smi -q"
	}
	return "$ nvidia-smi"
}

var nvidiaForms = []struct {
	re  *regexp.Regexp
	key string
}{
	{regexp.MustCompile(`<nvidia_smi_log`), "$ nvidia-smi -q -x"},
	{regexp.MustCompile(`NVSMI LOG`), "$ nvidia-smi -q"},
	{regexp.MustCompile(`NVIDIA-SMI \d`), "$ nvidia-smi"},
	{regexp.MustCompile(`(?m)^\s*GPU0\s.*\b(?:OK|CNS|TNS|GNS)\b`), unread + "nvidia-smi topo -p2p"},
	{regexp.MustCompile(`(?m)^\s*GPU0\s+X\s|^\s*GPU0\s.*CPU Affinity`), "$ nvidia-smi topo -m"},
	{regexp.MustCompile(`(?m)^GPU \d+: .*\(UUID: `), unread + "nvidia-smi -L or nvlink"},
	{regexp.MustCompile(`(?m)^(?:index|name|pci\.bus_id|uuid|driver_version|memory\.|utilization\.|power\.|temperature\.)[^,\n]*,`), "$ nvidia-smi --query-gpu --format=csv"},
}

// sniffs recognise a file by what it holds, most telling first.
var sniffs = []struct {
	re      *regexp.Regexp
	command string
}{
	{regexp.MustCompile(`<nvidia_smi_log|NVSMI LOG|NVIDIA-SMI \d`), "nvidia-smi"},
	{regexp.MustCompile(`(?m)^\s*CA '[\w-]+'$`), "ibstat"},
	{regexp.MustCompile(`(?m)^Infiniband device '`), "ibstatus"},
	{regexp.MustCompile(`(?m)^hca_id:`), "ibv_devinfo"},
	{regexp.MustCompile(`(?m)^\S+ port \d+ ==> `), "ibdev2netdev"},
	{regexp.MustCompile(`(?m)^\s*(?:\d+/\d+: |\d+: )?link \S+/\d+[: ].*state `), "rdma link"},
	{regexp.MustCompile(`(?m)^DEV\s+PORT\s+INDEX\s+GID`), "show_gids"},
	{regexp.MustCompile(`(?m)^# Topology file: generated|^(?:CA|SW|RT)\s+\d+\s+\d+\s+0x[0-9a-f]{16}\s`), "ibnetdiscover"},
	{regexp.MustCompile(`==\( +\d+X `), "iblinkinfo"},
	{regexp.MustCompile(`(?m)^Errors for |^## Summary: \d+ nodes checked`), "ibqueryerrors"},
	{regexp.MustCompile(`(?m)^sminfo: sm lid `), "sminfo"},
	{regexp.MustCompile(`(?m)^SMInfoRecord dump`), "saquery SMIR"},
	{regexp.MustCompile(`(?m)^Settings for (\S+):$`), "ethtool"},
	{regexp.MustCompile(`(?m)^Pause parameters for (\S+):$`), "ethtool -a"},
	{regexp.MustCompile(`(?m)^(?:Features|Ring parameters|Coalesce parameters|Private flags|FEC parameters|Channel parameters) for \S+:$`), "ethtool -k"},
	{regexp.MustCompile(`(?m)^NIC statistics:$`), "ethtool -S"},
	{regexp.MustCompile(`(?m)^driver: \S+\n(?:.*\n)*?bus-info:`), "ethtool -i"},
	{regexp.MustCompile(`(?m)^\s*Identifier\s+: 0x[0-9a-f]{2} \(`), "ethtool -m"},
	{regexp.MustCompile(`(?m)^(?:DCBX mode:|Priority trust state:|PFC configuration:)`), "mlnx_qos"},
	{regexp.MustCompile(`"addr_info"`), "ip -j addr"},
	{regexp.MustCompile(`"physical_state"`), "rdma -j link"},
	{regexp.MustCompile(`"lladdr"`), "ip -j neigh"},
	{regexp.MustCompile(`"link_type"`), "ip -j link"},
	{regexp.MustCompile(`"dst":\s*"[^"]+",[^}]*"dev":`), "ip -j route"},
	{regexp.MustCompile(`(?m)^\s*\d+: [^\s:]+: <[A-Z_,-]+> mtu `), "ip addr"},
	{regexp.MustCompile(`(?m)^\S+ dev \S+ lladdr `), "ip neigh"},
	{regexp.MustCompile(`(?m)^default via |^\d[\d.]+/\d+ (?:via|dev) `), "ip route"},
	{regexp.MustCompile(`(?m)^\S+: flags=\d+<|^\S+\s+Link encap:`), "ifconfig"},
	{regexp.MustCompile(`(?m)^\s*GPU0\s+X\s|^\s*GPU0\s.*CPU Affinity`), "nvidia-smi topo"},
	{regexp.MustCompile(`(?m)^GPU \d+: .*\(UUID: `), "nvidia-smi -L"},
	{regexp.MustCompile(`"card\d+": *\{`), "rocm-smi"},
	{regexp.MustCompile(`"gpu_data"|"gpu": *\d+`), "amd-smi"},
	{regexp.MustCompile(`"nftables"`), "nft"},
	{regexp.MustCompile(`"lldp"`), "lldpctl"},
	{regexp.MustCompile(`"Repository":`), "docker images"},
	{regexp.MustCompile(`"RepoTags"|"RepoDigests"`), "podman images"},
	{regexp.MustCompile(`(?m)^PRETTY_NAME=`), "os-release"},
	{regexp.MustCompile(`(?m)^Limit\s+Soft Limit\s+Hard Limit`), "proc limits"},
	{regexp.MustCompile(`(?m)^MemTotal:\s+\d+ kB`), "proc meminfo"},
	{regexp.MustCompile(`(?m)^\w+ \d+ \d+ \S+ (?:Live|Loading|Unloading) 0x`), "proc modules"},
	{regexp.MustCompile(`(?m)^Module\s+Size\s+Used by`), "lsmod"},
	{regexp.MustCompile(`(?m)^BOOT_IMAGE=`), "proc cmdline"},
	{regexp.MustCompile(`(?m)^IPOIB_LOAD=`), "etc rdma"},
	{regexp.MustCompile(`(?m)^NVRM version:`), "proc driver nvidia version"},
	{regexp.MustCompile(`(?m)^uid=\d+\(`), "id"},
	{regexp.MustCompile(`(?m)^Linux \S+ \d+\.\d+\.\S+ #`), "uname -a"},
	{regexp.MustCompile(`(?m)^NTPSynchronized=`), "timedatectl show"},
	{regexp.MustCompile(`(?m)^(?:MLNX_OFED_LINUX|OFED-internal|DOCA)-\S+:$`), "ofed_info"},
	{regexp.MustCompile(`(?m)^Status: (?:in)?active$`), "ufw status"},
	{regexp.MustCompile(`(?m)^\S+(?: \(active\))?\n  target: `), "firewall-cmd"},
	{regexp.MustCompile(`(?m)^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S`), "lspci"},
	{regexp.MustCompile(`(?m)^\[ *\d+\.\d{6}\] |^\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:|\bkernel: |\bNVRM: |\bmlx[45]_core [0-9a-f]{4}:|^RX CRC error \(size=`), "dmesg"},
}

// translate gives what a command printed the keys that readers look up.
func translate(key, text string) map[string]string {
	switch key {
	case "$ uname":
		return uname(text)
	case "$ lsmod":
		return map[string]string{"/proc/modules": procModules(text)}
	}
	return map[string]string{key: text}
}

// uname reads uname -a, uname -r or uname -m.
func uname(text string) map[string]string {
	f := strings.Fields(text)
	out := map[string]string{}
	for i, w := range f {
		switch {
		case w == "x86_64" || w == "aarch64":
			out["$ uname -m"] = w + "\n"
		case len(f) == 1 || i == 2 && f[0] == "Linux":
			out["/proc/sys/kernel/osrelease"] = w + "\n"
		}
	}
	return out
}

// procModules writes lsmod's table the way the kernel does. lsmod lists what is
// loaded and does not tell whether it is still loading.
func procModules(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] == "Module" || strings.Trim(f[1]+f[2], "0123456789") != "" {
			continue
		}
		users := "-"
		if len(f) > 3 {
			users = f[3] + ","
		}
		b.WriteString(f[0] + " " + f[1] + " " + f[2] + " " + users + " Live 0x0\n")
	}
	return b.String()
}
