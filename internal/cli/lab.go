package cli

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/lab"
	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) lab() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "A virtual RDMA cluster on this machine, to try weft on",
		Long: `Linux machines under QEMU with real kernel RDMA (Soft-RoCE), a management and one
or two data networks, real OpenSSH and real perftest: every command of weft works
on them as on hardware, and faults can be made and healed.

Everything lives in one folder ($WEFT_LAB, else in your cache). The machines'
networks are sockets between the emulators: nothing leaves this machine. ssh is on
loopback, with a key made for the lab.`,
		Example: `  weft lab setup
  weft lab up
  weft check
  weft lab break mtu node2
  weft check
  weft lab down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.labSetup(), a.labUp(), a.labStatus(), a.labSSH(), a.labDown(), a.labBreak(), a.labHeal(), a.labFaults(), a.labWire(), a.labIB())
	return cmd
}

// labFolder is where labs live: $WEFT_LAB, else in the person's cache. It is named
// without symbolic links, so that a lab is the same one however it was reached.
func labFolder() (string, error) {
	dir := os.Getenv("WEFT_LAB")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fail("export WEFT_LAB=FOLDER", "no folder for the lab: %v", err)
		}
		dir = filepath.Join(cache, "weft", "lab")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fail("export WEFT_LAB=FOLDER", "%v", err)
	}
	for there := dir; ; there = filepath.Dir(there) { // what is not there yet has no links in it
		if real, err := filepath.EvalSymlinks(there); err == nil {
			return filepath.Join(real, strings.TrimPrefix(dir, there)), nil
		}
	}
}

// theLab is the lab of this person, which says on standard error what goes on.
func (a *app) theLab() (lab.Lab, error) {
	dir, err := labFolder()
	return lab.Lab{Dir: dir, Show: a.showLab}, err
}

// showLab shows what takes time, and then how long it took.
func (a *app) showLab(what string) func() {
	begin := time.Now()
	p := term.Start(a.err, what, 0)
	return func() {
		p.Done()
		fmt.Fprintf(a.err, "weft: %s: %.0f s\n", what, time.Since(begin).Seconds())
	}
}

// labError gives a lab's error its next command.
func labError(err error) error {
	var e *lab.Error
	if errors.As(err, &e) {
		return fail(e.Next, "%v", err)
	}
	if err != nil {
		return fail("weft lab status", "%v", err)
	}
	return nil
}

func (a *app) labUp() *cobra.Command {
	var o lab.Options
	var profiles []string
	for _, p := range lab.Profiles {
		profiles = append(profiles, fmt.Sprintf("  %-8s %s", p.Name, p.Like))
	}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the lab and write weft.yaml for it",
		Long: `Builds the machines' image and a template on first use (minutes), then starts
machines from the template's saved state (seconds), and writes weft.yaml into this
folder. KVM is used where it works, else emulation.

Profiles:
` + strings.Join(profiles, "\n"),
		Example: "  weft lab up\n  weft lab up -n 4 --rails 2\n  weft lab up --profile spark2",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.theLab()
			if err != nil {
				return err
			}
			if o.YAML, err = filepath.Abs("weft.yaml"); err != nil {
				return fail("", "%v", err)
			}
			if o.Weft, err = os.Executable(); err != nil {
				return fail("", "%v", err)
			}
			a.undone = "what was started is gone again"
			s, err := l.Up(cmd.Context(), o)
			if err != nil {
				return labError(err)
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "lab", s)
			}
			fmt.Fprintf(a.err, "weft: %d machines are up, with RDMA and ssh: %.1f s; wrote weft.yaml\n      next:\n          weft check\n", len(s.Nodes), s.Ready)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Profile, "profile", "", "what the lab is like (see above)")
	f.IntVarP(&o.Nodes, "nodes", "n", 0, "how many machines: 2 to 8")
	f.IntVar(&o.Rails, "rails", 0, "data networks: 1 or 2")
	f.IntVar(&o.MTU, "mtu", 0, "MTU of the data networks")
	f.StringVar(&o.Net, "net", "", "what configures the machines' networks: networkd, netplan or networkmanager")
	return cmd
}

func (a *app) labStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "What is up, and what is broken in it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.theLab()
			if err != nil {
				return err
			}
			s, err := l.Status(cmd.Context())
			if err != nil {
				return labError(err)
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "lab", s)
			}
			fmt.Fprintf(a.out, "%s: %d machines, rails %d, MTU %d, %s, %s, in %s (%d MiB cached)\n", s.Profile, len(s.Seen), s.Rails, s.MTU, s.Net, s.Accel, s.Dir, s.Cache)
			t := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
			fmt.Fprintln(t, "machine\tstate\tssh\tmemory\tdisk")
			for _, n := range s.Seen {
				fmt.Fprintf(t, "%s\t%s\t127.0.0.1:%d\t%d MiB\t%d MiB\n", n.Name, n.State, n.Port, n.Memory, n.Disk)
			}
			t.Flush()
			for _, f := range s.Faults {
				fmt.Fprintf(a.out, "broken: %s on %s\n", f.Fault, f.Node)
			}
			return nil
		},
	}
}

func (a *app) labSSH() *cobra.Command {
	return &cobra.Command{
		Use:     "ssh NODE [COMMAND...]",
		Short:   "Log in to a machine of the lab",
		Example: "  weft lab ssh node1\n  weft lab ssh node1 ibv_devinfo",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := a.theLab()
			if err != nil {
				return err
			}
			argv, err := l.SSH(args[0])
			if err != nil {
				return labError(err)
			}
			ssh, err := osexec.LookPath(argv[0])
			if err != nil {
				return fail("weft lab setup", "%v", err)
			}
			err = syscall.Exec(ssh, append(argv, args[1:]...), os.Environ())
			return fail("", "%s: %v", ssh, err)
		},
	}
}

func (a *app) labDown() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End the lab and remove what it left",
		Long: `Ends every process of the lab, whatever state it is in, and removes its machines
and the weft.yaml it wrote, unless that was changed. The built images stay, for the
next up; --all removes them too.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := a.theLab()
			if err != nil {
				return err
			}
			was, kept, err := l.Down(all)
			switch {
			case err != nil:
				return labError(err)
			case kept != "":
				fmt.Fprintf(a.err, "weft: %s was changed, so it is kept\n", kept)
			case !was:
				fmt.Fprintln(a.err, "weft: no lab was up")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove the cached images too")
	return cmd
}

func (a *app) labWire() *cobra.Command {
	return &cobra.Command{
		Use:    "wire FOLDER",
		Short:  "The switch between the machines of a lab (started by up)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return labError(lab.Lab{Dir: args[0]}.Wire(cmd.Context()))
		},
	}
}
