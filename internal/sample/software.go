package sample

import (
	"fmt"
	"slices"
	"strings"
)

// Zone is a zone of firewalld.
type Zone struct {
	Name       string
	Target     string // "default", "ACCEPT"
	Interfaces []string
	Services   []string
}

// Firewalld gives the machine the firewall of its distribution, with the named
// interfaces trusted and the rest in the default zone.
func (m *Machine) Firewalld(trusted ...string) {
	var rest []string
	for _, d := range m.Net {
		if !slices.Contains(trusted, d.Name) {
			rest = append(rest, d.Name)
		}
	}
	m.Zones = []Zone{{m.OS.Zone, "default", rest, []string{"cockpit", "dhcpv6-client", "ssh"}}, {"trusted", "ACCEPT", trusted, nil}}
}

func (m *Machine) writeFirewall(w writer) {
	if len(m.Zones) == 0 {
		if m.debian() {
			w.cmd("ufw status verbose", "Status: inactive\n")
		}
		w.cmd("nft -j list ruleset", `{"nftables": [{"metainfo": {"version": "1.0.9", "release_name": "Old Doc Yak #3", "json_schema_version": 1}}]}`+"\n")
		return
	}
	var zones []string
	for i, z := range m.Zones {
		flags := ""
		switch {
		case i == 0:
			flags = " (default, active)"
		case len(z.Interfaces) > 0:
			flags = " (active)"
		}
		zones = append(zones, fmt.Sprintf("%s%s\n  target: %s\n  icmp-block-inversion: no\n  interfaces: %s\n  sources: \n  services: %s\n  ports: \n  protocols: \n  forward: yes\n  masquerade: no\n  forward-ports: \n  source-ports: \n  icmp-blocks: \n  rich rules: \n",
			z.Name, flags, z.Target, strings.Join(z.Interfaces, " "), strings.Join(z.Services, " ")))
	}
	w.cmd("firewall-cmd --list-all-zones", strings.Join(zones, "\n"))
}

// Env is a variable and the file that sets it.
type Env struct{ File, Name, Value string }

// Export has a file set variables, given as NAME=VALUE.
func (m *Machine) Export(file string, vars ...string) {
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		m.Env = append(m.Env, Env{file, name, value})
	}
}

// Image is a container image.
type Image struct{ Name, Tag, Digest string }

func (m *Machine) writeSoftware(w writer) {
	var env strings.Builder
	for _, e := range m.Env {
		fmt.Fprintf(&env, "%s:%s=%s\n", e.File, e.Name, e.Value)
	}
	w.cmd("nccl environment", env.String())
	if len(m.Libs) > 0 {
		w.cmd("nccl libraries", strings.Join(m.Libs, "\n")+"\n")
	}
	if slices.Contains(m.Runtimes, "podman") {
		w.cmd("podman images --format json", m.podmanImages())
	}
	if slices.Contains(m.Runtimes, "docker") {
		w.cmd("docker images", m.dockerImages())
	}
	if len(m.CDI) > 0 {
		w.cmd("cdi", "kind: "+strings.Join(m.CDI, "\nkind: ")+"\n")
	}
	if len(m.Dmesg) > 0 {
		w.cmd("dmesg", strings.Join(m.Dmesg, "\n")+"\n")
	}
}

func (m *Machine) podmanImages() string {
	list := []map[string]any{}
	for _, i := range m.Images {
		list = append(list, map[string]any{"Id": i.Digest[7:], "Names": []string{i.Name + ":" + i.Tag}, "Digest": i.Digest, "Size": 14_200_000_000, "Created": Now.Unix() - 86400})
	}
	return jsonLine(list)
}

func (m *Machine) dockerImages() string {
	var b strings.Builder
	for _, i := range m.Images {
		b.WriteString(jsonLine(map[string]string{"ID": i.Digest[7:19], "Repository": i.Name, "Tag": i.Tag, "Digest": i.Digest, "CreatedAt": "2026-11-01 09:00:00 +0000 UTC", "Size": "14.2GB"}))
	}
	return b.String()
}
