package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/lab"
	"weft/internal/report"
)

func (a *app) labBreak() *cobra.Command {
	return a.labChange("break", "Make a fault in a machine", "broke", lab.Lab.Break)
}

func (a *app) labHeal() *cobra.Command {
	return a.labChange("heal", "Heal a fault", "healed", lab.Lab.Heal)
}

// labChange is break or heal.
func (a *app) labChange(verb, short, did string, change func(lab.Lab, context.Context, string, string) (lab.Fault, error)) *cobra.Command {
	return &cobra.Command{
		Use:               verb + " FAULT NODE",
		Short:             short,
		Long:              short + ". weft lab faults lists them, with what weft should say of each.",
		Example:           "  weft lab " + verb + " mtu node2",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeLabFault,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.theLab()
			if err != nil {
				return err
			}
			a.undone = "weft lab status says what is broken"
			f, err := change(l, cmd.Context(), args[0], args[1])
			if err != nil {
				return labError(err)
			}
			fmt.Fprintf(a.err, "weft: %s %s on %s: %s\n      next:\n          weft check\n", did, f.Name, args[1], f.What)
			return nil
		},
	}
}

func (a *app) labFaults() *cobra.Command {
	return &cobra.Command{
		Use:   "faults",
		Short: "The faults that can be made, and what weft should say of each",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json || a.jsonl {
				return report.JSON(a.out, "lab.faults", map[string]any{"faults": lab.Faults})
			}
			t := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
			fmt.Fprintln(t, "fault\tcheck\tsays\twhat it does")
			for _, f := range lab.Faults {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Name, f.Check, f.Says, f.What)
			}
			return t.Flush()
		},
	}
}

// completeLabFault completes the fault, then the machine.
func completeLabFault(_ *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		for _, f := range lab.Faults {
			words = append(words, f.Name+"\t"+f.What)
		}
	case 1:
		if dir, err := labFolder(); err == nil {
			if s, err := (lab.Lab{Dir: dir}).State(); err == nil {
				for _, n := range s.Nodes {
					words = append(words, n.Name)
				}
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
