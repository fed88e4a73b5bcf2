package lab

import (
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Need is a program that the lab runs, the Debian package that has it, and why.
type Need struct{ Program, Package, Why string }

// Needs lists what the lab runs.
var Needs = []Need{
	{"qemu-system-x86_64", "qemu-system-x86", "runs the machines"},
	{"qemu-img", "qemu-utils", "gives each machine its own disk"},
	{"mmdebstrap", "mmdebstrap", "builds the machines' image from Debian packages"},
	{"mkfs.ext4", "e2fsprogs", "makes the image's file system"},
	{"xz", "xz-utils", "unpacks the kernel"},
	{"ssh", "openssh-client", "reaches the machines"},
	{"ssh-keygen", "openssh-client", "makes the lab's keys"},
	{"gcc", "gcc", "builds siw, which Debian's kernel leaves out (fault iwarp)"},
	{"make", "make", "builds siw"},
}

// needUser is what building an image needs besides where one is not root.
var needUser = Need{"newuidmap", "uidmap", "gives the image's files their owners"}

// Missing returns what has to be installed before the lab can be used.
func Missing() (pkgs []string) {
	all := Needs
	if os.Geteuid() != 0 {
		all = append(all[:len(all):len(all)], needUser)
	}
	for _, n := range all {
		if !installed(n.Program) && !slices.Contains(pkgs, n.Package) {
			pkgs = append(pkgs, n.Package)
		}
	}
	return pkgs
}

// installed looks where root's programs are too, which are not in everyone's PATH.
func installed(program string) bool {
	if _, err := osexec.LookPath(program); err == nil {
		return true
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return true
		}
	}
	return false
}

// ready says why the lab cannot be used on this machine, if it cannot.
func ready() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return stop("", "the lab runs on x86-64 Linux; this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if _, err := suite(); err != nil {
		return err
	}
	if pkgs := Missing(); len(pkgs) > 0 {
		return stop("weft lab setup", "the lab needs packages that are not installed: %s", strings.Join(pkgs, " "))
	}
	return nil
}

// suite is the Debian release of this machine, which the lab's machines run too.
func suite() (string, error) {
	b, err := os.ReadFile("/etc/os-release")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	release := map[string]string{}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		release[key] = strings.Trim(value, `"`)
	}
	if release["ID"] != "debian" || release["VERSION_CODENAME"] == "" {
		return "", stop("", "the lab's machines are built with Debian's apt and packages, so it runs on Debian; this is %q", release["PRETTY_NAME"])
	}
	return release["VERSION_CODENAME"], nil
}
