package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/dump"
	"weft/internal/fact"
)

// A runtime without images prints nothing, and so does one that nobody asked.
func TestImages(t *testing.T) {
	const one = `{"Repository":"vllm/vllm-openai","Tag":"v0.11.0","Digest":"sha256:aa","ID":"0123456789ab"}` + "\n"
	vllm := []fact.Image{{Name: "vllm/vllm-openai:v0.11.0", Digest: "sha256:aa"}}
	tests := []struct {
		name     string
		runtimes string
		text     map[string]string
		gap      map[string]string
		read     bool
		want     []fact.Image
	}{
		{name: "docker has one", runtimes: "/usr/bin/docker\n", text: map[string]string{"docker images": one}, read: true, want: vllm},
		{name: "docker has none", runtimes: "/usr/bin/docker\n", read: true},
		{name: "podman has none", runtimes: "/usr/bin/podman\n", read: true},
		{name: "podman says so", runtimes: "/usr/bin/podman\n", text: map[string]string{"podman images --format json": "[]\n"}, read: true},
		{name: "no runtime", read: false},
		{name: "docker refused", runtimes: "/usr/bin/docker\n", gap: map[string]string{"docker images": "permission denied while trying to connect to the docker API"}, read: false},
		{name: "docker refused, podman has none", runtimes: "/usr/bin/podman\n/usr/bin/docker\n", gap: map[string]string{"docker images": "permission denied"}, read: true},
		{name: "the runtimes were not told, docker answered", text: map[string]string{"docker images": one}, read: true, want: vllm},
	}
	for _, tt := range tests {
		d := dump.NewNode("n1")
		d.Text[DateKey] = "1793610000.000000000\n"
		if tt.runtimes != "" {
			d.Text["$ container-runtimes"] = tt.runtimes
		}
		for cmd, text := range tt.text {
			d.Text["$ "+cmd] = text
		}
		for cmd, why := range tt.gap {
			d.Gap["$ "+cmd] = why
		}
		Settle(Readers, d) // a refusal must outlive it
		s := Node(d).Settings
		if s.ImagesRead != tt.read {
			t.Errorf("%s: read is %v, want %v", tt.name, s.ImagesRead, tt.read)
		}
		if d := cmp.Diff(tt.want, s.Images); d != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, d)
		}
	}
	someones := dump.NewNode("n1") // files that people gave: weft asked nothing
	someones.Text["$ container-runtimes"] = "/usr/bin/docker\n"
	if Node(someones).Settings.ImagesRead {
		t.Error("images that nobody asked for count as read")
	}
}
