package lab

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExtractKernel(t *testing.T) {
	elf := "\x7fELF a made-up kernel " + strings.Repeat("0123456789", 1000)
	const gzipMagic, xzMagic, zstdMagic = "\x1f\x8b\x08", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd"
	for name, c := range map[string]struct{ image, want string }{
		"at once":                     {zipped(t, elf), elf},
		"after garbage, before more":  {"MZ" + strings.Repeat("\x90", 600) + zipped(t, elf) + strings.Repeat("tail", 100), elf},
		"after a false start":         {gzipMagic + "nothing" + gzipMagic + zipped(t, elf), elf},
		"after false starts of all":   {xzMagic + "no" + zstdMagic + "no" + gzipMagic + "no" + zipped(t, elf), elf},
		"after a stream that is none": {zipped(t, "#!/bin/sh\n") + "pad" + zipped(t, elf), elf},
		"none":                        {"MZ" + strings.Repeat("\x90", 600), ""},
		"empty":                       {"", ""},
		"only false starts":           {xzMagic + zstdMagic + gzipMagic, ""},
		"packed, but no kernel":       {zipped(t, "#!/bin/sh\n"), ""},
		"not packed":                  {elf, ""},
	} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")
		if err := os.WriteFile(from, []byte(c.image), 0o600); err != nil {
			t.Fatal(err)
		}
		err := extractKernel(t.Context(), from, to)
		got, _ := os.ReadFile(to)
		switch wrong := from + ": no packed kernel was found in it"; {
		case c.want == "" && (err == nil || err.Error() != wrong):
			t.Errorf("%s: %v, want %s", name, err, wrong)
		case c.want != "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case string(got) != c.want:
			t.Errorf("%s: a kernel of %d bytes, want %d", name, len(got), len(c.want))
		}
	}
	if err := extractKernel(t.Context(), "/nonexistent/vmlinuz", "/nonexistent/vmlinux"); !os.IsNotExist(err) {
		t.Errorf("no image: %v", err)
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
