// Package cli is the command line: one file per command; flags in, exit code out.
// Edge.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"weft/internal/exec"
)

// Exit codes, the same for every command (DESIGN.md).
const (
	exitYes         = 0
	exitNo          = 1 // a check failed
	exitTrouble     = 2 // bad flag, bad weft.yaml, bad dump
	exitIncomplete  = 3 // something could not be read
	exitInterrupted = 130
)

// app is what every command shares.
type app struct {
	in       io.Reader
	out, err io.Writer
	code     int // exit code of a command that worked

	from      string // -F
	config    string // -c
	nodes     string // -n
	sshConfig string // --ssh-config
	json      bool
	jsonl     bool

	undone string // what is true after an interruption; "" is: nothing was changed
	folder string // of weft.yaml, made by look
	again  *look  // a look that this command has taken already: look gives it once more
	keep   bool   // keep what this command sees in .weft, to judge growth next time
}

// trouble is an error for a person: what, why and the next command.
type trouble struct {
	what string
	next string // a command to paste; "" when there is none
	code int
}

func (t *trouble) Error() string { return t.what }

// fail makes a trouble with exit code 2.
func fail(next, format string, args ...any) error {
	return &trouble{what: fmt.Sprintf(format, args...), next: next, code: exitTrouble}
}

// Main runs weft and returns its exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{in: in, out: out, err: errOut}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetIn(in)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return a.code
	}
	if ctx.Err() != nil {
		fmt.Fprintln(errOut, "weft: interrupted; "+cmp.Or(a.undone, "nothing was changed"))
		return exitInterrupted
	}
	var t *trouble
	if !errors.As(err, &t) {
		t = &trouble{what: err.Error(), next: cmd.CommandPath() + " --help", code: exitTrouble}
	}
	what := exec.Sanitise(strings.TrimSuffix(t.what, "\n"))
	fmt.Fprintf(errOut, "weft: %s\n", strings.ReplaceAll(what, "\n", "\n      "))
	if t.next != "" {
		fmt.Fprintf(errOut, "      next:\n          %s\n", t.next)
	}
	return t.code
}

// Root returns the command tree, for documentation and completion.
func Root() *cobra.Command { return (&app{}).root() }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "Make a fabric of machines with RDMA cards and GPUs: known, right, proven",
		Long: `weft looks at one Linux machine or a cluster of them, judges what it finds and
says what is wrong, why it matters and what to do. It reads; only weft apply and
weft undo change a node, and they ask first.

Exit codes: 0 yes, 1 no (a check failed), 2 trouble (bad flag or file),
3 incomplete (something could not be read), 4 apply stopped part-way,
130 interrupted.`,
		Example: `  weft check                    judge this machine
  weft init spark1 spark2       look at hosts over ssh and write weft.yaml
  weft check                    judge the cluster
  weft explain roce.mtu         what a check means and how to mend it
  weft plan                     what would be changed, exactly
  weft apply                    change it, one node first; weft undo takes it back
  weft prove                    measure every pair against what it should reach`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := root.PersistentFlags()
	f.StringVarP(&a.from, "from", "F", "", "read facts from a dump, a folder or a tar of outputs (- is standard input)")
	f.StringVarP(&a.config, "config", "c", "", "weft.yaml to use (default: weft.yaml in this folder, if there)")
	f.StringVarP(&a.nodes, "nodes", "n", "", "only these nodes, like gpu[1-8]")
	f.StringVar(&a.sshConfig, "ssh-config", "", "ssh configuration file to use instead of your own")
	f.BoolVar(&a.json, "json", false, "answer as one JSON document")
	f.BoolVar(&a.jsonl, "jsonl", false, "answer as a stream of JSON events, one a line")
	root.MarkFlagsMutuallyExclusive("json", "jsonl")
	root.AddCommand(a.check(), a.plan(), a.init(), a.collect(), a.show(), a.explain(), a.status(), a.diff(), a.env(), a.compat(), a.demo(), a.version(), a.docs(), a.lab(), a.apply(), a.undo(), a.prove(), a.rehearse(), a.report(), a.watch(), a.nccl(), a.forecast(), a.why(), a.design(), a.serve(), a.node())
	return root
}
