package job

import (
	"fmt"
	"strings"
	"time"
)

// Step is one step of a launch.
type Step struct {
	Do   string `json:"do"`             // "write", "start", "wait", "prove"
	Node string `json:"node,omitempty"` // "" is all
	Part string `json:"part,omitempty"`
	What string `json:"what"`
	Wait *Wait  `json:"wait,omitempty"`
}

// Wait is what is waited for, and how long at most.
type Wait struct {
	For    string        `json:"for"` // "active", "ray", "listen", "health", "model"
	Within time.Duration `json:"within"`
	Port   int           `json:"port,omitempty"`
	Nodes  int           `json:"nodes,omitempty"` // of Ray
	GPUs   int           `json:"gpus,omitempty"`  // of Ray
}

// How long a wait may take. Loading is bounded by the person: see Deadline.
const (
	activeWithin = 2 * time.Minute  // an image is on the node already
	joinWithin   = 3 * time.Minute  // Ray's own patience with a head is a minute; a slow container start beside it
	listenWithin = 2 * time.Minute  //
	loadWithin   = 40 * time.Minute // 400 GB of weights at 200 MB/s are 33 minutes
)

// order is write, start from the head out, wait, and prove.
func (l *Launch) order() {
	step := func(s Step) { l.Order = append(l.Order, s) }
	for i := range l.Nodes {
		step(Step{Do: "write", Node: l.Nodes[i].Node, What: fmt.Sprintf("write %d files", len(l.Nodes[i].Files))})
	}
	start := func(i int, p Part) {
		step(Step{Do: "start", Node: l.Nodes[i].Node, Part: p.Name, What: "start " + the(p.Role)})
		step(Step{Do: "wait", Node: l.Nodes[i].Node, Part: p.Name, What: the(p.Role) + " runs", Wait: &Wait{For: "active", Within: activeWithin}})
	}
	head := l.Nodes[0]
	switch {
	case l.Executor == "ray":
		start(0, head.Parts[0])
		step(Step{Do: "wait", Node: head.Node, Part: head.Parts[0].Name, What: "the Ray head listens", Wait: &Wait{For: "listen", Within: listenWithin, Port: rayPort}})
		gpus := 0
		for i, n := range l.Nodes {
			gpus += n.GPUs
			if i > 0 {
				start(i, n.Parts[0])
			}
		}
		step(Step{Do: "wait", Node: head.Node, Part: head.Parts[0].Name, What: fmt.Sprintf("Ray has %d nodes and %d GPUs", len(l.Nodes), gpus), Wait: &Wait{For: "ray", Within: joinWithin, Nodes: len(l.Nodes), GPUs: gpus}})
		start(0, head.Parts[1])
	case l.Engine == "llamacpp-rpc":
		for i, n := range l.Nodes[1:] {
			start(i+1, n.Parts[0])
			step(Step{Do: "wait", Node: n.Node, Part: n.Parts[0].Name, What: "the RPC server listens", Wait: &Wait{For: "listen", Within: listenWithin, Port: rpcPort}})
		}
		start(0, head.Parts[0])
	default: // ranks find each other; the head last, so that none of its lines is lost on a missing one
		for i := len(l.Nodes) - 1; i >= 0; i-- {
			start(i, l.Nodes[i].Parts[0])
		}
	}
	engine := head.Parts[len(head.Parts)-1]
	step(Step{Do: "wait", Node: head.Node, Part: engine.Name, What: "http://" + l.Asks() + "/health answers", Wait: &Wait{For: "health", Within: loadWithin}})
	step(Step{Do: "wait", Node: head.Node, Part: engine.Name, What: "http://" + l.Asks() + "/v1/models names " + l.Served, Wait: &Wait{For: "model", Within: activeWithin}})
	if len(l.Nodes) > 1 {
		step(Step{Do: "prove", What: "ask for a few tokens, and look in the NCCL log and at the port counters whether RDMA carried them"})
	}
}

// the puts an article before a role, unless it is a number.
func the(role string) string {
	if strings.HasPrefix(role, "rank ") {
		return role
	}
	return "the " + role
}

// Deadline bounds the waits for the model and for Ray's workers by what the person says.
func (l *Launch) Deadline(load, join time.Duration) {
	for i := range l.Order {
		switch w := l.Order[i].Wait; {
		case w == nil:
		case w.For == "health" && load > 0:
			w.Within = load
		case w.For == "ray" && join > 0:
			w.Within = join
		}
	}
}

// Part returns a part by its node and name.
func (l *Launch) Part(node, name string) *Part {
	for i := range l.Nodes {
		if l.Nodes[i].Node != node {
			continue
		}
		for j := range l.Nodes[i].Parts {
			if l.Nodes[i].Parts[j].Name == name {
				return &l.Nodes[i].Parts[j]
			}
		}
	}
	return nil
}

// RayStatus is what asks Ray for its state, on the head.
func (l *Launch) RayStatus() string {
	head := l.Nodes[0].Parts[0]
	ask := fmt.Sprintf("ray status --address=%s:%d", l.Nodes[0].Addr, rayPort)
	switch {
	case l.Executor != "ray":
		return ""
	case l.Bare != "":
		return sudo + "PATH=" + l.Bare + ":$PATH timeout 20 " + ask
	}
	return sudo + "$s timeout 20 " + l.Runtime + " exec " + head.Container + " " + ask
}

// Since fills the place of a log command: where the last look ended, else how long ago the
// part was started. That is told as a distance, because the node's clock may be another.
func (p *Part) Since(cursor string, lines int, ago time.Duration) string {
	since := fmt.Sprintf("--since=-%ds", int(ago.Seconds())+1)
	switch {
	case p.Unit == "":
		since = fmt.Sprint(lines + 1)
	case cursor != "":
		since = "--after-cursor=" + shellWord(cursor)
	}
	return strings.ReplaceAll(p.Log, "{since}", since)
}
