package cli

import (
	"bufio"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/lab"
	"weft/internal/lab/ib"
)

func (a *app) labSetup() *cobra.Command {
	var yes, withIB bool
	var needs strings.Builder
	for _, n := range lab.Needs {
		fmt.Fprintf(&needs, "  %-20s %s\n", n.Program, n.Why)
	}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Install what the lab needs, after showing it",
		Long: `Shows what it will install with apt, asks, and installs it. The machines' own
packages and their kernel are fetched by the first weft lab up, into the lab's folder.

The lab runs:
` + needs.String(),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pkgs, next := lab.Missing(), "weft lab up"
			if withIB {
				pkgs, next = append(pkgs, ib.Missing()...), "sudo weft lab ib up"
			}
			if len(pkgs) == 0 {
				fmt.Fprintf(a.err, "weft: everything is installed\n      next:\n          %s\n", next)
				return nil
			}
			if _, err := osexec.LookPath("apt-get"); err != nil {
				return fail("", "the lab needs %s, and this machine has no apt-get to install them with", strings.Join(pkgs, ", "))
			}
			a.undone = "apt may have installed a part; weft lab setup goes on with the rest"
			sudo := ""
			if os.Geteuid() != 0 {
				sudo = "sudo "
			}
			commands := []string{
				sudo + "apt-get update",
				sudo + "apt-get install -y --no-install-recommends " + strings.Join(pkgs, " "),
			}
			fmt.Fprintf(a.out, "This will run:\n    %s\n", strings.Join(commands, "\n    "))
			if !yes {
				fmt.Fprint(a.out, "Type yes to go on: ")
				word, _ := bufio.NewReader(a.in).ReadString('\n')
				if strings.TrimSpace(word) != "yes" {
					return fail("weft lab setup", "nothing was installed")
				}
			}
			for _, c := range commands {
				run := osexec.CommandContext(cmd.Context(), "sh", "-c", c)
				run.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
				run.Stdin, run.Stdout, run.Stderr = a.in, a.err, a.err
				if err := run.Run(); err != nil {
					return fail("weft lab setup", "%s: %v", c, err)
				}
			}
			fmt.Fprintf(a.err, "weft: installed\n      next:\n          %s\n", next)
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&withIB, "ib", false, "what weft lab ib needs, too")
	return cmd
}
