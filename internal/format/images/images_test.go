package images

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const podman = `WARN[0000] "/" is not a shared mount
[
    {
        "Id": "9f2c5b1e0000000000000000000000000000000000000000000000000000abcd",
        "RepoTags": null,
        "Size": 31457280123,
        "Labels": {"a": "b"},
        "Names": ["registry.example:5000/ai/vllm-gfx1151:nightly", "localhost/vllm:latest"],
        "Digest": "sha256:1111",
        "Created": 1760000000,
        "CreatedAt": "2025-10-09T08:53:20Z"
    },
    {"Id": "sha256:77", "Size": 5, "Digest": "sha256:2222", "Created": 1760000000}
]`

func TestParsePodman(t *testing.T) {
	got, err := ParsePodman([]byte(podman))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2025, 10, 9, 8, 53, 20, 0, time.UTC)
	id := "9f2c5b1e0000000000000000000000000000000000000000000000000000abcd"
	want := []Image{
		{"registry.example:5000/ai/vllm-gfx1151", "nightly", "sha256:1111", id, at, new(int64(31457280123))},
		{"localhost/vllm", "latest", "sha256:1111", id, at, new(int64(31457280123))},
		{"", "", "sha256:2222", "77", at, new(int64(5))},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got, err = ParsePodman([]byte(podman[:strings.Index(podman, `{"Id": "sha256:77"`)+9]))
	if len(got) != 2 || err == nil || err.Error() != "podman images: image 3: unexpected EOF" {
		t.Errorf("cut short: %d images, %v", len(got), err)
	}
	if got, err := ParsePodman([]byte("[]\n")); err != nil || got != nil {
		t.Errorf("no images: %v, %v", got, err)
	}
	if _, err := ParsePodman([]byte("bash: podman: command not found")); err == nil || !strings.HasPrefix(err.Error(), "podman images: invalid character") {
		t.Error(err)
	}
}

const docker = `{"Containers":"N/A","CreatedAt":"2026-01-05 18:22:10 +0100 CET","CreatedSince":"3 weeks ago","Digest":"sha256:3333","ID":"4c0a1b2c3d4e","Repository":"vllm/vllm-openai","SharedSize":"N/A","Size":"14.2GB","Tag":"v0.14.0","UniqueSize":"N/A","VirtualSize":"14.2GB"}
{"CreatedAt":"yesterday","Digest":"<none>","ID":"sha256:ab","Repository":"<none>","Size":"812kB","Tag":"<none>"}
not json
`

func TestParseDocker(t *testing.T) {
	got, err := ParseDocker([]byte(docker))
	want := []Image{
		{"vllm/vllm-openai", "v0.14.0", "sha256:3333", "4c0a1b2c3d4e", time.Date(2026, 1, 5, 17, 22, 10, 0, time.UTC), new(int64(14200000000))},
		{"", "", "", "ab", time.Time{}, new(int64(812000))},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "line 2: \"yesterday\" is not a date\nline 3: invalid character") {
		t.Error(err)
	}
}

func TestHumanSize(t *testing.T) {
	for in, want := range map[string]int64{"0B": 0, "1.5MB": 1500000, "2.03TB": 2030000000000, "": -1, "GB": -1, "1GiB": -1, "1.2.3GB": -1, "5": -1} {
		if got, ok := humanSize(in); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, ok, want)
		}
	}
}

func FuzzParsePodman(f *testing.F) {
	f.Add([]byte(podman))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := ParsePodman(b)
		for _, i := range all {
			if i.Digest != "" && !strings.HasPrefix(i.Digest, "sha256:") {
				t.Errorf("digest %q", i.Digest)
			}
		}
	})
}

func FuzzParseDocker(f *testing.F) {
	f.Add([]byte(docker))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := ParseDocker(b)
		for _, i := range all {
			if i.SizeBytes != nil && *i.SizeBytes < 0 {
				t.Errorf("size %d", *i.SizeBytes)
			}
		}
	})
}
