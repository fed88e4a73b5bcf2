package format

import (
	"path"
	"slices"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/images"
	"weft/internal/format/kmsg"
)

func readSoftware(d *dump.Node, n *fact.Node) {
	s := &n.Settings
	readEnv(d, s)
	if text, ok := answered(d, "nccl libraries"); ok {
		s.LibrariesRead = true
		for line := range strings.Lines(text) {
			if lib, ok := library(strings.TrimSpace(line)); ok {
				s.NCCL = append(s.NCCL, lib)
			}
		}
	}
	readImages(d, n)
	if text, ok := answered(d, "cdi"); ok {
		s.CDIRead = true
		for line := range strings.Lines(text) {
			if kind := strings.Trim(strings.TrimSpace(line), `",`); kind != "" {
				_, v, _ := strings.Cut(kind, ":")
				s.CDI = append(s.CDI, strings.Trim(v, ` "`))
			}
		}
	}
	readKmsg(d, s)
}

// readImages reads the images of every runtime. One that is installed and has none
// prints nothing; one that refused leaves a gap.
func readImages(d *dump.Node, n *fact.Node) {
	s := &n.Settings
	for _, tool := range []struct {
		name, cmd string
		parse     func([]byte) ([]images.Image, error)
	}{{"podman", "podman images --format json", images.ParsePodman}, {"docker", "docker images", images.ParseDocker}} {
		text, ok := d.Cmd(tool.cmd)
		if !ok && slices.Contains(n.Host.Containers, tool.name) {
			_, ok = answered(d, tool.cmd)
		}
		if !ok {
			continue
		}
		s.ImagesRead = true
		some, _ := tool.parse([]byte(text))
		for _, i := range some {
			if i.Name != "" {
				s.Images = append(s.Images, fact.Image{Name: i.Name + ":" + i.Tag, Digest: i.Digest})
			}
		}
	}
}

// answered returns what a command printed. A command that ran and printed nothing
// leaves no member and no gap: then the node must have answered to the end. Not for
// commands that are Quiet: their refusals leave no gap either.
func answered(d *dump.Node, cmd string) (string, bool) {
	text, ok := d.Cmd(cmd)
	return text, ok || d.Gap["$ "+cmd] == "" && d.Text[DateKey] != "" && d.Gap[CutKey] == ""
}

// readEnv reads "FILE:NAME=VALUE" lines.
func readEnv(d *dump.Node, s *fact.Settings) {
	_, s.EnvRead = answered(d, "nccl environment")
	for _, cmd := range []string{"nccl environment", "docker environment", "podman environment"} {
		text, _ := d.Cmd(cmd)
		for line := range strings.Lines(text) {
			where, assign, ok := strings.Cut(strings.TrimSpace(line), ":")
			name, value, ok2 := strings.Cut(assign, "=")
			if !ok || !ok2 {
				continue
			}
			if cmd != "nccl environment" {
				where = "container " + strings.TrimPrefix(where, "/")
			}
			s.Env = append(s.Env, fact.EnvVar{Name: name, Value: strings.Trim(value, `"'`), Where: where})
		}
	}
}

// library reads "/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.3".
func library(file string) (fact.Library, bool) {
	name, version, ok := strings.Cut(path.Base(file), ".so")
	if !ok || name == "" {
		return fact.Library{}, false
	}
	return fact.Library{Name: name, Version: strings.TrimPrefix(version, "."), Path: file}, true
}

// readKmsg counts the known events of the kernel log by kind and device.
func readKmsg(d *dump.Node, s *fact.Settings) {
	text, ok := answered(d, "dmesg")
	if !ok {
		return
	}
	s.KmsgRead = true
	type key struct{ kind, device string }
	at := map[key]int{}
	for _, e := range kmsg.Parse([]byte(text)) {
		k := key{string(e.Kind), e.Device}
		i, seen := at[k]
		if !seen {
			i = len(s.Kmsg)
			at[k] = i
			s.Kmsg = append(s.Kmsg, fact.KmsgEvent{Kind: k.kind, Device: k.device})
		}
		s.Kmsg[i].Text = e.Text
		s.Kmsg[i].Count++
	}
}
