package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/lab/ib"
	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) labIB() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ib",
		Short: "A simulated InfiniBand fabric: real opensm and diagnostics, no cards",
		Long: `ibsim simulates switches, cables and ports; opensm, ibnetdiscover, iblinkinfo,
ibqueryerrors and sshd are the real ones. Everything runs in a network namespace
of its own and lives in one folder ($WEFT_LAB/ib, else in your cache). Needs root.`,
		Example: `  weft lab ib up --hosts 200
  weft check
  weft lab ib break narrow-link
  weft check
  weft lab ib down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.labIBUp(), a.labIBStatus(), a.labIBDown(), a.labIBBreak(), a.labIBHeal(), a.labIBFaults())
	return cmd
}

// labIBFolder is the folder of the fabric.
func labIBFolder() (string, error) {
	folder, err := labFolder()
	return filepath.Join(folder, "ib"), err
}

func (a *app) labIBUp() *cobra.Command {
	var o ib.Options
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a fabric and write weft.yaml for it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := labIBFolder()
			if err != nil {
				return err
			}
			if pkgs := ib.Missing(); len(pkgs) > 0 {
				return fail("weft lab setup --ib", "the lab needs %s", strings.Join(pkgs, ", "))
			}
			if os.Geteuid() != 0 {
				return fail("sudo weft lab ib up", "the lab needs root, to make a network namespace")
			}
			if o.Spec, err = filepath.Abs("weft.yaml"); err != nil {
				return fail("", "%v", err)
			}
			a.undone = "what was started is gone again"
			begin := time.Now()
			p := term.Start(a.err, "starting the fabric", ib.Steps)
			err = ib.Up(cmd.Context(), folder, o, p.Step)
			p.Done()
			if err != nil {
				return labIBTrouble(err, "weft lab ib up --help")
			}
			s, _, err := ib.Look(folder)
			if err != nil {
				return labIBTrouble(err, "weft lab ib up --help")
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "lab.ib", s)
			}
			fmt.Fprintf(a.err, "weft: the fabric is up after %.1f s: %s\n      wrote weft.yaml; next:\n          weft check\n", time.Since(begin).Seconds(), s.Shape)
			return nil
		},
	}
	cmd.Flags().IntVar(&o.Hosts, "hosts", 8, fmt.Sprintf("how many hosts, %d to %d", ib.MinHosts, ib.MaxHosts))
	cmd.Flags().IntVar(&o.SMs, "sms", 1, "how many subnet managers: 1, or 2 for one that stands by")
	return cmd
}

func (a *app) labIBDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the fabric and remove everything of it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			folder, err := labIBFolder()
			if err != nil {
				return err
			}
			kept, err := ib.Down(folder)
			switch {
			case errors.Is(err, ib.ErrDown):
				fmt.Fprintln(a.err, "weft: no fabric is up")
				return nil
			case err != nil:
				return labIBTrouble(err, "weft lab ib status")
			case kept != "":
				fmt.Fprintf(a.err, "weft: the fabric is down; %s was changed since, so it is kept\n", kept)
			default:
				fmt.Fprintln(a.err, "weft: the fabric is down")
			}
			return nil
		},
	}
}

// labIBTrouble finds the next command for an error of the fabric; next is for one
// that has no better.
func labIBTrouble(err error, next string) error {
	switch {
	case errors.Is(err, ib.ErrUp), errors.Is(err, ib.ErrDead):
		next = "weft lab ib down"
	case errors.Is(err, ib.ErrDown):
		next = "weft lab ib up"
	case errors.Is(err, ib.ErrBusy):
		next = "weft lab ib status"
	case errors.Is(err, ib.ErrFolder):
		next = "export WEFT_LAB=FOLDER"
	case errors.Is(err, ib.ErrSpec):
		next = "mv weft.yaml weft.yaml.old"
	case errors.Is(err, ib.ErrFault):
		next = "weft lab ib faults"
	}
	return fail(next, "%v", err)
}
