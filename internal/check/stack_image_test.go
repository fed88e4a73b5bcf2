package check

import (
	"testing"

	"weft/internal/fact"
)

func TestStackImage(t *testing.T) {
	add := func(n *fact.Node, name, digest string) {
		n.Settings.Images = append(n.Settings.Images, fact.Image{Name: name, Digest: digest})
	}
	judge(t, stackImage, []row{
		{name: "same", want: "n1 pass"},
		{name: "another digest", do: func(c *Case) { c.Nodes[1].Settings.Images[0].Digest = "sha256:bb00112233445566" },
			want: "n2 vllm/vllm-openai:v0.11.0 fail: bb0011223344, want aa: one name stands for two images, so ranks run different code", fix: "docker pull vllm/vllm-openai:v0.11.0"},
		{name: "missing", do: func(c *Case) { c.Nodes[1].Settings.Images = nil },
			want: "n2 vllm/vllm-openai:v0.11.0 warn: not here, want aa: 1 of 2 nodes have it, so a job on all of them waits here for the download or fails"},
		{name: "one node's own business", do: func(c *Case) { add(c.Nodes[0], "postgres:17", "sha256:cc") }, want: "n2 pass", not: "postgres"},
		{name: "most have it", do: func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(1))
			c.Nodes[2].Name = "n3"
			add(c.Nodes[0], "lab/train:4", "sha256:cc")
			add(c.Nodes[1], "lab/train:4", "sha256:cc")
		}, want: "n3 lab/train:4 warn: not here, want cc: 2 of 3 nodes have it, so a job on all of them waits here for the download or fails"},
		{name: "another architecture", do: func(c *Case) {
			c.Nodes[1].Host.Arch = "aarch64"
			c.Nodes[1].Settings.Images[0].Digest = "sha256:bb"
		}, want: "cluster skip: no two nodes of one architecture have container images"},
		{name: "untagged", do: func(c *Case) {
			add(c.Nodes[0], "vllm/<none>:<none>", "sha256:cc")
			add(c.Nodes[1], "vllm/<none>:<none>", "sha256:dd")
		}, want: "n2 pass"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Settings.ImagesRead = false },
			want: "n2 unknown: the container images were not read"},
		{name: "no runtime", do: func(c *Case) { c.Nodes[0].Host.Containers, c.Nodes[1].Host.Containers = nil, nil },
			want: "cluster skip: no two nodes of one architecture have container images"},
	})
}
