package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

// Part is one thing that runs on a node: a Ray node, an engine, an RPC server.
type Part struct {
	Name      string   `json:"name"` // of the unit without ".service", and of the container
	Role      string   `json:"role"` // "Ray head", "Ray worker", "engine", "rank 1", "RPC server"
	Unit      string   `json:"unit,omitempty"`
	Container string   `json:"container,omitempty"` // the container that it runs in
	Inside    bool     `json:"inside,omitempty"`    // it is started inside the container of another part
	Command   []string `json:"command"`

	Start  string `json:"start"` // what is run on the node, exactly
	Stop   string `json:"stop"`
	State  string `json:"state"`  // prints KEY=VALUE lines, as systemctl show does
	Log    string `json:"log"`    // follows what it says: {since} is a cursor or a line number
	Remove string `json:"remove"` // what systemd or the runtime keeps of it
}

// node writes out what node i gets.
func (l *Launch) node(c *check.Case, o *Order, i int, n *fact.Node) {
	at := &l.Nodes[i]
	at.shared = slices.ContainsFunc(n.GPUs, oneMemory)
	at.Env = l.env(c, o, i, n)
	at.Files = append(at.Files, File{Path: l.Folder + "/env", Mode: 0o600, Text: envFile(at.Env, o.Bare != "")})
	if len(l.Secrets) > 0 {
		at.Files = append(at.Files, File{Path: l.Folder + "/secret.env", Mode: 0o600, Secret: true})
	}
	if l.KeyFile != "" && i == 0 {
		at.Files = append(at.Files, File{Path: l.KeyFile, Mode: 0o600, Secret: true})
	}
	if l.Executor == "ray" {
		// vLLM gives the head's NCCL_ and UCX_ variables to all workers, whose ports may
		// have other names; what this file lists stays as each node has it.
		at.Files = append(at.Files, File{Path: l.Folder + "/vllm/ray_non_carry_over_env_vars.json", Mode: 0o644, Text: ownVars(at.Env)})
	}
	for _, p := range l.programs(o, i) {
		l.part(o, at, n, p)
	}
}

// ownVars lists the variables that belong to a node alone.
func ownVars(env []Var) string {
	names := []string{}
	for _, v := range env {
		if strings.HasPrefix(v.Name, "NCCL_") || strings.HasPrefix(v.Name, "UCX_") || v.Name == "GLOO_SOCKET_IFNAME" || v.Name == "TP_SOCKET_IFNAME" {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	b, _ := json.Marshal(names) // strings alone cannot fail
	return string(b) + "\n"
}

// env is what weft env writes, without what the launch says otherwise, and what engines
// need beside it.
func (l *Launch) env(c *check.Case, o *Order, i int, n *fact.Node) (out []Var) {
	for _, v := range Env(c, n) {
		switch {
		case v.Name == "RAY_ADDRESS" || v.Name == "VLLM_HOST_IP": // below: the head of this launch need not be the cluster's first node
		case strings.HasPrefix(v.Name, "OMPI_"): // no MPI here
		case l.onData && strings.HasSuffix(v.Name, "_SOCKET_IFNAME"):
			equals := strings.HasPrefix(v.Value, "=")
			v.Value, v.Why = l.Nodes[i].netdev, "ranks meet over the data network"
			if equals {
				v.Value = "=" + v.Value
			}
			out = append(out, v)
		default:
			out = append(out, v)
		}
	}
	add := func(name, value, why string) { out = append(out, Var{name, value, why}) }
	if o.Engine == "vllm" {
		add("VLLM_HOST_IP", l.Nodes[i].Addr, "the address that Ray and the other ranks know this node by")
	}
	if l.Executor == "ray" {
		add("VLLM_CONFIG_ROOT", l.configRoot(), "holds the list of variables that the head must not give to this node")
		add("VLLM_NO_USAGE_STATS", "1", "vLLM would write about its use into that folder, which is not its own, and send it")
		add("RAY_DEDUP_LOGS", "0", "every rank's words are kept: weft reads them")
		if l.Nodes[i].shared {
			add("RAY_memory_monitor_refresh_ms", "0", "GPU and processor share one memory here, and Ray would kill the engine for filling it")
		}
	}
	if slices.ContainsFunc(n.GPUs, func(g *fact.GPU) bool { return g.Arch == "gfx1151" }) && len(l.Nodes) > 1 && !l.Fit.Eager && o.Engine != "llamacpp-rpc" {
		add("NCCL_GRAPH_MIXING_SUPPORT", "1", "HIP graphs deadlock here when collectives of graphs and others alternate")
		add("NCCL_LAUNCH_MODE", "GROUP", "the same")
	}
	if k := l.Nodes[i].GPUs; len(n.GPUs) > k {
		name := "CUDA_VISIBLE_DEVICES"
		if vendor(n) == "AMD" {
			name = "HIP_VISIBLE_DEVICES"
		}
		var ids []string
		for _, g := range n.GPUs {
			if len(ids) < k && g.Vendor == vendor(n) {
				ids = append(ids, fmt.Sprint(g.Index))
			}
		}
		add(name, strings.Join(ids, ","), fmt.Sprintf("%d of its %d GPUs are used", k, len(n.GPUs)))
	}
	if o.Cache != "" {
		add("HF_HOME", l.cacheInside(o), "where models are downloaded to; it stays when the rest is removed")
	}
	return out
}

// oneMemory reports whether a GPU shares its memory with the processor.
func oneMemory(g *fact.GPU) bool {
	return strings.Contains(g.Name, "GB10") || g.Arch == "gfx1151" || strings.Contains(g.Name, "Thor")
}

// configRoot is where vLLM looks for its configuration: inside the container, or here.
func (l *Launch) configRoot() string {
	if l.Bare != "" {
		return l.Folder + "/vllm"
	}
	return "/etc/weft/vllm"
}

func (l *Launch) cacheInside(o *Order) string {
	if l.Bare != "" {
		return o.Cache
	}
	return "/root/.cache/huggingface"
}

// envFile writes variables: as podman and docker read --env-file (bytes as they are), or as
// systemd reads EnvironmentFile= (quoted).
func envFile(env []Var, systemd bool) string {
	var b strings.Builder
	for _, v := range env {
		value := v.Value
		if systemd {
			value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`).Replace(value) + `"`
		}
		fmt.Fprintf(&b, "# %s\n%s=%s\n", v.Why, v.Name, value)
	}
	return b.String()
}

// SecretFile is the text of secret.env for values by name.
func (l *Launch) SecretFile(values map[string]string) string {
	var env []Var
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, Var{name, values[name], "kept out of sight by weft"})
	}
	return envFile(env, l.Bare != "")
}

// program is a part before it is wrapped: what runs, and in which container.
type program struct {
	name, role string
	inside     string // runs inside this container
	command    []string
	after      string // another part of the node that must run
	port       int    // that it listens on
	portFor    string
	env        []Var // beside the node's
}

// programs are what node i runs.
func (l *Launch) programs(o *Order, i int) []program {
	unit := "weft-serve-" + l.Name
	switch {
	case l.Executor == "ray":
		return l.ray(o, i, unit)
	case o.Engine == "vllm":
		return l.vllmOwn(o, i, unit)
	case o.Engine == "sglang":
		return l.sglang(o, i, unit)
	}
	return l.llama(o, i, unit)
}

func (l *Launch) ray(o *Order, i int, unit string) []program {
	at := l.Nodes[i]
	start := []string{"ray", "start", "--block", "--disable-usage-stats", "--node-ip-address=" + at.Addr, fmt.Sprintf("--num-gpus=%d", at.GPUs)}
	if at.shared {
		// Ray would keep 30 % of the memory for objects, of which vLLM has none.
		start = append(start, "--object-store-memory=1000000000")
	}
	if i > 0 {
		return []program{{name: unit + "-ray", role: "Ray worker", command: append(start, fmt.Sprintf("--address=%s:%d", l.Nodes[0].Addr, rayPort))}}
	}
	head := program{name: unit + "-ray", role: "Ray head", command: append(start, "--head", fmt.Sprintf("--port=%d", rayPort), "--include-dashboard=false"), port: rayPort, portFor: "Ray"}
	engine := program{name: unit, role: "engine", inside: head.name, command: l.vllm(o), after: head.name, port: o.Port, portFor: "clients"}
	engine.env = []Var{{"RAY_ADDRESS", fmt.Sprintf("%s:%d", at.Addr, rayPort), ""}} // ray start --head must not see it
	return []program{head, engine}
}

// vllm is the serve command of the head.
func (l *Launch) vllm(o *Order) []string {
	host, port := hostPort(l.Addr)
	cmd := []string{"vllm", "serve", o.Model, "--host", host, "--port", port}
	if l.Served != l.Model {
		cmd = append(cmd, "--served-model-name", l.Served)
	}
	cmd = append(cmd, "--tensor-parallel-size", fmt.Sprint(l.Fit.TP), "--pipeline-parallel-size", fmt.Sprint(l.Fit.PP))
	if l.Executor == "ray" {
		cmd = append(cmd, "--distributed-executor-backend", "ray")
	}
	cmd = append(cmd, "--max-model-len", fmt.Sprint(l.Fit.Context))
	if l.Fit.Seqs > 0 {
		cmd = append(cmd, "--max-num-seqs", fmt.Sprint(l.Fit.Seqs))
	}
	if l.Fit.Part > 0 {
		cmd = append(cmd, "--gpu-memory-utilization", fmt.Sprintf("%.2f", l.Fit.Part))
	}
	if l.half {
		cmd = append(cmd, "--dtype", "half")
	}
	if o.KV == "fp8" {
		cmd = append(cmd, "--kv-cache-dtype", "fp8")
	}
	if l.Fit.Eager {
		cmd = append(cmd, "--enforce-eager")
	}
	return append(cmd, o.More...)
}

func hostPort(addr string) (host, port string) {
	i := strings.LastIndexByte(addr, ':')
	return strings.Trim(addr[:i], "[]"), addr[i+1:]
}

func (l *Launch) vllmOwn(o *Order, i int, unit string) []program {
	p := program{name: unit, role: "engine", command: l.vllm(o), port: o.Port, portFor: "clients"}
	if len(l.Nodes) > 1 {
		p.command = append(p.command, "--nnodes", fmt.Sprint(len(l.Nodes)), "--node-rank", fmt.Sprint(i), "--master-addr", l.Nodes[0].Addr, "--master-port", fmt.Sprint(masterPort))
		if i == 0 {
			l.Ports = append(l.Ports, PortUse{l.Nodes[0].Node, masterPort, "the ranks to meet"})
			l.Says = append(l.Says, "vLLM's own executor joins nodes since vLLM 0.12: an older image ends at --nnodes")
		}
		if i > 0 {
			p.role, p.port = fmt.Sprintf("rank %d", i), 0
			p.command = append(p.command, "--headless")
		}
	}
	return []program{p}
}

func (l *Launch) sglang(o *Order, i int, unit string) []program {
	host, port := hostPort(l.Addr)
	cmd := []string{"python3", "-m", "sglang.launch_server", "--model-path", o.Model, "--host", host, "--port", port, "--served-model-name", l.Served,
		"--tp-size", fmt.Sprint(l.Fit.TP), "--pp-size", fmt.Sprint(l.Fit.PP), "--context-length", fmt.Sprint(l.Fit.Context)}
	if l.Fit.Seqs > 0 {
		cmd = append(cmd, "--max-running-requests", fmt.Sprint(l.Fit.Seqs))
	}
	if l.Fit.Part > 0 {
		// SGLang counts weights and KV cache alone here, vLLM everything that it takes.
		cmd = append(cmd, "--mem-fraction-static", fmt.Sprintf("%.2f", l.Fit.Part-0.05))
	}
	if l.half {
		cmd = append(cmd, "--dtype", "half")
	}
	if o.KV == "fp8" {
		cmd = append(cmd, "--kv-cache-dtype", "fp8_e4m3")
	}
	if l.Fit.Eager {
		cmd = append(cmd, "--disable-cuda-graph")
	}
	p := program{name: unit, role: "engine", port: o.Port, portFor: "clients"}
	if len(l.Nodes) > 1 {
		if i == 0 {
			l.Ports = append(l.Ports, PortUse{l.Nodes[0].Node, distPort, "the ranks to meet"})
		}
		cmd = append(cmd, "--nnodes", fmt.Sprint(len(l.Nodes)), "--node-rank", fmt.Sprint(i), "--dist-init-addr", fmt.Sprintf("%s:%d", l.Nodes[0].Addr, distPort))
		if i > 0 {
			p.role, p.port = fmt.Sprintf("rank %d", i), 0
		}
	}
	p.command = append(cmd, o.More...)
	return []program{p}
}

// llama is llama.cpp: RPC servers on the other nodes, the layers handed on between them.
// RPC is open to whoever reaches it, so it listens on the one address that the head asks.
func (l *Launch) llama(o *Order, i int, unit string) []program {
	if i > 0 {
		cmd := []string{"rpc-server", "-H", l.Nodes[i].Addr, "-p", fmt.Sprint(rpcPort), "-c"}
		return []program{{name: unit + "-rpc", role: "RPC server", command: cmd, port: rpcPort, portFor: "llama.cpp RPC"}}
	}
	host, port := hostPort(l.Addr)
	cmd := []string{"llama-server", "--host", host, "--port", port, "--alias", l.Served}
	if strings.HasSuffix(o.Model, ".gguf") || strings.HasPrefix(o.Model, "/") {
		cmd = append(cmd, "-m", o.Model)
	} else {
		cmd = append(cmd, "-hf", o.Model)
	}
	seqs := max(1, min(l.Fit.Seqs, 8)) // llama-server gives each a slot of its own
	cmd = append(cmd, "-ngl", "999", "-c", fmt.Sprint(l.Fit.Context*seqs), "-np", fmt.Sprint(seqs))
	var peers []string
	for _, n := range l.Nodes[1:] {
		peers = append(peers, fmt.Sprintf("%s:%d", n.Addr, rpcPort))
	}
	if len(peers) > 0 {
		cmd = append(cmd, "--rpc", strings.Join(peers, ","))
	}
	return []program{{name: unit, role: "engine", command: append(cmd, o.More...), port: o.Port, portFor: "clients"}}
}
