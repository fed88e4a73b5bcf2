package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
)

// packed are the ways a kernel image holds the kernel: what such a stream starts
// with and what unpacks it (scripts/extract-vmlinux in the kernel's source).
var packed = []struct {
	magic string
	argv  []string
}{
	{"\xfd7zXZ\x00", []string{"xz", "-dc"}},
	{"\x28\xb5\x2f\xfd", []string{"zstd", "-dc"}},
	{"\x1f\x8b\x08", []string{"gzip", "-dc"}},
}

// extractKernel takes the kernel out of a kernel image. QEMU starts it directly (PVH), which
// saves firmware and unpacking under emulation.
func extractKernel(ctx context.Context, from, to string) error {
	image, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	for _, p := range packed {
		for at := 0; ; at++ {
			i := bytes.Index(image[at:], []byte(p.magic))
			if i < 0 {
				break
			}
			at += i
			cmd := osexec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
			cmd.Stdin = bytes.NewReader(image[at:])
			// What follows the stream makes the tool complain; the kernel has been written by then.
			elf, err := cmd.Output()
			switch {
			case bytes.HasPrefix(elf, []byte("\x7fELF")):
				return os.WriteFile(to, elf, 0o600)
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, osexec.ErrNotFound):
				return err
			}
		}
	}
	return fmt.Errorf("%s: no packed kernel was found in it", from)
}
