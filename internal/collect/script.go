package collect

import (
	"fmt"
	"strings"

	"weft/internal/format"
)

// cmdSeconds is how long one command on a node may take. nvidia-smi -q -x on an
// eight-GPU node that just woke up takes several seconds.
const cmdSeconds = 20

// defs are the functions of the script. Both output streams are cut into frames by
// lines that start with the nonce, which no file can know: standard output carries
// contents, standard error the complaints. A file with a secret never leaves the node:
// it gets a complaint like grep's.
const defs = `PATH=$PATH:/usr/sbin:/sbin:/usr/local/bin:/opt/rocm/bin
t='timeout %d'; command -v timeout >/dev/null 2>&1 || t=
frame() { printf '\n%s %%s\n' "$1"; printf '\n%s %%s\n' "$1" >&2; }
run() { k=$1; shift; frame "$ $k"; if command -v "$1" >/dev/null 2>&1; then $t "$@"; else echo "$1: not installed" >&2; false; fi; frame "= $?"; }
run0() { if [ $r = yes ]; then run "$@"; else frame "$ $1"; echo 'needs root, and sudo -n was refused' >&2; frame '= 1'; fi; }
each() { for f; do [ -e "$f" ] && printf '%%s\0' "$f"; done; }
safe() { for f; do [ -f "$f" ] || continue; grep -aqiE -e %s "$f"; case $? in 0) printf 'grep: %%s: %%s\n' "$f" %s >&2;; 1) printf '%%s\0' "$f";; esac; done; }
links() { for f; do [ -L "$f" ] && printf '%%s\0' "$f"; done; }
`

// who finds out whether the script may be root: because it is, or by sudo without a
// question.
const who = `if [ "$(id -u)" = 0 ]; then s= r=yes
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then s='sudo -n' r=yes
else s= r=no; fi
frame clock; date +%s.%N
`

// script writes the one POSIX sh script that asks a node everything. What needs root
// is one script inside it, for one sudo: each would be a line in the node's log, and
// half a second on a slow one.
func script(readers []format.Reader, nonce string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "defs=$(cat <<'%s'\n"+defs+"%s\n)\neval \"$defs\"\n", nonce, cmdSeconds, nonce, nonce, quote(format.SecretLines), quote(format.HoldsSecret), nonce)
	b.WriteString(who)
	// Links first: a device without the link to its driver would look as if it had none,
	// should the connection break between the two.
	b.WriteString("frame links; {\n")
	walk(&b, readers, "links", func(f format.File) bool { return f.Link })
	b.WriteString(":; } | xargs -0 -r sh -c 'find \"$@\" -maxdepth 0 -printf \"%p\\0%l\\n\"' find\n")
	b.WriteString("frame files; {\n")
	walk(&b, readers, "each", func(f format.File) bool { return !f.Link && !f.Binary && !f.Root })
	b.WriteString(":; } | xargs -0 -r grep -aHZ ''\n")
	commands(&b, readers, false)
	fmt.Fprintf(&b, "root=$(cat <<'%s'\n", nonce)
	rootScript(&b, readers)
	fmt.Fprintf(&b, "%s\n)\nif [ $r = yes ]; then $s sh -c \"r=yes; $defs\n$root\"; else eval \"$root\"; fi\n", nonce)
	b.WriteString("frame end\n")
	return b.String()
}

// rootScript writes what only root may do, and where that is not to be had, what was
// left out.
func rootScript(b *strings.Builder, readers []format.Reader) {
	b.WriteString("if [ $r = no ]; then frame root\n")
	for _, f := range rootFiles(readers) {
		for _, name := range f.Names {
			fmt.Fprintf(b, "echo %s\n", quote(f.Dir+"/"+name))
		}
	}
	b.WriteString("else frame files; {\n")
	walk(b, readers, "each", func(f format.File) bool { return !f.Link && !f.Binary && f.Root })
	b.WriteString(":; } | xargs -0 -r grep -aHZ ''\nframe binary; {\n")
	walk(b, readers, "each", func(f format.File) bool { return f.Binary })
	b.WriteString(":; } | xargs -0 -r sh -c 'for f; do printf \"%s\\0\" \"$f\"; base64 -w0 <\"$f\"; echo; done' sh\nfi\n")
	commands(b, readers, true)
}

// commands writes the calls of all commands, either those for root or the others.
func commands(b *strings.Builder, readers []format.Reader, root bool) {
	for _, r := range readers {
		for _, c := range r.Cmds {
			if c.Root == root {
				b.WriteString(command(c) + "\n")
			}
		}
	}
}

// walk writes a loop over every set of files that is wanted; use is the shell
// function that takes the matches.
func walk(b *strings.Builder, readers []format.Reader, use string, wanted func(format.File) bool) {
	for _, r := range readers {
		for _, f := range r.Files {
			if !wanted(f) {
				continue
			}
			fmt.Fprintf(b, "for d in %s; do ", f.Dir)
			if f.Where != "" {
				fmt.Fprintf(b, "read -r c 2>/dev/null <\"$d\"/%s || continue; case $c in %s*) ;; *) continue;; esac; ", f.Where, strings.Join(f.Starts, "*|"))
			}
			if f.Secret {
				b.WriteString("safe")
			} else {
				b.WriteString(use)
			}
			for _, name := range f.Names {
				fmt.Fprintf(b, " \"$d\"/%s", name)
			}
			b.WriteString("; done\n")
		}
	}
}

// command writes the call of one command.
func command(c format.Cmd) string {
	run := "run"
	if c.Root {
		run = "run0"
	}
	switch {
	case c.Sh != "":
		call := fmt.Sprintf("%s %s sh -c %s", run, quote(c.Run), quote(c.Sh))
		if c.For != "" {
			call = fmt.Sprintf("for f in %s; do [ -e \"$f\" ] || continue; %s; break; done", c.For, call)
		}
		return call
	case c.For != "":
		words := strings.ReplaceAll(c.Run, "{}", `"$x"`)
		key := `"` + strings.ReplaceAll(c.Run, "{}", "$x") + `"`
		return fmt.Sprintf("for f in %s; do [ -e \"$f\" ] || continue; x=${f##*/}; %s %s %s; done", c.For, run, key, words)
	}
	return fmt.Sprintf("%s %s %s", run, quote(c.Run), c.Run)
}

// quote makes one shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// rootFiles returns the sets of files that only root can read.
func rootFiles(readers []format.Reader) (files []format.File) {
	for _, r := range readers {
		for _, f := range r.Files {
			if f.Root {
				files = append(files, f)
			}
		}
	}
	return files
}
