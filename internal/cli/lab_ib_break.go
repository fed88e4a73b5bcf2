package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/lab/ib"
	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) labIBBreak() *cobra.Command {
	return &cobra.Command{
		Use:   "break FAULT [TARGET]",
		Short: "Break something in the fabric",
		Long: `TARGET is a host (node0002), a switch (leaf001: its first link to another) or a
port of one (leaf001/21). Without it the fault is at node0002.`,
		Example:           "  weft lab ib break no-sm\n  weft lab ib break narrow-link node0003\n  weft lab ib break errors leaf001",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeFaults,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := labIBFolder()
			if err != nil {
				return err
			}
			a.undone = "weft lab ib status says what is broken"
			p := term.Start(a.err, "breaking "+args[0], 1)
			b, err := ib.Break(cmd.Context(), folder, args[0], second(args))
			p.Done()
			if err != nil {
				return labIBTrouble(err, "weft lab ib break --help")
			}
			fmt.Fprintf(a.err, "weft: %s: %s\n      next:\n          weft check\n", b, labIBSays(b))
			return nil
		},
	}
}

func (a *app) labIBHeal() *cobra.Command {
	return &cobra.Command{
		Use:               "heal [FAULT [TARGET]]",
		Short:             "Heal what was broken: one fault, or all",
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeFaults,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := labIBFolder()
			if err != nil {
				return err
			}
			fault := ""
			if len(args) > 0 {
				fault = args[0]
			}
			a.undone = "weft lab ib status says what is broken"
			p := term.Start(a.err, "healing", 1)
			healed, err := ib.Heal(cmd.Context(), folder, fault, second(args))
			p.Done()
			if err != nil {
				return labIBTrouble(err, "weft lab ib status")
			}
			for _, b := range healed {
				fmt.Fprintf(a.err, "weft: %s is healed\n", b)
			}
			if len(healed) == 0 {
				fmt.Fprintln(a.err, "weft: nothing like that is broken")
			}
			return nil
		},
	}
}

func (a *app) labIBFaults() *cobra.Command {
	return &cobra.Command{
		Use:   "faults",
		Short: "List what can be broken, and the check that should say so",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json || a.jsonl {
				return report.JSON(a.out, "lab.ib.faults", map[string]any{"faults": ib.Faults})
			}
			return writeFaults(a.out)
		},
	}
}

func writeFaults(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tWHAT\tAT\tCHECK")
	for _, f := range ib.Faults {
		for _, at := range []struct{ where, check string }{{"fabric", f.Whole}, {"host", f.Host}, {"switch", f.Trunk}} {
			if at.check != "" {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, f.What, at.where, at.check)
			}
		}
	}
	return w.Flush()
}

// second is the second argument, "" when there is none.
func second(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[1]
}

func completeFaults(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, f := range ib.Faults {
		names = append(names, f.Name+"\t"+f.What)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
