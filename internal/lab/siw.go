package lab

import (
	"context"
	_ "embed"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"

	"weft/internal/lab/own"
)

//go:embed guest/siw.sh
var siwScript string

// iwarp turns the soft RoCE device of rail0 into a soft iWARP one, also after a boot.
func iwarp(ctx context.Context, l Lab, s *State, n *Node, heal bool) error {
	if heal {
		_, err := l.inside(ctx, n.Name, "rdma link delete rdma0 || true; rm -f /etc/lab-siw; systemctl restart lab-rdma@rail0", "")
		return err
	}
	ko, err := l.makeSIW(ctx, s.Net)
	if err != nil {
		return err
	}
	module, err := os.ReadFile(ko)
	if err != nil {
		return err
	}
	script := `set -eu
d=/lib/modules/$(uname -r)/extra; mkdir -p $d; base64 -d > $d/siw.ko; depmod; modprobe siw
rdma link delete rdma0; echo rail0 > /etc/lab-siw; systemctl restart lab-rdma@rail0`
	_, err = l.inside(ctx, n.Name, script, base64.StdEncoding.EncodeToString(module))
	return err
}

// makeSIW builds siw.ko, which Debian's kernel leaves out, for the machines' kernel,
// unless that was done before. Headers and source are unpacked beside it and removed.
func (l Lab) makeSIW(ctx context.Context, net string) (string, error) {
	version, err := os.ReadFile(l.image(net, "version"))
	if err != nil {
		return "", err
	}
	kernel := strings.TrimSpace(string(version))
	name := "siw-" + kernel
	ko := l.image(name, "siw.ko")
	if _, err := os.Stat(ko); err == nil {
		return ko, nil
	}
	defer l.show("building siw for the kernel %s from Debian's source (once)", kernel)()
	ctx, cancel := context.WithTimeoutCause(ctx, imageDeadline, errImageLate)
	defer cancel()
	return ko, l.whole(name, func(dir string) error {
		return foreground(ctx, append(own.Env(l.Dir), "KERNEL="+kernel, "DIR="+dir), filepath.Join(dir, "log"), []string{"sh", "-c", siwScript})
	})
}
