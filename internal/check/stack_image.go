package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/fact"
)

var stackImage = Check{
	ID:    "stack.image",
	Title: "An image of one name is the same image on every node",
	Judge: func(c *Case) (out []Finding) {
		groups := map[string][]*fact.Node{} // by architecture: the same image has other bytes on another
		some := false
		for _, n := range c.Up() {
			switch {
			case len(n.Host.Containers) == 0:
			case !n.Settings.ImagesRead:
				out = append(out, Finding{Subject: node(n), Status: Unknown, Why: "the container images were not read",
					Fix: []string{"let " + n.Host.User + " ask " + n.Host.Containers[0] + ", or run weft as root on " + n.Name}})
			default:
				groups[n.Host.Arch] = append(groups[n.Host.Arch], n)
				some = some || len(n.Settings.Images) > 0
			}
		}
		for _, arch := range slices.Sorted(maps.Keys(groups)) {
			if some && len(groups[arch]) > 1 {
				out = append(out, judgeImages(groups[arch])...)
			}
		}
		if len(out) == 0 {
			return skip("no two nodes of one architecture have container images")
		}
		return out
	},
}

// imageWords mark images that a job needs on every node; another image may be one
// node's own business.
var imageWords = []string{"vllm", "sglang", "tensorrt", "trtllm", "pytorch", "ray", "llama", "nccl", "rocm", "cuda", "strix", "nemo", "megatron"}

func judgeImages(nodes []*fact.Node) (out []Finding) {
	type at struct {
		node   *fact.Node
		digest string
	}
	images := map[string][]at{}
	for _, n := range nodes {
		for _, i := range n.Settings.Images {
			if i.Digest != "" && !strings.Contains(i.Name, "<none>") {
				images[i.Name] = append(images[i.Name], at{n, i.Digest})
			}
		}
	}
	odd := map[*fact.Node]bool{}
	report := func(n *fact.Node, image string, f Finding) {
		odd[n] = true
		f.Subject = Subject{n.Name, image}
		f.Fix = []string{n.Host.Containers[0] + " pull " + image}
		out = append(out, f)
	}
	for _, image := range slices.Sorted(maps.Keys(images)) {
		have := images[image]
		usual, _ := Usual(have, func(a at) string { return a.digest })
		on := map[*fact.Node]bool{}
		for _, a := range have {
			on[a.node] = true
			if a.digest != usual {
				report(a.node, image, Finding{Status: Fail, Got: imageDigest(a.digest), Want: imageDigest(usual),
					Why: "one name stands for two images, so ranks run different code"})
			}
		}
		job := slices.ContainsFunc(imageWords, func(w string) bool { return strings.Contains(image, w) })
		if len(on) == len(nodes) || !job && len(on)*2 <= len(nodes) {
			continue
		}
		for _, n := range nodes {
			if !on[n] {
				report(n, image, Finding{Status: Warn, Got: "not here", Want: imageDigest(usual),
					Why: fmt.Sprintf("%d of %d nodes have it, so a job on all of them waits here for the download or fails", len(on), len(nodes))})
			}
		}
	}
	for _, n := range nodes {
		if !odd[n] {
			out = append(out, Finding{Subject: node(n)})
		}
	}
	return out
}

// imageDigest is enough of a digest to tell two apart, as docker prints it.
func imageDigest(d string) string {
	_, hex, ok := strings.Cut(d, ":")
	if !ok {
		hex = d
	}
	return hex[:min(len(hex), 12)]
}
