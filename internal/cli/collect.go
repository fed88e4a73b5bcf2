package cli

import (
	"crypto/rand"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/report"
)

func (a *app) collect() *cobra.Command {
	var file string
	var print, redact bool
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "Write everything weft reads into one text archive",
		Long: `Reads this machine, or the nodes of weft.yaml over ssh, and writes one text
archive, the dump. -F replays it in every command that reads facts.

--print lists each file and command before anything is touched. --redact replaces
addresses, GUIDs, MACs and serial numbers, each always by the same stand-in, so
that the dump still tells what is wrong. A configuration file that holds a password,
a key or a token is never read: it is a gap in the dump.`,
		Example: "  weft collect -o lab.dump\n  weft collect --print\n  weft collect --redact -o for-the-list.dump\n  weft check -F lab.dump",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if print {
				return a.printReaders()
			}
			l, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			if redact {
				key := make([]byte, 32)
				rand.Read(key) // never fails since Go 1.24
				l.dump = dump.Redact(l.dump, key)
			}
			if err := a.writeDump(file, l.dump); err != nil {
				return err
			}
			for _, n := range l.dump.Nodes {
				if why, down := n.Gap[format.Reach]; down {
					a.sayDown(why)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write (default: standard output)")
	cmd.Flags().BoolVar(&print, "print", false, "list what would be read, touch nothing")
	cmd.Flags().BoolVar(&redact, "redact", false, "replace addresses, GUIDs, MACs and serial numbers")
	return cmd
}

func (a *app) writeDump(file string, d *dump.Dump) error {
	text := d.Format()
	if file == "" || file == "-" {
		_, err := a.out.Write(text)
		return err
	}
	// A dump holds addresses and settings: for the owner's eyes until they share it.
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fail("", "%v", err)
	}
	fmt.Fprintf(a.err, "weft: wrote %s: %d nodes, %d KiB\n      next:\n          weft check -F %s\n", file, len(d.Nodes), len(text)/1024, file)
	return nil
}

// reading is one line of weft collect --print.
type reading struct {
	Reader string `json:"reader"`
	Why    string `json:"why"`
	What   string `json:"what"` // "file", "link" or "command"
	Name   string `json:"name"`
	Each   string `json:"each,omitempty"` // once for every match of this
	Root   bool   `json:"root"`
	Once   bool   `json:"once"`             // asked of one node only
	Secret bool   `json:"secret,omitempty"` // one that holds a secret is not read
}

// printReaders lists every file and command.
func (a *app) printReaders() error {
	want, _, _, err := a.spec(nil)
	if err != nil {
		return err
	}
	readers := format.Readers
	if len(want.Nodes) > 0 {
		readers = format.For(want, want.Nodes[0].Name)
	}
	var all []reading
	for _, r := range readers {
		for _, f := range r.Files {
			what := "file"
			if f.Link {
				what = "link"
			}
			for _, name := range f.Names {
				all = append(all, reading{r.Name, r.Why, what, f.Dir + "/" + name, "", f.Root, r.Once != nil, f.Secret})
			}
		}
		for _, c := range r.Cmds {
			name := c.Run
			if c.Sh != "" {
				name = "sh -c '" + c.Sh + "'"
			}
			all = append(all, reading{r.Name, r.Why, "command", name, c.For, c.Root, r.Once != nil, false})
		}
	}
	if a.json || a.jsonl {
		return report.JSON(a.out, "readings", map[string]any{"readings": all})
	}
	last := ""
	for _, r := range all {
		if r.Reader != last {
			fmt.Fprintf(a.out, "%s: %s\n", r.Reader, r.Why)
			last = r.Reader
		}
		line := fmt.Sprintf("  %-8s %s", r.What, r.Name)
		if r.Each != "" {
			line += "   (for each " + r.Each + ")"
		}
		if r.Root {
			line += "   (root)"
		}
		if r.Once {
			line += "   (one node)"
		}
		if r.Secret {
			line += "   (unless it holds a secret)"
		}
		fmt.Fprintln(a.out, line)
	}
	return nil
}
