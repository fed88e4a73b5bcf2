// Package images reads the container images a node holds, as podman and
// docker list them. Pure: bytes in, structs out.
package images

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/format/printed"
)

// An Image is one name of one image. An image with two names is two Images
// with one ID.
type Image struct {
	Name      string // "localhost/vllm", "" for one without a name
	Tag       string // "latest", "" when none
	Digest    string // "sha256:…" of the manifest; "" for an image built here by docker and never pushed
	ID        string // lower-case hex, without "sha256:"; docker cuts it to 12 digits
	Created   time.Time
	SizeBytes *int64
}

// ParsePodman reads `podman images --format json`.
func ParsePodman(b []byte) ([]Image, error) {
	dec := json.NewDecoder(bytes.NewReader(fromBracket(b)))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("podman images: %w", err)
	}
	var all []Image
	for dec.More() {
		var e struct {
			ID      string `json:"Id"`
			Names   []string
			Digest  string
			Size    *int64
			Created int64 // seconds
		}
		if err := dec.Decode(&e); err != nil {
			return all, fmt.Errorf("podman images: image %d: %w", len(all)+1, err)
		}
		img := Image{Digest: digest(e.Digest), ID: strings.TrimPrefix(e.ID, "sha256:"), SizeBytes: e.Size}
		if e.Created > 0 {
			img.Created = time.Unix(e.Created, 0).UTC()
		}
		if len(e.Names) == 0 {
			all = append(all, img)
		}
		for _, ref := range e.Names {
			img.Name, img.Tag = split(ref)
			all = append(all, img)
		}
	}
	if _, err := dec.Token(); err != nil {
		return all, fmt.Errorf("podman images: list ends early: %w", err)
	}
	return all, nil
}

// fromBracket drops comments and warnings before the list.
func fromBracket(b []byte) []byte {
	for rest := b; len(rest) > 0; {
		t := bytes.TrimLeft(rest, " \t\r\n")
		if len(t) > 0 && t[0] == '[' {
			return t
		}
		_, rest, _ = bytes.Cut(t, []byte("\n"))
	}
	return b
}

// ParseDocker reads `docker images --digests --format '{{json .}}'`: one
// object on each line.
func ParseDocker(b []byte) ([]Image, error) {
	var (
		all  []Image
		errs []error
	)
	for n, line := range printed.Lines(b) {
		if line[0] == '#' {
			continue
		}
		var e struct{ ID, Repository, Tag, Digest, CreatedAt, Size string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		img := Image{Name: word(e.Repository), Tag: word(e.Tag), Digest: digest(e.Digest), ID: strings.TrimPrefix(e.ID, "sha256:")}
		if e.CreatedAt != "" {
			var err error
			// Go's own spelling of a time, zone name and all.
			if img.Created, err = time.Parse("2006-01-02 15:04:05 -0700 MST", e.CreatedAt); err != nil {
				errs = append(errs, fmt.Errorf("line %d: %q is not a date", n, e.CreatedAt))
			} else {
				img.Created = img.Created.UTC()
			}
		}
		if size, ok := humanSize(e.Size); ok {
			img.SizeBytes = &size
		} else if e.Size != "" && e.Size != "N/A" {
			errs = append(errs, fmt.Errorf("line %d: %q is not a size", n, e.Size))
		}
		all = append(all, img)
	}
	return all, errors.Join(errs...)
}

// humanSize reads docker's "14.2GB", which counts in thousands and keeps
// three or four digits.
func humanSize(s string) (int64, bool) {
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end <= 0 {
		return 0, false
	}
	unit, ok := map[string]int64{"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[s[end:]]
	f, err := strconv.ParseFloat(s[:end], 64)
	if err != nil || !ok || !(f >= 0 && f < 1e6) {
		return 0, false
	}
	return int64(f*float64(unit) + 0.5), true
}

// split cuts a reference into its name and tag; a port has a colon too.
func split(ref string) (name, tag string) {
	ref, _, _ = strings.Cut(ref, "@")
	i := strings.LastIndexByte(ref, ':')
	if i < 0 || strings.Contains(ref[i:], "/") {
		return word(ref), ""
	}
	return word(ref[:i]), word(ref[i+1:])
}

func word(s string) string {
	if s == "<none>" {
		return ""
	}
	return s
}

func digest(s string) string {
	if !strings.HasPrefix(s, "sha256:") {
		return ""
	}
	return s
}
