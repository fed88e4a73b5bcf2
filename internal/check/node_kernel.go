package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
)

var nodeKernel = Check{
	ID:    "node.kernel",
	Title: "Nodes of one kind run one kernel and OS release",
	Judge: func(c *Case) (out []Finding) {
		for _, group := range c.Alike() {
			if len(group) < 2 {
				continue
			}
			kernel := kernelOf(group, func(n *fact.Node) string { return n.Host.Kernel })
			os := kernelOf(group, func(n *fact.Node) string { return n.Host.OS })
			for _, n := range group {
				out = append(out, judgeKernel(n, kernel, os, len(group)))
			}
		}
		if len(out) == 0 {
			return skip("no two nodes are of one kind")
		}
		return out
	},
}

// kernelOf returns what most of a group has. Of two that are equally common it is
// the newer, since that is the one to move to.
func kernelOf(group []*fact.Node, key func(*fact.Node) string) string {
	count := map[string]int{}
	for _, n := range group {
		if v := key(n); v != "" {
			count[v]++
		}
	}
	best := ""
	for _, v := range slices.Sorted(maps.Keys(count)) {
		if count[v] > count[best] || count[v] == count[best] && kernelNewer(v, best) {
			best = v
		}
	}
	return best
}

func judgeKernel(n *fact.Node, kernel, os string, size int) Finding {
	f := Finding{Subject: node(n)}
	h := n.Host
	switch {
	case h.Kernel == "":
		f.Status, f.Why = Unknown, "uname was not read"
	case h.Kernel != kernel:
		f.Status, f.Got, f.Want = Warn, "kernel "+h.Kernel, kernel
		f.Why = fmt.Sprintf("it is the odd one among %d nodes of its kind; drivers behave differently, and a hang on one node stops all", size)
		f.Fix = []string{install(n, kernelDeb(h.Distro, kernel), "kernel-"+kernel), "sudo reboot"}
	case h.OS != os && h.OS != "":
		f.Status, f.Got, f.Want = Warn, h.OS, os
		f.Why = fmt.Sprintf("it is the odd one among %d nodes of its kind; libraries differ between the ends of one job", size)
		f.Fix = []string{"sudo dnf upgrade --refresh && sudo reboot"}
		if h.Debian() {
			f.Fix = []string{"sudo apt update && sudo apt full-upgrade && sudo reboot"}
		}
	default:
		f.Got = h.Kernel
	}
	return f
}

// kernelDeb names the packages of a kernel. Ubuntu keeps some RDMA drivers in a
// package of their own.
func kernelDeb(distro, kernel string) string {
	if distro == "ubuntu" {
		return "linux-image-" + kernel + " linux-modules-extra-" + kernel
	}
	return "linux-image-" + kernel
}

// kernelNewer compares the numbers in two version strings, then the strings, so
// that 6.17 is newer than 6.8.
func kernelNewer(a, b string) bool {
	digits := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	da, db := digits(a), digits(b)
	for i := range min(len(da), len(db)) {
		x, errX := strconv.Atoi(da[i])
		y, errY := strconv.Atoi(db[i])
		if errX == nil && errY == nil && x != y {
			return x > y
		}
	}
	return a > b
}
