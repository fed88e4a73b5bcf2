package ib

import (
	osexec "os/exec"
	"slices"
)

// needs are the programs that a fabric is made of, and their Debian packages.
var needs = []struct{ program, pkg string }{
	{"ibsim", "ibsim-utils"},
	{"opensm", "opensm"},
	{"ibstat", "infiniband-diags"},
	{"sshd", "openssh-server"},
	{"ssh", "openssh-client"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
}

// Missing returns the Debian packages that are lacking.
func Missing() []string {
	var pkgs []string
	for _, n := range needs {
		if find(n.program) == "" {
			pkgs = append(pkgs, n.pkg)
		}
	}
	if preload() == "" && !slices.Contains(pkgs, "ibsim-utils") {
		pkgs = append(pkgs, "libumad2sim0")
	}
	return pkgs
}

// find returns the path of a program, which may be where only root looks.
func find(program string) string {
	for _, dir := range []string{"", "/usr/sbin/", "/sbin/"} {
		if path, err := osexec.LookPath(dir + program); err == nil {
			return path
		}
	}
	return ""
}
